"""Spark's sinks under faults on a real broker: `python -m benchmarks.faults --seeds 0 1 2`.

Results go to `measured.json` after every run, where those of the same scenario, sink and seed are replaced,
and `benchmarks/faults.md` is written anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.faults.environment import Environment
from benchmarks.faults.page import page
from benchmarks.faults.run import run
from benchmarks.faults.saved import SavedResults
from benchmarks.faults.scenarios import SCENARIOS, Scenario

SINKS = {"at least once": False, "exactly once": True}
HERE = Path(__file__).parent
SAVED = SavedResults(HERE, HERE.parent / "faults.md", page, SCENARIOS, "sink", SINKS)


def _run(name: str, scenario: Scenario, environment: Environment, sink: str, seed: int) -> dict[str, Any]:
    return run(name, scenario, environment, exactly_once=SINKS[sink], seed=seed)


if __name__ == "__main__":
    SAVED.measure(__doc__, Environment, _run)
