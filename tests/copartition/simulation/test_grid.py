"""Grids of simulations in several processes of one machine."""

from dataclasses import asdict, replace

import pytest

from assignors import Topic
from copartition import simulate
from copartition.simulation import Consumer, RollingRestart, Scenario, simulate_grid
from partitioning.errors import ScenarioError

DEPLOY = Scenario(
    topics=(Topic("orders", 6),),
    consumers=tuple(Consumer(f"worker-{number}") for number in range(2)),
    events=(RollingRestart(at_ms=10_000, every_ms=60_000, down_ms=5_000),),
    seed=7,
)
GRID = {"assignor": ["range", "cooperative-sticky"], "session.timeout.ms": [10_000, 45_000]}


def test_a_row_is_what_the_run_of_its_cell_says_of_itself() -> None:
    rows = simulate_grid(DEPLOY, {"assignor": ["range", "sticky"]}, 2, processes=1)
    assert rows == [
        {
            "assignor": assignor,
            "run": run,
            **asdict(simulate(replace(DEPLOY, assignor=assignor, seed=7 + run)).summary),
        }
        for run in range(2)
        for assignor in ("range", "sticky")
    ]


@pytest.mark.live
@pytest.mark.parametrize("processes", [2, 50])
def test_the_number_of_processes_changes_no_byte(processes: int) -> None:
    alone = simulate_grid(DEPLOY, GRID, 3, processes=1)
    assert repr(simulate_grid(DEPLOY, GRID, 3, processes=processes)) == repr(alone)
    assert len(alone) == 12


@pytest.mark.live
def test_an_error_of_a_cell_is_the_same_in_another_process() -> None:
    with pytest.raises(ScenarioError, match="the cell members=0: members is 0"):
        simulate_grid(DEPLOY, {"members": [4, 0]}, 2, processes=2)


@pytest.mark.parametrize(("runs", "processes"), [(0, 1), (1, 0), (1, 1.5)])
def test_counts_below_one_are_refused(runs: int, processes: int) -> None:
    with pytest.raises(ScenarioError, match="give a whole number, 1 or more"):
        simulate_grid(DEPLOY, GRID, runs, processes=processes)
