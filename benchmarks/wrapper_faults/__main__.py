"""Producers under faults on a real broker: `python -m benchmarks.wrapper_faults --seeds 0 1`.

Results go to `measured.json` after every run, where those of the same scenario, producer and seed are
replaced, and `benchmarks/wrapper_faults.md` is written anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.faults.brokers import Brokers
from benchmarks.faults.saved import SavedResults
from benchmarks.wrapper_faults.page import page
from benchmarks.wrapper_faults.run import HANGS, WRITERS, run
from benchmarks.wrapper_faults.scenarios import SCENARIOS, Scenario

HERE = Path(__file__).parent
SAVED = SavedResults(HERE, HERE.parent / "wrapper_faults.md", page, SCENARIOS, "writer", WRITERS)


def _run(name: str, scenario: Scenario, brokers: Brokers, writer: str, seed: int) -> dict[str, Any]:
    return run(name, scenario, brokers, writer=writer, seed=seed)


if __name__ == "__main__":
    SAVED.measure(__doc__, Brokers, _run, HANGS)
