"""What "optimal" and "cooperative-optimal" promise."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from assignors import Group, Member, Reason, Topic, explain, get_assignor
from partitioning.errors import InvalidConfigError, InvalidGroupError
from tests.assignors.optimal.groups import NAMES, best, figures, groups, owning
from tests.assignors.optimal.solver import solved_best
from tests.support.tiers import examples, sample

SPREADS = [True, "before-moves"]
UUIDS = [f"{number:08x}-0000-4000-8000-{number:012x}" for number in range(100)]


def shuffled(group, rng):
    """The same group in another order."""
    return replace(
        group,
        topics=rng.permutation(np.array(group.topics, object)).tolist(),
        members=[
            replace(member, topics=rng.permutation(np.array(member.topics, object)).tolist())
            for member in rng.permutation(np.array(group.members, object))
        ],
    )


def lists(assignment):
    return {member: sorted(partitions) for member, partitions in assignment.items()}


def test_loads_and_moves_and_spread_are_the_best_there_are():
    moved = 0
    for group in groups(15, 700):
        expected = best(group)
        assert figures(group, get_assignor("optimal").assign(group)) == expected, group
        assert figures(group, get_assignor("cooperative-optimal").assign(group)) == expected, group
        assert figures(group, get_assignor("optimal", spread=False).assign(group))[:2] == expected[:2], group
        moved += expected[1] > 0
    assert moved > examples(700) * 50 // 1400


@pytest.mark.parametrize("name", NAMES)
def test_spread_can_be_the_best_before_moves(name):
    dearer = 0
    for group in groups(22, 700):
        expected = best(group, spread_first=True)
        assert figures(group, get_assignor(name, spread="before-moves").assign(group)) == expected, group
        dearer += expected != best(group)
    assert dearer > examples(700) * 20 // 1400


def test_a_more_even_topic_is_worth_more_moves_than_its_squares():
    had = [
        [],
        [("t0", 1), ("t1", 1), ("t1", 3)],
        [("t0", 2), ("t1", 0), ("t3", 0)],
        [("t0", 3), ("t2", 0), ("t2", 1), ("t3", 2)],
        [("t0", 4), ("t3", 1)],
    ]
    sizes = {"t0": 5, "t1": 5, "t2": 2, "t3": 3}
    group = Group(
        [Topic(name, size) for name, size in sizes.items()],
        [owning(f"m{row}", list(sizes), partitions) for row, partitions in enumerate(had)],
    )
    assert figures(group, get_assignor("optimal").assign(group)) == ([3] * 5, 1, 17)
    assert figures(group, get_assignor("optimal", spread="before-moves").assign(group)) == ([3] * 5, 3, 15)


@pytest.mark.parametrize(
    ("group", "advice"),
    [
        (Group([Topic("t", 1)], [Member(f"m{row}", ["t"]) for row in range(20_001)]), "has 20,001"),
        (
            Group([Topic("t", 2, racks=[["r"], ["s"]])], [Member("a", ["t"], rack="r"), Member("b", ["t"])]),
            "racks='ignore'",
        ),
    ],
    ids=["pairs", "racks"],
)
def test_spread_before_moves_refuses_groups_for_which_it_is_not_exact(group, advice):
    with pytest.raises(InvalidGroupError, match=advice):
        get_assignor("optimal", spread="before-moves").assign(group)


def test_an_unknown_spread_is_refused():
    with pytest.raises(InvalidConfigError, match="spread is 'after-moves'"):
        get_assignor("optimal", spread="after-moves")


@pytest.mark.heavy
@pytest.mark.parametrize("spread", SPREADS)
def test_as_a_linear_program_on_medium_groups(spread):
    for group in [
        *groups(16, 50, members=9, topics=6, most=9),
        *groups(102, 25, members=9, topics=3, most=40),  # far from even, because of unequal loads
    ]:
        loads, moves, squares = figures(group, get_assignor("optimal", spread=spread).assign(group))
        expected = solved_best(group, spread_first=spread == "before-moves")
        assert (sum(load**2 for load in loads), moves, squares) == expected, group


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("name", NAMES)
def test_the_next_rebalance_moves_nothing(name, spread):
    for group in groups(16, 200, members=6, topics=6, most=6):
        assignor = get_assignor(name, spread=spread)
        assignment = assignor.assign(group)
        while assignment.transferring:
            group = group.next(assignment)  # noqa: PLW2901
            assignment = assignor.assign(group)
        assert lists(assignor.assign(group.next(assignment))) == lists(assignment)


@pytest.mark.parametrize("spread", SPREADS)
def test_a_cooperative_group_settles_in_two_rounds(spread):
    waited = 0
    for group in groups(17, 300, members=6, topics=6, most=6):
        assignor = get_assignor("cooperative-optimal", spread=spread)
        first = assignor.assign(group)
        second = assignor.assign(group.next(first))
        assert not second.transferring
        assert all(set(first[member]) <= set(second[member]) for member in first)
        waited += bool(first.transferring)
    assert waited > examples(300) * 120 // 600


def test_nobody_gets_what_another_one_still_has():
    for group in groups(18, 200, members=6, topics=6, most=6):
        assignment = get_assignor("cooperative-optimal").assign(group)
        had = {partition: member.id for member in group.members for partition in member.owned}
        assert all(
            had.get(partition, member) == member
            for member, partitions in assignment.items()
            for partition in partitions
        )


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_members_and_topics_does_not_matter(name):
    rng = np.random.default_rng(19)
    for group in groups(19, 100, members=6, topics=6, most=6):
        other = get_assignor(name).assign(shuffled(group, rng))
        assert lists(other) == lists(get_assignor(name).assign(group))


@pytest.mark.parametrize("name", NAMES)
def test_new_ids_swap_only_members_that_are_alike(name):
    rng = np.random.default_rng(20)
    for group in groups(20, 100, members=6, topics=6, most=6, least=1):
        ids = rng.permutation([f"x{number}" for number in range(len(group.members))]).tolist()
        renamed = replace(
            group, members=[replace(member, id=new) for member, new in zip(group.members, ids, strict=True)]
        )
        assert outcomes(renamed, name) == outcomes(group, name)


def outcomes(group, name):
    """What members get that own and read the same, as far as somebody reads it."""
    read = {topic for member in group.members for topic in member.topics}
    assignment = get_assignor(name).assign(group)
    return sorted(
        (
            sorted(partition for partition in member.owned if partition.topic in read),
            sorted(member.topics),
            sorted(assignment[member.id]),
        )
        for member in group.members
    )


@pytest.mark.parametrize(
    ("name", "spread", "by", "equal"),
    sample(list(product(NAMES, [True, False], ["instance id", "client id"], [True, False])), 3),
)
def test_a_member_that_restarts_comes_back_to_its_place(name, spread, by, equal):
    topics = [Topic(f"t{number}", 12) for number in range(10)]
    people = [
        Member(
            f"c{row}-{UUIDS[row]}" if by == "client id" else f"m{row}",
            [topic.name for topic in topics if equal or (row + int(topic.name[1])) % 3],
            instance_id=f"i{row}" if by == "instance id" else None,
        )
        for row in range(12)
    ]
    assignor = get_assignor(name, spread=spread)
    group = Group(topics, people)
    before = assignor.assign(group)
    group = settled(assignor, group.next(before, leave=[people[5].id]))
    again = replace(people[5], id=f"c5-{UUIDS[50]}")
    group = settled(assignor, group.next(assignor.assign(group), join=[again]))
    after = assignor.assign(group)
    had = set(before[people[5].id])
    assert len(had & set(after[again.id])) * 2 >= len(had)


def settled(assignor, group):
    """The group once nothing waits any more."""
    while (assignment := assignor.assign(group)).transferring:
        group = group.next(assignment)
    return group


@pytest.mark.parametrize("name", NAMES)
def test_the_latest_claim_counts(name):
    members = [owning("a", ["t"], [("t", 0), ("t", 1)], 4), owning("b", ["t"], [("t", 0), ("t", 2)], 5)]
    assignment = get_assignor(name).assign(Group([Topic("t", 3)], members))
    assert lists(assignment) == {"a": [("t", 1)], "b": [("t", 0), ("t", 2)]}


def test_a_partition_that_two_have_in_one_generation_waits_a_round():
    members = [owning("a", ["t"], [("t", 0), ("t", 1)]), owning("b", ["t"], [("t", 0), ("t", 2)])]
    group = Group([Topic("t", 3)], members)
    first = get_assignor("cooperative-optimal").assign(group)
    assert list(first.transferring) == [("t", 0)]
    assert lists(first) == {"a": [("t", 1)], "b": [("t", 2)]}
    assert not get_assignor("cooperative-optimal").assign(group.next(first)).unassigned


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (Group([Topic("t", 1)], []), {}),
        (Group([], [Member("a", ["t"])]), {"a": []}),
        (Group([Topic("t", 2)], [Member("a", ["t"]), Member("b", [])]), {"a": [("t", 0), ("t", 1)], "b": []}),
        (Group([Topic("t", 1)], [Member("a", ["t", "t"], user_data=b"\x00")]), {"a": [("t", 0)]}),
        (
            Group([Topic("t", 1), Topic("u", 1)], [owning("a", ["t"], [("t", 7), ("gone", 0), ("u", 0)])]),
            {"a": [("t", 0)]},
        ),
    ],
    ids=["nobody", "no topics", "reads nothing", "odd data", "odd claims"],
)
def test_odd_groups(name, group, expected):
    assert lists(get_assignor(name).assign(group)) == expected


def test_a_topic_is_spread_over_members_with_equal_subscriptions():
    topics = [Topic(f"t{number}", 7) for number in range(5)]
    people = [Member(f"m{row}", [topic.name for topic in topics]) for row in range(3)]
    assignment = get_assignor("optimal").assign(Group(topics, people))
    for partitions in assignment.values():
        assert set(np.unique([partition.topic for partition in partitions], return_counts=True)[1]) <= {2, 3}


@pytest.mark.parametrize(
    ("members", "partition", "steps"),
    [
        ([("a", ["t"], [0], 4), ("b", ["t"], [0], 5)], 0, [(Reason.OUTDATED, "a"), (Reason.KEPT, "b")]),
        (
            [("a", ["t"], [0], 5), ("b", ["u"], [1], 5)],
            1,
            [(Reason.UNSUBSCRIBED, "b"), (Reason.BEST, "a"), (Reason.HELD_BACK, "a")],
        ),
        (
            [("a", ["t"], [0, 1], 5), ("b", ["t"], [], 5)],
            0,
            [(Reason.GIVEN_UP, "a"), (Reason.BEST, "b"), (Reason.HELD_BACK, "b")],
        ),
        (
            [("a", ["t"], [0], 5), ("b", ["t"], [0, 1], 5)],
            0,
            [(Reason.CONTESTED, "a"), (Reason.CONTESTED, "b"), (Reason.BEST, "a"), (Reason.HELD_BACK, "a")],
        ),
    ],
    ids=["outdated", "unsubscribed", "given up", "contested"],
)
def test_every_step_is_told(members, partition, steps):
    people = [owning(name, topics, [("t", index) for index in had], at) for name, topics, had, at in members]
    group = Group([Topic("t", 2), Topic("u", 1)], people)
    assignor = get_assignor("cooperative-optimal")
    explanation = explain(group, assignor.assign(group), ("t", partition), assignor=assignor)
    assert list(explanation.steps) == steps
