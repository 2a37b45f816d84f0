"""Real share groups beside a model: `python -m benchmarks.share_groups` runs them and writes a page.

A group that is run replaces its last run in `measured.json`. With `--compare` no group is run, and only the
page is written.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.measured import read_runs, replace_runs
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
    PAGE.write_text(page(read_saved()))


def read_saved() -> list[Run]:
    """The groups that were measured."""
    return read_runs(MEASURED, "groups")


def save(runs: list[Run]) -> None:
    """Keep these runs in place of the ones of the same group."""
    replace_runs(MEASURED, "groups", runs, "cell", NAMES)


if __name__ == "__main__":
    main()
