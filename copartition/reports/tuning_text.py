"""Settings that were tried for producers, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copartition.reports.producer import remark, verdicts
from copartition.reports.tables import cell, indent, note, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from partitioning.producer import Tuning


def print_tunings(tunings: Sequence[Tuning], assumed: Sequence[str], console: Console) -> None:
    """The verdicts, and what was tried for each client."""
    for text in verdicts(tunings):
        console.print(cell(text, "bold"), soft_wrap=True)
    for tuning in tunings:
        shown = table(
            [
                "LINGER.MS",
                "BATCH.SIZE",
                "P50 MS",
                f"P{tuning.percentile:g} MS",
                "REQUESTS/S",
                "RECORDS/REQUEST",
                "",
            ],
            right=range(6),
        )
        for trial in tuning.trials:
            shown.add_row(
                f"{trial.linger_ms:g}",
                str(trial.batch_size),
                f"{trial.median_ms:.1f}",
                cell(f"{trial.latency_ms:.1f}", "" if trial.keeps else "red"),
                f"{trial.requests_per_s:,.1f}",
                f"{trial.records_per_request:,.1f}",
                remark(trial, tuning),
            )
        console.print()
        console.print(cell(tuning.client))
        console.print(indent(shown))
    for text in assumed:
        console.print(note(f"assumed: {text}"), soft_wrap=True)
