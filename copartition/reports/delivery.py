"""What faults did to a producer's batches: a verdict, figures and assumptions, on a terminal and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from copartition.reports.json import dump

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from partitioning.producer import DeliveryAssessment, DeliverySettings, Faults, Tally
    from partitioning.producer.tuning import Client


DELIVERY_FORMAT_VERSION = "1.0"

LIMITS = (
    "one producer that writes to one partition, a record a batch, at an even pace; a broken connection is "
    "there again at once, and a new leader is known at once"
)
"""What the model leaves out, whatever the case."""


class Case(NamedTuple):
    """What was asked.

    Attributes:
        client: whose rules.
        settings: the producer's.
        faults: what went wrong.
        times: `interval_ms`, `round_trip_ms` and `replication_ms`.
        seed: of the first run.
    """

    client: Client
    settings: DeliverySettings
    faults: Faults
    times: Mapping[str, float]
    seed: int


def tallies(assessment: DeliveryAssessment) -> dict[str, Tally]:
    """Each class under the name that a reader sees."""
    return {
        "lost": assessment.lost,
        "twice": assessment.duplicated,
        "out of order": assessment.reordered,
        "failed": assessment.failed,
        "failed but written": assessment.failed_but_written,
    }


def verdict(case: Case, assessment: DeliveryAssessment) -> str:
    """One sentence: the settings, and what happened to how many batches."""
    settings = case.settings
    used = ", ".join(
        [
            f"acks={settings.acks}",
            "idempotence" if settings.enable_idempotence else "no idempotence",
            f"{settings.max_in_flight_requests_per_connection:,} in flight",
        ]
    )
    happened = [f"{tally.batches:,} {name}" for name, tally in tallies(assessment).items() if tally.batches]
    total = f"of {assessment.batches * assessment.runs:,} batches in {assessment.runs:,} runs"
    outcome = f"{total} {', '.join(happened)}" if happened else f"{total} all are written once and in order"
    return f"{case.client}, {used}: {outcome}"


def assumptions(case: Case) -> list[str]:
    """What the figures rest on."""
    times, faults = case.times, case.faults
    pace = (
        f"a batch every {times['interval_ms']:g} ms, {times['round_trip_ms']:g} ms to the leader and back, "
        f"{times['replication_ms']:g} ms until the leader knows that followers have a batch"
    )
    texts = [LIMITS, pace]
    if faults.leader_changes:
        texts.append(
            "the changes of leader are moved from run to run, in even steps over the time that a batch needs"
        )
    if isfinite(faults.followers_gone_ms):
        texts.append("the leader alone is in sync before an unclean election (min.insync.replicas=1)")
    return texts


def delivery_json(case: Case, assessment: DeliveryAssessment) -> str:
    """The same as data."""
    faults = asdict(case.faults)
    shown = ("refused", "request_lost", "ack_lost", "leader_changes")
    values = {
        "format_version": DELIVERY_FORMAT_VERSION,
        "client": case.client,
        "settings": asdict(case.settings),
        "faults": {name: faults[name] for name in shown}
        | {"unclean_since_ms": _finite(faults["followers_gone_ms"])},
        **case.times,
        "seed": case.seed,
        "batches": assessment.batches,
        "runs": assessment.runs,
        "assumed": assumptions(case),
        "classes": {name.replace(" ", "_"): tally._asdict() for name, tally in tallies(assessment).items()},
    }
    return dump(values)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def print_delivery(case: Case, assessment: DeliveryAssessment, console: Console) -> None:
    """The verdict, what happened to how many batches, and what is assumed."""
    from copartition.reports.grid import cell, indent, note, table  # noqa: PLC0415 - JSON does without rich

    console.print(cell(verdict(case, assessment), "bold"), soft_wrap=True)
    shown = table(["", "BATCHES", "%", "RUNS", "MOST IN A RUN"], right=range(1, 5))
    for name, tally in tallies(assessment).items():
        share = 100 * tally.batches / (assessment.batches * assessment.runs)
        shown.add_row(
            name,
            cell(f"{tally.batches:,}", "red" if tally.batches else ""),
            f"{share:.2f}",
            f"{tally.runs:,}",
            f"{tally.most:,}",
        )
    console.print(indent(shown))
    for text in assumptions(case):
        console.print(note(f"assumed: {text}"), soft_wrap=True)
