"""Real share groups: `python -m benchmarks.share_groups`.

Groups are written to `measured.json`; those that were run replace the ones of the file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.share_groups.cells import CELLS
from benchmarks.share_groups.running import Run, run_cells

MEASURED = Path(__file__).parent / "measured.json"
NAMES = [cell.name for cell in CELLS]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.share_groups", description=__doc__)
    options.add_argument("--only", action="append", choices=NAMES, help="a group; several are allowed")
    options.add_argument("--at-a-time", type=int, default=3, help="groups that run side by side")
    chosen = options.parse_args()
    wanted = set(chosen.only or NAMES)
    save(run_cells([cell for cell in CELLS if cell.name in wanted], chosen.at_a_time))


def saved() -> list[Run]:
    """The groups that were measured."""
    return json.loads(MEASURED.read_text())["groups"] if MEASURED.exists() else []


def save(runs: list[Run]) -> None:
    """Write a group a line; those that were run replace those of the file."""
    new = {run["cell"] for run in runs}
    kept = [*(run for run in saved() if run["cell"] not in new), *runs]
    lines = ",\n".join(
        json.dumps(run, separators=(",", ":"))
        for run in sorted(kept, key=lambda run: NAMES.index(run["cell"]))
    )
    MEASURED.write_text(f'{{"groups": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
