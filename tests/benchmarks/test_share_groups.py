"""The model of share groups beside real groups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.share_groups.__main__ import PAGE, read_saved
from benchmarks.share_groups.cells import CELLS, short
from benchmarks.share_groups.comparing import compare_runs, page
from benchmarks.share_groups.running import run_cells
from copartition.models.share_groups.run import simulate_share


@pytest.mark.slow
def test_the_groups_have_members_locks_slow_dead_and_poisoned_ones() -> None:
    assert len(CELLS) >= 12
    assert {run["cell"] for run in read_saved()} == {*CELLS}


@pytest.mark.slow
def test_real_groups_are_as_predicted() -> None:
    assert {pair.run["cell"]: pair.misses for pair in compare_runs(read_saved()) if pair.misses} == {}


@pytest.mark.slow
def test_the_page_is_what_the_comparison_says() -> None:
    assert PAGE.read_text() == page(read_saved())


@pytest.mark.nightly
@pytest.mark.jvm
def test_a_group_that_is_run_now_redelivers_what_is_predicted() -> None:
    """Polls outlast the lock until the broker delivers half as many records."""
    group = replace(short(1, 20, 390), lock_ms=3_000)  # seconds apart, for a machine that is busy
    (run,) = run_cells({"now": group}, 1)
    assert (run["accepted"], run["redeliveries"]) == (20, simulate_share(group).redeliveries)
