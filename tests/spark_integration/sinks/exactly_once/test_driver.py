"""What the driver asks before a version, makes sure of after it, and leaves behind when it failed."""

import time
import uuid
from collections.abc import Callable
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)

from partitioning.clients.ledger import ledger_group, transactional_id
from partitioning.errors import (
    AccessError,
    BrokerUnreachableError,
    CopartitionError,
    InvalidConfigError,
    NotEnoughReplicasError,
    UnknownTopicError,
)
from spark_integration import (
    HalfWrittenError,
    LedgerAheadError,
    LedgerInUseError,
    LedgerMissingError,
    PartitionCountError,
    RerunDiffersError,
)
from spark_integration.sinks.exactly_once.driver import (
    begun_before,
    check_after,
    check_alone,
    look_up,
    place_for,
    prepare,
)
from spark_integration.sinks.exactly_once.half_done import fence
from spark_integration.sinks.exactly_once.target import Target
from spark_integration.sinks.exactly_once.writing import write_empty, write_partition
from tests.spark_integration.sinks.exactly_once.rows import batches, forget, next_version, target
from tests.support.broker import Kafka
from tests.support.reading import read_topic
from tests.support.secured import Secured, settings
from tests.support.waiting import GENEROUS_S, SOON_S, wait_for, wait_until

pytestmark = pytest.mark.needs("time")


@pytest.fixture
def first(broker: Kafka) -> Target:
    """Version 0 of a new application, on its way to a new topic of two partitions."""
    return target(broker.bootstrap_servers, broker.create_topic(2))


def write(version: Target, *partitions: int) -> None:
    for partition in partitions:
        write_partition(batches(range(3), partition), version, partition)


def test_a_version_is_in_when_all_partitions_have_it(first: Target) -> None:
    prepare(first)
    write(first, 0)
    with pytest.raises(HalfWrittenError, match="not in partition 1"):
        check_after(first)
    write(first, 1)
    check_after(first)
    prepare(first)
    prepare(next_version(first))


def test_a_version_that_some_partition_lacks_comes_before_the_next(first: Target) -> None:
    write(first, 0, 1)
    write(next_version(first), 0)
    with pytest.raises(HalfWrittenError, match="version 1 is not in partition 1"):
        prepare(next_version(next_version(first)))


def test_versions_that_do_not_follow_are_refused_before_any_task(first: Target) -> None:
    with pytest.raises(LedgerMissingError):
        prepare(next_version(first))
    write(next_version(replace(first, first_version=1)), 0, 1)
    with pytest.raises(LedgerAheadError):
        prepare(first)


def test_a_first_version_whose_ledger_is_gone_is_refused_before_any_task(first: Target) -> None:
    write(first, 0, 1)
    prepare(first)
    forget(first)
    with pytest.raises(LedgerMissingError, match="partition 0 has records"):
        prepare(first)
    prepare(replace(first, first_version=0))


def test_a_version_is_placed_as_it_was_before(broker: Kafka, first: Target) -> None:
    write(first, 0, 1)
    broker.grow_topic(first.topic, 5)
    assert place_for(first) == 2
    assert place_for(next_version(first)) == 5


def test_partitions_that_no_task_wrote_are_in_without_records(first: Target) -> None:
    prepare(first)
    write(first, 0)
    write_empty(first, [1])
    check_after(first)
    prepare(next_version(first))


def test_a_partition_that_an_attempt_before_wrote_does_not_end_without_records(first: Target) -> None:
    write(first, 0, 1)
    with pytest.raises(RerunDiffersError, match="all 3 records of partition 1 are in, and now it has 0"):
        write_empty(first, [1])


def test_a_version_of_which_a_part_is_in_ends_on_the_partitions_that_it_began_with(
    first: Target, broker: Kafka
) -> None:
    prepare(first)
    write(first, 1)  # not partition 0, by whose entry a task would know
    broker.grow_topic(first.topic, 3)
    write(prepare(first), 0, 1)
    check_after(first)
    write(prepare(replace(next_version(first), partitions=3)), 0, 1, 2)


def test_tasks_of_a_stream_finish_a_part_of_a_version_after_the_topic_has_grown(
    first: Target, broker: Kafka
) -> None:
    write(first, 1)
    broker.grow_topic(first.topic, 3)
    again = look_up(first)
    with pytest.raises(PartitionCountError, match="placed for 2 partitions, and the topic has 3"):
        write(again, 0)
    write(begun_before(again), 0, 1)
    check_after(first)
    with pytest.raises(PartitionCountError, match="placed for 2 partitions, and the topic has 3"):
        write(begun_before(next_version(again)), 0)


def test_a_version_of_which_nothing_is_in_is_placed_anew_for_a_topic_that_grew(
    first: Target, broker: Kafka
) -> None:
    prepare(first)
    broker.grow_topic(first.topic, 3)
    with pytest.raises(PartitionCountError, match="placed for 2 partitions, and the topic has 3"):
        prepare(first)


def test_a_topic_that_is_gone_is_named(first: Target, broker: Kafka) -> None:
    target = prepare(first)
    topics = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    topics.delete_topics([first.topic])[first.topic].result(GENEROUS_S)
    with pytest.raises(UnknownTopicError, match=f"no topic '{first.topic}' we may see"):
        write(target, 0)


