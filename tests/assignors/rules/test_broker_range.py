"""The broker's range assignor: what it promises, and how it differs from the client's."""

import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.group import Group, Member, Topic
from assignors.strategies import BrokerRangeAssignor
from tests.support.agreement import assert_rule_agrees
from tests.support.tiers import examples

NAMES = ["t0", "t1", "t2"]
counts = st.lists(st.integers(1, 9), min_size=len(NAMES), max_size=len(NAMES))
subscriptions = st.lists(st.lists(st.sampled_from(NAMES), unique=True), min_size=1, max_size=6)


@pytest.mark.sampled
def test_the_rule_answers_as_the_jvm() -> None:
    assert_rule_agrees("broker-range")


@settings(max_examples=examples(60), deadline=None)
@given(counts, subscriptions)
def test_every_subscriber_gets_the_next_range(counts, subscriptions):
    topics = [Topic(name, count) for name, count in zip(NAMES, counts, strict=True)]
    members = [Member(f"m{number}", names) for number, names in enumerate(subscriptions)]
    assignment = BrokerRangeAssignor().assign(Group(topics, members))
    for topic in topics:
        subscribers = [member.id for member in members if topic.name in member.topics]
        expected = []
        for place, member in enumerate(subscribers):
            quota, extra = divmod(topic.partitions, len(subscribers))
            expected += [member] * (quota + (place < extra))
        owners = [assignment.owner_of((topic.name, number)) for number in range(topic.partitions)]
        assert owners == (expected or [None] * topic.partitions)


def test_what_members_had_and_their_racks_do_not_count():
    topics = [Topic("t", 2, racks=[["a"], ["b"]])]
    members = [Member("m", ["t"], rack="b", owned=[("t", 1)]), Member("n", ["t"], rack="a")]
    assert BrokerRangeAssignor().assign(Group(topics, members)) == {"m": [("t", 0)], "n": [("t", 1)]}


def test_topics_are_listed_by_id():
    topics = [Topic(name, 1, id=uuid.UUID(int=3 - number)) for number, name in enumerate(NAMES)]
    assignment = BrokerRangeAssignor().assign(Group(topics, [Member("m", NAMES)]))
    assert [topic for topic, _ in assignment["m"]] == ["t2", "t1", "t0"]


def test_topics_whose_ids_have_one_hash_are_listed_as_the_tree_of_their_bin():
    """All ids of two equal halves have hash 0; Java lists the root of the tree they make first."""
    topics = [Topic(f"t{number:02}", 1, id=uuid.UUID(int=(number << 64) | number)) for number in range(60)]
    assignment = BrokerRangeAssignor().assign(Group(topics, [Member("m", [topic.name for topic in topics])]))
    listed = [topic for topic, _ in assignment["m"]]
    assert sorted(listed) == [topic.name for topic in topics]
    assert listed != [topic.name for topic in topics]


def test_a_group_without_members_gets_an_empty_answer():
    assert BrokerRangeAssignor().assign(Group([Topic("t", 1)], [])) == {}
