"""Look at a cluster's transactions, as its coordinators and the leaders of partitions know them.

Two kinds of brokers know a transaction. Its coordinator knows the transactional id, its state and its
partitions (ListTransactions, DescribeTransactions). The leader of each partition knows which producers have
a transaction open there, and from which offset (DescribeProducers). If a leader has a transaction open that
no coordinator knows, the transaction hangs: only an operator can end it. `judging` decides what two looks
show.

Times are milliseconds since 1970; brokers and producers are given by their ids.
"""

import struct
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from copartition.groups.live.cluster import Broker, Cluster, right_command
from copartition.groups.live.wire import (
    NO_TAGS,
    Connection,
    check_error,
    compact_array,
    compact_text,
    connect_to,
    failures,
)
from copartition.kit.evidence import Missing
from copartition.kit.places import Place
from copartition.kit.words import count, list_names
from partitioning.errors import SourceError

_NOT_FOUND = 105  # TRANSACTIONAL_ID_NOT_FOUND
_HIDDEN = 53  # TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_UNREADABLE = 29  # TOPIC_AUTHORIZATION_FAILED
_RIGHTS = {
    _UNREADABLE: "this user needs READ on the topic",
    31: "this user needs DESCRIBE on the cluster",
    _HIDDEN: "this user needs DESCRIBE on the transactional id",
}
"""Error code of a broker's answer -> the right that is missing; 31 is CLUSTER_AUTHORIZATION_FAILED."""

OPEN_STATES = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
"""States in which a partition still waits for a marker."""


class Transaction(NamedTuple):
    """A transactional id as its coordinator has it; times are milliseconds since 1970.

    The id remains when its transaction has ended; a transaction is open only in the states of `OPEN_STATES`.
    """

    id: str
    producer: int  # the producer id that the coordinator gave to this transactional id
    epoch: int  # raised by each new producer with this id, and from transaction.version 2 by each transaction
    state: str  # Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, ..
    timeout_ms: int  # the producer's transaction.timeout.ms
    started_ms: int | None  # None if no transaction is open
    coordinator: int  # the broker's id
    partitions: frozenset[Place]  # partitions that it has written to, or that still lack a marker

    @property
    def open(self) -> bool:
        """True if a partition still waits for a marker."""
        return self.state in OPEN_STATES


class OpenProducer(NamedTuple):
    """A producer with a transaction that is open in a partition, as the leader has it."""

    producer: int
    epoch: int
    first_offset: int  # the first offset of the transaction in this partition
    wrote_ms: int  # the time of its last record there


class PartitionLook(NamedTuple):
    """The offsets up to which a partition can be read; None if its leader did not report one.

    Invariant: `stable` is at most `end`, because the ends are requested later.
    """

    topic: str
    partition: int
    end: int | None  # the high watermark
    stable: int | None  # the last stable offset: readers with read_committed stop here
    committed: int | None  # the commit of the group that was asked for
    producers: tuple[OpenProducer, ...] | None  # producers with an open transaction; None if unknown

    @property
    def place(self) -> Place:
        """The topic and the partition's number."""
        return self.topic, self.partition

    @property
    def behind(self) -> int | None:
        """The number of offsets that open transactions hold back from readers with read_committed.

        None if one of the two offsets is unknown. Transaction markers count too.
        """
        return None if self.end is None or self.stable is None else max(self.end - self.stable, 0)


class Look(NamedTuple):
    """The transactions and partitions that a cluster showed at one time.

    Attributes:
        at_ms: the time of the look, in milliseconds since 1970, by the clock of this machine.
        transactions: the transactional ids that brokers showed, in the order of their ids.
        partitions: partitions that a transaction holds, and those of the group, by topic and number.
        sources: the sources that answered, as phrases for the evidence.
        missing_ids: the reasons why `transactions` may lack transactional ids; empty if it has all.
        missing: other facts that could not be read.
    """

    at_ms: float
    transactions: tuple[Transaction, ...]
    partitions: tuple[PartitionLook, ...]
    sources: tuple[str, ...]
    missing_ids: tuple[Missing, ...] = ()
    missing: tuple[Missing, ...] = ()


