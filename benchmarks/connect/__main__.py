"""Real clusters of Kafka Connect, and what happens to them: `python -m benchmarks.connect`.

A cluster that is run replaces its last run in `measured.json`. With `--compare` nothing is run, and only
`benchmarks/connect.md` is written, which has each rebalance beside its prediction.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.connect.cells import CELLS
from benchmarks.connect.comparing import page
from benchmarks.connect.running import Run, run_cells
from benchmarks.measured import read_runs, replace_runs

MEASURED = Path(__file__).parent / "measured.json"
PAGE = Path(__file__).parents[1] / "connect.md"
NAMES = [cell.name for cell in CELLS]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.connect", description=__doc__)
    options.add_argument("--only", action="append", choices=NAMES, help="a cluster; several are allowed")
    options.add_argument("--at-a-time", type=int, default=3, help="clusters that run side by side")
    options.add_argument("--compare", action="store_true", help="only compare what was measured")
    chosen = options.parse_args()
    if not chosen.compare:
        wanted = set(chosen.only or NAMES)
        save(run_cells([cell for cell in CELLS if cell.name in wanted], chosen.at_a_time))
    PAGE.write_text(page(read_saved()))


def read_saved() -> list[Run]:
    """The clusters that were measured."""
    return read_runs(MEASURED, "clusters")


def save(runs: list[Run]) -> None:
    """Keep these runs in place of the ones of the same cluster."""
    replace_runs(MEASURED, "clusters", runs, "cell", NAMES)


if __name__ == "__main__":
    main()
