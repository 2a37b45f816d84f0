"""What `quality` says of an assignment."""

from dataclasses import replace

import pytest

from assignors import Assignment, AssignmentQuality, Group, Member, Topic, get_assignor, quality
from partitioning.errors import InvalidGroupError
from tests.assignors.optimal.groups import best, figures, groups, owning

GROUP = Group(
    [Topic("t", 4), Topic("u", 2)],
    [owning("a", ["t"], [("t", 0), ("t", 1)]), owning("b", ["t", "u"], [("u", 0), ("u", 1)])],
)
WORSE = {"a": [("t", 0), ("t", 2), ("t", 1), ("t", 3)], "b": [("u", 0), ("u", 1)]}


def test_loads_and_moves_are_held_against_the_best():
    for group in groups(30, 200):
        answer = get_assignor("uniform").assign(group)
        said = quality(group, answer)
        assert [(list(said.loads), said.moves), (list(said.best_loads), said.fewest_moves)] == [
            figures(group, answer)[:2],
            best(group)[:2],
        ]


def test_an_assignment_that_is_not_the_best():
    said = quality(GROUP, Assignment.for_group(GROUP, WORSE))
    assert said == AssignmentQuality((4, 2), (3, 3), 0, 0, 2, 4, 2, None, None, 0)
    assert said.avoidable_moves == 0


def test_a_move_that_was_not_needed():
    swapped = {"a": [("t", 2), ("t", 3), ("t", 1)], "b": [("u", 0), ("u", 1), ("t", 0)]}
    said = quality(GROUP, Assignment.for_group(GROUP, swapped))
    assert (said.moves, said.fewest_moves, said.avoidable_moves) == (1, 0, 1)


def test_what_waits_counts_as_given():
    a, b = GROUP.members
    group = replace(GROUP, members=[replace(a, owned=[("t", number) for number in range(4)]), b])
    answer = get_assignor("cooperative-optimal").assign(group)
    assert answer.transferring
    assert quality(group, answer) == AssignmentQuality((3, 3), (3, 3), 1, 1, 1, 3, 2, None, None, 0)


def test_partitions_that_nobody_gets_who_reads_them():
    lists = {"a": [("t", 0), ("u", 0)]}
    assert quality(GROUP, Assignment.for_group(GROUP, lists)).unassigned == 5


def test_partitions_that_nobody_gets():
    said = quality(GROUP, Assignment.for_group(GROUP, {"a": [("t", 0)]}))
    assert (said.loads, said.unassigned, said.moves) == ((1, 0), 5, 3)


@pytest.mark.parametrize(("racks", "far"), [(("x", None), 1), (("", None), None), (("x", "y"), 2)])
def test_partitions_far_from_their_rack(racks, far):
    topic = Topic("t", 3, racks=[["x"], ["y"], ["x"]])
    group = Group([topic], [Member(name, ["t"], rack=rack) for name, rack in zip("ab", racks, strict=True)])
    answer = Assignment.for_group(group, {"a": [("t", 0), ("t", 1)], "b": [("t", 2)]})
    assert quality(group, answer).far == far


def test_the_peak_by_weights_and_capacities():
    answer = Assignment.for_group(
        GROUP, {"a": [("t", 0), ("t", 1), ("t", 2), ("t", 3)], "b": [("u", 0), ("u", 1)]}
    )
    by_weight = quality(GROUP, answer, weights={"t": 1, "u": 2}).certificate
    assert (by_weight.peak, by_weight.bound) == pytest.approx((1, 1))
    by_capacity = quality(GROUP, answer, capacities={"a": 1, "b": 2}).certificate
    assert (by_capacity.peak, by_capacity.bound) == pytest.approx((2, 1))
    assert quality(GROUP, answer).certificate is None


@pytest.mark.parametrize(
    ("lists", "fault"),
    [
        ({"c": []}, "member 'c' is in the assignment but not in the group"),
        ({"a": [("t", 4)]}, "'a' cannot have t-4:"),
        ({"a": [("t", -1)]}, "'a' cannot have t--1:"),
        ({"a": [("x", 0)]}, "'a' cannot have x-0:"),
        ({"a": [("t", 0)], "b": [("t", 0)]}, "'b' cannot have t-0: .* or another list has it too"),
    ],
)
def test_an_assignment_of_another_group_is_refused(lists, fault):
    with pytest.raises(InvalidGroupError, match=fault):
        quality(GROUP, Assignment.of(lists) if "c" in lists else Assignment.for_group(GROUP, lists))
