"""Spark's sinks under faults on a real broker: `python -m benchmarks.faults --seeds 0 1 2`.

Results go to `measured.json` after every run, where those of the same scenario, sink and seed are replaced,
and `benchmarks/faults.md` is written anew.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.faults.environment import Environment
from benchmarks.faults.page import page
from benchmarks.faults.run import run
from benchmarks.faults.saved import Saved
from benchmarks.faults.scenarios import SCENARIOS

SINKS = {"at least once": False, "exactly once": True}


def _cell(run: dict[str, Any]) -> tuple[int, int, int]:
    return list(SCENARIOS).index(run["scenario"]), list(SINKS).index(run["sink"]), run["seed"]


HERE = Path(__file__).parent
SAVED = Saved(HERE, HERE.parent / "faults.md", page, _cell)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    options.add_argument("--seeds", type=int, nargs="+", default=[0], help="one run of each cell for each")
    options.add_argument("--only", action="append", choices=SCENARIOS, help="a scenario; several are allowed")
    options.add_argument("--sink", choices=SINKS, help="only this one")
    chosen = options.parse_args()
    with Environment() as environment:
        for seed in chosen.seeds:
            for name in chosen.only or SCENARIOS:
                for sink in [chosen.sink] if chosen.sink else SINKS:
                    done = run(name, SCENARIOS[name], environment, exactly_once=SINKS[sink], seed=seed)
                    print(json.dumps(done), flush=True)
                    SAVED.add(done)


if __name__ == "__main__":
    main()
