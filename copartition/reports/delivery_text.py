"""A producer's batches under faults, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copartition.reports.delivery import Case, assumed, tallies, verdict
from copartition.reports.tables import cell, indent, note, table

if TYPE_CHECKING:
    from rich.console import Console

    from partitioning.producer import DeliveryAssessment


def print_delivery(case: Case, found: DeliveryAssessment, console: Console) -> None:
    """The verdict, what happened to how many batches, and what is assumed."""
    console.print(cell(verdict(case, found), "bold"), soft_wrap=True)
    shown = table(["", "BATCHES", "%", "RUNS", "MOST IN A RUN"], right=range(1, 5))
    for name, tally in tallies(found).items():
        share = 100 * tally.batches / (found.batches * found.runs)
        shown.add_row(
            name,
            cell(f"{tally.batches:,}", "red" if tally.batches else ""),
            f"{share:.2f}",
            f"{tally.runs:,}",
            f"{tally.most:,}",
        )
    console.print(indent(shown))
    for text in assumed(case):
        console.print(note(f"assumed: {text}"), soft_wrap=True)
