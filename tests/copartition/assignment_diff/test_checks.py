"""Limits on a diff."""

from dataclasses import fields, replace

import pytest

from copartition.assignment_diff import DiffError, Summary, diff, parse_check
from partitioning.topic_partition import TopicPartition

P = [TopicPartition("t", number) for number in range(4)]
NUMBERS = diff({"a": P, "b": []}, {"a": P[:3], "b": P[3:]}, match="member-id").summary
BOUNDS = replace(
    NUMBERS,
    moved=5,
    needed_moves=2,
    avoidable_moves=3,
    needed_moves_exact=False,
    lag_moved=9,
    lag_moved_exact=False,
)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("moved<=1", True),
        ("moved<1", False),
        ("moved==1", True),
        ("moved!=1", False),
        ("moved_pct>=25", True),
        ("moved_pct>25", False),
        (" moved_pct <= 25.0 ", True),
        ("avoidable_moves==0", True),
        ("stickiness>=0.8", False),
        ("moved>-1", True),
    ],
)
def test_a_check_holds_or_not(text, holds):
    assert parse_check(text).passes(NUMBERS) is holds


@pytest.mark.parametrize("name", [field.name for field in fields(Summary)])
def test_every_number_can_be_checked(name):
    assert parse_check(f"{name}<=1").name == name


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("moved", "not of the form"),
        ("moved=1", "not of the form"),
        ("moved<=x", "not of the form"),
        ("__import__('os')<=1", "not of the form"),
        ("moved<=1 or 1", "not of the form"),
        ("mooved<=1", "did you mean moved"),
        (f"moved<={'9' * 400}", "larger than a number can be"),
    ],
)
def test_anything_else_is_refused(text, fault):
    with pytest.raises(DiffError, match=fault):
        parse_check(text)


def test_a_number_that_is_not_known_cannot_be_checked():
    with pytest.raises(DiffError, match="lag_moved is unknown"):
        parse_check("lag_moved<=1").passes(NUMBERS)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("needed_moves>=2", True),
        ("needed_moves<2", False),
        ("needed_moves<=5", True),
        ("needed_moves==1", False),
        ("avoidable_moves<=3", True),
        ("avoidable_moves>3", False),
        ("avoidable_moves!=4", True),
        ("lag_moved>=9", True),
        ("lag_moved<9", False),
    ],
)
def test_a_bound_holds_a_check_that_it_proves(text, holds):
    assert parse_check(text).passes(BOUNDS) is holds


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("needed_moves<=2", "needed_moves is at least 2"),
        ("needed_moves==3", "needed_moves is at least 2"),
        ("avoidable_moves>=3", "avoidable_moves is at most 3"),
        ("avoidable_moves!=1", "avoidable_moves is at most 3"),
        ("lag_moved<=1000000", "lag_moved is at least 9"),
    ],
)
def test_a_bound_does_not_hold_a_check_that_it_does_not_prove(text, told):
    with pytest.raises(DiffError, match=f"{told}, the inputs do not show it exactly"):
        parse_check(text).passes(BOUNDS)
