"""What became of commands on clusters that restart: the page, and the code of today."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.measured import read_runs
from benchmarks.restarts.__main__ import CODES, MEASURED, PAGE
from benchmarks.restarts.page import page
from benchmarks.restarts.running import CELLS


@pytest.fixture(scope="module")
def runs() -> list[dict[str, Any]]:
    return read_runs(MEASURED, "runs")


def test_the_page_says_what_was_measured(runs: list[dict[str, Any]]) -> None:
    assert PAGE.read_text() == page(runs)


def test_each_cell_is_one_that_can_be_run_again(runs: list[dict[str, Any]]) -> None:
    assert {run["cell"] for run in runs} <= {cell.name for cell in CELLS}


def test_nothing_dies_and_every_watch_comes_back_today(runs: list[dict[str, Any]]) -> None:
    today = [run for run in runs if run["code"] == CODES[-1]]
    assert today
    assert [(run["died"], run["silent"], run["bugs"]) for run in today] == [([], 0, [])] * len(today)
    assert all(len(run["back_s"]) == run["watches"] for run in today)
    assert not any(None in run["interrupted_s"] for run in today)
