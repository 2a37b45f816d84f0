"""The range assignor: what it promises, and the quirks that decide list order."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assignors.group import Group, Member, Topic
from assignors.strategies import RangeAssignor
from tests.support.agreement import assert_rule_agrees
from tests.support.tiers import examples

FEW = settings(max_examples=examples(60), deadline=None)
RACKS = ["a", "b", "c"]
NEAR = [Member(rack, ["t", "u"], rack=rack) for rack in "ab"]


@pytest.mark.sampled
def test_the_rule_answers_as_the_jvm() -> None:
    assert_rule_agrees("range")


@st.composite
def groups(draw, *, racks=False):
    counts = draw(st.lists(st.integers(1, 8), min_size=1, max_size=5))
    names = [f"t{number}" for number in range(len(counts))]
    replicas = [
        draw(st.lists(st.sets(st.sampled_from(RACKS)), min_size=count, max_size=count)) for count in counts
    ]
    topics = [
        Topic(name, count, racks=replica if racks else None)
        for name, count, replica in zip(names, counts, replicas, strict=True)
    ]
    subscriptions = st.lists(st.sampled_from(names), unique=True)
    members = [
        Member(f"m{number}", draw(subscriptions), rack=draw(st.none() | st.sampled_from(RACKS)))
        for number in draw(st.lists(st.integers(0, 99), max_size=7, unique=True))
    ]
    return Group(topics, members)


def assign(topics, members):
    return {
        member: list(partitions)
        for member, partitions in RangeAssignor().assign(Group(topics, members)).items()
    }


@FEW
@given(groups() | groups(racks=True))
def test_every_partition_of_a_subscribed_topic_goes_to_one_subscriber(group):
    assignment = RangeAssignor().assign(group)
    for topic in group.topics:
        subscribers = {member.id for member in group.members if topic.name in member.topics}
        owners = [assignment.owner_of((topic.name, number)) for number in range(topic.partitions)]
        assert set(owners) <= (subscribers or {None})
    assert sum(map(len, assignment.values())) + len(assignment.unassigned) == sum(
        topic.partitions
        for topic in group.topics
        if any(topic.name in member.topics for member in group.members)
    )
    assert not assignment.unassigned


@FEW
@given(groups() | groups(racks=True))
def test_each_topic_is_spread_evenly(group):
    assignment = RangeAssignor().assign(group)
    for topic in group.topics:
        sizes = [
            sum(name == topic.name for name, _ in assignment[member.id])
            for member in group.members
            if topic.name in member.topics
        ]
        assert not sizes or max(sizes) - min(sizes) <= 1


@FEW
@given(groups(), st.randoms(use_true_random=False))
def test_the_order_of_members_does_not_matter(group, random):
    shuffled = random.sample(list(group.members), len(group.members))
    before = RangeAssignor().assign(group)
    after = RangeAssignor().assign(Group(group.topics, shuffled))
    assert {member: set(after[member]) for member in after} == {
        member: set(before[member]) for member in before
    }


def test_topics_with_the_same_count_and_members_are_cut_alike():
    compared = 0

    @FEW
    @given(groups(racks=True))
    @example(Group([Topic(name, 3, racks=[{"a"}, {"b"}, {"a"}]) for name in "tu"], NEAR))
    def compare_topics(group):
        nonlocal compared
        assignment = RangeAssignor().assign(group)
        cuts = {}
        for topic in group.topics:
            members = frozenset(member.id for member in group.members if topic.name in member.topics)
            owners = [assignment.owner_of((topic.name, number)) for number in range(topic.partitions)]
            if any(member.rack for member in group.members if member.id in members):
                compared += (topic.partitions, members) in cuts
                assert cuts.setdefault((topic.partitions, members), owners) == owners

    compare_topics()
    assert compared


def test_static_members_come_first_by_instance_id():
    members = [Member("a", ["t"]), Member("z", ["t"], instance_id="1"), Member("b", ["t"], instance_id="2")]
    assert assign([Topic("t", 3)], members) == {"z": [("t", 0)], "b": [("t", 1)], "a": [("t", 2)]}


def test_without_racks_topics_are_listed_in_hash_map_order():
    names = [f"topic{number}" for number in range(1, 6)]
    assert [name for name, _ in assign([Topic(name, 1) for name in names], [Member("m", names)])["m"]] == [
        "topic1",
        "topic2",
        "topic5",
        "topic3",
        "topic4",
    ]


def test_where_racks_decide_topics_are_listed_by_name():
    topics = [Topic(name, 2, racks=[["a"], ["b"]]) for name in ("topic5", "topic3", "topic4")]
    names = [topic.name for topic in topics]
    members = [Member("m", names, rack="b"), Member("n", names, rack="a")]
    assert assign(topics, members)["m"] == [("topic3", 1), ("topic4", 1), ("topic5", 1)]


def test_replicas_in_all_racks_make_racks_count_for_nothing():
    topics = [Topic("t", 2, racks=[["a", "b"], ["b", "a"]])]
    members = [Member("m", ["t"], rack="b"), Member("n", ["t"], rack="a")]
    assert assign(topics, members) == {"m": [("t", 0)], "n": [("t", 1)]}


def test_a_group_without_members_gets_an_empty_answer():
    assert assign([Topic("t", 2)], []) == {}


def test_topics_without_metadata_are_left_out():
    assert assign([Topic("t", 0), Topic("u", 1)], [Member("m", ["t", "u", "v"])]) == {"m": [("u", 0)]}
