"""Commands on a cluster whose coordinator restarts or is killed: `python -m benchmarks.restarts`.

Results go to `measured.json` after every run, where one of the same cell and code is replaced, and
`benchmarks/restarts.md` is written anew.
"""

from __future__ import annotations

import argparse
import json
import signal
from pathlib import Path
from typing import Any

from benchmarks.measured import read_runs, replace_runs
from benchmarks.restarts.page import page
from benchmarks.restarts.running import CELLS, run

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
PAGE = HERE.parent / "restarts.md"
CODES = ("in the command's own process", "in a child process")
"""Where librdkafka runs, in the code that was measured; a run of today's code is of the last."""


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.restarts", description=__doc__)
    options.add_argument("--strikes", type=int, default=25, help="of each cell")
    options.add_argument("--only", action="append", choices=[cell.name for cell in CELLS], help="a cell")
    options.add_argument("--code", choices=CODES, default=CODES[-1], help="which code this is")
    options.add_argument("--page", action="store_true", help="only write the page anew")
    chosen = options.parse_args()
    # What a shell runs in its background ignores Ctrl-C, and so would the commands that get one here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for cell in () if chosen.page else CELLS:
        if chosen.only is None or cell.name in chosen.only:
            run(cell, chosen.strikes, lambda done: save(done | {"code": chosen.code}))
    PAGE.write_text(page(read_runs(MEASURED, "runs")))


def save(done: dict[str, Any]) -> None:
    """Keep a run in place of an older one of the same cell and code."""
    key = f"{done['code']}: {done['cell']}"
    print(json.dumps(done), flush=True)
    order = [f"{code}: {cell.name}" for code in CODES for cell in CELLS]
    replace_runs(MEASURED, "runs", [done | {"run": key}], "run", order)


if __name__ == "__main__":
    main()
