"""Groups of a real broker."""

import socket
import uuid

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from assignors.diff import diff
from assignors.errors import SourceError
from assignors.sources import read_live
from tests.assignors.sources.worker import read_or_nobody, settings, wait_for


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_live_group_shows_members_partitions_and_what_nobody_has(broker, workers, protocol):
    topic, group = broker.create_topic(4), f"live-{uuid.uuid4()}"
    for number in range(2):
        workers(group, topic, f"worker-{number}", **{"group.protocol": protocol})

    def settled(found):
        owned = found[0].member >= 0
        return len(found[0].members) == 2 and owned.all() and len(set(found[0].member.tolist())) == 2

    state, target = wait_for(lambda: read_or_nobody(group, broker), settled)
    assert state.topics == (topic,)
    assert sorted(state.partition.tolist()) == [0, 1, 2, 3]
    assert {member.client_id for member in state.members} == {"worker-0", "worker-1"}
    assert (state.name, state.complete) == (group, True)
    assert (target is None) is (protocol == "classic")
    assert target is None or diff(state, target).same


def test_a_kip_848_group_on_its_way_shows_its_target(broker, workers):
    topic, group = broker.create_topic(4), f"live-{uuid.uuid4()}"
    new = {"group.protocol": "consumer"}
    first = workers(group, topic, "first", **new)
    wait_for(lambda: read_or_nobody(group, broker)[0], lambda state: (state.member >= 0).sum() == 4)
    first.still.set()
    workers(group, topic, "second", **new)
    current, target = wait_for(
        lambda: read_live(group, settings(broker)),
        lambda found: found[1] is not None and len(set(found[1].member.tolist())) == 2,
    )
    assert diff(current, target, match="member-id").summary.moved == 2


def test_lag_is_what_was_not_committed(broker):
    topic, group = broker.create_topic(2), f"live-{uuid.uuid4()}"
    producer = Producer(settings(broker))
    for _ in range(5):
        producer.produce(topic, b"x", partition=1)
    assert producer.flush(10) == 0
    admin = AdminClient(settings(broker))
    committed = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 1, 2)])
    admin.alter_consumer_group_offsets([committed])[group].result()
    state, _ = read_live(group, settings(broker))
    assert state.lag.tolist() == [-1, 3]
    assert (state.members, state.status) == ((), "Empty")
    assert state.warnings == ("the group is empty, what it has may not last",)


def test_a_group_that_does_not_exist_is_refused(broker):
    with pytest.raises(SourceError, match="live:no-such-group: the cluster has no such group"):
        read_live("no-such-group", settings(broker))


def test_a_broker_that_does_not_answer_is_named_within_seconds():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: refuses, and nobody else gets the port
        server = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SourceError, match=f"live:billing: no broker answers at {server}"):
            read_live("billing", {"bootstrap.servers": server})


def test_a_setting_that_librdkafka_does_not_know_is_named():
    with pytest.raises(SourceError, match='No such configuration property: "acsk"'):
        read_live("billing", {"bootstrap.servers": "localhost:9", "acsk": "1"})
