"""`benchmarks/loop_faults.md`: what became of the records, a row for each fault and loop."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from benchmarks.faults.saved import row, table
from benchmarks.loop_faults.scenarios import BROKER, KILLS, NETWORK, SCENARIOS

HEAD = """# Read, process, write under faults

Written by `make loop-faults`; `benchmarks/loop_faults/README.md` says how it is measured. Three processes of
`read_process_write` share a group. A fault strikes one of them at a drawn call of its producer;
*open* are those that struck while records were produced and not committed, *in a transaction* those that
struck while a transaction was open.

Lost, doubled, misplaced and out of order are counted by a
`read_committed` reader of the outputs and of the dead letters. A stall is the longest time that such a reader
stood still before outputs that were there. *Hung* are processes that ended themselves because a call did not
come back. Where the only broker was restarted, the broker itself did not keep transactions whole; the README
says how. Where there are three, each record has a replica on all, and one is down at a time.

"""


def page(runs: list[dict[str, Any]], soak: dict[str, Any] | None) -> str:
    """The table, and what the soak came to.

    Args:
        runs: those of a scenario and loop side by side.
        soak: as `soak.json` holds it; None where it was not run.
    """
    rows = [
        _row(scenario, loop, list(some))
        for (scenario, loop), some in groupby(runs, lambda run: (run["scenario"], run["loop"]))
    ]
    loops = dict.fromkeys(run["loop"] for run in runs)
    kept = [run for run in runs if SCENARIOS[run["scenario"]].kind != BROKER]
    name = "**all but broker faults**"
    totals = [_row(name, loop, [run for run in kept if run["loop"] == loop]) for loop in loops]
    counts = "".join(
        f"\n{loop.capitalize()}: {struck(runs, loop, KILLS)} kills and {struck(runs, loop, NETWORK)} network "
        "faults that struck.\n"
        for loop in loops
    )
    return (
        HEAD
        + table("fault", "loop", [*rows, *totals], "hung")
        + counts
        + (f"\n## Soak\n\n{figures(soak)}\n" if soak else "")
    )


def _row(scenario: str, loop: str, runs: list[dict[str, Any]]) -> list[str]:
    return row(scenario, loop, runs, str(sum(run["events"].get("hung", 0) for run in runs)))


def struck(runs: list[dict[str, Any]], loop: str, kind: str) -> int:
    """How many faults of a kind struck a loop."""
    return sum(
        run["struck"] for run in runs if run["loop"] == loop and SCENARIOS[run["scenario"]].kind == kind
    )


def figures(soak: dict[str, Any]) -> str:
    """What the samples come to: the first after a tenth, and the last but one; all is closed at the last."""
    return "\n\n".join(_figures(name, part) for name, part in soak.items())


def _figures(name: str, part: dict[str, Any]) -> str:
    samples = part["samples"]
    early, late = samples[len(samples) // 10], samples[-2]
    memory, threads, files = (f"{early[place]:,} and {late[place]:,}" for place in (1, 2, 3))
    return (
        f"{name.capitalize()}: {samples[-1][0]:,} in {part['seconds']:,} s. After {early[0]:,} and after "
        f"{late[0]:,}: {memory} kB of resident memory, {threads} threads, {files} open files."
    )
