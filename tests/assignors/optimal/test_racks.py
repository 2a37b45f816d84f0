"""What the optimal assignors promise where members and replicas are in racks."""

from dataclasses import replace

import numpy as np
import pytest

from assignors import Group, Member, Topic, get_assignor, quality
from partitioning.errors import InvalidConfigError
from tests.assignors.optimal.groups import NAMES, best_near, found_near, groups, owning, with_racks
from tests.assignors.optimal.solver import solved_near
from tests.support.tiers import examples

ORDERS = ["after-moves", "before-moves"]


def groups_with_racks(seed, count, **more):
    rng = np.random.default_rng(seed)
    return [with_racks(group, rng) for group in groups(seed, count, **more)]


def lists(assignment):
    return {member: sorted(partitions) for member, partitions in assignment.items()}


@pytest.mark.parametrize("racks", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_loads_and_moves_and_far_partitions_are_the_best_there_are(name, racks):
    far = 0
    for group in groups_with_racks(41, 200):
        expected = best_near(group, near_first=racks == "before-moves")
        assert found_near(group, get_assignor(name, racks=racks).assign(group)) == expected, group
        far += expected[2] > 0
    assert far > examples(200) * 50 // 400


@pytest.mark.heavy
@pytest.mark.parametrize("racks", ORDERS)
def test_as_a_linear_program_on_medium_groups(racks):
    for group in groups_with_racks(42, 30, members=9, topics=6, most=9):
        loads, moves, far = found_near(group, get_assignor("optimal", racks=racks).assign(group))
        expected = solved_near(group, near_first=racks == "before-moves")
        assert (sum(load**2 for load in loads), moves, far) == expected, group


@pytest.mark.parametrize("racks", ORDERS)
def test_a_cooperative_group_settles_in_two_rounds(racks):
    waited = 0
    for group in groups_with_racks(43, 150, members=6, topics=6, most=6):
        assignor = get_assignor("cooperative-optimal", racks=racks)
        first = assignor.assign(group)
        second = assignor.assign(group.next(first))
        assert not second.transferring
        assert all(set(first[member]) <= set(second[member]) for member in first)
        assert lists(assignor.assign(group.next(second))) == lists(second)
        waited += bool(first.transferring)
    assert waited > examples(150) * 60 // 300


def test_members_that_differ_only_in_their_rack_are_told_apart_by_it():
    topic = Topic("t", 4, racks=[("x",), ("y",), ("x",), ("y",)])

    def of_rack(names):
        people = [Member(name, ["t"], rack=rack) for name, rack in zip(names, "xy", strict=True)]
        assignment = get_assignor("optimal", racks="ignore").assign(Group([topic], people))
        return [sorted(assignment[name]) for name in names]

    assert of_rack("ab") == of_rack("ba")


def test_racks_can_be_ignored():
    for group in groups_with_racks(44, 50):
        without = replace(group, topics=[replace(topic, racks=None) for topic in group.topics])
        ignoring = get_assignor("optimal", racks="ignore").assign(group)
        assert lists(ignoring) == lists(get_assignor("optimal", racks="ignore").assign(without))


def test_a_near_partition_is_worth_a_move_only_before_moves():
    topic = Topic("t", 2, racks=[("x",), ("y",)])
    people = [owning("a", ["t"], [("t", 1)], rack="x"), owning("b", ["t"], [("t", 0)], rack="y")]
    answers = [get_assignor("optimal", racks=racks).assign(Group([topic], people)) for racks in ORDERS]
    assert [lists(answer) for answer in answers] == [
        {"a": [("t", 1)], "b": [("t", 0)]},
        {"a": [("t", 0)], "b": [("t", 1)]},
    ]


def test_an_order_that_does_not_exist_is_refused():
    with pytest.raises(InvalidConfigError, match="racks is 'first'; give 'after-moves'"):
        get_assignor("optimal", racks="first")


def test_quality_says_how_few_could_be_far():
    for group in groups_with_racks(45, 60):
        said = quality(group, get_assignor("uniform").assign(group))
        _, moves, far = best_near(group, near_first=False)
        assert (said.fewest_moves, said.fewest_far or 0) == (moves, far)
