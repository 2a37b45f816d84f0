"""Keep the capacity and the commits of each consumer, and how its reading changes the lag of the group."""

import numpy as np

from copartition.simulation.records.curves import GroupCurve, quotient
from copartition.simulation.records.outages import Floats, Slots


class Consumers:
    """The state of every consumer as columns, with one element for each consumer and a last one for index -1.

    The last element stands for no consumer, and no round changes it.

    A round begins with `enter` and ends with `leave`. Between them `touched` marks the consumers of the
    round, and `_who` lists them. Outside of rounds, `touched`, `commits` and `busy` are False and `_bend` is
    0. Times are milliseconds, capacities and slopes are records a second.
    """

    def __init__(self, capacity: float) -> None:
        self._amounts, self._flags = np.zeros((7, 1)), np.zeros((3, 1), np.bool_)
        self._name_columns()
        # At this moment the last row is the only one; rows that are made later are copies of it.
        self.capacity[:] = capacity
        self._who = np.empty(0, np.intp)
        self._make_room(31)  # room for consumers 0 to 31, enough for most groups

    def enter(self, consumer: Slots, at: Floats) -> None:
        """Begin a round that concerns these consumers, each at its time."""
        self._make_room(int(consumer.max(initial=-1)))
        self.touched[consumer] = True
        self.now[consumer] = at
        self._who = self.touched.nonzero()[0]

    def has_committed(self, consumer: int, at: float) -> None:
        """Record that a consumer's commit interval began at time `at`, which is before 0."""
        self._make_room(consumer)
        self.clock[consumer] = self.since[consumer] = at

    def has_capacity(self, consumer: int, capacity: float) -> None:
        """Record a consumer's own capacity in records a second, which replaces the default."""
        self._make_room(consumer)
        self.capacity[consumer] = capacity

    def leave(self) -> None:
        """End the round; consumers that commit in it begin a new commit interval."""
        if np.count_nonzero(self.commits):
            begins = self.now[self.commits]
            self.clock[self.commits] = np.where(begins > 0, begins, self.since[self.commits])
        self.touched[self._who] = self.commits[self._who] = self.busy[self._who] = False

    def last_tick(self, interval: float) -> Floats:
        """Return the time of each consumer's last automatic commit up to `now`.

        The result has shape (consumers + 1,), in milliseconds. A consumer commits every `interval`
        milliseconds from `clock` on. If a consumer has not reached its first commit yet, the result is
        `clock` itself, the begin of its first interval.
        """
        return self.clock + np.floor((self.now - self.clock) / interval) * interval

    def settle(self, readers: Slots, curve: GroupCurve) -> None:
        """Record that these consumers have been reading up to now, and end their effect on the lag's slope.

        The effect of a consumer that drained all its partitions earlier ends at that earlier time.
        """
        self.busy[readers] = True
        moved = self._who[self._drift[self._who] != 0]
        if len(moved):
            curve.bends(np.minimum(self._until[moved], self.now[moved]), -self._drift[moved])
            self._drift[moved] = 0.0

    def bend(self, consumer: Slots, slope: Floats) -> None:
        """Let the group's lag grow faster by `slope`, which has an element for each element of `consumer`.

        `slope` is positive if a partition is no longer read, and negative if it is read again.
        """
        self._bend += np.bincount(consumer, slope, len(self._bend))

    def jump(self, consumer: Slots, by: Floats, curve: GroupCurve) -> None:
        """Let the lag of the group jump by `by`, because of these consumers' partitions.

        `by` has an amount for each partition, in thousandths of records. The amounts of one consumer are
        summed, and the sum is added to the lag at the consumer's time.
        """
        sums = np.bincount(consumer, by, len(self.now)).astype(np.float64)
        curve.jumps(self.now[self._who], sums[self._who])

    def rest(self, curve: GroupCurve) -> None:
        """Record that the consumers of this round read nothing from now on."""
        curve.bends(self.now[self._who], self._bend[self._who])
        self._bend[self._who] = 0.0

    def begin(self, curve: GroupCurve, reader: Slots, behind: Floats, rate: Floats) -> None:
        """Record that the round's consumers read these partitions from now on, and change the group's lag.

        Args:
            curve: the lag of the group.
            reader: the consumer of each partition.
            behind: the backlog of each partition, in thousandths of records.
            rate: the records a second that come to each partition.
        """
        who = self._who
        bend = self._bend[who]
        self._bend[who] = 0.0
        if self.capacity[-1] < np.inf:
            need = np.bincount(reader, behind, len(self.now))[who]
            spare = self.capacity[who] - np.bincount(reader, rate, len(self.now))[who]
            # As long as one partition is behind, the consumer uses all its capacity. The slope is negative
            # while a backlog is worked off, and positive if more records come than the consumer can process.
            drift = np.where((need > 0) | (spare < 0), -spare, 0.0)
            self._drift[who] = drift
            self._until[who] = self.now[who] + quotient(need, spare, 0.0)
            bend += drift
        curve.bends(self.now[who], bend)

    def _make_room(self, last: int) -> None:
        """Make room for consumers up to this number."""
        if last < len(self.now) - 1:
            return
        more = 2 * last + 2 - len(self.now)
        # The last row, for no consumer, always has the initial values, so copies of it are new consumers.
        self._amounts, self._flags = (
            np.concatenate([columns, np.repeat(columns[:, -1:], more, axis=1)], axis=1)
            for columns in (self._amounts, self._flags)
        )
        self._name_columns()

    def _name_columns(self) -> None:
        """Name the rows of `_amounts` and `_flags`; each named column is a view of one row."""
        (
            self.capacity,  # records a second that a consumer can process; infinite for all or none
            self.now,  # the time of the last round that concerned a consumer
            self.clock,  # when a consumer's commit interval began
            self.since,  # as `clock`, but for a consumer that has been reading since before time 0
            self._drift,  # by how much a consumer's reading changes the slope of the group's lag
            self._until,  # until when `_drift` lasts
            self._bend,  # what this round adds to that slope
        ) = self._amounts
        (
            self.touched,  # whether this round concerns a consumer
            self.commits,  # whether a consumer commits in this round
            self.busy,  # whether a consumer has been reading up to this round
        ) = self._flags
