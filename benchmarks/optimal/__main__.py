"""Kafka's answers and the best ones, on invented groups: `python -m benchmarks.optimal`.

Each group lives the same life under each assignor, which starts every rebalance from its own answer to the
last. `benchmarks/optimal.md` tells what came out.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import track

from benchmarks.optimal.measuring import Counts, measure_group
from benchmarks.optimal.page import page
from benchmarks.optimal.picture import picture

if TYPE_CHECKING:
    from collections.abc import Iterable

SAVED = Path(__file__).parents[1] / "optimal.md"
DRAWN = Path(__file__).parents[2] / "docs" / "optimal.svg"
GROUPS = 2_000


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.optimal", description=__doc__)
    options.add_argument(
        "--groups", type=int, default=GROUPS, help="how many; fewer are not saved but printed"
    )
    groups = options.parse_args().groups
    counts = count_figures(groups)
    written = page(groups, counts)
    if groups == GROUPS:
        SAVED.write_text(written)
        DRAWN.write_text(picture(counts))
    else:
        print(written)


def count_figures(groups: int) -> Counts:
    """The figures of all groups, which are seeded by their number."""
    screen = Console(stderr=True)
    with ProcessPoolExecutor(initializer=os.nice, initargs=(10,)) as side_by_side:
        lives = side_by_side.map(measure_group, range(groups), chunksize=4)
        return gather(track(lives, "groups", groups, console=screen, disable=not screen.is_terminal))


def gather(lives: Iterable[Counts]) -> Counts:
    """The figures of several groups in one."""
    counts: Counts = {}
    for life in lives:
        for figure, places in life.items():
            for place, values in places.items():
                counts.setdefault(figure, {}).setdefault(place, Counter()).update(values)
    return counts


if __name__ == "__main__":
    main()
