"""Lag over time: of the group, and of single partitions."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copartition.simulation.records.sharing import behind_at
from partitioning.errors import ScenarioError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.integer]

MOST_STRETCHES = 2_000_000
"""More stretches than these are not kept: 100 MB, far beyond what anybody looks at."""


class GroupCurve:
    """The sum of what is behind, by how its slope changes and where it jumps."""

    def __init__(self) -> None:
        self._bends = [(np.empty(0), np.empty(0))]
        self._jumps = [(np.empty(0), np.empty(0))]

    def bends(self, at: Floats, slope: Floats) -> None:
        """From then on it grows faster by so much."""
        if len(at) > 1 and at[0] == at[-1] and (at == at[0]).all():
            at, slope = at[:1], slope.sum(keepdims=True)
        self._bends.append((at, slope))

    def jumps(self, at: Floats, by: Floats) -> None:
        """It jumps."""
        self._jumps.append((at, by))

    def until(self, end: float) -> tuple[Floats, Floats]:
        """Times and values from 0 to the end; it is linear between them, and a jump is one time twice."""
        bent, slope = (np.concatenate(column) for column in zip(*self._bends, strict=True))
        jumped, jump = (np.concatenate(column) for column in zip(*self._jumps, strict=True))
        at, place = np.unique(np.concatenate([bent, jumped, [0.0, end]]), return_inverse=True)
        slope = np.bincount(place[: len(bent)], slope, len(at))
        jump = np.bincount(place[len(bent) : -2], jump, len(at))
        kept = (slope != 0) | (jump != 0) | (at == 0) | (at == end)
        at, slope, jump = at[kept], slope[kept], jump[kept]
        grown = np.diff(at, prepend=0.0) * np.concatenate([[0.0], np.cumsum(slope)[:-1]])
        value = np.cumsum(grown + jump)
        kept = at <= end
        at, jump, value = at[kept], jump[kept], value[kept]
        twice = np.repeat(np.arange(len(at)), 1 + (jump != 0))
        before = np.append(twice[1:] == twice[:-1], False)
        return at[twice], np.maximum(value[twice] - before * jump[twice], 0.0)


class _Stretches(NamedTuple):
    """What a consumer, -1 for nobody, did with a partition that was `behind` to begin with.

    It would be `drained` so much later if nothing changed.
    """

    partition: Integers
    consumer: Integers
    since: Floats
    until: Floats
    behind: Floats
    rate: Floats
    drained: Floats


class PartitionCurves:
    """Lag over time of each partition, drawn when asked for from what was told between two changes."""

    def __init__(self, capacity: float) -> None:
        self._capacity = capacity
        self._rows: list[tuple[NDArray[Any], ...]] | None = []
        self._count = 0

    def add(self, *stretches: NDArray[Any]) -> None:
        """Columns as in `_Stretches`."""
        self._count += len(stretches[0])
        if self._count > MOST_STRETCHES:
            self._rows = None
        if self._rows is not None:
            self._rows.append(stretches)

    def of(self, partition: int) -> tuple[Floats, Floats]:
        """Times and records behind; the lag is linear between them, and a jump is one time twice.

        Raises:
            ScenarioError: the run was too long to keep every partition's stretches.
        """
        if self._rows is None:
            raise ScenarioError(
                f"partition {partition} has no lag curve: a run keeps {MOST_STRETCHES:,} stretches of single "
                f"partitions at most, and this one has {self._count:,}; simulate fewer partitions or events"
            )
        rows = np.flatnonzero(self._stretches.partition == partition)
        points = [self._points(row) for row in rows.tolist()]
        times, behind = np.concatenate([np.empty((2, 0)), *points], axis=1)
        new = np.ones(len(times), np.bool_)
        new[1:] = (times[1:] != times[:-1]) | (behind[1:] != behind[:-1])
        return times[new], behind[new] / 1000

    @cached_property
    def _stretches(self) -> _Stretches:
        """All of them, in the order of time for each partition."""
        return _Stretches(*(np.concatenate(column) for column in zip(*self._rows or (), strict=True)))

    @cached_property
    def _neighbours(self) -> tuple[Integers, Integers]:
        """Stretches, those that one consumer read together side by side, and a number for each such group."""
        reading = self._stretches.until, self._stretches.since, self._stretches.consumer
        order = np.lexsort(reading)
        begins = np.any([np.diff(column[order], prepend=np.nan) != 0 for column in reading], axis=0)
        return order, np.cumsum(begins)

    def _points(self, row: int) -> Floats:
        """Where a stretch begins and ends, and where its slope changes since another partition is drained."""
        stretches = self._stretches
        since, until = stretches.since[row], stretches.until[row]
        if stretches.consumer[row] < 0:
            times = np.array([since, until])
            return np.stack([times, stretches.behind[row] + stretches.rate[row] * (times - since)])
        order, number = self._neighbours
        among = order[slice(*np.searchsorted(number, number[self._place[row]] + np.arange(2)))]
        behind, rate, drained = stretches.behind[among], stretches.rate[among], stretches.drained[among]
        elapsed = np.unique(np.concatenate([[0.0, until - since], drained[drained < until - since]]))
        group = np.zeros(len(among), np.intp)
        own = among == row
        levels = [behind_at(each, behind, rate, group, drained, self._capacity)[own] for each in elapsed]
        return np.stack([since + elapsed, np.concatenate(levels)])

    @cached_property
    def _place(self) -> Integers:
        """Where each stretch is in that order."""
        place = np.empty(len(self._stretches.since), np.intp)
        place[self._neighbours[0]] = np.arange(len(place))
        return place
