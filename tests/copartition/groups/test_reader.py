"""A live group that is looked at again and again."""

import uuid
from types import SimpleNamespace

import pytest
from confluent_kafka import Consumer, TopicPartition

from copartition.groups.live import reader
from copartition.kit.admin import DescribedGroup, DescribedMember, DescribedTopic
from partitioning.errors import GroupNotFoundError, SourceError
from tests.copartition.groups.worker import settings
from tests.support.waiting import wait_for


class Cluster:
    """A cluster with one classic group that reads t, and what it was asked."""

    def __init__(self):
        self.asked = []
        self.owned = {"a": [0, 1]}
        self.state = "STABLE"
        self.partitions = 2

    def level(self, feature):
        return {"group.version": 1}[feature]

    def describe_group(self, group):
        self.asked.append("group")
        if self.owned is None:
            raise GroupNotFoundError(group)
        members = tuple(
            DescribedMember(name, None, name, "h", tuple(("t", number) for number in numbers), None)
            for name, numbers in self.owned.items()
        )
        return DescribedGroup("CLASSIC", self.state, "range", members)

    def joined_members(self, group):
        self.asked.append("subscriptions")

    def ends(self, partitions):
        return {(topic, number): 10 * number for topic, number in partitions if number != 1}

    def committed_offsets(self, group):
        return {("t", 0): 4, ("t", 1): 5, ("old", 2): 6}

    def describe_topics(self, topics):
        self.asked.append(f"topics {' '.join(topics)}".rstrip())
        return {topic: DescribedTopic(None, ((),) * self.partitions) for topic in topics}


@pytest.fixture
def cluster(monkeypatch):
    made = Cluster()
    monkeypatch.setattr(reader, "connect", lambda *_: made)
    return made


@pytest.fixture
def time():
    return SimpleNamespace(now=500.0)


@pytest.fixture
def look(cluster, time):
    return reader.GroupReader("g", {}, clock=lambda: time.now)


def test_a_look_at_a_group_that_has_not_changed_is_one_question(cluster, time, look):
    first = look()
    assert cluster.asked == ["group", "subscriptions", "topics t"]
    cluster.asked.clear()
    time.now += 59
    assert look() is first
    assert cluster.asked == ["group"]


def test_the_topics_are_asked_for_once_a_minute(cluster, time, look):
    first = look()
    time.now += 60
    assert look() is first
    assert cluster.asked[3:] == ["group", "subscriptions", "topics t"]
    cluster.partitions = 3
    time.now += 60
    state, _ = look()
    assert state.partition.tolist() == [0, 1, 2]
    assert (state.complete, state.member.tolist()) == (True, [0, 0, -1])


def test_ends_are_those_of_all_partitions_whose_leader_answers(cluster, look):
    assert look.ends() == {}
    cluster.partitions = 3
    look()
    assert look.ends() == {"t": {0: 0, 2: 20}}


def test_offsets_are_those_of_a_group_that_is_there(cluster, look):
    assert look.committed_offsets() == {}
    look()
    assert look.committed_offsets() == {"t": {0: 4, 1: 5}, "old": {2: 6}}


def test_another_order_of_members_and_partitions_is_no_change(cluster, look):
    cluster.owned = {"a": [0], "b": [1]}
    first = look()
    cluster.owned = {"b": [1], "a": [0]}
    assert look() is first


def test_a_group_in_a_rebalance_has_the_topics_that_it_had(cluster, look):
    look()
    cluster.owned, cluster.state = {"a": []}, "PREPARING_REBALANCING"
    state, _ = look()
    assert (state.topics, state.member.tolist()) == (("t",), [-1, -1])


def test_a_group_that_is_not_there_is_dead_and_may_come(cluster, look):
    cluster.owned = None
    first = look()
    assert (first[0].status, first[0].members, first[0].complete) == ("Dead", (), False)
    assert look() is first
    cluster.owned = {"a": [0, 1]}
    assert look()[0].status == "Stable"
    cluster.owned = None
    assert look()[0].status == "Dead"


def test_a_cluster_must_be_named():
    with pytest.raises(SourceError, match="live:g needs a cluster"):
        reader.GroupReader("g", {})


def test_what_a_real_group_has_committed_and_where_its_topic_ends(broker, workers):
    topic, group = broker.create_topic(2), f"reader-{uuid.uuid4()}"
    consumer = Consumer(settings(broker) | {"group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 1, 0)], asynchronous=False)
    consumer.close()
    read = reader.GroupReader(group, settings(broker))
    workers(group, topic, "a")
    wait_for(read, lambda found: (found[0].member >= 0).sum() == 2)
    assert (read.committed_offsets()[topic][1], read.ends()) == (0, {topic: {0: 0, 1: 0}})


def test_a_member_that_was_there_before_tells_the_generation(broker, workers):
    topic, group = broker.create_topic(4), f"reader-{uuid.uuid4()}"
    read = reader.GroupReader(group, settings(broker))
    # Cooperative members rejoin once they have given up what another one gets, and say where they were.
    for client in "ab":
        workers(group, topic, client, **{"partition.assignment.strategy": "cooperative-sticky"})
        wait_for(read, lambda found: (found[0].member >= 0).sum() == 4)
    state, _ = wait_for(read, lambda found: found[0].status == "Stable" and {*found[0].member} == {0, 1})
    assert state.generation >= 2
    assert [member.topics for member in state.members] == [(topic,)] * 2


def test_members_are_in_the_order_of_the_description(cluster, look):
    cluster.owned = {"b": [0], "a": [1]}
    state, _ = look()
    assert [member.id for member in state.members] == ["b", "a"]
