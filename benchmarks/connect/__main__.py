"""Real clusters of Kafka Connect, and what happens to them: `python -m benchmarks.connect`.

Clusters are written to `measured.json` as they end; those that were run replace the ones of the file. With
`--compare` nothing is run: `benchmarks/connect.md` has each rebalance beside its prediction.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.connect.cells import CELLS
from benchmarks.connect.comparing import page
from benchmarks.connect.running import Run, run_cells

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
    PAGE.write_text(page(saved()))


def saved() -> list[Run]:
    """The clusters that were measured."""
    return json.loads(MEASURED.read_text())["clusters"] if MEASURED.exists() else []


def save(runs: list[Run]) -> None:
    """Write a cluster a line; those that were run replace those of the file."""
    new = {run["cell"] for run in runs}
    kept = [*(run for run in saved() if run["cell"] not in new), *runs]
    lines = ",\n".join(
        json.dumps(run, separators=(",", ":"))
        for run in sorted(kept, key=lambda run: NAMES.index(run["cell"]))
    )
    MEASURED.write_text(f'{{"clusters": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