def look_at(cluster: Cluster, topics: Collection[str] | None, group: str | None) -> Look:
    """Look at all transactions that this user may see, and at the partitions that they hold.

    Args:
        cluster: the cluster.
        topics: topics whose partitions are looked at; None for all, without the cluster's own.
        group: a group whose partitions are shown too; None for none.

    Returns:
        The look. A fact that a broker does not answer, or does not show to this user, is in `missing_ids` or
        `missing` and raises no error, because the rest is worth showing.
    """
    missing_ids: list[Missing] = []
    missing: list[Missing] = []
    transactions: list[Transaction] = []
    answered = []
    for broker in cluster.brokers.values():
        try:
            transactions += transactions_of(broker, cluster.config)
        except SourceError as error:
            what = f"the transactions of broker {broker.id} at {broker.address}: {error}"
            missing_ids.append(Missing(what, "run it again when that broker answers"))
        else:
            answered.append(broker)
    if answered and not _may_see_every_id(answered[0], cluster.config):
        missing_ids.append(
            Missing(
                "transactions of ids that this user may not DESCRIBE: brokers leave them out without a word",
                right_command(cluster.config, "Describe", "--transactional-id '*'"),
            )
        )
    if topics is None:
        topics = [name for name in cluster.counts if not name.startswith("__")]
        if not cluster.may_see_every_topic():
            right = right_command(cluster.config, "Describe", "--topic '*'")
            what = (
                "partitions of topics that this user may not DESCRIBE: brokers leave them out without a word"
            )
            missing.append(Missing(what, f"name the topics with --only-topic, or {right}"))
    committed = {} if group is None else cluster.committed_offsets(group)
    places = {(name, number) for name in topics for number in range(cluster.counts[name])} | set(committed)
    # Stable offsets come first, because an end that is requested later is never below them. In the other
    # order, a commit in between could make `stable` exceed the end.
    stable, ends = cluster.ends(places, stable=True), cluster.ends(places)
    if unknown := sorted(places - (ends.keys() & stable.keys())):
        what = f"the offsets of {list_names([f'{name}-{number}' for name, number in unknown], _SHOWN)}"
        missing.append(Missing(what, "run it again when the partitions have leaders"))
    waiting = {place for transaction in transactions if transaction.open for place in transaction.partitions}
    # Leaders are asked only for partitions that something holds; one request for every partition of the
    # cluster would be too many. A transaction that no coordinator knows shows in the difference between
    # stable offset and end.
    held = {place for place in places if place in waiting or stable.get(place) != ends.get(place)}
    producers = _open_producers(cluster, held, missing)
    looks = [
        PartitionLook(
            *place,
            ends.get(place),
            stable.get(place),
            committed.get(place),
            # A partition that was asked for and has no answer is unknown; one that was not asked for has no
            # producers.
            producers.get(place, None if place in held else ()),
        )
        for place in sorted(held | committed.keys())
    ]
    transactions.sort(key=lambda transaction: transaction.id)
    seen = (
        f"the transactional ids of {count(len(answered), 'broker')}",
        f"last stable offsets and ends of {count(len(places) - len(unknown), 'partition')}",
    )
    return Look(
        1000 * time.time(), tuple(transactions), tuple(looks), seen, tuple(missing_ids), tuple(missing)
    )


def transactions_of(broker: Broker, config: Mapping[str, str]) -> list[Transaction]:
    """Return the transactional ids that a broker coordinates, in its order.

    A broker silently leaves out ids that this user may not DESCRIBE.

    Args:
        broker: the broker to ask.
        config: librdkafka settings of the cluster, for the connection.

    Raises:
        SourceError: the broker cannot be reached or refuses the request.
    """
    with failures(), connect_to(broker.host, broker.port, config) as connection:
        # The two empty lists are filters by state and by producer id. An empty list selects all transactions.
        answer = connection.request("ListTransactions", b"\1\1" + NO_TAGS)
        check_error(answer["error"], _RIGHTS.get(answer["error"]))
        ids = [transaction["id"] for transaction in answer["transactions"]]
        return _describe(connection, ids, broker.id) if ids else []


def _may_see_every_id(broker: Broker, config: Mapping[str, str]) -> bool:
    """Return whether this user may DESCRIBE transactional ids of any name.

    The request names a random id that no producer has. A broker refuses it to a user without the right, and
    otherwise answers that it does not know or does not coordinate the id. If the broker does not answer, this
    returns False.
    """
    try:
        with failures(), connect_to(broker.host, broker.port, config) as connection:
            name = compact_text(f"copartition-{uuid.uuid4().hex}")
            answer = connection.request("DescribeTransactions", compact_array([name]) + NO_TAGS)
            return [transaction["error"] for transaction in answer["transactions"]] != [_HIDDEN]
    except SourceError:
        return False


