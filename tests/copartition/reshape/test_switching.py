"""Ends, commits and last records at the switch, on a real broker."""

import uuid

import pytest
from confluent_kafka import Consumer, Producer

from copartition.groups.live.cluster import Cluster
from copartition.reshape.switch import HEADER
from copartition.reshape.switching import (
    check_target,
    committed_groups,
    look_at_ends,
    moved_writers,
    remove_commits,
)
from partitioning.errors import ReshapeError, SourceError
from tests.support.broker import Kafka
from tests.support.waiting import GENEROUS_S

pytestmark = pytest.mark.broker


def config(broker: Kafka) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers}


def cluster(broker: Kafka) -> Cluster:
    return Cluster("test", config(broker))


def write(broker: Kafka, topic: str, partition: int, *, copied: bool, name: str | None = None) -> None:
    """Write a record as the copy does, or as another writer; in a transaction of its own if it has a name."""
    settings = config(broker) | ({"transactional.id": name} if name else {})
    producer = Producer(settings)
    if name:
        producer.init_transactions(GENEROUS_S)
        producer.begin_transaction()
    producer.produce(topic, b"value", partition=partition, headers=[(HEADER, b"0:0")] if copied else None)
    assert producer.flush(GENEROUS_S) == 0
    if name:
        producer.commit_transaction(GENEROUS_S)


def test_positions_are_committed_and_removed_again(broker: Kafka) -> None:
    topic, group, own = broker.create_topic(3), uuid.uuid4().hex, cluster(broker)
    own.commit(group, topic, {0: 4, 2: 7})
    assert committed_groups(own, topic) == {group: {0: 4, 2: 7}}
    remove_commits(own, group, topic, [2])
    assert committed_groups(own, topic, [group]) == {group: {0: 4}}
    remove_commits(own, group, topic, [0])
    assert committed_groups(own, topic) == {}


def test_a_group_with_members_takes_no_positions_and_keeps_its_own(broker: Kafka) -> None:
    topic, group = broker.create_topic(1), uuid.uuid4().hex
    member = Consumer(config(broker) | {"group.id": group, "auto.offset.reset": "earliest"})
    member.subscribe([topic])
    while not member.assignment():
        member.poll(0.1)
    member.poll(0.1)
    with pytest.raises(SourceError):
        cluster(broker).commit(group, topic, {0: 4})
    with pytest.raises(SourceError, match="still subscribes to the topic"):
        remove_commits(cluster(broker), group, topic, [0])
    member.close()


def test_a_writer_has_moved_where_the_last_record_is_none_of_the_copy(broker: Kafka) -> None:
    topic = broker.create_topic(4)
    for partition in (0, 1, 2):
        write(broker, topic, partition, copied=True, name=f"copy-{topic}-{partition}")
    assert moved_writers(topic, config(broker)) == []
    write(broker, topic, 1, copied=False)
    assert moved_writers(topic, config(broker)) == [1]


def test_a_tail_of_markers_only_is_read_further_back(broker: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copartition.reshape.switching._FIRST_TAIL", 1)
    topic = broker.create_topic(1)
    write(broker, topic, 0, copied=False, name=f"writer-{topic}")
    # Its last offset is the marker.
    assert look_at_ends(topic, config(broker)).ends == {0: 2}
    assert moved_writers(topic, config(broker)) == [0]


def test_the_new_topic_must_be_there_with_its_count(broker: Kafka) -> None:
    topic = broker.create_topic(2)
    check_target(cluster(broker), topic, topic, 2)
    with pytest.raises(ReshapeError, match="has 2 partitions, not 3"):
        check_target(cluster(broker), topic, topic, 3)
    with pytest.raises(ReshapeError, match="--create --topic nowhere --partitions 3 --replication-factor 1"):
        check_target(cluster(broker), topic, "nowhere", 3)
