"""`benchmarks/faults.md`: what became of the records, a row for each fault and sink."""

from __future__ import annotations

from itertools import groupby
from statistics import median
from typing import Any

from benchmarks.faults.saved import row, table

MORE = ("aborted", "copies")
"""What is counted in some runs only."""

HEAD = """# Records under faults

Written by `make faults`; `benchmarks/faults/README.md` says how it is measured. A fault strikes a task at a
drawn call of its producer; *open* are those that struck a task that had given records to its producer and
had not ended (of the exactly-once sink: not committed them), *in a transaction* those of them that struck
while a transaction was open.

Lost, doubled, misplaced and out of order are counted by a `read_committed`
reader of the whole topic; of a run that did not finish, what its drivers did not come to write counts as
lost, too. *Aborted* are the records that a `read_uncommitted` reader sees beyond those; *copies* are attempts
that began while an earlier attempt of the same task was asleep. A dash: some run did not count it. A stall is
the longest time that a `read_committed` reader stood still before records that were there.

"""


def page(runs: list[dict[str, Any]], soak: dict[str, Any] | None) -> str:
    """The table, and what the soak came to.

    Args:
        runs: those of a scenario and sink side by side.
        soak: as `soak.json` holds it; None where it was not run.
    """
    rows = [
        _row(scenario, sink, list(some))
        for (scenario, sink), some in groupby(runs, lambda run: (run["scenario"], run["sink"]))
    ]
    totals = [
        _row("**all**", sink, [run for run in runs if run["sink"] == sink])
        for sink in dict.fromkeys(run["sink"] for run in runs)
    ]
    return (
        HEAD
        + table("fault", "sink", [*rows, *totals], *MORE)
        + (f"\n## Soak\n\n{figures(soak)}\n" if soak else "")
    )


def _row(scenario: str, sink: str, runs: list[dict[str, Any]]) -> list[str]:
    """A line; a dash where some run did not count."""
    counted = {name: [run[name] for run in runs if name in run] for name in MORE}
    more = (f"{sum(counts):,}" if len(counts) == len(runs) else "-" for counts in counted.values())
    return row(scenario, sink, runs, *more)


def figures(soak: dict[str, Any]) -> str:
    """What the samples come to, in a sentence: the second fifth against the last one."""
    samples = soak["samples"]
    fifth = max(len(samples) // 5, 1)
    early, late = samples[fifth : 2 * fifth], samples[-fifth:]
    workers, jvm, connections = (
        f"{median(sample[place] for sample in early):.0f} and {median(sample[place] for sample in late):.0f}"
        for place in (1, 2, 3)
    )
    return (
        f"A stream of {samples[-1][0] / 60:.0f} minutes, {soak['batches']:,} micro-batches and "
        f"{soak['records']:,} records, {sum(soak['failures'].values())} failures. Medians of the second "
        f"fifth and of the last one: Python workers {workers} MB, JVM {jvm} MB, connections to the broker "
        f"{connections}, at most {max(sample[3] for sample in early)} and "
        f"{max(sample[3] for sample in late)}."
    )