def _describe(connection: Connection, ids: Sequence[str], coordinator: int) -> list[Transaction]:
    """Return what a coordinator knows of these transactional ids, without ids that have expired meanwhile.

    Args:
        connection: an open connection to the coordinator.
        ids: the transactional ids, at least one.
        coordinator: the id of that broker.

    Raises:
        SourceError: the coordinator refuses an id, because a right is missing or the id has moved.
    """
    body = compact_array([compact_text(name) for name in ids]) + NO_TAGS
    transactions = []
    for described in connection.request("DescribeTransactions", body)["transactions"]:
        error, state, started_ms = described["error"], described["state"], described["started_ms"]
        if error == _NOT_FOUND:
            continue  # the id has expired since it was listed
        check_error(error, _RIGHTS.get(error))
        transactions.append(
            Transaction(
                described["id"],
                described["producer"],
                described["epoch"],
                state,
                described["timeout_ms"],
                started_ms if started_ms >= 0 and state in OPEN_STATES else None,
                coordinator,
                frozenset(
                    (topic["name"], number) for topic in described["topics"] for number in topic["partitions"]
                ),
            )
        )
    return transactions


def _open_producers(
    cluster: Cluster, places: Iterable[Place], missing: list[Missing]
) -> dict[Place, tuple[OpenProducer, ...]]:
    """Return the producers with an open transaction in each of these partitions, by topic and number.

    Args:
        cluster: the cluster; one request goes to each leader.
        places: the partitions to ask for.
        missing: a list to which this adds the facts that a leader does not report.

    Returns:
        Place -> its producers; an empty tuple if the leader knows no open transaction. Partitions that
        are unknown are left out.
    """
    by_leader: dict[Broker, list[Place]] = defaultdict(list)
    topics = {topic for topic, _ in places} & cluster.counts.keys()
    leaders = {topic: cluster.leaders(topic) for topic in topics}
    for topic, number in sorted(places):
        # A transaction may name a partition of a topic that this user may not see, or that is deleted by now.
        leader = leaders[topic][number] if number < len(leaders.get(topic, ())) else None
        if leader is None:
            what = f"the producers of {topic}-{number}: it has no leader"
            missing.append(Missing(what, "run it again when it has one"))
        else:
            by_leader[leader].append((topic, number))
    producers: dict[Place, tuple[OpenProducer, ...]] = {}
    for leader, mine in by_leader.items():
        try:
            producers |= _producers_of(leader, mine, cluster.config, missing)
        except SourceError as error:
            what = f"the producers at broker {leader.id}: {error}"
            missing.append(Missing(what, "run it again when that broker answers"))
    return producers


def _producers_of(
    broker: Broker, places: Sequence[Place], config: Mapping[str, str], missing: list[Missing]
) -> dict[Place, tuple[OpenProducer, ...]]:
    """Return what one leader reports of its partitions, as `_open_producers` does.

    A partition that the leader refuses is added to `missing`, with the right that this user lacks, or with
    the advice to run the command again.

    Raises:
        SourceError: the leader cannot be reached, or the whole request is refused.
    """
    numbers: dict[str, list[int]] = defaultdict(list)
    for topic, number in places:
        numbers[topic].append(number)
    topics = [
        compact_text(topic) + compact_array([struct.pack(">i", number) for number in mine]) + NO_TAGS
        for topic, mine in numbers.items()
    ]
    producers = {}
    with failures(), connect_to(broker.host, broker.port, config) as connection:
        answer = connection.request("DescribeProducers", compact_array(topics) + NO_TAGS)
    for topic in answer["topics"]:
        for partition in topic["partitions"]:
            place, error = (topic["name"], partition["number"]), partition["error"]
            if error:
                reason = _RIGHTS.get(error) or partition["message"] or f"error {error}"
                right = right_command(config, "Read", f"--topic {topic['name']}")
                remedy = right if error == _UNREADABLE else "run it again when its leader answers"
                missing.append(Missing(f"the producers of {place[0]}-{place[1]}: {reason}", remedy))
            else:
                # A leader also reports producers whose transactions have ended; their first offset is
                # negative.
                producers[place] = tuple(
                    OpenProducer(active["id"], active["epoch"], active["first_offset"], active["wrote_ms"])
                    for active in partition["producers"]
                    if active["first_offset"] >= 0
                )
    return producers


_SHOWN = 5
"""The most partitions that a sentence names."""
