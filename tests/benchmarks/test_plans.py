"""`plan` against what real groups did on a real broker, as `benchmarks/plans` measured it."""

from __future__ import annotations

import pytest

from benchmarks.plans.__main__ import COMPARED, read_saved
from benchmarks.plans.cells import CELLS, CONSUMER, RESTARTED, SHAPES
from benchmarks.plans.comparing import page
from benchmarks.plans.predicting import Change, changes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def compared() -> list[Change]:
    return list(changes(read_saved().values()))


def cell_of(change: Change) -> tuple[str, bool, str, str]:
    return change.assignor, change.static, change.shape, change.event


def test_every_event_was_measured_in_every_group(compared: list[Change]) -> None:
    assert list(map(cell_of, compared)) == [
        (cell.assignor, cell.static, cell.shape, event) for cell in CELLS for event in cell.events
    ]


def test_what_is_known_beforehand_comes_as_predicted(compared: list[Change]) -> None:
    assert [cell_of(change) for change in compared if change.is_known and not change.equal] == []


def test_what_is_not_known_does_too_in_hindsight(compared: list[Change]) -> None:
    assert [cell_of(change) for change in compared if change.hindsight != change.real] == []


def test_a_plan_says_beforehand_that_something_is_not_known(compared: list[Change]) -> None:
    assert [cell_of(change) for change in compared if not (change.is_known or change.assumed)] == []


def test_only_drawn_ids_and_racks_are_not_known(compared: list[Change]) -> None:
    by_id = ("sticky", "cooperative-sticky", *CONSUMER)
    by_rack = ("range", "sticky", "cooperative-sticky")
    assert {cell_of(change) for change in compared if not change.is_known} == {
        *(("broker-range", False, shape, "join") for shape in SHAPES),
        *((assignor, False, RESTARTED, "restart") for assignor in by_id),
        *((assignor, static, "racks", "growth") for assignor in by_rack for static in (False, True)),
    }


def test_only_restarts_move_nothing_of_static_members_and_by_names(compared: list[Change]) -> None:
    restarts = [change for change in compared if change.event == "restart"]
    assert [cell_of(change) for change in compared if change.before == change.real] == [
        cell_of(change) for change in restarts if change.static or change.assignor in {"range", "roundrobin"}
    ]


def test_the_page_is_what_the_comparison_says(compared: list[Change]) -> None:
    assert COMPARED.read_text() == page(compared)
