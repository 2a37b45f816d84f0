"""Keep the outage of each partition, from when it is not read until it is no further behind than before.

Slots are flat indexes as an integer column that NumPy can index with. Amounts are thousandths of records,
times are milliseconds.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Slots = NDArray[np.intp]


class CatchUps(NamedTuple):
    """Stretches in which a partition was read but further behind than before its outage, as columns.

    Partitions are flat indexes; `start` is before `end`, both in milliseconds.
    """

    partition: NDArray[np.int32]
    start: Floats
    end: Floats


class Outages:
    """The present outage of each partition.

    An outage begins when a partition is no longer read. It is over when the partition is no further behind
    than when it began. If the partition stops again before that, it is still the same outage. Columns have an
    element for each partition; amounts are thousandths of records, times are milliseconds. `before` and
    `_since` have a meaning only while `open` is True.

    Only `read` ends outages. It is called after a stretch of reading, with the time at which each partition
    was no further behind than before its outage; the caller computes that time in closed form.
    """

    def __init__(self, partitions: int) -> None:
        self.open = np.zeros(partitions, np.bool_)
        self.before = np.zeros(partitions)  # how far behind each partition was when its outage began
        self.peak = np.zeros(partitions)  # the furthest that each partition has been behind
        self.peak_ms = np.zeros(partitions)  # when each partition was furthest behind
        self.recovery_ms = np.zeros(partitions)  # the longest outage of each partition that is over
        self.catch_up_ms = np.zeros(partitions)  # how long each partition has been read while in an outage
        self._catch_ups = [CatchUps(np.empty(0, np.int32), np.empty(0), np.empty(0))]
        self._since = np.zeros(partitions)

    def begin(self, slots: Slots, behind: Floats, at: Floats) -> None:
        """Begin the outages of these partitions, except those that are in an outage already."""
        new = ~self.open[slots]
        slots = slots[new]
        self.open[slots] = True
        self.before[slots] = behind[new]
        self._since[slots] = at[new]

    def note_level(self, slots: Slots, behind: Floats, at: Floats) -> None:
        """Record how far behind these partitions are at `at`; call it for each time that may be a peak."""
        higher = behind > self.peak[slots]
        if np.count_nonzero(higher):
            slots = slots[higher]
            self.peak[slots] = behind[higher]
            self.peak_ms[slots] = at[higher]

    def read(self, slots: Slots, since: Floats, until: Floats, back: Floats) -> None:
        """Record that these partitions were read from `since` to `until`, and end outages that ended then.

        `back` has the time at which each partition was no further behind than before its outage; infinite
        means never.
        """
        affected = self.open[slots].nonzero()[0]
        if not len(affected):
            return
        slots, since, until, back = slots[affected], since[affected], until[affected], back[affected]
        end = np.minimum(back, until)
        # A partition that caught up at once leaves no stretch.
        lasted = end > since
        self.catch_up_ms[slots] += end - since
        self._catch_ups.append(CatchUps(slots[lasted].astype(np.int32), since[lasted], end[lasted]))
        over = back <= until
        slots, back = slots[over], back[over]
        self.open[slots] = False
        self.recovery_ms[slots] = np.maximum(self.recovery_ms[slots], back - self._since[slots])

    def catch_ups(self) -> CatchUps:
        """Return every stretch in which a partition was read, but still in an outage."""
        return CatchUps(*map(np.concatenate, zip(*self._catch_ups, strict=True)))
