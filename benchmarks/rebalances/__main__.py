"""Real consumers through many disturbances on a real broker: `python -m benchmarks.rebalances --runs 3`.

Some groups run side by side, each on its own topic and in processes of its own. Results go to `measured.json`
after every run; those of cells that were run replace the ones of the file. With `--compare` nothing is run,
and `benchmarks/rebalances.md` says how far `simulate` is from what was measured.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from benchmarks.rebalances.cell import Cell, run_all
from benchmarks.rebalances.comparing import compare, page
from benchmarks.rebalances.measure import GROUP_APIS
from benchmarks.rebalances.record import record
from benchmarks.rebalances.scenarios import PROTOCOLS, SCENARIOS, protocols

MEASURED = Path(__file__).parent / "measured.json"
COMPARED = Path(__file__).parents[1] / "rebalances.md"
Runs = list[dict[str, Any]]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.rebalances", description=__doc__)
    options.add_argument("--runs", type=int, default=3, help="runs of each cell")
    options.add_argument("--only", action="append", choices=SCENARIOS, help="a scenario; several are allowed")
    options.add_argument("--at-a-time", type=int, default=6, help="groups that run side by side")
    options.add_argument(
        "--compare", action="store_true", help="only compare what was measured with `simulate`"
    )
    chosen = options.parse_args()
    if chosen.compare:
        COMPARED.write_text(page(compare(read_saved())))
        return
    names = [name for name in SCENARIOS if chosen.only is None or name in chosen.only]
    kept = [run for run in read_saved() if run["scenario"] not in names]
    for number in range(1, chosen.runs + 1):
        kept += measure_scenarios(names, number, chosen.at_a_time)
        _save(kept)
        print(f"run {number} of {chosen.runs}:", *_summary(kept, names), sep="\n", flush=True)


def measure_scenarios(names: list[str], number: int, at_a_time: int) -> Runs:
    """One run of these scenarios under each protocol, on a broker of its own."""
    cells = {}
    for name in names:
        for protocol in protocols(name):
            drawn = SCENARIOS[name](Random(f"{name}/{protocol}/{number}"))
            cells[name, protocol] = Cell(f"{name.replace(' ', '-')}-{protocol}", protocol, drawn)
    ran, log = run_all(list(cells.values()), at_a_time, GROUP_APIS)
    return [
        {"scenario": name, "run": number, **record(one, results, log)}
        for ((name, _), one), results in zip(cells.items(), ran, strict=True)
    ]


def read_saved() -> Runs:
    """The runs that were measured."""
    return json.loads(MEASURED.read_text())["runs"] if MEASURED.exists() else []


def _save(runs: Runs) -> None:
    """Write a run a line, so that a changed run is a changed line."""
    order = {name: position for position, name in enumerate(SCENARIOS)}
    names = list(PROTOCOLS)
    runs = sorted(runs, key=lambda run: (order[run["scenario"]], names.index(run["protocol"]), run["run"]))
    lines = ",\n".join(json.dumps(run, separators=(",", ":")) for run in runs)
    MEASURED.write_text(f'{{"runs": [\n{lines}\n]}}\n')


def _summary(runs: Runs, names: list[str]) -> list[str]:
    """The medians of each cell."""
    lines = []
    for name in names:
        for protocol in protocols(name):
            cells = [run for run in runs if (run["scenario"], run["protocol"]) == (name, protocol)]
            seconds = median(run["partition_seconds"] for run in cells)
            longest = median(run["longest"] for run in cells)
            counted = [run["rounds"] for run in cells]
            twice = median(run["read_twice"] for run in cells)
            still = sum(len(run["unread_at_the_end"]) for run in cells)
            lines.append(
                f"{name:22} {protocol:12} {seconds:8.1f} partition-seconds, longest {longest:6.2f} s, "
                f"rounds {counted}, read twice {twice:.0f}" + (f", unread {still}" if still else "")
            )
    return lines


if __name__ == "__main__":
    main()
