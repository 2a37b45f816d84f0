"""`simulate` against what real consumers did on a real broker, as `benchmarks/rebalances` measured it."""

from __future__ import annotations

import pytest

from benchmarks.rebalances.__main__ import COMPARED, read_saved
from benchmarks.rebalances.besides import read_saved as answers
from benchmarks.rebalances.besides import section
from benchmarks.rebalances.comparing import CAUSES, Cell, compare, orders, page
from benchmarks.rebalances.predicting import medians
from benchmarks.rebalances.scenarios import SCENARIOS, protocols

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    return compare(read_saved())


def test_every_scenario_was_measured_under_every_protocol(cells: list[Cell]) -> None:
    assert [(cell.scenario, cell.protocol) for cell in cells] == [
        (scenario, protocol) for scenario in SCENARIOS for protocol in protocols(scenario)
    ]
    assert min(len(cell.measured) for cell in cells) >= 3


def test_nine_of_ten_cells_are_predicted_within_the_limits(cells: list[Cell]) -> None:
    assert sum(not cell.misses for cell in cells) >= 0.9 * len(cells)


def test_every_cell_that_misses_has_its_cause_and_no_other_has_one(cells: list[Cell]) -> None:
    assert {(cell.scenario, cell.protocol) for cell in cells if cell.misses} == set(CAUSES)


def test_rounds_are_those_measured_unless_consumers_join_by_themselves(cells: list[Cell]) -> None:
    rounds = {
        (cell.scenario, cell.protocol): (medians(cell.measured).rounds, medians(cell.predicted).rounds)
        for cell in cells
    }
    differ = {name: pair for name, pair in rounds.items() if pair[0] != pair[1]}
    assert differ == {("kafka-python rolling", "cooperative"): (15, 14)}


def test_protocols_are_in_the_order_measured(cells: list[Cell]) -> None:
    order = orders(cells)
    assert len(order) >= 10
    assert [names for names, right in order.items() if not right] == []


def test_the_page_is_what_the_comparison_says(cells: list[Cell]) -> None:
    assert COMPARED.read_text() == page(cells)


def test_the_simulator_does_what_a_coordinator_does_besides() -> None:
    rows = [line for line in section(answers()).splitlines() if line.endswith("| no |")]
    # Of a coordinator that is told to wait before it writes, the scenario has to say so.
    assert [row.split("|")[2].strip()[:9] for row in rows] == ["4.4.0, 5,", "4.4.0, 10"]
