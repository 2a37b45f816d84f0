"""Consumers: whom a change concerns, when they commit, who waits for transactions that were left open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copartition.simulation.records.curves import GroupCurve

    Floats = NDArray[np.float64]
    Slots = NDArray[np.intp]


class Consumers:
    """Every consumer as columns, with one more row for nobody, consumer -1, whom no change concerns.

    Attributes:
        touched: whether this round concerns it.
        commits: whether it commits in this round.
        busy: whether it has been reading up to this round.
        now: when this round concerns it.
        clock: when its commit interval began.
        since: the same of one that has been reading for longer than the run, before time 0.
    """

    def __init__(self) -> None:
        self.touched = np.zeros(1, np.bool_)
        self.commits = np.zeros(1, np.bool_)
        self.busy = np.zeros(1, np.bool_)
        self.now = np.zeros(1)
        self.clock = np.zeros(1)
        self.since = np.zeros(1)
        # By how much its reading changes the slope of the group's lag, until when, and what this round adds.
        self._drift = np.zeros(1)
        self._until = np.zeros(1)
        self._bend = np.zeros(1)
        self._who = np.empty(0, np.intp)

    def enter(self, consumer: Slots, at: Floats) -> None:
        """A round begins that concerns these."""
        self._make_room(int(consumer.max(initial=-1)))
        self.touched[consumer] = True
        self.now[consumer] = at
        self._who = self.touched.nonzero()[0]

    def has_committed(self, consumer: int, at: float) -> None:
        """At this time, before time 0, it began the commit interval it is in at time 0."""
        self._make_room(consumer)
        self.clock[consumer] = self.since[consumer] = at

    def enter_all(self, at: float) -> None:
        """A round begins that concerns everybody."""
        self.enter(np.arange(len(self.now) - 1), np.full(len(self.now) - 1, at))

    def leave(self) -> None:
        """The round is over; what commits in it begins its interval."""
        if self.commits.any():
            begins = self.now[self.commits]
            self.clock[self.commits] = np.where(begins > 0, begins, self.since[self.commits])
        self.touched[self._who] = self.commits[self._who] = self.busy[self._who] = False

    def last_tick(self, interval: float) -> Floats:
        """When each has committed last, or begun its interval."""
        return self.clock + np.floor((self.now - self.clock) / interval) * interval

    def settled(self, readers: Slots, curve: GroupCurve) -> None:
        """These have been reading up to now, and that is known."""
        self.busy[readers] = True
        moved = self._who[self._drift[self._who] != 0]
        if len(moved):
            curve.bends(np.minimum(self._until[moved], self.now[moved]), -self._drift[moved])
            self._drift[moved] = 0.0

    def bend(self, consumer: Slots, slope: Floats) -> None:
        """Partitions of these consumers are no longer read, or now are: the lag grows faster by so much."""
        self._bend += np.bincount(consumer, slope, len(self._bend))

    def jump(self, consumer: Slots, by: Floats, curve: GroupCurve) -> None:
        """What these consumers are behind jumps."""
        sums = np.bincount(consumer, by, len(self.now)).astype(np.float64)
        curve.jumps(self.now[self._who], sums[self._who])

    def rest(self, curve: GroupCurve) -> None:
        """From now on they read nothing."""
        curve.bends(self.now[self._who], self._bend[self._who])
        self._bend[self._who] = 0.0

    def begin(self, curve: GroupCurve, reader: Slots, behind: Floats, rate: Floats, capacity: float) -> None:
        """From now on they read these partitions."""
        who = self._who
        bend = self._bend[who]
        self._bend[who] = 0.0
        if capacity < np.inf:
            need = np.bincount(reader, behind, len(self.now))[who]
            spare = capacity - np.bincount(reader, rate, len(self.now))[who]
            # As long as one partition is behind, all of the capacity is used.
            drift = np.where((need > 0) | (spare < 0), -spare, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                lasts = np.where(spare > 0, need / spare, np.inf)
            self._drift[who] = drift
            self._until[who] = self.now[who] + lasts
            bend += drift
        curve.bends(self.now[who], bend)

    def _make_room(self, last: int) -> None:
        if last < len(self.now) - 1:
            return
        size = 2 * last + 2
        for name, column in vars(self).items():
            if len(column) < size:
                setattr(self, name, np.concatenate([column, np.zeros(size - len(column), column.dtype)]))


class OpenTransactions:
    """Read-process-write as clients do it since KIP-447: a transactional id for each process.

    What a process left open holds the last stable offset of what it wrote until its `transaction.timeout.ms`
    is over, or until the process is back: `initTransactions` aborts what its transactional id had open. A
    process that wakes up and has lost its partitions aborts by itself, since the offsets it sends with its
    group metadata are refused.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]] = []
        self._of: dict[int, list[int]] = {}

    def left(
        self,
        partitions: NDArray[np.intp],
        consumers: NDArray[np.intp],
        at: NDArray[np.float64],
        until: NDArray[np.float64],
    ) -> None:
        """These consumers stop and leave a transaction open over these partitions that lasts until then."""
        for consumer in np.unique(consumers).tolist():
            its = consumers == consumer
            self._of.setdefault(consumer, []).append(len(self._rows))
            self._rows.append((partitions[its], at[its], until[its]))

    def ended(self, consumer: int, at: float) -> None:
        """What this consumer had left open ends at that time, if it has not before."""
        for number in self._of.pop(consumer, ()):
            _, since, until = self._rows[number]
            np.minimum(until, np.maximum(at, since), out=until)

    def of(self, consumers: NDArray[np.intp]) -> list[int]:
        """Those of the consumers that left something open."""
        return [consumer for consumer in np.unique(consumers).tolist() if consumer in self._of]

    def waited(self, partitions: int, at: float) -> NDArray[np.float64]:
        """How long each partition has been under at least one of them, up to `at`."""
        if not self._rows:
            return np.zeros(partitions)
        where, since, until = map(np.concatenate, zip(*self._rows, strict=True))
        where = np.concatenate([where, where])
        times = np.minimum(np.concatenate([since, until]), at)
        change = np.repeat([1, -1], len(since))
        order = np.lexsort((times, where))
        # How many are open between one time and the next; none are between two partitions.
        lasting = np.diff(times[order]) * (np.cumsum(change[order])[:-1] > 0)
        return np.bincount(where[order][:-1], lasting, partitions).astype(np.float64)
