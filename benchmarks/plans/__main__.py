"""Real groups, planned and then changed: `python -m benchmarks.plans`.

A group of Java consumers is read from its broker, as `live:GROUP` does, and kept as a snapshot. Then a member
leaves, a topic grows or a member joins, and its consumers say what they have. All that is `measured.json`;
`benchmarks/plans.md` tells what was planned and what came true. With `--compare` no broker is needed: what
was measured is planned again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.plans.cells import CELLS, RACKS, REPLICAS, Cell
from benchmarks.plans.comparing import page
from benchmarks.plans.living import live
from benchmarks.plans.predicting import changes
from tests.support.broker import Broker, Kafka

MEASURED = Path(__file__).parent / "measured.json"
COMPARED = Path(__file__).parents[1] / "plans.md"
Runs = list[dict[str, Any]]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.plans", description=__doc__)
    options.add_argument("--only", action="append", choices=[cell.group for cell in CELLS], help="a group")
    options.add_argument("--at-a-time", type=int, default=3, help="groups that run side by side")
    options.add_argument("--compare", action="store_true", help="only plan again what was measured")
    chosen = options.parse_args()
    if not chosen.compare:
        cells = [cell for cell in CELLS if chosen.only is None or cell.group in chosen.only]
        _save({**read_saved(), **measure_lives(cells, chosen.at_a_time)})
    COMPARED.write_text(page(list(changes(read_saved().values()))))


def measure_lives(cells: list[Cell], at_a_time: int) -> dict[str, dict[str, Any]]:
    """The life of each cell's group, on a cluster of their own."""
    settings = f"default.replication.factor={REPLICAS}\n"
    with (
        tempfile.TemporaryDirectory(prefix="plans-") as folder,
        Broker(settings, racks=RACKS) as broker,
        ThreadPoolExecutor(at_a_time) as side_by_side,
    ):
        kafka = Kafka(broker.bootstrap_servers)
        lives = side_by_side.map(lambda cell: live(cell, kafka, Path(folder)), cells)
        return {cell.group: run for cell, run in zip(cells, lives, strict=True)}


def read_saved() -> dict[str, dict[str, Any]]:
    """What was measured, by group."""
    return json.loads(MEASURED.read_text()) if MEASURED.exists() else {}


def _save(runs: dict[str, dict[str, Any]]) -> None:
    """Write a state a line, so that a changed state is a changed line."""
    lives = [(group, runs[group]) for group in (cell.group for cell in CELLS) if group in runs]
    MEASURED.write_text("{\n" + ",\n".join(map(_lines, lives)) + "\n}\n")


def _lines(life: tuple[str, dict[str, Any]]) -> str:
    group, run = life
    steps = ",\n".join(json.dumps(step, separators=(",", ":")) for step in run["steps"])
    rest = json.dumps({key: value for key, value in run.items() if key != "steps"})[:-1]
    return f'{json.dumps(group)}: {rest}, "steps": [\n{steps}]}}'


if __name__ == "__main__":
    main()
