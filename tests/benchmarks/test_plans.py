"""`plan` against what real groups did on a real broker, as `benchmarks/plans` measured it."""

from __future__ import annotations

import pytest

from benchmarks.plans.__main__ import COMPARED, saved
from benchmarks.plans.cells import CELLS, EVENTS
from benchmarks.plans.comparing import page
from benchmarks.plans.predicting import Change, changes


@pytest.fixture(scope="module")
def compared() -> list[Change]:
    return list(changes(saved().values()))


def told(change: Change) -> tuple[str, bool, str, str]:
    return change.assignor, change.static, change.shape, change.event


def test_every_event_was_measured_in_every_group(compared: list[Change]) -> None:
    assert list(map(told, compared)) == [
        (cell.assignor, cell.static, cell.shape, event) for cell in CELLS for event in EVENTS
    ]


def test_what_is_known_beforehand_comes_as_predicted(compared: list[Change]) -> None:
    assert [told(change) for change in compared if change.known and not change.equal] == []


def test_with_the_ids_that_were_drawn_the_rest_does_too(compared: list[Change]) -> None:
    assert [told(change) for change in compared if change.told != change.real] == []


def test_only_the_ids_of_dynamic_members_of_the_brokers_range_are_not_known(compared: list[Change]) -> None:
    assert {told(change)[:2] + told(change)[3:] for change in compared if not change.known} == {
        ("broker-range", False, "join")
    }


def test_every_event_moves_something(compared: list[Change]) -> None:
    assert [told(change) for change in compared if change.before == change.real] == []


def test_the_page_is_what_the_comparison_says(compared: list[Change]) -> None:
    assert COMPARED.read_text() == page(compared)
