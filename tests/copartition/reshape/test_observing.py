"""What is read of a topic, its transactions and its groups, on a real broker."""

import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from copartition.groups.live.cluster import Cluster
from copartition.reshape.observing import observe_topic
from copartition.reshape.plan import plan_reshape
from partitioning.errors import UnknownTopicError
from tests.support.broker import Kafka
from tests.support.waiting import GENEROUS_S, wait_for, wait_until

pytestmark = pytest.mark.broker


def producer(broker: Kafka, **settings: str) -> Producer:
    made = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random", **settings}
    )
    if "transactional.id" in settings:
        made.init_transactions(GENEROUS_S)
    return made


def write(writer: Producer, topic: str, count: int) -> None:
    for number in range(count):
        writer.produce(topic, b"value", key=b"user-%d" % number)
    assert writer.flush(GENEROUS_S) == 0


def test_a_topic_with_its_records_settings_and_readers(broker: Kafka) -> None:
    topic, group = broker.create_topic(4), uuid.uuid4().hex
    write(producer(broker), topic, 500)
    reader = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    reader.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)
    reader.close()

    seen = observe_topic(topic, f"{topic}.p8", {"bootstrap.servers": broker.bootstrap_servers})

    assert (seen.partitions, seen.replicas, seen.records, seen.target_partitions) == (4, 1, 500, None)
    assert seen.settings["cleanup.policy"] == "delete"
    assert seen.scattered.scattered == (0,)
    assert seen.scattered.keys == (500,)
    assert seen.sample.gaps == 0
    [own] = [found for found in seen.groups if found.name == group]
    # It has no commit for three partitions with records.
    assert (own.kind, own.commits, own.lag, own.members) == ("classic", {0: 3}, None, 0)
    assert not any(missing for missing in seen.missing if group in missing.what)


@pytest.mark.slow
@pytest.mark.parametrize("across", [False, True])
def test_transactions_are_seen_while_they_are_open(broker: Kafka, across: bool) -> None:
    topic, other, name = broker.create_topic(1), broker.create_topic(1), f"open-{uuid.uuid4().hex}"
    writer = producer(broker, **{"transactional.id": name})
    writer.begin_transaction()
    write(writer, topic, 20)
    writer.commit_transaction(GENEROUS_S)
    writer.begin_transaction()
    write(writer, topic, 5)
    if across:
        write(writer, other, 1)
    config = {"bootstrap.servers": broker.bootstrap_servers}
    during = observe_topic(topic, "target", config)
    writer.abort_transaction(GENEROUS_S)
    write(producer(broker), topic, 5)
    # Afterwards its markers show: one, the aborted records, and the second marker. The coordinator writes a
    # marker when it has already answered that the transaction is aborted.
    after = wait_for(
        lambda: observe_topic(topic, "target", config), lambda seen: seen.sample.gaps == 1 + 5 + 1
    )

    [found] = [transaction for transaction in during.transactions if transaction.id == name]
    assert found.topics == tuple(sorted({topic, other} if across else {topic}))
    # Records of the open transaction are not read.
    assert during.audit.coverage.read == 20
    weights = {reason.code: reason.weight for reason in plan_reshape(during, "t", 2, profile="java").reasons}
    assert weights["transactions"] == ("lost" if across else "told")
    reasons = {reason.code: reason.weight for reason in plan_reshape(after, "t", 2, profile="java").reasons}
    assert reasons["transactions"] == "open"


def test_an_unknown_topic_is_named_with_its_neighbours(broker: Kafka) -> None:
    topic = broker.create_topic(1)
    with pytest.raises(UnknownTopicError, match=f"did you mean {topic}"):
        observe_topic(topic[:-1], "target", {"bootstrap.servers": broker.bootstrap_servers})


def test_a_share_group_of_the_topic_is_named_and_one_of_another_topic_is_not(broker: Kafka) -> None:
    # The lowest version of confluent-kafka has no consumer of share groups; no live test runs with it.
    from tests.copartition.groups.captures.make_kinds import Sharer

    topic, group = broker.create_topic(2), f"shared-{uuid.uuid4().hex}"
    config = {"bootstrap.servers": broker.bootstrap_servers}
    sharer = Sharer(broker.bootstrap_servers, "sharer", group, topic)
    try:
        cluster = Cluster("test", config)
        wait_until(lambda: cluster.group_types().get(group) == "share")
        wait_until(lambda: group in {found.name for found in observe_topic(topic, "target", config).groups})
        other = observe_topic(broker.create_topic(1), "target", config)
    finally:
        sharer.stop()
    assert group not in {found.name for found in other.groups}
