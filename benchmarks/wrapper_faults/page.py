"""`benchmarks/wrapper_faults.md`: what became of the records, a row for each fault and producer."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from benchmarks.faults.saved import row, table

SUMS = ("struck", "open", "records", "lost", "told", "doubled", "misplaced", "out_of_order")
HEAD = """# Producers under faults

Written by `make wrapper-faults`; `benchmarks/wrapper_faults/README.md` says how it is measured. A process
of `PartitioningProducer` ("asyncio": `PartitioningAIOProducer`; "kafka-python" and "aiokafka": those
clients with our partitioners) is struck at drawn calls of `produce`; *open* are faults that struck while
records had no report yet. *Lost* are records that were acknowledged, or without any report though `flush`
returned 0, and that a reader does not find: there may be none. *Told* are records that a callback or an
exception called lost. A plain producer, without idempotence, may double and reorder what it sends again:
that is Kafka's promise. Misplaced is what is in no partition of its key.

"""


def page(runs: list[dict[str, Any]], _: dict[str, Any] | None = None) -> str:
    """The table.

    Args:
        runs: those of a scenario and writer side by side.
    """
    rows = [
        row(scenario, writer, list(some), summed=SUMS)
        for (scenario, writer), some in groupby(runs, lambda run: (run["scenario"], run["writer"]))
    ]
    totals = [
        row("**all**", writer, [run for run in runs if run["writer"] == writer], summed=SUMS)
        for writer in sorted({run["writer"] for run in runs})
    ]
    return HEAD + table("fault", "producer", [*rows, *totals], summed=SUMS)
