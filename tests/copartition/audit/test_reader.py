import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import numpy as np
import pytest
from confluent_kafka import OFFSET_END, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from copartition.audit import reader, topic_state
from copartition.audit.cluster import audit_topic
from copartition.audit.reader import Messages, TopicReading
from copartition.audit.topic_audit import Records, Selection
from partitioning import partition_batch
from partitioning.errors import (
    BrokerUnreachableError,
    InvalidConfigError,
    TopicAccessError,
    TopicChangedError,
    UnknownTopicError,
)
from partitioning.testing.mock_cluster import MockCluster
from tests.support.broker import Kafka, free_ports
from tests.support.secured import Secured, settings
from tests.support.tiers import sample
from tests.support.waiting import GENEROUS_S, wait_for

KEYS = [b"user-%d" % number for number in range(600)]


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Do not wait for what the mock cluster never answers."""
    if "mocked" in request.fixturenames:
        monkeypatch.setattr(topic_state, "ASIDE_S", 0.05)


def written(servers: str, topic: str, keys: list[bytes | None], **config: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "partitioner": "murmur2_random", **config})
    for key in keys:
        producer.produce(topic, b"value", key)
    assert producer.flush(GENEROUS_S) == 0


def read(topic: str, servers: str, *selection: Selection) -> tuple[list[Records], reader.TopicReading]:
    with TopicReading(topic, {"bootstrap.servers": servers}, *selection) as found:
        return list(found), found


def keys_of(batches: list[Records]) -> list[bytes | None]:
    return [key for batch in batches for key in batch.keys]


@pytest.fixture
def mocked(mock_cluster: MockCluster) -> Iterator[Callable[[list[bytes | None]], tuple[str, str]]]:
    """A new topic of 4 partitions of the mock cluster, with records of these keys."""

    def make(keys: list[bytes | None]) -> tuple[str, str]:
        topic = f"topic-{uuid.uuid4().hex[:12]}"
        mock_cluster.create_topic(topic, 4)
        written(mock_cluster.bootstrap_servers, topic, keys)
        return topic, mock_cluster.bootstrap_servers

    return make


def test_a_small_topic_is_read_as_a_whole(mocked) -> None:
    batches, found = read(*mocked([*KEYS, None, b""]))
    assert sorted(keys_of(batches), key=repr) == sorted([*KEYS, None, b""], key=repr)
    assert (found.coverage.kind, found.coverage.read, found.coverage.present) == ("full", 602, 602)
    assert found.coverage.partitions == (0, 1, 2, 3)


def test_records_are_where_they_were_written(mocked) -> None:
    batches, _ = read(*mocked([*KEYS]))
    for batch in batches:
        assert batch.partition.tolist() == partition_batch(batch.keys, 4).tolist()
        for partition in range(4):
            own = batch.offset[batch.partition == partition]
            assert own.tolist() == [*range(len(own))]


def test_the_end_is_where_it_was_when_reading_began(mocked) -> None:
    topic, servers = mocked([*KEYS])
    with TopicReading(topic, {"bootstrap.servers": servers}) as found:
        written(servers, topic, [b"late"] * 50)
        assert sorted(map(repr, keys_of(list(found)))) == sorted(map(repr, KEYS))


def test_the_last_offsets_of_each_partition(mocked) -> None:
    batches, found = read(*mocked([*KEYS]), Selection(last=10))
    assert (len(keys_of(batches)), found.coverage.kind) == (40, "last")
    assert found.coverage.text.startswith("the last 10 offsets of each of 4 partitions; assumed, ")


def test_some_partitions(mocked) -> None:
    batches, found = read(*mocked([*KEYS]), Selection(partitions=(3, 1)))
    assert {*np.concatenate([batch.partition for batch in batches]).tolist()} == {1, 3}
    assert (found.coverage.kind, found.coverage.partitions) == ("partitions", (1, 3))
    assert found.coverage.text.startswith("every record in 2 of 4 partitions; assumed, ")


def test_a_topic_without_records_ends_at_once(mocked) -> None:
    batches, found = read(*mocked([]))
    assert (batches, found.coverage.read, found.coverage.present) == ([], 0, 0)


def test_a_sample_looks_at_spots_and_says_so(mocked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SAMPLE_ALL", 100)
    monkeypatch.setattr(reader, "SAMPLE_ROWS", 20)
    monkeypatch.setattr(reader, "FEWEST_AT_SPOT", 5)
    batches, found = read(*mocked([*KEYS]))
    assert (len(keys_of(batches)), found.coverage.kind) == (9 * 20, "sample")
    assert "180 records at up to 9 spots of each of 4 partitions" in found.coverage.text
    rows = {
        (p, o)
        for batch in batches
        for p, o in zip(batch.partition.tolist(), batch.offset.tolist(), strict=True)
    }
    assert len(rows) == 180  # none twice
    ends = np.bincount(partition_batch(KEYS, 4)).tolist()
    assert {(p, o) for p, end in enumerate(ends) for o in (0, end - 1)} <= rows


def test_an_unknown_topic_is_told_with_names_near_it(mocked) -> None:
    topic, servers = mocked([])
    with pytest.raises(UnknownTopicError, match=f"no topic '{topic[:-1]}'; did you mean {topic}"):
        read(topic[:-1], servers)


@pytest.mark.parametrize(
    ("selection", "match"),
    [
        ({"partitions": (4,)}, "has no partition 4: it has 0 to 3"),
        ({"partitions": ()}, "no partitions are selected"),
        ({"last": 0}, "at least 1 offset"),
        ({"since_ms": -1}, "milliseconds since 1970"),
        ({"full": True, "last": 1}, "one at most"),
    ],
)
def test_a_selection_of_nothing_is_refused(mocked, selection: dict[str, object], match: str) -> None:
    with pytest.raises(InvalidConfigError, match=match):
        read(*mocked([]), Selection(**selection))  # type: ignore[arg-type]


@pytest.mark.live
def test_a_broker_that_is_down_is_told_at_once() -> None:
    [port] = free_ports(1)
    with pytest.raises(
        BrokerUnreachableError, match=f"'orders': no broker answers at 127.0.0.1:{port}.*refused"
    ):
        read("orders", f"127.0.0.1:{port}")


def test_a_tls_mismatch_is_told_by_name(mocked) -> None:
    topic, servers = mocked([])
    with pytest.raises(BrokerUnreachableError, match=r"the broker speaks no TLS.*: try PLAINTEXT"):
        TopicReading(topic, {"bootstrap.servers": servers, "security.protocol": "ssl"})


@pytest.mark.parametrize("config", [{}, {"bootstrap.servers": "localhost:1", "no.such.setting": "1"}])
def test_settings_that_name_no_cluster_are_refused(config: dict[str, str]) -> None:
    with pytest.raises(InvalidConfigError):
        TopicReading("orders", config)


def test_large_messages_are_asked_for_a_few_at_a_time(mock_cluster: MockCluster) -> None:
    class Large:
        def __len__(self) -> int:
            return 1 << 20

        def key(self) -> bytes:
            return b"k"

    messages = Messages(np.zeros(1, np.int64))
    messages._adapt([Large()] * 5)  # type: ignore[list-item]
    assert messages.next_count == 15


@pytest.mark.broker
def test_compacted_topics_tombstones_and_transactions_are_no_surprise(broker: Kafka) -> None:
    servers, topic = broker.bootstrap_servers, f"copartition-compacted-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": servers})
    compacted = NewTopic(topic, 3, 1, config={"cleanup.policy": "compact"})
    admin.create_topics([compacted])[topic].result()
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "partitioner": "murmur2_random",
            "transactional.id": topic,
            "log_level": 0,
        }
    )
    producer.init_transactions(30)
    for aborted in (False, True):
        producer.begin_transaction()
        for key in KEYS[:300] if aborted else KEYS:
            producer.produce(topic, None if key.endswith(b"7") else b"v", key)
        assert producer.flush(GENEROUS_S) == 0  # else what is aborted was never sent
        producer.abort_transaction(30) if aborted else producer.commit_transaction(30)
    for committed, rows in ((True, 600), (False, 900)):
        audit = audit_topic(topic, {"bootstrap.servers": servers}, Selection(committed=committed))
        assert (audit.certainty, audit.coverage.read, audit.compacted) == ("sure", rows, True)
        assert ("aborted transactions wrote is left out" in audit.coverage.text) == committed
    admin.delete_topics([topic])[topic].result()


@pytest.mark.broker
def test_records_since_a_time(broker: Kafka) -> None:
    servers, topic = broker.bootstrap_servers, broker.create_topic(2)
    producer = Producer({"bootstrap.servers": servers, "partitioner": "murmur2_random"})
    for number, key in enumerate(KEYS):
        producer.produce(topic, b"v", key, timestamp=1_700_000_000_000 + number)
    producer.flush(GENEROUS_S)
    batches, found = read(topic, servers, Selection(since_ms=1_700_000_000_000 + 500))
    assert {*keys_of(batches)} == {*KEYS[500:]}
    assert found.coverage.kind == "since"
    assert read(topic, servers, Selection(since_ms=1_800_000_000_000))[0] == []


@pytest.mark.broker
def test_no_group_and_no_topic_comes_of_it(broker: Kafka) -> None:
    servers, topic = broker.bootstrap_servers, broker.create_topic(2)
    written(servers, topic, [*KEYS])
    read(topic, servers)
    with pytest.raises(UnknownTopicError):
        read("copartition-nowhere", servers)
    admin = AdminClient({"bootstrap.servers": servers})
    groups = admin.list_consumer_groups(request_timeout=GENEROUS_S).result().valid
    assert "copartition-audit" not in {group.group_id for group in groups}
    assert "copartition-nowhere" not in admin.list_topics(timeout=GENEROUS_S).topics


@pytest.mark.broker
def test_a_topic_that_grows_meanwhile_is_said_to(broker: Kafka) -> None:
    servers, topic = broker.bootstrap_servers, broker.create_topic(2)
    written(servers, topic, [*KEYS])
    with TopicReading(topic, {"bootstrap.servers": servers}) as found:
        broker.grow_topic(topic, 5)
        assert len(keys_of(list(found))) == 600
        assert found.num_partitions == 2
        assert "grew from 2 to 5 partitions meanwhile" in found.coverage.text
        assert found.coverage.kind == "partitions"


def shown_id(admin: AdminClient, topic: str) -> str | None:
    """The id of a topic as the broker has it; None if it has none of that name."""
    answer = admin.describe_topics(TopicCollection([topic]), request_timeout=GENEROUS_S)[topic]
    refusal = answer.exception()
    if isinstance(refusal, KafkaException) and refusal.args[0].name() == "UNKNOWN_TOPIC_OR_PART":
        return None
    return str(answer.result().topic_id)


def test_who_cannot_be_asked_whether_it_is_the_same_topic_gives_no_verdict(mocked) -> None:
    topic, servers = mocked([*KEYS])
    with TopicReading(topic, {"bootstrap.servers": servers}) as found:
        silence: Future[None] = Future()
        silence.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        found._state.id = "known when reading began"
        found._state._describe = lambda *_: silence  # type: ignore[method-assign]
        with pytest.raises(BrokerUnreachableError, match=f"topic '{topic}': .*[Tt]imed out; try again"):
            list(found)


@pytest.mark.broker
@pytest.mark.parametrize(("again", "said"), [(False, "was deleted"), (True, "was recreated")])
def test_a_topic_that_goes_meanwhile_gives_no_verdict(broker: Kafka, again: bool, said: str) -> None:
    servers = broker.bootstrap_servers
    topic = f"copartition-gone-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, 2, 1)])[topic].result()
    written(servers, topic, [*KEYS])
    with TopicReading(topic, {"bootstrap.servers": servers}) as found:
        admin.delete_topics([topic])[topic].result()
        if again:
            admin.create_topics([NewTopic(topic, 2, 1)])[topic].result()
        # The controller has done it; until the broker has heard of that, it shows and serves the old topic.
        wait_for(lambda: shown_id(admin, topic), lambda now: now != found._state.id and (now or not again))
        if again:
            written(servers, topic, [*KEYS])
        with pytest.raises(TopicChangedError, match=said):
            list(found)
    if again:
        admin.delete_topics([topic])[topic].result()


@pytest.mark.broker
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("which", "right"), sample([("closed", "READ"), ("hidden", "DESCRIBE")], before_ci=2)
)
def test_the_right_that_is_missing_is_named(secured: Secured, which: str, right: str) -> None:
    topic = getattr(secured, which)
    written(secured.admin_servers, topic, [*KEYS])
    with (
        pytest.raises(TopicAccessError, match=f"needs {right} on the topic"),
        TopicReading(topic, settings(secured)) as found,
    ):
        list(found)
    # Other tests of this broker want the topic without records.
    admin = AdminClient({"bootstrap.servers": secured.admin_servers})
    everything = [TopicPartition(topic, partition, OFFSET_END) for partition in range(2)]
    for done in admin.delete_records(everything).values():
        done.result()
