"""Groups of a real broker."""

import base64
import socket
import uuid

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from assignors.state import UNKNOWN_LAG
from copartition.assignment_diff import Joiner, WhatIf, diff, plan, read_pair
from copartition.groups import parse_snapshot, read_live, snapshot_bytes
from partitioning.errors import SourceError
from tests.copartition.groups.worker import read_or_nobody, settings, wait_for_group
from tests.support.waiting import GENEROUS_S, wait_for


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
    assert (state.protocol, state.status) == (protocol, "Stable")
    admin = AdminClient(settings(broker))
    known = admin.describe_topics(TopicCollection([topic]))[topic].result().topic_id
    assert base64.b64encode(state.topic_ids[0].bytes).decode().rstrip("=") == str(known)
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
    assert (current.status, current.strategy) == ("Reconciling", "uniform")


def test_a_group_on_its_way_is_planned_from_its_target(broker, workers):
    topic, group = broker.create_topic(4), f"live-{uuid.uuid4()}"
    new = {"group.protocol": "consumer"}
    first = workers(group, topic, "first", **new)
    wait_for(lambda: read_or_nobody(group, broker)[0], lambda state: (state.member >= 0).sum() == 4)
    first.still.set()
    workers(group, topic, "second", **new)
    wait_for(
        lambda: read_live(group, settings(broker)),
        lambda found: found[1] is not None and len(set(found[1].member.tolist())) == 2,
    )
    pair = read_pair(f"live:{group}", "plan:current", config=settings(broker))
    target = read_live(group, settings(broker))[1]
    assert diff(target, pair.after, match="member-id").same
    assert diff(pair.before, pair.after, match="member-id").summary.moved == 2


OWN_RULE = "librdkafka leads, so its own 'cooperative-sticky' decides, 'librdkafka-cooperative-sticky' here"
JAVAS_RACKS = "racks count as for Java's 'range'; for librdkafka they do otherwise"


@pytest.mark.parametrize(
    ("strategy", "notes"),
    [("range", ((), (JAVAS_RACKS,))), ("roundrobin", ((), ())), ("cooperative-sticky", ((OWN_RULE,), ()))],
)
def test_a_classic_group_tells_what_its_members_asked_for(broker, workers, strategy, notes):
    topics, group = [broker.create_topic(4) for _ in range(2)], f"live-{uuid.uuid4()}"
    config = {"partition.assignment.strategy": strategy, "client.rack": "r1"}
    workers(group, topics, "both", **config)
    workers(group, topics[0], "one", **config)
    state, _ = wait_for(
        lambda: read_or_nobody(group, broker),
        lambda found: len(set(found[0].member.tolist()) - {-1}) == 2 and (found[0].member >= 0).all(),
    )
    told = {member.client_id: (member.topics, member.rack) for member in state.members}
    assert told == {"both": (tuple(sorted(topics)), "r1"), "one": ((topics[0],), "r1")}
    assert (state.strategy, state.racks) == (strategy, ((("rack0",),) * 4,) * 2)
    again = plan(state, "current")
    assert diff(state, again, match="member-id").same
    assert (again.warnings, again.assumed) == notes


def test_a_group_in_which_a_client_decided_as_java_would_not_is_said(broker, workers):
    """librdkafka's "range" does not put static members first where not all are static."""
    topic, group = broker.create_topic(4), f"live-{uuid.uuid4()}"
    workers(group, topic, "dynamic", **{"partition.assignment.strategy": "range"})
    workers(group, topic, "c", **{"partition.assignment.strategy": "range", "group.instance.id": "static"})
    state, _ = wait_for(
        lambda: read_or_nobody(group, broker),
        lambda found: len(set(found[0].member.tolist())) == 2 and (found[0].member >= 0).all(),
    )
    [said] = plan(state, "current").warnings
    assert said.startswith("asked again with nothing changed, 'range' would move 4 partitions")


def test_a_plan_that_was_kept_is_what_comes_of_it(broker, workers):
    topic, group = broker.create_topic(5), f"live-{uuid.uuid4()}"
    range_ = {"partition.assignment.strategy": "range"}
    workers(group, topic, "a", **range_)
    workers(group, topic, "c", **range_)

    def settled(members):
        return wait_for(
            lambda: read_or_nobody(group, broker)[0],
            lambda state: len(set(state.member.tolist())) == members and (state.member >= 0).all(),
        )

    made = plan(settled(2), "current", WhatIf(joining=(Joiner("b"),)))
    assert made.assumed == ()
    kept, _ = parse_snapshot(snapshot_bytes(made))
    workers(group, topic, "b", **range_)
    assert diff(kept, settled(3)).same


@pytest.mark.parametrize(("assignor", "name"), [("uniform", "uniform"), ("range", "broker-range")])
def test_a_topic_of_a_kip_848_group_grows_as_planned(broker, workers, assignor, name):
    topics, group = [broker.create_topic(3) for _ in range(3)], f"live-{uuid.uuid4()}"
    for client in "abc":
        workers(group, topics, client, **{"group.protocol": "consumer", "group.remote.assignor": assignor})

    def settled(partitions):
        return wait_for(
            lambda: read_or_nobody(group, broker),
            lambda found: (
                len(set(found[0].member.tolist())) == 3
                and (found[0].member >= 0).sum() == partitions
                and found[0].status == "Stable"
            ),
        )

    _, target = settled(9)
    assert target.strategy == name
    made = plan(target, "current", WhatIf(partitions={topics[0]: 5}))
    assert made.warnings == ()
    broker.grow_topic(topics[0], 5)
    assert diff(made, settled(11)[0], match="member-id").same


def test_a_commit_beyond_the_end_is_a_lag_below_zero(broker):
    topic, group = broker.create_topic(1), f"live-{uuid.uuid4()}"
    admin = AdminClient(settings(broker))
    committed = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 9)])
    admin.alter_consumer_group_offsets([committed])[group].result()
    state, _ = wait_for_group(group, broker)
    assert state.lag.tolist() == [-9]
    assert f"{topic}-0 has a lag of -9: the group committed an offset beyond the end" in state.warnings[-1]


def test_lag_is_what_was_not_committed(broker):
    topic, group = broker.create_topic(2), f"live-{uuid.uuid4()}"
    producer = Producer(settings(broker))
    for _ in range(5):
        producer.produce(topic, b"x", partition=1)
    assert producer.flush(GENEROUS_S) == 0
    admin = AdminClient(settings(broker))
    committed = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 1, 2)])
    admin.alter_consumer_group_offsets([committed])[group].result()
    state, _ = wait_for_group(group, broker)
    assert state.lag.tolist() == [UNKNOWN_LAG, 3]
    assert (state.members, state.status) == ((), "Empty")
    assert state.warnings == ("the group is empty, what it has may not last",)


def test_a_group_that_does_not_exist_is_refused(broker):
    with pytest.raises(SourceError, match="live:no-such-group: the cluster has no such group"):
        read_live("no-such-group", settings(broker))


@pytest.mark.live
def test_a_broker_that_does_not_answer_is_named_within_seconds():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: refuses, and nobody else gets the port
        server = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SourceError, match=f"live:billing: no broker answers at {server}"):
            read_live("billing", {"bootstrap.servers": server})


@pytest.mark.live
def test_a_setting_that_librdkafka_does_not_know_is_named():
    with pytest.raises(SourceError, match='No such configuration property: "acsk"'):
        read_live("billing", {"bootstrap.servers": "localhost:9", "acsk": "1"})