def test_a_failed_write_holds_up_no_reader(first: Target) -> None:
    name = transactional_id(first.app_id, first.topic, 1)
    servers = {"bootstrap.servers": first.config["bootstrap.servers"]}
    # The broker ends its transaction after this time at the latest.
    dead = Producer({**servers, "transactional.id": name, "transaction.timeout.ms": round(GENEROUS_S * 1000)})
    dead.init_transactions(GENEROUS_S)
    dead.begin_transaction()
    dead.produce(first.topic, b"never", partition=1)
    dead.flush()
    write_partition(batches(range(3)), first, 0)
    fence(first, [1])
    begun = time.monotonic()
    write_partition(batches([7], 1), first, 1)
    read = read_topic(first.config["bootstrap.servers"], first.topic)
    assert sorted(record.value or b"" for record in read) == [b"0", b"1", b"2", b"7"]
    assert time.monotonic() - begun < SOON_S


def test_a_group_with_members_is_no_ledger(first: Target) -> None:
    servers = first.config["bootstrap.servers"]
    member = Consumer({"bootstrap.servers": servers, "group.id": ledger_group(first.app_id)})
    try:
        member.subscribe([first.topic])
        wait_until(member.assignment, lambda: member.poll(0.1))
        for check in (prepare, check_alone):
            with pytest.raises(LedgerInUseError, match="in which 1 consumers are"):
                check(first)
        member.commit(offsets=[TopicPartition(first.topic, 1, 5)], asynchronous=False)
    finally:
        member.close()
    with pytest.raises(LedgerInUseError, match=r"partition 1: offset 5 with metadata .* is no entry"):
        prepare(first)
    with pytest.raises(LedgerInUseError, match="partition 1"):
        write(first, 1)


def test_a_cluster_that_says_no_says_why(broker: Kafka) -> None:
    with pytest.raises(UnknownTopicError, match="no topic 'nowhere'"):
        target(broker.bootstrap_servers, "nowhere")
    long = {"kafka.transaction.timeout.ms": "2000000"}
    with pytest.raises(InvalidConfigError, match=r"above the brokers' transaction\.max\.timeout\.ms"):
        prepare(target(broker.bootstrap_servers, broker.create_topic(1), **long))
    with pytest.raises(InvalidConfigError, match="librdkafka refuses"):
        target(broker.bootstrap_servers, "t", **{"kafka.linger.ms": "soon"})


def test_a_topic_with_too_few_replicas_in_sync_is_named(broker: Kafka) -> None:
    topic = broker.create_topic(2)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    entry = ConfigEntry("min.insync.replicas", "2", incremental_operation=AlterConfigOpType.SET)
    change = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([change])[change].result()

    def least_in_sync() -> str:
        described = admin.describe_configs([change], request_timeout=SOON_S)[change].result()
        return str(described["min.insync.replicas"].value)

    # The answer comes before the broker that is asked has taken over the change.
    wait_for(least_in_sync, lambda least: least == "2")
    with pytest.raises(NotEnoughReplicasError, match=r"2 replicas in sync .* and partition 0, 1 has fewer"):
        target(broker.bootstrap_servers, topic)


@pytest.mark.live
def test_brokers_that_are_not_there_are_named() -> None:
    with pytest.raises(BrokerUnreachableError, match=r"'nobody\.invalid:9092'"):
        target("nobody.invalid:9092", "t")


def allow(secured: Secured, kind: ResourceType, name: str, *operations: AclOperation) -> None:
    admin = AdminClient({"bootstrap.servers": secured.admin_servers})
    pattern, allowed = ResourcePatternType.PREFIXED, AclPermissionType.ALLOW
    for operation in operations:
        binding = AclBinding(kind, name, pattern, "User:writer", "*", operation, allowed)
        for done in admin.create_acls([binding]).values():
            done.result()


def test_each_permission_that_is_missing_is_named(secured: Secured) -> None:
    app_id = uuid.uuid4().hex
    user = {f"kafka.{name}": value for name, value in settings(secured).items()}
    # A topic of its own: others leave records in the shared one, and a second try would find its rights.
    topic = Kafka(secured.admin_servers).create_topic(2)
    allow(secured, ResourceType.TOPIC, topic, AclOperation.WRITE)

    def assert_refused(message: str, call: Callable[[Target], object] = prepare) -> None:
        with pytest.raises(AccessError, match=message):
            call(target(secured.servers, topic, app_id=app_id, **user))

    assert_refused("allow Write, Read and Describe on it")
    allow(secured, ResourceType.TOPIC, topic, AclOperation.READ)
    assert_refused(f"allow Read and Describe on group 'copartition/{app_id}'")
    allow(secured, ResourceType.GROUP, f"copartition/{app_id}", AclOperation.DESCRIBE)
    assert_refused(f"allow Read and Describe on group 'copartition/{app_id}'")
    allow(secured, ResourceType.GROUP, f"copartition/{app_id}", AclOperation.READ)
    assert_refused(f"transactional ids with the prefix 'copartition/{app_id}/'")
    assert_refused("allow Write and Describe on transactional ids", lambda found: write(found, 0))
    operations = AclOperation.WRITE, AclOperation.DESCRIBE
    allow(secured, ResourceType.TRANSACTIONAL_ID, f"copartition/{app_id}/", *operations)
    allowed = prepare(target(secured.servers, topic, app_id=app_id, **user))
    write(allowed, 0, 1)
    check_after(allowed)


def test_no_error_shows_a_password(secured: Secured) -> None:
    user = {f"kafka.{name}": value for name, value in settings(secured).items()}
    with pytest.raises(CopartitionError) as caught:
        prepare(target(secured.servers, secured.closed, **user))
    assert "writers" not in str(caught.value)
    assert "writers" not in repr(target(secured.admin_servers, secured.open))
