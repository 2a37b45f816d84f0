"""A look at transactions, as brokers in memory answer: what is asked of whom, and what becomes of it."""

import struct
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from copartition.groups.live import wire
from copartition.groups.live.cluster import Broker
from copartition.groups.live.wire import NO_TAGS, compact_array, compact_text
from copartition.transactions import looks
from copartition.transactions.looks import Look, OpenProducer, PartitionLook, Transaction, look_at
from tests.copartition.groups.served import Brokers

DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS = 61, 65, 66
ONE, TWO = ("b1", 9092), ("b2", 9092)
SERVERS = {"bootstrap.servers": "b1:9092", "sasl.username": "ada"}
RIGHT = "kafka-acls.sh --bootstrap-server b1:9092 --add --allow-principal User:ada --operation"
NOT_FOUND, HIDDEN, NOT_COORDINATOR = 105, 53, 16


def listing(*ids: str, error: int = 0) -> bytes:
    """An answer to ListTransactions, which does not know one state of a filter."""
    rows = [compact_text(name) + struct.pack(">q", 7) + compact_text("Ongoing") + NO_TAGS for name in ids]
    return (
        bytes(4)
        + struct.pack(">h", error)
        + compact_array([compact_text("Odd")])
        + compact_array(rows)
        + NO_TAGS
    )


def transaction(
    name: str,
    state: str = "Ongoing",
    started_ms: int = 500,
    error: int = 0,
    places: Mapping[str, tuple[int, ...]] | None = None,
) -> bytes:
    """A transactional id in an answer to DescribeTransactions."""
    topics = [
        compact_text(topic) + compact_array([struct.pack(">i", number) for number in numbers]) + NO_TAGS
        for topic, numbers in (places or {}).items()
    ]
    head = struct.pack(">h", error) + compact_text(name) + compact_text(state)
    return head + struct.pack(">iqqh", 60_000, started_ms, 7, 3) + compact_array(topics) + NO_TAGS


def description(*transactions: bytes) -> bytes:
    """An answer to DescribeTransactions."""
    return bytes(4) + compact_array(transactions) + NO_TAGS


def producers(topic: str, number: int, *active: tuple[int, int], error: int = 0, message: str = "") -> bytes:
    """An answer to DescribeProducers for a partition: (producer id, first offset of its transaction)."""
    rows = [
        struct.pack(">qiiqiq", producer, 3, 11, 400 + producer, 12, offset) + NO_TAGS
        for producer, offset in active
    ]
    head = struct.pack(">ih", number, error) + (compact_text(message) if message else b"\0")
    partition = head + compact_array(rows) + NO_TAGS
    return bytes(4) + compact_array([compact_text(topic) + compact_array([partition]) + NO_TAGS]) + NO_TAGS


class Cluster(SimpleNamespace):
    """A cluster of two brokers and the topics "orders" and "pay" with a partition each."""

    config = SERVERS
    counts: Mapping[str, int] = {"orders": 1, "pay": 1, "__transaction_state": 50}
    brokers = {1: Broker(1, "b1:9092"), 2: Broker(2, "b2:9092")}  # noqa: RUF012
    hides_topics = False
    stable_ends: Mapping[tuple[str, int], int] = {("orders", 0): 4, ("pay", 0): 9}
    all_ends: Mapping[tuple[str, int], int] = {("orders", 0): 10, ("pay", 0): 9}
    led_by: Mapping[str, list[int | None]] = {"orders": [2], "pay": [1]}

    def may_see_every_topic(self) -> bool:
        return not self.hides_topics

    def committed_offsets(self, group: str) -> dict[tuple[str, int], int]:
        assert group == "billing"
        return {("pay", 0): 5}

    def ends(self, places: set[tuple[str, int]], *, stable: bool = False) -> dict[tuple[str, int], int]:
        ends = self.stable_ends if stable else self.all_ends
        return {place: ends[place] for place in places if place in ends}

    def leaders(self, topic: str) -> list[Broker | None]:
        return [leader and self.brokers[leader] for leader in self.led_by[topic]]  # type: ignore[misc]


