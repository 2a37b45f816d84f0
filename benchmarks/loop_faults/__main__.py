"""The loop under faults on a real broker: `python -m benchmarks.loop_faults --seeds 0 1`.

Results go to `measured.json` after every run, where those of the same scenario, loop and seed are replaced,
and `benchmarks/loop_faults.md` is written anew.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.faults.brokers import Brokers
from benchmarks.faults.saved import Saved
from benchmarks.loop_faults.page import page
from benchmarks.loop_faults.run import run
from benchmarks.loop_faults.scenarios import SCENARIOS

LOOPS = {"transactions": True, "at least once": False}


def _cell(run: dict[str, Any]) -> tuple[int, int, int]:
    return list(SCENARIOS).index(run["scenario"]), list(LOOPS).index(run["loop"]), run["seed"]


HERE = Path(__file__).parent
SAVED = Saved(HERE, HERE.parent / "loop_faults.md", page, _cell)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.loop_faults", description=__doc__)
    options.add_argument("--seeds", type=int, nargs="+", default=[0], help="one run of each cell for each")
    options.add_argument("--only", action="append", choices=SCENARIOS, help="a scenario; several are allowed")
    options.add_argument("--loop", choices=LOOPS, help="only this one")
    chosen = options.parse_args()
    with Brokers() as brokers:
        for seed in chosen.seeds:
            for loop in [chosen.loop] if chosen.loop else LOOPS:
                for name in chosen.only or SCENARIOS:
                    done = run(name, SCENARIOS[name], brokers, transactions=LOOPS[loop], seed=seed)
                    print(json.dumps(done), flush=True)
                    SAVED.add(done)


if __name__ == "__main__":
    main()
