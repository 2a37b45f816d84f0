"""What comes with the package shows what people complained of, and that the advice helps."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from assignors.cli.main import copartition
from assignors.simulation import RunSummary, Scenario, simulate, simulate_seeds
from assignors.simulation.inputs.file import read_scenario
from assignors.simulation.ready import ready_scenarios

READY = ready_scenarios()
COMMANDS = [
    line.removeprefix("#   copartition ")
    for each in READY.values()
    for line in each.path.read_text().splitlines()
    if line.startswith("#   copartition ")
]
SEEDS = range(9)


@cache
def _runs(name: str, changes: tuple[tuple[str, str], ...]) -> list[RunSummary]:
    scenario = read_scenario(READY[name].path, dict(changes))
    return [result.summary for result in simulate_seeds(scenario, SEEDS)]


def median(name: str, figure: str, **changes: str) -> float:
    """Of the figure over some seeds, where the scenario says something else; dots are underscores."""
    dotted = {key.replace("_", "."): value for key, value in changes.items()}
    return float(np.median([getattr(run, figure) for run in _runs(name, tuple(dotted.items()))]))


@pytest.mark.parametrize("name", READY)
def test_it_can_be_run_as_it_is_and_nobody_is_refused(name: str) -> None:
    scenario = Scenario.from_file(READY[name].path)
    assert scenario.warnings == ()
    assert scenario.load is not None or name == "connect-worker-lost"
    assert "refused" not in {entry.what for entry in simulate(scenario).log}


@pytest.mark.parametrize("name", READY)
def test_its_first_line_says_what_it_is_and_another_one_who_asked(name: str) -> None:
    assert re.fullmatch(r"[A-Z].{30,100}[^.]", READY[name].summary)
    text = READY[name].path.read_text()
    assert re.search(r"[\w-]+/[\w-]+#\d+", text)
    assert re.search(r"^# Assumed: |See [\w-]+\.yaml", text, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_it_tells_to_compare_can_be_compared(command: str) -> None:
    done = CliRunner().invoke(copartition, command.split(), catch_exceptions=False)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("figure", "name", "changes", "low", "high"),
    [
        # Everybody waits for four minutes less the half that passes before the other one starts.
        pytest.param("rebalancing_ms", "busy-consumer", {}, 205e3, 215e3, id="a busy consumer"),
        pytest.param("longest_pause_ms", "connect-worker-lost", {}, 305e3, 316e3, id="Connect's five minutes"),
        pytest.param("rebalances", "deploy-static-ids", {}, 0, 0, id="static ids"),
        pytest.param("rebalances", "restart-on-rebalance-fixed", {}, 2, 2, id="one restart"),
        pytest.param("rebalances", "lag-autoscaler-fixed", {}, 0, 0, id="no autoscaler"),
    ],
)
def test_what_comes_out(
    figure: str, name: str, changes: Mapping[str, Any], low: float, high: float
) -> None:
    assert low <= median(name, figure, **changes) <= high
