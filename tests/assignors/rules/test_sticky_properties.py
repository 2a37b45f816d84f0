"""What sticky assignments promise, on groups that hypothesis thinks of."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assignors import Group, Member, Topic, get_assignor
from partitioning.errors import AssignorError
from tests.support.tiers import examples

FEW = settings(max_examples=examples(40), deadline=None)
STICKY = ["sticky", "cooperative-sticky"]
NAMES = ["t0", "t1", "t2", "t3", "t4"]
sizes = st.lists(st.integers(1, 9), min_size=1, max_size=len(NAMES))


@st.composite
def groups(draw, *, equal: bool | None = None, racks: bool = False) -> Group:
    counts = draw(sizes)
    names = NAMES[: len(counts)]
    rack = st.sampled_from(["r0", "r1", "r2"])
    replicas = [draw(st.lists(st.frozensets(rack), min_size=size, max_size=size)) for size in counts]
    topics = [
        Topic(name, size, racks=replica if racks else None)
        for name, size, replica in zip(names, counts, replicas, strict=True)
    ]
    if equal is None:
        equal = draw(st.booleans())
    subscription = st.just(names) if equal else st.sets(st.sampled_from(names), min_size=1).map(sorted)
    ids = draw(st.lists(st.integers(0, 99), min_size=1, max_size=7, unique=True))
    members = [
        Member(f"m{number}", draw(subscription), rack=draw(st.none() | rack) if racks else None)
        for number in ids
    ]
    return Group(topics, members)


def assign(assignor, group):
    """The assignment; groups that send the JVM's general algorithm round in circles are not looked at."""
    try:
        return assignor.assign(group)
    except AssignorError as error:
        assume("never ends" not in str(error))
        raise


def lists(assignment):
    return {member: set(partitions) for member, partitions in assignment.items()}


def subscribed_partitions(group):
    subscribed = {topic for member in group.members for topic in member.topics}
    return {
        (topic.name, number)
        for topic in group.topics
        if topic.name in subscribed
        for number in range(topic.partitions)
    }


def joined(group, assignment, number=1):
    """The group after members with everybody's topics joined."""
    topics = [topic.name for topic in group.topics]
    return group.next(assignment, join=[Member(f"new{i}", topics) for i in range(number)])


@pytest.mark.parametrize("name", STICKY)
@FEW
@given(group=groups(racks=True) | groups())
def test_every_subscribed_partition_has_exactly_one_member(name, group):
    assignment = assign(get_assignor(name), group)
    given_out = [partition for partitions in assignment.values() for partition in partitions]
    assert len(given_out) == len(set(given_out))
    assert set(given_out) == subscribed_partitions(group)


@pytest.mark.parametrize("name", STICKY)
@FEW
@given(group=groups(racks=True) | groups())
def test_partitions_go_to_subscribers_only(name, group):
    assignment = assign(get_assignor(name), group)
    for member in group.members:
        assert {topic for topic, _ in assignment[member.id]} <= set(member.topics)


@pytest.mark.parametrize("name", STICKY)
@FEW
@given(group=groups(equal=True, racks=True) | groups(equal=True))
def test_equal_subscriptions_get_even_sizes(name, group):
    assignment = assign(get_assignor(name), group)
    counts = [len(partitions) for partitions in assignment.values()]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("name", STICKY)
@FEW
@given(group=groups(equal=False, racks=True) | groups(equal=False))
def test_unequal_subscriptions_leave_no_move_that_helps(name, group):
    assignment = assign(get_assignor(name), group)
    for giver, taker in combinations([*group.members, *reversed(group.members)], 2):
        could_move = any(topic in taker.topics for topic, _ in assignment[giver.id])
        assert not could_move or len(assignment[giver.id]) <= len(assignment[taker.id]) + 1


@pytest.mark.parametrize("name", STICKY)
@FEW
@given(group=groups())
def test_a_second_round_moves_nothing(name, group):
    """With racks it may: what a member got far away from its rack is up for grabs again."""
    assignor = get_assignor(name)
    first = assign(assignor, group)
    assert lists(assign(assignor, group.next(first))) == lists(first)


