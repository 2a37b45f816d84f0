"""Real groups of four clients, and what happens to them: `python -m benchmarks.live_groups`.

Groups are written to `measured.json` as they end; those that were run replace the ones of the file. With
`--compare` nothing is run: `benchmarks/live_groups.md` says who owned what, and what `simulate` says of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.live_groups.comparing import page
from benchmarks.live_groups.groups import GROUPS, TOGETHER
from benchmarks.live_groups.running import Run, run_groups
from benchmarks.measured import read_runs, replace_runs

MEASURED = Path(__file__).parent / "measured.json"
PAGE = Path(__file__).parents[1] / "live_groups.md"
NAMES = [group.name for group in (*GROUPS, *TOGETHER)]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.live_groups", description=__doc__)
    options.add_argument("--only", action="append", choices=NAMES, help="a group; several are allowed")
    options.add_argument("--at-a-time", type=int, default=4, help="groups that run side by side")
    options.add_argument("--compare", action="store_true", help="only compare what was measured")
    chosen = options.parse_args()
    if chosen.compare:
        PAGE.write_text(page(read_saved()))
    else:
        wanted = set(chosen.only or NAMES)
        apart = [group for group in GROUPS if group.name in wanted]
        together = [group for group in TOGETHER if group.name in wanted]
        for first in range(0, len(apart), chosen.at_a_time):
            save(run_groups(apart[first : first + chosen.at_a_time], chosen.at_a_time))
        if together:
            save(run_groups(together, len(together)))


def read_saved() -> list[Run]:
    """The groups that were measured."""
    return read_runs(MEASURED, "groups")


def save(runs: list[Run]) -> None:
    """Keep these runs in place of the ones of the same group."""
    replace_runs(MEASURED, "groups", runs, "group", NAMES)


if __name__ == "__main__":
    main()
