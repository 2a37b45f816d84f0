"""What records of deploys teach, and what other deploys say of that: `python -m benchmarks.learning`.

Runs the cells on a real broker, which needs Java 17 and Maven. With `--compare` nothing is run, and
`benchmarks/learning.md` is written from `measured.json` and `records/`.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

from benchmarks.learning.cells import KINDS, ROLES
from benchmarks.learning.page import MEASURED, PAGE, RECORDS, page, verdicts
from benchmarks.learning.running import measure_all
from benchmarks.measured import replace_runs


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    options.add_argument("--only", action="append", choices=KINDS, help="a kind; several are allowed")
    options.add_argument("--role", action="append", choices=ROLES, help="the groups that teach, or judge")
    options.add_argument("--at-a-time", type=int, default=1, help="groups that run side by side")
    options.add_argument("--compare", action="store_true", help="only judge and write the page again")
    chosen = options.parse_args()
    order = [kind.cell("judges").name for kind in KINDS.values()]
    cells = [] if chosen.compare else [*product(chosen.only or KINDS, chosen.role or ROLES)]
    for run in measure_all(cells, chosen.at_a_time, RECORDS) if cells else ():
        print(run["cell"], run["partition_seconds"], run["longest"], run["peak_lag"], flush=True)
        if run["role"] == "judges":  # of the others the record is kept
            replace_runs(MEASURED, "runs", [run], "cell", order)
    Path(PAGE).write_text(page(verdicts()), encoding="utf-8")


if __name__ == "__main__":
    main()
