"""The uniform assignor: what it promises, and what a broker's memory does to the order of lists."""

import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.group import Group, Member, Topic
from assignors.strategies import UniformAssignor
from partitioning.errors import AssignorError
from tests.support.agreement import assert_rule_agrees
from tests.support.tiers import examples

FEW = settings(max_examples=examples(60), deadline=None)


@pytest.mark.sampled
def test_the_rule_answers_as_the_jvm() -> None:
    assert_rule_agrees("uniform")


@st.composite
def groups(draw, *, equal):
    counts = draw(st.lists(st.integers(1, 40), min_size=1, max_size=12))
    names = [f"t{number}" for number in range(len(counts))]
    subscriptions = st.just(names) if equal else st.lists(st.sampled_from(names), unique=True)
    members = [
        Member(f"m{number}", draw(subscriptions))
        for number in draw(st.lists(st.integers(0, 99), min_size=1, max_size=8, unique=True))
    ]
    topics = [Topic(name, count) for name, count in zip(names, counts, strict=True)]
    return Group(topics, members)


def with_ids_that_collide(group):
    """The group with ids whose hash is 0, so that Java's maps of topics are trees."""
    topics = [
        Topic(topic.name, topic.partitions, id=uuid.UUID(int=number << 64 | number))
        for number, topic in enumerate(group.topics)
    ]
    return Group(topics, group.members)


def test_a_claim_of_a_topic_that_is_gone_may_be_doubled():
    """In a set of Java's that has a tree in a bin."""
    owned = [("gone", 64 * number) for number in range(9)]
    members = [Member("a", ["t"], owned=[*owned, ("gone", 0)]), Member("b", ["t"])]
    once = [Member("a", ["t"], owned=owned), Member("b", ["t"])]
    answers = [UniformAssignor().assign(Group([Topic("t", 3)], people)) for people in (members, once)]
    assert lists(answers[0]) == lists(answers[1])


def lists(assignment):
    return {member: list(partitions) for member, partitions in assignment.items()}


def sets(assignment):
    return {member: set(partitions) for member, partitions in assignment.items()}


def after_churn(group, data):
    """The group after some members left, others joined and everything was handed out again."""
    assignment = UniformAssignor().assign(group)
    leave = data.draw(st.lists(st.sampled_from([member.id for member in group.members]), unique=True))
    joining = data.draw(st.integers(0, 4))
    join = [Member(f"new{number}", group.members[0].topics) for number in range(joining)]
    return group.next(assignment, leave=leave, join=join)


@FEW
@given(groups(equal=True) | groups(equal=False), st.data())
def test_every_partition_of_a_subscribed_topic_goes_to_one_subscriber(group, data):
    group = after_churn(group, data)
    assignment = UniformAssignor().assign(group)
    given_out = [partition for partitions in assignment.values() for partition in partitions]
    subscribed = {topic for member in group.members for topic in member.topics}
    everything = {
        (topic.name, number)
        for topic in group.topics
        if topic.name in subscribed
        for number in range(topic.partitions)
    }
    assert sorted(given_out) == sorted(everything)
    assert not assignment.unassigned
    for member in group.members:
        assert {topic for topic, _ in assignment[member.id]} <= set(member.topics)


@FEW
@given(groups(equal=True), st.data())
def test_equal_subscriptions_get_even_sizes(group, data):
    assignment = UniformAssignor().assign(after_churn(group, data))
    sizes = [len(partitions) for partitions in assignment.values()]
    assert not sizes or max(sizes) - min(sizes) <= 1


@FEW
@given(groups(equal=True))
def test_what_is_even_stays_as_it_is(group):
    first = UniformAssignor().assign(group)
    second = UniformAssignor().assign(group.next(first))
    assert sets(second) == sets(first)


@FEW
@given(groups(equal=True), st.integers(1, 3))
def test_only_what_new_members_get_moves_when_they_join(group, joining):
    before = UniformAssignor().assign(group)
    join = [Member(f"new{number}", group.members[0].topics) for number in range(joining)]
    after = UniformAssignor().assign(group.next(before, join=join))
    moved = sum(len(set(before[member]) - set(after[member])) for member in before)
    assert moved == sum(len(after[member.id]) for member in join)


@FEW
@given(groups(equal=True) | groups(equal=False), st.data())
def test_a_carried_group_decides_as_one_that_owns_the_same_lists(group, data):
    """The record's order is that of the last assignment, not that in which consumers report."""
    if data.draw(st.booleans()):
        group = with_ids_that_collide(group)
    before = UniformAssignor().assign(group)
    carried = group.next(before)
    leave = data.draw(st.sampled_from([member.id for member in group.members]))
    plain = Group(
        group.topics,
        [
            Member(member.id, member.topics, owned=list(before[member.id]))
            for member in group.members
            if member.id != leave
        ],
    )
    assert lists(UniformAssignor().assign(group.next(before, leave=[leave]))) == lists(
        UniformAssignor().assign(plain)
    )
    assert lists(UniformAssignor().assign(carried)) == lists(UniformAssignor().assign(carried))


def test_what_a_member_owns_counts_where_it_differs_from_what_it_was_assigned():
    group = Group([Topic("t", 4)], [Member("a", ["t"]), Member("b", ["t"])])
    carried = group.next(UniformAssignor().assign(group))
    swapped = [
        Member("a", ["t"], owned=carried.members[1].owned, user_data=carried.members[0].user_data),
        Member("b", ["t"], owned=carried.members[0].owned, user_data=carried.members[1].user_data),
    ]
    assert sets(UniformAssignor().assign(Group(group.topics, swapped))) == {
        "a": set(carried.members[1].owned),
        "b": set(carried.members[0].owned),
    }


def test_partitions_that_do_not_exist_leave_others_without_a_place():
    members = [Member("a", ["t"], owned=[("t", 5), ("t", 6)]), Member("b", ["t"])]
    with pytest.raises(AssignorError, match="t-5, which member 'a' owns, does not exist") as caught:
        UniformAssignor().assign(Group([Topic("t", 2)], members))
    assert caught.value.jvm_exception == "PartitionAssignorException"


def test_a_partition_that_two_members_own_leaves_another_without_a_place():
    members = [Member("a", ["t"], owned=[("t", 0)]), Member("b", ["t"], owned=[("t", 0)])]
    with pytest.raises(AssignorError, match="members 'a' and 'b' both own t-0") as caught:
        UniformAssignor().assign(Group([Topic("t", 2)], members))
    assert caught.value.jvm_exception == "PartitionAssignorException"


def test_a_partition_that_does_not_exist_is_out_of_bounds_where_subscriptions_differ():
    members = [Member("a", ["t"], owned=[("t", 5)]), Member("b", ["t", "u"])]
    with pytest.raises(AssignorError, match="t-5, which member 'a' owns, does not exist") as caught:
        UniformAssignor().assign(Group([Topic("t", 2), Topic("u", 1)], members))
    assert caught.value.jvm_exception == "ArrayIndexOutOfBoundsException"


def test_a_group_without_members_gets_an_empty_answer():
    assert UniformAssignor().assign(Group([Topic("t", 1)], [])) == {}
