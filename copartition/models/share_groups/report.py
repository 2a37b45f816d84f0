"""Report on a share group's records, as text and JSON."""

from __future__ import annotations

from dataclasses import asdict
from math import isinf
from typing import TYPE_CHECKING, Any

from copartition.kit.json import dump, finite
from copartition.kit.words import count, duration
from copartition.models.share_groups.run import MOST_MEMBERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from copartition.models.share_groups.run import ShareAssessment, ShareResult

FORMAT_VERSION = "1.0"

ASSUMED = (
    "one partition with all records in it from the beginning",
    "share.acquire.mode is batch_optimized",
    "a record takes the same time everywhere, and joining takes none",
)
"""The assumptions of the model."""

_LOCK = "group.share.record.lock.duration.ms"


def share_json(assessment: ShareAssessment) -> str:
    """Return the assessment as JSON; an infinite time is null."""
    values = {
        "format_version": FORMAT_VERSION,
        "group": finite(asdict(assessment.result.group)),
        "result": _figures(assessment.result),
        "healthy": _figures(assessment.healthy),
        "lock_that_suffices_ms": assessment.lock_ms,
        "by_members": [
            {"members": member.group.members, "per_second": member.per_second}
            for member in assessment.by_members
        ],
        "assumed": [*ASSUMED],
    }
    return dump(values)


def _figures(result: ShareResult) -> dict[str, Any]:
    """Return the figures of a run as plain values of JSON, without its group."""
    # Computed properties are not fields, so they are added here.
    figures = finite(result._asdict()) | {
        "per_second": result.per_second,
        "dead_lettered": result.dead_lettered,
        "special": [finite(record._asdict()) for record in result.special],
    }
    del figures["group"]
    return figures


def print_share(assessment: ShareAssessment, console: Console) -> None:
    """Print the end of the records, advice, the special records, and the rates with 1, 2 and more members."""
    from copartition.kit.grid import cell, indent, note, table  # noqa: PLC0415 - JSON needs no rich

    console.print(cell(_conclusion(assessment.result), "bold"), soft_wrap=True)
    for text in _advice(assessment):
        console.print(cell(text), soft_wrap=True)
    shown = table(["MEMBERS", "RECORDS/S"], right=range(2))
    for result in _rows_to_show(assessment.by_members):
        shown.add_row(str(result.group.members), f"{result.per_second:,.1f}")
    console.print(indent(shown))
    console.print(note(f"assumed: {'; '.join(ASSUMED)}"))


def _rows_to_show(by_members: Sequence[ShareResult]) -> list[ShareResult]:
    """Return the results with 1, 2, 4 and so on members, and the last result, which has the most members."""
    most = len(by_members)
    # `n & (n - 1)` is 0 for powers of two.
    return [result for result in by_members if (n := result.group.members) == most or n & (n - 1) == 0]


def _conclusion(result: ShareResult) -> str:
    """Return one sentence on the end of the records."""
    members, records = count(result.group.members, "member"), count(result.group.records, "record")
    verb = "accepts" if result.group.members == 1 else "accept"
    parts = [f"{members} {verb} {result.accepted:,} of {records}, {result.per_second:,.1f} a second"]
    parts += [f"{result.archived:,} archived and never accepted"] if result.archived else []
    parts += [f"{result.dead_lettered:,} for a dead-letter topic"] if result.dead_lettered else []
    parts += [f"{result.open:,} left where no member is alive any more"] if result.open else []
    parts.append(count(result.redeliveries, "redelivery", "redeliveries"))
    return ", ".join(parts)


def _advice(assessment: ShareAssessment) -> Iterator[str]:
    """Yield sentences on the lock, the members, and each special record."""
    lock_ms, least_ms = assessment.result.group.lock_ms, assessment.lock_ms
    # The lock comes first, because it is the only setting for which this model gives a number.
    yield (
        f"{_LOCK} has to exceed {duration(least_ms)}, so that no lock of a healthy record ends too early; "
        f"it is {duration(lock_ms)}{'' if lock_ms > least_ms else ': raise it, or poll fewer records'}"
    )
    most = count(len(assessment.by_members), "member")
    if len(assessment.by_members) == MOST_MEMBERS:
        yield f"{most} help; with more it was not tried"
    else:
        yield f"up to {most} help: one more adds less than half of what the first does"
    for record in assessment.result.special:
        deliveries = count(record.deliveries, "delivery", "deliveries")
        after = "" if isinf(record.took_ms) else f" and {duration(record.took_ms)}"
        yield f"record {record.offset}: {record.outcome} after {deliveries}{after}"
    # If some records are still open, the run did not come to its end, so its time does not show what the
    # special records cost.
    if assessment.result.special and not assessment.result.open:
        yield _cost(assessment.result, assessment.healthy)


def _cost(result: ShareResult, healthy: ShareResult) -> str:
    """Return a sentence on the cost of all special records together.

    The cost is the redeliveries and the time that the same group without special records would not have.
    """
    more = count(result.redeliveries - healthy.redeliveries, "redelivery", "redeliveries")
    longer = duration(max(0.0, 1_000 * (result.seconds - healthy.seconds)))
    return f"what is special about records costs {more} and {longer}"
