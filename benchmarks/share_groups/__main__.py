"""Real share groups beside a model: `python -m benchmarks.share_groups` runs them and writes a page.

Groups are written to `measured.json`; those that were run replace the ones of the file. With `--compare` none
is run, and only the page is written.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.share_groups.cells import CELLS
from benchmarks.share_groups.comparing import page
from benchmarks.share_groups.running import Run, run_cells

MEASURED = Path(__file__).parent / "measured.json"
PAGE = Path(__file__).parents[1] / "share_groups.md"
NAMES = [*CELLS]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.share_groups", description=__doc__)
    options.add_argument("--only", action="append", choices=NAMES, help="a group; several are allowed")
    options.add_argument("--at-a-time", type=int, default=3, help="groups that run side by side")
    options.add_argument("--compare", action="store_true", help="only compare what was measured")
    chosen = options.parse_args()
    if not chosen.compare:
        wanted = {name: CELLS[name] for name in chosen.only or NAMES}
        save(run_cells(wanted, chosen.at_a_time))
    PAGE.write_text(page(saved()))


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
