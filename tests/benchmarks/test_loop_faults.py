"""What `make loop-faults` saved, and what its page says of it."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.loop_faults.__main__ import SAVED
from benchmarks.loop_faults.page import figures, struck
from benchmarks.loop_faults.scenarios import BROKER, KILLS, NETWORK, SCENARIOS

WRONG = ("lost", "doubled", "misplaced", "out_of_order")


@pytest.fixture(scope="module")
def runs() -> list[dict[str, Any]]:
    return SAVED.runs()


def sums(runs: list[dict[str, Any]], loop: str) -> dict[str, int]:
    return {name: sum(run[name] for run in runs if run["loop"] == loop) for name in WRONG}


def test_the_page_says_what_was_measured(runs: list[dict[str, Any]]) -> None:
    assert SAVED.page.read_text() == SAVED.written(runs, SAVED.soak())


def test_the_loop_made_no_mistake_while_the_broker_was_up(runs: list[dict[str, Any]]) -> None:
    kept = [run for run in runs if SCENARIOS[run["scenario"]].kind != BROKER]
    assert sums(kept, "transactions") == dict.fromkeys(WRONG, 0)
    assert {run["outcome"] for run in kept if run["loop"] == "transactions"} == {"finished"}


@pytest.mark.parametrize(("kind", "least"), [(KILLS, 100), (NETWORK, 200)])
def test_so_many_faults_struck_it(runs: list[dict[str, Any]], kind: str, least: int) -> None:
    assert struck(runs, "transactions", kind) >= least


def test_the_same_faults_double_records_without_transactions(runs: list[dict[str, Any]]) -> None:
    found = sums(runs, "at least once")
    assert (found["doubled"] > 0, found["lost"]) == (True, 0)


def test_figures_compare_an_early_sample_with_the_last_before_all_is_closed() -> None:
    samples = [[number, 1000 + number, 5, 9] for number in range(1, 21)]
    assert figures({"producers": {"seconds": 7, "samples": samples}}) == (
        "Producers: 20 in 7 s. After 3 and after 19: 1,003 and 1,019 kB of resident memory, 5 and 5 threads, "
        "9 and 9 open files."
    )
