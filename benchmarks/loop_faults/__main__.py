"""The loop under faults on a real broker: `python -m benchmarks.loop_faults --seeds 0 1`.

Results go to `measured.json` after every run, where those of the same scenario, loop and seed are replaced,
and `benchmarks/loop_faults.md` is written anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.faults.brokers import Brokers
from benchmarks.faults.saved import SavedResults
from benchmarks.loop_faults.page import page
from benchmarks.loop_faults.run import run
from benchmarks.loop_faults.scenarios import SCENARIOS, Scenario

LOOPS = {"transactions": True, "at least once": False}
HERE = Path(__file__).parent
SAVED = SavedResults(HERE, HERE.parent / "loop_faults.md", page, SCENARIOS, "loop", LOOPS)


def _run(name: str, scenario: Scenario, brokers: Brokers, loop: str, seed: int) -> dict[str, Any]:
    return run(name, scenario, brokers, transactions=LOOPS[loop], seed=seed)


if __name__ == "__main__":
    SAVED.measure(__doc__, Brokers, _run)
