"""What `python -m benchmarks.uniform2` measures, and the rule that it measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.uniform2 import rule
from benchmarks.uniform2.__main__ import PAGE, read_saved
from benchmarks.uniform2.measuring import measure_group
from benchmarks.uniform2.page import OURS, Case, cases, page, verdict
from benchmarks.uniform2.shapes import SHAPES
from tests.assignors.optimal.groups import best, figures, groups

if TYPE_CHECKING:
    from assignors import Group


def even_splits(total: int, shares: int) -> set[tuple[int, ...]]:
    """All ways to deal a topic in which a subscriber has one partition more than another at most."""
    if not shares:
        return set()
    least, more = divmod(total, shares)
    return {
        tuple(least + (bits >> row & 1) for row in range(shares))
        for bits in range(1 << shares)
        if bits.bit_count() == more
    }


@pytest.fixture
def even(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let brute force try only such ways, and compare loads by their squares."""
    monkeypatch.setattr("tests.assignors.optimal.groups.splits", even_splits)


@pytest.mark.usefixtures("even")
def test_the_rule_has_the_best_loads_and_the_fewest_moves_of_all_even_answers() -> None:
    for group in groups(61, 400):
        loads, moves, squares = best_even(group)
        answer = figures(group, rule.assign(group))
        assert (sum(load**2 for load in answer[0]), *answer[1:]) == (loads, moves, squares), group


def best_even(group: Group) -> tuple[int, int, int]:
    loads, moves, squares = best(group)
    return sum(load**2 for load in loads), moves, squares


@pytest.fixture(scope="module")
def compared() -> list[Case]:
    return cases(read_saved())


def test_every_group_was_measured() -> None:
    assert [run["shape"] for run in read_saved()] == [shape.name for shape in SHAPES]


def test_the_page_is_what_the_comparison_says() -> None:
    assert PAGE.read_text() == page(read_saved())


@pytest.mark.slow
def test_a_group_comes_out_again_as_it_was_measured() -> None:
    assert without_times(measure_group(SHAPES[4])) == without_times(read_saved()[4])


def without_times(run: dict[str, dict[str, dict[str, dict[str, float]]]]) -> object:
    return {
        event: {name: {**figures, "ms": 0} for name, figures in rules.items()}
        for event, rules in run["events"].items()
    }


@pytest.mark.parametrize("name", ["optimal", OURS])
def test_loads_of_the_optimal_assignor_are_never_worse(compared: list[Case], name: str) -> None:
    assert [case for case in compared if verdict(case, "squares", name) == "worse"] == []


@pytest.mark.parametrize("figure", ["squares", "spread", "moves"])
def test_the_option_is_equal_to_the_rule_without_overlap(compared: list[Case], figure: str) -> None:
    others = [case for case in compared if case.subscriptions != "overlapping"]
    assert {verdict(case, figure, OURS) for case in others} == {"equal"}


def test_with_overlap_neither_order_is_best_in_all(compared: list[Case]) -> None:
    overlapping = [case for case in compared if case.subscriptions == "overlapping"]
    assert any(
        (verdict(case, "squares", OURS), verdict(case, "spread", OURS)) == ("better", "worse")
        for case in overlapping
    )
