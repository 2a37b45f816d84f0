"""How far behind partitions get, and how long they take to be where they were before an outage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Slots = NDArray[np.intp]


class CatchUps(NamedTuple):
    """Stretches in which a partition was read but further behind than before its outage, as columns."""

    partition: NDArray[np.int32]
    start: Floats
    end: Floats


class Outages:
    """The outage every partition is in, until it is no further behind than before it.

    An outage begins when a partition is no longer read. If it stops again before it has caught up, that is
    still the same outage.

    Attributes:
        open: whether a partition is in an outage.
        before: how far behind it was when that began.
        peak: the furthest behind it has been.
        peak_ms: when.
        recovery_ms: its longest outage that is over.
        catch_up_ms: how long it was read while it was in an outage.
    """

    def __init__(self, partitions: int) -> None:
        self.open = np.zeros(partitions, np.bool_)
        self.before = np.zeros(partitions)
        self.peak = np.zeros(partitions)
        self.peak_ms = np.zeros(partitions)
        self.recovery_ms = np.zeros(partitions)
        self.catch_up_ms = np.zeros(partitions)
        self._catch_ups = CatchUps(np.empty(0, np.int32), np.empty(0), np.empty(0))
        self._count = 0
        self._since = np.zeros(partitions)

    def begin(self, slots: Slots, behind: Floats, at: Floats) -> None:
        """These partitions are no longer read."""
        new = ~self.open[slots]
        slots = slots[new]
        self.open[slots] = True
        self.before[slots] = behind[new]
        self._since[slots] = at[new]

    def seen(self, slots: Slots, behind: Floats, at: Floats) -> None:
        """So far behind are these partitions at a time; peaks are among the times told."""
        higher = behind > self.peak[slots]
        if higher.any():
            slots = slots[higher]
            self.peak[slots] = behind[higher]
            self.peak_ms[slots] = at[higher]

    def read(self, slots: Slots, since: Floats, until: Floats, back: Floats) -> None:
        """These were read; `back` is when each would be no further behind than before its outage."""
        affected = self.open[slots].nonzero()[0]
        if not len(affected):
            return
        slots, since, until, back = slots[affected], since[affected], until[affected], back[affected]
        end = np.minimum(back, until)
        lasted = end > since
        self.catch_up_ms[slots] += end - since
        self._keep(slots[lasted], since[lasted], end[lasted])
        over = back <= until
        slots, back = slots[over], back[over]
        self.open[slots] = False
        self.recovery_ms[slots] = np.maximum(self.recovery_ms[slots], back - self._since[slots])

    def catch_ups(self) -> CatchUps:
        """Every stretch in which a partition was read, but still in an outage."""
        return CatchUps._make(column[: self._count] for column in self._catch_ups)

    def _keep(self, slots: Slots, since: Floats, until: Floats) -> None:
        # Columns that grow in place: there may be as many rows as partitions have outages.
        begin, self._count = self._count, self._count + len(slots)
        columns: tuple[NDArray[Any], ...] = self._catch_ups
        for column, values in zip(columns, (slots, since, until), strict=True):
            if self._count > len(column):
                column.resize(self._count + self._count // 4, refcheck=False)
            column[begin : self._count] = values
