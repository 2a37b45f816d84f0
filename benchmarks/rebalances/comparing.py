"""What was measured against what the simulator says, cell by cell: `python -m benchmarks.rebalances --compare`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from benchmarks.rebalances.predicting import Outcome, measured, medians, predicted
from benchmarks.rebalances.scenarios import PROTOCOLS, SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.rebalances.predicting import Run

NEAR = 0.2
"""How far a prediction may be from the measurement, as a share of it."""
QUARTER = {"eager": 0.75, "cooperative": 0.75, "kip848": 1.25}
"""A quarter of a heartbeat, in seconds: a prediction may be that far away, too."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A scenario under a protocol.

    Attributes:
        scenario: which one.
        protocol: likewise.
        measured: what each run showed.
        predicted: what the simulator says of each.
    """

    scenario: str
    protocol: str
    measured: Sequence[Outcome]
    predicted: Sequence[Outcome]

    @property
    def misses(self) -> list[str]:
        """The figures of which the medians are too far apart; rounds must be equal."""
        said, was = medians(self.predicted), medians(self.measured)
        limits = Outcome(
            max(NEAR * was.partition_seconds, QUARTER[self.protocol]),
            max(NEAR * was.longest, QUARTER[self.protocol]),
            0,
        )
        return [
            name
            for name, one, other, limit in zip(Outcome._fields, said, was, limits, strict=True)
            if abs(one - other) > limit
        ]


def compare(runs: Iterable[Run]) -> list[Cell]:
    """The cells of these runs."""
    of: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        of.setdefault((run["scenario"], run["protocol"]), []).append(run)
    return [
        Cell(*name, [*map(measured, of[name])], [*map(predicted, of[name])])
        for name in ((scenario, protocol) for scenario in SCENARIOS for protocol in PROTOCOLS)
        if name in of
    ]


def orders(cells: Iterable[Cell]) -> dict[tuple[str, str, str], bool]:
    """Of a scenario and two protocols, the better one first, whether the prediction says so too.

    A protocol is better where each of its runs has fewer partition-seconds than any of the other's.
    """
    of: dict[str, list[Cell]] = {}
    for cell in cells:
        of.setdefault(cell.scenario, []).append(cell)
    found = {}
    for scenario, under in of.items():
        for pair in combinations(under, 2):
            better, worse = sorted(pair, key=lambda cell: medians(cell.measured).partition_seconds)
            if max(better.measured).partition_seconds < min(worse.measured).partition_seconds:
                said = medians(better.predicted) < medians(worse.predicted)
                found[scenario, better.protocol, worse.protocol] = said
    return found