@pytest.mark.parametrize("name", STICKY)
@FEW
@given(group=groups(), data=st.data())
def test_a_fresh_assignment_does_not_depend_on_the_order_of_members_and_topics(name, group, data):
    shuffled = Group(data.draw(st.permutations(group.topics)), data.draw(st.permutations(group.members)))
    assert dict(assign(get_assignor(name), shuffled)) == dict(assign(get_assignor(name), group))


@FEW
@given(group=groups(equal=True), data=st.data())
def test_who_stays_keeps_everything_when_a_member_leaves(group, data):
    assume(len(group.members) > 1)
    leaver = data.draw(st.sampled_from([member.id for member in group.members]))
    assignor = get_assignor("sticky")
    before = assign(assignor, group)
    after = assign(assignor, group.next(before, leave=[leaver]))
    assert all(set(before[member]) <= set(after[member]) for member in after)


@FEW
@given(group=groups(equal=True), joining=st.integers(1, 3))
def test_only_what_new_members_get_moves_when_they_join(group, joining):
    assignor = get_assignor("sticky")
    before = assign(assignor, group)
    after = assign(assignor, joined(group, before, joining))
    moved = sum(len(set(before[member]) - set(after[member])) for member in before)
    assert moved == sum(len(after[f"new{number}"]) for number in range(joining))


@FEW
@given(group=groups(), joining=st.integers(1, 3))
def test_cooperative_groups_converge_in_four_rounds(group, joining):
    assignor = get_assignor("cooperative-sticky")
    assignment = assign(assignor, group)
    group = joined(group, assignment, joining)
    for _ in range(4):
        assignment = assign(assignor, group)
        group = group.next(assignment)
    assert not assignment.transferring
    assert not assignment.unassigned


@FEW
@given(group=groups(racks=True) | groups(), joining=st.integers(1, 3), data=st.data())
def test_a_cooperative_partition_never_changes_hands_within_a_round(group, joining, data):
    assignor = get_assignor("cooperative-sticky")
    before = assign(assignor, group)
    leaving = data.draw(st.lists(st.sampled_from([member.id for member in group.members]), unique=True))
    topics = [topic.name for topic in group.topics]
    join = [Member(f"new{number}", topics) for number in range(joining)]
    after = assign(assignor, group.next(before, leave=leaving, join=join))
    for partition in subscribed_partitions(group):
        owner = before.owner_of(partition)
        assert owner in leaving or after.owner_of(partition) in {owner, None}


@FEW
@given(group=groups(), joining=st.integers(1, 3))
def test_what_is_held_back_goes_to_the_member_named_for_it(group, joining):
    """Unless balance asks for another one by then, which equal subscriptions never do."""
    assume(len({tuple(member.topics) for member in group.members}) == 1)
    assignor = get_assignor("cooperative-sticky")
    topics = group.members[0].topics
    first = assign(assignor, group)
    grown = group.next(first, join=[Member(f"new{number}", topics) for number in range(joining)])
    held_back = assign(assignor, grown)
    settled = assign(assignor, grown.next(held_back))
    waiting = dict.fromkeys(held_back, 0)
    for receiver in held_back.transferring.values():
        waiting[receiver] += 1
    for member, partitions in settled.items():
        assert len(partitions) == len(held_back[member]) + waiting[member]


@pytest.mark.parametrize("name", STICKY)
@FEW
@given(group=groups())
def test_two_leaders_share_nothing(name, group):
    other = get_assignor(name)
    old = Group(group.topics, [Member("old", NAMES, generation=90, owned=[("t0", 0)])])
    leader = get_assignor(name)
    expected = [dict(assign(leader, group)), dict(assign(leader, joined(group, assign(leader, group))))]
    leader = get_assignor(name)
    first = assign(leader, group)
    assign(other, old)
    assert [dict(first), dict(assign(leader, joined(group, first)))] == expected


@pytest.mark.parametrize("name", STICKY)
@FEW
@given(group=groups(equal=True))
def test_growing_topics_move_nothing_that_is_owned(name, group):
    assignor = get_assignor(name)
    before = assign(assignor, group)
    members = len(group.members)
    grown = [Topic(topic.name, topic.partitions + members) for topic in group.topics]
    after = assign(assignor, group.next(before, topics=grown))
    assert all(set(before[member]) <= set(after[member]) for member in before)