ANSWERS: dict[tuple[str, int], dict[int, Any]] = {
    ONE: {
        LIST_TRANSACTIONS: listing("b", "a"),
        # The first question is for the ids that it listed, the next for one that nobody has.
        DESCRIBE_TRANSACTIONS: [
            description(transaction("b", places={"orders": (0,)}), transaction("a", "Empty", started_ms=-1)),
            description(transaction("", error=NOT_FOUND)),
        ],
    },
    TWO: {LIST_TRANSACTIONS: listing(), DESCRIBE_PRODUCERS: producers("orders", 0, (7, 4), (8, -1))},
}


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have these brokers answer, beside those of `ANSWERS`; gives them."""
    monkeypatch.setattr(looks, "time", SimpleNamespace(time=lambda: 90.0))

    def start(changes: Mapping[tuple[str, int], Mapping[int, Any]] | None = None) -> Brokers:
        changed = {place: ANSWERS[place] | (changes or {}).get(place, {}) for place in ANSWERS}
        brokers = Brokers(changed)
        monkeypatch.setattr(wire.socket, "create_connection", brokers.create_connection)
        return brokers

    return start


def look(topics: list[str] | None = None, group: str | None = None, **changes: Any) -> Look:
    cluster: Any = Cluster(**changes)
    return look_at(cluster, topics, group)


OPEN = Transaction("b", 7, 3, "Ongoing", 60_000, 500, 1, frozenset({("orders", 0)}))
HELD = PartitionLook("orders", 0, 10, 4, None, (OpenProducer(7, 3, 4, 407),))


def test_a_look_shows_ids_and_what_holds_readers_back(serve: Any) -> None:
    brokers = serve()
    seen = look()
    ended = Transaction("a", 7, 3, "Empty", 60_000, None, 1, frozenset())
    assert seen == Look(
        90_000,
        (ended, OPEN),
        (HELD,),
        ("the transactional ids of 2 brokers", "last stable offsets and ends of 2 partitions"),
    )
    assert [asked[:3] for asked in brokers.asked] == [
        (ONE, LIST_TRANSACTIONS, 0),
        (ONE, DESCRIBE_TRANSACTIONS, 0),
        (TWO, LIST_TRANSACTIONS, 0),
        (ONE, DESCRIBE_TRANSACTIONS, 0),
        (TWO, DESCRIBE_PRODUCERS, 0),
    ]
    bodies = [asked.body for asked in brokers.asked]
    assert bodies[0] == b"\x01\x01" + NO_TAGS  # all states, all producers
    assert bodies[1] == compact_array([compact_text("b"), compact_text("a")]) + NO_TAGS
    assert bodies[3].startswith(b"\x02" + compact_text("copartition-" + 32 * "x")[:13])
    partition = compact_text("orders") + compact_array([struct.pack(">i", 0)]) + NO_TAGS
    assert bodies[4] == compact_array([partition]) + NO_TAGS


@pytest.mark.parametrize(
    ("state", "started_ms", "since"),
    [
        ("Ongoing", 0, 0),
        ("PrepareCommit", 500, 500),
        ("CompleteCommit", 500, None),
        ("Empty", -1, None),
        ("Ongoing", -1, None),
    ],
)
def test_a_time_of_beginning_is_that_of_an_open_transaction(
    serve: Any, state: str, started_ms: int, since: int | None
) -> None:
    known = [description(transaction("a", state, started_ms)), description(transaction("", error=NOT_FOUND))]
    serve({ONE: {DESCRIBE_TRANSACTIONS: known}})
    assert [(one.state, one.started_ms) for one in look().transactions] == [(state, since)]


def test_an_id_that_has_expired_is_left_out_and_those_behind_it_are_not(serve: Any) -> None:
    known = description(transaction("gone", error=NOT_FOUND), transaction("b", places={"orders": (0,)}))
    serve({ONE: {DESCRIBE_TRANSACTIONS: [known, description(transaction("", error=NOT_FOUND))]}})
    seen = look()
    assert (seen.transactions, seen.missing_ids) == ((OPEN,), ())


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({LIST_TRANSACTIONS: listing(error=31)}, "error 31: this user needs DESCRIBE on the cluster"),
        (
            {DESCRIBE_TRANSACTIONS: description(transaction("a", error=HIDDEN))},
            "error 53: this user needs DESCRIBE on the transactional id",
        ),
        ({DESCRIBE_TRANSACTIONS: description(transaction("a", error=NOT_COORDINATOR))}, "error 16"),
    ],
)
def test_a_broker_that_refuses_is_named_and_the_rest_is_shown(
    serve: Any, answers: dict[int, bytes], reason: str
) -> None:
    elsewhere = {LIST_TRANSACTIONS: listing("c"), DESCRIBE_TRANSACTIONS: description(transaction("c"))}
    serve({ONE: answers, TWO: elsewhere})
    seen = look()
    assert [(one.id, one.coordinator) for one in seen.transactions] == [("c", 2)]
    assert seen.sources[0] == "the transactional ids of 1 broker"
    [missing] = seen.missing_ids
    assert missing.what.startswith("the transactions of broker 1 at b1:9092: ")
    assert missing.what.endswith(f" failed: {reason}")
    assert missing.remedy == "run it again when that broker answers"


def test_no_broker_that_answers_is_asked_nothing_more(serve: Any) -> None:
    silent = {LIST_TRANSACTIONS: None}
    serve({ONE: silent, TWO: silent})
    seen = look()
    assert [missing.what[:35] for missing in seen.missing_ids] == [
        "the transactions of broker 1 at b1:",
        "the transactions of broker 2 at b2:",
    ]
    assert seen.sources[0] == "the transactional ids of 0 brokers"


@pytest.mark.parametrize("probe", [description(transaction("", error=HIDDEN)), None])
def test_a_user_that_may_not_see_every_id_is_told_which_right_shows_them(
    serve: Any, probe: bytes | None
) -> None:
    serve({ONE: {LIST_TRANSACTIONS: listing(), DESCRIBE_TRANSACTIONS: probe}})
    [missing] = look().missing_ids
    assert missing.what.startswith("transactions of ids that this user may not DESCRIBE")
    assert missing.remedy == f"{RIGHT} Describe --transactional-id '*'"


@pytest.mark.parametrize(("topics", "told"), [(None, True), (["orders"], False)])
def test_a_user_that_may_not_see_every_topic_is_told_unless_topics_are_named(
    serve: Any, topics: list[str] | None, told: bool
) -> None:
    serve()
    missing = look(topics, hides_topics=True).missing
    assert len(missing) == told
    for one in missing:
        assert one.what.startswith("partitions of topics that this user may not DESCRIBE")
        assert one.remedy == f"name the topics with --only-topic, or {RIGHT} Describe --topic '*'"


def test_partitions_of_a_group_are_shown_beside_those_that_are_held(serve: Any) -> None:
    serve()
    own = PartitionLook("pay", 0, 9, 9, 5, ())
    assert look(["orders"], "billing").partitions == (HELD, own)


def test_only_the_topics_that_are_named_are_looked_at(serve: Any) -> None:
    serve()
    assert look(["pay"]).partitions == ()


@pytest.mark.parametrize("ends", ["stable_ends", "all_ends"])
def test_an_offset_that_no_leader_tells_is_missing(serve: Any, ends: str) -> None:
    serve({ONE: {DESCRIBE_PRODUCERS: producers("pay", 0)}})
    seen = look(**{ends: {("orders", 0): 4}})
    [missing] = seen.missing
    assert missing.what == "the offsets of pay-0"
    assert missing.remedy == "run it again when the partitions have leaders"
    assert seen.sources[1] == "last stable offsets and ends of 1 partition"


def test_the_first_offsets_that_no_leader_tells_are_named_in_order(serve: Any) -> None:
    serve({ONE: {DESCRIBE_PRODUCERS: producers("pay", 0)}})
    seen = look(counts={"orders": 1, "pay": 9}, led_by={"orders": [2], "pay": [1] * 9})
    assert seen.missing[0].what == "the offsets of pay-1, pay-2, pay-3, pay-4, pay-5 and 3 more"


def test_a_partition_that_an_open_transaction_names_is_asked_for_though_readers_reach_its_end(
    serve: Any,
) -> None:
    serve()
    assert look(stable_ends=Cluster.all_ends).partitions == (HELD._replace(stable=10),)


def test_a_partition_that_only_an_ended_transaction_names_is_not_asked_for(serve: Any) -> None:
    known = description(transaction("a", "CompleteCommit", places={"orders": (0,)}))
    serve({ONE: {DESCRIBE_TRANSACTIONS: [known, description(transaction("", error=NOT_FOUND))]}})
    assert look(stable_ends=Cluster.all_ends).partitions == ()


@pytest.mark.parametrize("led_by", [{"orders": [None], "pay": [1]}, {"orders": [], "pay": [1]}])
def test_a_partition_without_a_leader_has_unknown_producers(
    serve: Any, led_by: dict[str, list[int | None]]
) -> None:
    serve()
    seen = look(led_by=led_by)
    assert seen.partitions == (HELD._replace(producers=None),)
    [missing] = seen.missing
    assert missing.what == "the producers of orders-0: it has no leader"
    assert missing.remedy == "run it again when it has one"


@pytest.mark.parametrize(
    ("answer", "what", "remedy"),
    [
        (
            None,
            "at broker 2: a request over copartition's own connection failed: the broker hung up",
            "run it again when that broker answers",
        ),
        (
            producers("orders", 0, error=29, message="refused"),
            "of orders-0: this user needs READ on the topic",
            f"{RIGHT} Read --topic orders",
        ),
        (
            producers("orders", 0, error=6, message="not the leader"),
            "of orders-0: not the leader",
            "run it again when its leader answers",
        ),
        (producers("orders", 0, error=6), "of orders-0: error 6", "run it again when its leader answers"),
    ],
)
def test_producers_that_a_leader_does_not_tell_are_unknown(
    serve: Any, answer: bytes | None, what: str, remedy: str
) -> None:
    serve({TWO: {DESCRIBE_PRODUCERS: answer}})
    seen = look()
    assert seen.partitions == (HELD._replace(producers=None),)
    assert [(missing.what, missing.remedy) for missing in seen.missing] == [(f"the producers {what}", remedy)]


def test_each_leader_is_asked_for_its_own_partitions(serve: Any) -> None:
    own = producers("pay", 0, (9, 2))
    brokers = serve({ONE: {DESCRIBE_PRODUCERS: own}})
    seen = look(stable_ends={("orders", 0): 4, ("pay", 0): 2})
    assert seen.partitions == (HELD, PartitionLook("pay", 0, 9, 2, None, (OpenProducer(9, 3, 2, 409),)))
    assert [asked.address for asked in brokers.asked if asked.key == DESCRIBE_PRODUCERS] == [TWO, ONE]
