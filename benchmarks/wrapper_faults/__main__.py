"""Producers under faults on a real broker: `python -m benchmarks.wrapper_faults --seeds 0 1`.

Results go to `measured.json` after every run, where those of the same scenario, producer and seed are
replaced, and `benchmarks/wrapper_faults.md` is written anew.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.faults.brokers import Brokers
from benchmarks.faults.saved import Saved
from benchmarks.wrapper_faults.page import page
from benchmarks.wrapper_faults.run import HANGS, WRITERS, run
from benchmarks.wrapper_faults.scenarios import SCENARIOS


def _cell(run: dict[str, Any]) -> tuple[int, int, int]:
    return list(SCENARIOS).index(run["scenario"]), list(WRITERS).index(run["writer"]), run["seed"]


HERE = Path(__file__).parent
SAVED = Saved(HERE, HERE.parent / "wrapper_faults.md", page, _cell)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.wrapper_faults", description=__doc__)
    options.add_argument("--seeds", type=int, nargs="+", default=[0], help="one run of each cell for each")
    options.add_argument("--only", action="append", choices=SCENARIOS, help="a scenario; several are allowed")
    options.add_argument("--writer", action="append", choices=WRITERS, help="a producer; several are allowed")
    chosen = options.parse_args()
    with Brokers() as brokers:
        for seed in chosen.seeds:
            for writer in chosen.writer or WRITERS:
                for name in chosen.only or SCENARIOS:
                    if (writer, name) in HANGS:
                        continue
                    done = run(name, SCENARIOS[name], brokers, writer=writer, seed=seed)
                    print(json.dumps(done), flush=True)
                    SAVED.add(done)


if __name__ == "__main__":
    main()
