"""Figures of many runs."""

import numpy as np
import pytest

from copartition.simulation.outcome.summary import FIGURES, Runs
from tests.support.results import SCENARIO, a_loaded_result, a_result


def runs(figures, result=a_result):
    name, values = figures
    return Runs(SCENARIO, [result(**{name: value}).summary for value in values])


@pytest.mark.parametrize(("percent", "value"), [(50, 50.0), (95, 95.0), (100, 100.0), (1, 1.0)])
def test_a_percentile_is_what_a_run_had(percent, value):
    assert runs(("longest_pause_ms", range(100, 0, -1))).percentile(percent)["longest_pause_ms"] == value


def test_what_half_of_the_runs_never_reach_is_infinite_from_there_on():
    recovered = runs(("recovery_ms", [np.inf, 1_000, 2_000, np.inf]), a_loaded_result)
    assert recovered.percentile(50)["recovery_ms"] == 2_000
    assert recovered.percentile(95)["recovery_ms"] == np.inf


def test_figures_of_records_are_none_without_a_load():
    figures = runs(("longest_pause_ms", [1, 2])).percentile(95)
    assert {name for name, value in figures.items() if value is None} == {
        "peak_lag",
        "recovery_ms",
        "duplicates",
        "lost",
    }


def test_the_seed_is_no_figure():
    assert "seed" not in FIGURES
    assert list(runs(("rebalances", [1])).percentile(50)) == list(FIGURES)
