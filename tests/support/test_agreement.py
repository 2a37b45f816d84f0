"""A test of recorded answers fails with a screen of text, and what is recorded is enough to be worth it."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

import pytest

from assignors import get_assignor
from assignors.assignment import Assignment
from tests.support.agreement import WIDTH, Difference, assert_agree, differing, first_difference, reads_alike
from tests.support.golden import ASSIGNORS, golden_files, golden_lines, recorded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignors.group import Group


class Mistaken:
    """A leader that gives every member the next member's partitions."""

    def __init__(self, assignor: str) -> None:
        self._right = get_assignor(assignor)

    def assign(self, group: Group) -> Assignment:
        lists = dict(self._right.assign(group))
        names = list(lists)
        return Assignment.for_group(
            group,
            {name: list(lists[other]) for name, other in zip(names, names[1:] + names[:1], strict=True)},
        )


def screen_of(differences: Iterable[Difference | None]) -> list[str]:
    """The lines of the failure."""
    with pytest.raises(pytest.fail.Exception) as caught:
        assert_agree(differences)
    assert not caught.value.pytrace
    return str(caught.value).splitlines()


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_mistake_is_a_screen(assignor: str) -> None:
    lines = screen_of(first_difference(assignor, group, Mistaken) for group in recorded(assignor))
    assert len(lines) <= 60
    assert max(map(len, lines)) <= WIDTH + 60
    assert lines[0].startswith("10 of the first ")
    assert lines[0].endswith("The test ends here.")


def test_it_names_group_step_and_both_answers() -> None:
    answers: dict[str, tuple[Any, Any]] = {"a": (["t-0", "t-1"], ["t-0"]), "b": ([], ["t-1"])}
    lines = screen_of([None, Difference("sticky, tangled-12", 3, ["topic t"], answers)])
    assert lines == [
        "1 of the first 2 groups differ from the JVM.",
        "sticky, tangled-12, step 3",
        "    topic t",
        "    a",
        "        JVM   t-0 t-1",
        "        ours  t-0",
        "    b",
        "        JVM   nothing",
        "        ours  t-1",
    ]


def test_of_long_lists_it_shows_where_they_part() -> None:
    theirs = [f"t-{number}" for number in range(1000)]
    ours = [*theirs[:500], "t-0", *theirs[501:]]
    shown = screen_of([Difference("sticky, large-1", 0, [], {"a": (theirs, ours)})])[-2:]
    assert shown[0].startswith("        JVM   (498 alike) t-498 t-499 t-500 ")
    assert shown[1].startswith("        ours  (498 alike) t-498 t-499 t-0 ")
    assert all(line.endswith("characters)") for line in shown)


def test_after_ten_differing_groups_no_other_is_asked() -> None:
    endless = repeat(Difference("sticky, tangled-12", 3, [], {"a": ([], ["t-1"])}))
    assert screen_of(endless)[0] == ("10 of the first 10 groups differ from the JVM. The test ends here.")


def test_a_test_that_looks_at_no_group_fails() -> None:
    assert screen_of([]) == ["0 of the first 0 groups differ from the JVM."]


@pytest.mark.parametrize(
    ("theirs", "ours", "different"),
    [
        ({"a": ["t-0"]}, {"a": ["t-0"]}, {}),
        ({"a": ["t-0", "t-1"]}, {"a": ["t-1", "t-0"]}, {"a": (["t-0", "t-1"], ["t-1", "t-0"])}),
        ({"a": []}, {}, {"a": ([], None)}),
        (
            {"throws": "IllegalStateException"},
            {"a": []},
            {"throws": ("IllegalStateException", None), "a": (None, [])},
        ),
    ],
    ids=["equal", "another order", "no list of a member", "an exception"],
)
def test_answers_differ_in_order_in_members_and_in_exceptions(
    theirs: dict[str, Any], ours: dict[str, Any], different: dict[str, Any]
) -> None:
    assert differing(theirs, ours) == different


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky", "uniform"])
def test_both_kinds_of_subscriptions_are_recorded(assignor: str) -> None:
    kinds = [reads_alike(scenario) for scenario in recorded(assignor)]
    assert min(kinds.count(True), kinds.count(False)) >= 20


@pytest.mark.slow
def test_at_least_three_thousand_scenarios_are_committed() -> None:
    count = sum(1 for assignor in ASSIGNORS for name in golden_files(assignor) for _ in golden_lines(name))
    assert count >= 3_000
