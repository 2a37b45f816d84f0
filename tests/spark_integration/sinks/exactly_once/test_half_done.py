"""Transactions that brokers forgot to end: aborted where nobody can have read them, left alone elsewhere."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from partitioning.clients.ledger import Entry, ledger_group, transactional_id
from partitioning.errors import DeliveryError
from spark_integration.sinks.exactly_once import driver
from spark_integration.sinks.exactly_once.driver import check_after, prepare
from spark_integration.sinks.exactly_once.faults import check_readable
from spark_integration.sinks.exactly_once.half_done import fence
from spark_integration.sinks.exactly_once.target import Content, Target
from spark_integration.sinks.exactly_once.writing import write_partition
from tests.spark_integration.sinks.exactly_once.rows import batches, next_version, target
from tests.support.broker import Broker, Kafka
from tests.support.half_done import UNVERIFIED, leave_half_done
from tests.support.reading import read_topic
from tests.support.waiting import GENEROUS_S

pytestmark = pytest.mark.needs("time")


@pytest.fixture(scope="module")
def unverified() -> Iterator[Kafka]:
    with Broker(UNVERIFIED) as broker:
        kafka = Kafka(broker.bootstrap_servers)
        kafka.create_coordinators(1)
        yield kafka


@pytest.fixture
def version(unverified: Kafka) -> Target:
    """Version 0 of a new application, on its way to a new topic of one partition."""
    return target(unverified.bootstrap_servers, unverified.create_topic(1))


@pytest.fixture
def half_done(version: Target) -> Target:
    """The same, of which a transaction with two records and an entry of the ledger is half done."""
    leave(version, [b"0", b"1"])
    return version


def leave(version: Target, values: Sequence[bytes], *, with_entry: bool = True) -> None:
    leave_half_done(
        version.config["bootstrap.servers"],
        transactional_id(version.app_id, version.topic, 0),
        ledger_group(version.app_id) if with_entry else None,
        version.topic,
        values,
    )


def read(of: Target) -> list[bytes | None]:
    return [record.value for record in read_topic(of.config["bootstrap.servers"], of.topic)]


def committed(of: Target) -> Sequence[TopicPartition]:
    """What an admin client learns about the ledger."""
    group = ledger_group(of.app_id)
    admin = AdminClient({"bootstrap.servers": of.config["bootstrap.servers"]})
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(of.topic, 0)])
    answer = admin.list_consumer_group_offsets([asked], require_stable=True)[group].result()
    places: Sequence[TopicPartition] = answer.topic_partitions
    return places


def readable_end(of: Target) -> int:
    """The end of the partition for readers of committed records."""
    with reader(of, "reader") as committed_only:
        return committed_only.get_watermark_offsets(TopicPartition(of.topic, 0), timeout=GENEROUS_S)[1]


@contextmanager
def reader(of: Target, group: str) -> Iterator[Consumer]:
    consumer = Consumer({"bootstrap.servers": of.config["bootstrap.servers"], "group.id": group})
    try:
        yield consumer
    finally:
        consumer.close()


@pytest.mark.slow
@pytest.mark.live
def test_readers_stand_still_before_it(half_done: Target) -> None:
    assert readable_end(half_done) == 0


@pytest.mark.live
def test_a_task_ends_it_and_writes_its_rows_once(half_done: Target) -> None:
    write_partition(batches(range(4)), half_done, 0)
    assert read(half_done) == [b"0", b"1", b"2", b"3"]
    check_after(half_done)


@pytest.mark.live
def test_a_task_that_needs_the_first_partitions_entry_ends_it_there(unverified: Kafka) -> None:
    version = target(unverified.bootstrap_servers, unverified.create_topic(2))
    leave(version, [b"0", b"1"])
    write_partition(batches(range(4), partition=1), version, 1)
    assert readable_end(version) > 2
    assert read(version) == [b"0", b"1", b"2", b"3"]


@pytest.mark.live
@pytest.mark.parametrize("versions", [0, 1])
def test_records_that_the_ledger_dropped_are_not_committed_with_the_next(
    version: Target, versions: int
) -> None:
    if versions:
        write_partition(batches(range(4)), version, 0)
        version = next_version(version)
    leave(version, [b"4", b"5"], with_entry=False)
    write_partition(batches(range(4, 6)), version, 0)
    assert read(version) == [b"0", b"1", b"2", b"3", b"4", b"5"][-2 - 4 * versions :]


@pytest.mark.live
def test_records_that_the_ledger_knows_of_are_committed_with_the_next(version: Target) -> None:
    leave(version, [b"0", b"1"], with_entry=False)
    content = Content()
    for batch in batches(range(2)):
        content.add(batch)
    entry = Entry(0, 2, content.digest(), False, 1, 0, version.topic_id, since=0, added=2)
    with reader(version, ledger_group(version.app_id)) as group:
        group.commit(
            offsets=[TopicPartition(version.topic, 0, 0, metadata=entry.metadata())], asynchronous=False
        )
    write_partition(batches(range(4)), version, 0)
    assert read(version) == [b"0", b"1", b"2", b"3"]


@pytest.mark.live
def test_a_driver_that_gives_up_leaves_no_reader_waiting(half_done: Target) -> None:
    fence(half_done, [0])
    assert readable_end(half_done) > 2
    assert read(half_done) == []


@pytest.mark.live
def test_a_driver_ends_it_before_it_reads_the_ledger(half_done: Target) -> None:
    prepare(half_done)
    assert readable_end(half_done) > 2


@pytest.mark.live
def test_an_entry_is_ended_beside_a_partition_without_more_records(version: Target) -> None:
    write_partition(batches(range(4)), version, 0)
    leave(version, [])
    write_partition(batches(range(4)), version, 0)
    write_partition(batches(range(4, 6)), next_version(version), 0)
    assert read(version) == [b"0", b"1", b"2", b"3", b"4", b"5"]


@pytest.mark.live
def test_an_entry_is_left_alone_beside_fewer_records_than_it_knows_of(version: Target) -> None:
    write_partition(batches(range(4)), version, 0)
    leave(version, [])
    admin = AdminClient({"bootstrap.servers": version.config["bootstrap.servers"]})
    for deleted in admin.delete_records([TopicPartition(version.topic, 0, 2)]).values():
        deleted.result()
    fence(version, [0])
    with pytest.raises(KafkaException, match="unstable offsets"):
        check_readable(committed(version))


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.parametrize("entries", [0, 1])
def test_an_entry_is_left_alone_where_its_records_may_be_in(
    version: Target, monkeypatch: pytest.MonkeyPatch, entries: int
) -> None:
    monkeypatch.setattr(driver, "_SLACK_S", -8.0)  # of the 9 s that a transaction may take
    if entries:
        write_partition(batches(range(4)), version, 0)
    leave(version, [])
    somebody = Producer({"bootstrap.servers": version.config["bootstrap.servers"]})
    somebody.produce(version.topic, b"more", partition=0)
    somebody.flush(GENEROUS_S)
    with pytest.raises(DeliveryError, match="a transaction of the ledger open that nobody has"):
        prepare(version)
    assert read(version) == [b"0", b"1", b"2", b"3", b"more"][-1 - 4 * entries :]
