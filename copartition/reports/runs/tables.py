"""The tables under the pictures, as long as somebody reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from partitioning.kit.words import first_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.simulation import Outage, SimulationResult

CAUSES = 20
"""The most causes of a run that have a row each."""
REBALANCES = 100
"""The most rebalances that have one."""
_CAUSES_EACH = 4


class OutageRow(NamedTuple):
    """What one cause cost, or all that have no row of their own; times are summed over partitions."""

    cause: str
    partitions: int | None
    phases: tuple[tuple[str, float], ...]
    catch_up_ms: float | None

    @property
    def total_ms(self) -> float:
        """All phases together."""
        return sum(lasted for _, lasted in self.phases)


def outage_rows(result: SimulationResult) -> list[OutageRow]:
    """The causes that cost a run the most, in the order of time, and the rest as one row."""
    rows = [
        OutageRow(outage.cause, outage.partitions, _phases([outage]), outage.catch_up_ms)
        for outage in result.outages
    ]
    longest = sorted(range(len(rows)), key=lambda number: -rows[number].total_ms)
    if len(rows) <= CAUSES + 1:
        return rows
    shown = [rows[number] for number in sorted(longest[:CAUSES])]
    rest = [result.outages[number] for number in longest[CAUSES:]]
    behind = [outage.catch_up_ms for outage in rest if outage.catch_up_ms is not None]
    others = OutageRow(f"{len(rest):,} other causes", None, _phases(rest), sum(behind) if behind else None)
    return [*shown, others]


def causes(names: Sequence[str]) -> str:
    """Why there was a rebalance; the first reasons where there are many."""
    return first_of(names, _CAUSES_EACH)


def _phases(outages: Sequence[Outage]) -> tuple[tuple[str, float], ...]:
    return (
        ("detection", sum(outage.detection_ms for outage in outages)),
        ("barrier", sum(outage.barrier_ms for outage in outages)),
        ("compute", sum(outage.compute_ms for outage in outages)),
        ("handover", sum(outage.handover_ms for outage in outages)),
    )
