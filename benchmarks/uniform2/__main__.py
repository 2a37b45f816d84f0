"""A draft assignor's rule and ours, on the draft's own groups: `python -m benchmarks.uniform2`.

What is measured is saved in `measured.json`. With `--compare` nothing is measured, and only
`benchmarks/uniform2.md` is written.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measured import read_runs, replace_runs
from benchmarks.uniform2.measuring import measure_group
from benchmarks.uniform2.page import page
from benchmarks.uniform2.shapes import SHAPES

if TYPE_CHECKING:
    from benchmarks.measured import Run

MEASURED = Path(__file__).parent / "measured.json"
PAGE = Path(__file__).parents[1] / "uniform2.md"


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.uniform2", description=__doc__)
    options.add_argument("--compare", action="store_true", help="only compare what was measured")
    if not options.parse_args().compare:
        names = [shape.name for shape in SHAPES]
        replace_runs(MEASURED, "groups", [measure_group(shape) for shape in SHAPES], "shape", names)
    PAGE.write_text(page(read_saved()))


def read_saved() -> list[Run]:
    """The groups that were measured."""
    return read_runs(MEASURED, "groups")


if __name__ == "__main__":
    main()
