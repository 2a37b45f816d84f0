"""Keep for each partition its reader, how far behind it is, its outage and its committed offset.

A round is computed in three steps: the partitions of its consumers are brought up to its time, readers
change, and the consumers share their capacity again. All columns are by flat index or by consumer number.
Slots are flat indexes as an integer column that NumPy can index with.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.records.consumers import Consumers
from copartition.simulation.records.curves import (
    GroupCurve,
    PartitionCurves,
    behind_at,
    drain_times,
    fall_times,
    peaks,
    speed_at,
)
from copartition.simulation.records.open_transactions import OpenTransactions
from copartition.simulation.records.outages import Floats, Outages, Slots

# What happens to a partition. These are plain numbers, because columns hold them.
GIVEN_UP: Final = 0
"""The partition's reader gives it up, and could commit before."""
DROPPED: Final = 1
"""The partition's reader is gone, or has lost the partition without knowing."""
STALLED: Final = 2
"""The partition's reader stands still, and may go on where it was."""
READ: Final = 3
"""A consumer reads the partition."""
HAUNTED: Final = 4
"""A zombie of the partition wakes up; the zombie with index n in `Readers._zombies` has HAUNTED + n."""


class Round(NamedTuple):
    """One kind of change that happens to these partitions; each consumer in it has only one time.

    `partition`, `consumer` and `at` are columns of equal length, times are milliseconds, and `kind` is one of
    the numbers from `GIVEN_UP` to `HAUNTED`, or `HAUNTED` plus the index of a zombie.
    """

    partition: NDArray[np.intp]
    consumer: NDArray[np.intp]
    at: NDArray[np.float64]
    kind: int

    def take(self, which: NDArray[np.bool_]) -> Round:
        """Return the rows of the round for which a mask is True."""
        return Round(self.partition[which], self.consumer[which], self.at[which], self.kind)


_Sharing = tuple[Floats, Floats, Slots, Floats, Floats]


class Zombie:
    """A consumer that goes on reading partitions that it has lost, from `start_ms` to `end_ms`.

    `partitions` are flat indexes. `_rows` has the partitions that the consumer really goes on reading, as
    `Readers._wake` found them: columns of slots, amounts behind, rates and positions.
    """

    def __init__(self, partitions: NDArray[np.int32], consumer: int, start_ms: float, end_ms: float) -> None:
        self.partitions = partitions
        self.consumer = consumer
        self.start_ms = start_ms
        self.end_ms = end_ms  # set to an earlier time if its process ends before
        self._rows = [(np.empty(0, np.intp), np.empty(0), np.empty(0), np.empty(0))]

    def wakes(self, slots: Slots, behind: Floats, rate: Floats, position: Floats) -> None:
        """Add partitions that the consumer goes on reading, from these positions.

        The columns have equal length: amounts behind and positions are thousandths of records, rates are
        records a second.
        """
        self._rows.append((slots, behind, rate, position))

    def work(self, at: float, capacity: Floats) -> tuple[Slots, Floats, Floats]:
        """Return the partitions read up to `at`, the amount read of each, and the last position in each.

        The consumer's capacity is shared among these partitions only, since its process knows no others.
        `capacity` has an element for each consumer, in records a second; amounts are thousandths of records.
        """
        slots, behind, rate, position = (np.concatenate(column) for column in zip(*self._rows, strict=True))
        span = np.full(len(slots), max(min(self.end_ms, at) - self.start_ms, 0.0))
        group = np.full(len(slots), self.consumer)
        drained = drain_times(behind, rate, group, capacity)
        processed = behind + rate * span - behind_at(span, behind, rate, group, drained, capacity)
        processed[span == 0] = 0.0
        return slots, processed, position + processed


class Readers:
    """The state of every partition at its last change, `_since`, and of every consumer.

    Between two changes nothing needs to be computed for a consumer: its backlog, and the time at which each
    partition is drained, follow from the last change (`records.curves`). Amounts are thousandths of records,
    rates are records a second and times are milliseconds, so that whole numbers stay whole.

    `_reader` has the consumer that reads each partition, -1 for none. `_standing` has the consumer that
    stands still with the partition and may go on, -1 for none. The position of a partition is all that
    arrived minus `_behind`; the committed position is the position minus `_uncommitted`. `_reached` is the
    furthest position that any reader had. It distinguishes records that are read again from new ones.
    """

    def __init__(self, scenario: Scenario, rate: Floats, waiting: Floats) -> None:
        assert scenario.load is not None, "without a load there are no records"
        load = scenario.load
        self._rate = rate
        self._waiting = 1_000 * waiting  # the backlog with which each partition is born
        self._rates_differ = bool((rate != rate[:1]).any())
        # If capacities have no limit, every consumer is always at the end of its partitions, so most of the
        # work can be left out.
        self._limited = load.capacity < np.inf
        self._interval = scenario.settings.auto_commit_interval_ms
        self._settled_ms = scenario.settled_ms
        self._timeout = scenario.settings.transaction_timeout_ms
        self._transactional = load.transactions
        # A transaction commits offsets together with the output made from the records, so offsets are never
        # committed before their records are processed.
        self._before = load.commit == "before" and not load.transactions
        self._commits_on_revoke = load.commit_on_revoke or self._before
        # The size of a batch is in thousandths of records, as all amounts.
        self._batch = load.batch * 1000
        size = len(rate)
        self._born = np.full(size, np.inf)
        self._since = np.full(size, np.inf)
        self._behind = np.zeros(size)
        self._reader = np.full(size, -1)
        self._drained = np.full(size, np.inf)
        # Amount that is processed but not committed; if negative, committed but not processed.
        self._uncommitted = np.zeros(size)
        # The reader that stands still and may go on, and the time at which its transaction times out.
        self._stalled = False
        self._standing = np.full(size, -1)
        self._deadline = np.full(size, np.inf)
        self._reached = np.zeros(size)
        self._again = np.zeros(size)
        self._lost = np.zeros(size)
        # Partitions without a committed offset; under "latest" their first reader begins at their end.
        self._skips = load.auto_offset_reset == "latest"
        self._uncharted = np.zeros(size, np.bool_)
        # (partition, consumer) -> (position, uncommitted amount) of consumers that lost a partition without
        # revoking it.
        self._left: dict[tuple[int, int], tuple[float, float]] = {}
        self._zombies: list[Zombie] = []
        self.consumers = Consumers(float(load.capacity))
        self.outages = Outages(size)
        self.transactions = OpenTransactions()
        self.group_curve = GroupCurve()
        self.curves = PartitionCurves()

    def add_partitions(self, slots: Slots, at: Floats) -> None:
        """Let partitions exist from `at` on; records wait in them or come, and no consumer reads them.

        The columns have equal length; `at` is in milliseconds. A partition is in an outage from its birth on,
        until it is read and no further behind than at its birth.
        """
        self._born[slots] = self._since[slots] = at
        waiting = self._behind[slots] = self._waiting[slots]
        self.outages.begin(slots, waiting, at)
        self.outages.note_level(slots, waiting, at)
        self.group_curve.bends(at, self._rate[slots])
        # The group has committed offsets at time 0; a partition that is born later has none.
        self._uncharted[slots] = self._skips & (at > 0)
        if np.count_nonzero(waiting):
            self.group_curve.jumps(at, waiting)

    def _count_arrivals(self, slots: Slots, at: Floats) -> Floats:
        """Return the records that have come to these partitions by `at`, with the backlog at their birth.

        The result is in thousandths of records, shape (len(slots),). A partition that is not born yet has
        only its backlog.
        """
        came: Floats = self._rate[slots] * np.maximum(at - self._born[slots], 0.0)
        return self._waiting[slots] + came

    def has_read(self, slots: NDArray[np.integer], consumer: NDArray[np.integer]) -> None:
        """Record that consumers have been reading these partitions for `Scenario.settled_ms` before time 0.

        `consumer` has the reader of each partition. Records that came since its last commit are uncommitted,
        so another consumer that takes over reads them once more.
        """
        if not self._before:
            uncommitted_ms = np.minimum(-self.consumers.since[consumer], self._settled_ms)
            self._uncommitted[slots] = self._rate[slots] * uncommitted_ms

    def haunt(self, zombie: Zombie) -> int:
        """Add a zombie, and return the kind of the change that lets it wake up."""
        self._zombies.append(zombie)
        return HAUNTED + len(self._zombies) - 1

    def levels(self, at: float) -> Floats:
        """Return how far behind each partition is at `at`, in thousandths of records.

        The result has shape (partitions,). Nothing is changed: the closed form is evaluated from each
        partition's last change on. A partition that is not born yet has nothing behind.
        """
        elapsed = np.maximum(at - self._since, 0.0)
        levels = self._behind + self._rate * elapsed
        reading = (self._reader >= 0).nonzero()[0]
        levels[reading] = behind_at(elapsed[reading], *self._sharing(reading))
        return levels

    def caught_up_ms(self) -> float:
        """Return the time at which the last partition is drained, leaving out those that never will be.

        The result is in milliseconds of the run, and is right if nothing changes before that time.
        """
        times = (self._since + self._drained)[self._reader >= 0]
        return float(times[np.isfinite(times)].max(initial=0.0))

    def happen(self, now: Round) -> None:
        """Compute one round: settle its consumers, change who reads what, and share capacities again."""
        consumers = self.consumers
        consumers.enter(now.consumer, now.at)
        if self._commits_on_revoke and now.kind == GIVEN_UP:
            consumers.commits[now.consumer[self._reader[now.partition] >= 0]] = True
        elif self._commits_on_revoke and now.kind == READ:
            consumers.commits[now.consumer[~self._goes_on(now)] if self._stalled else now.consumer] = True
        # The order matters: amounts up to now belong to the old readers, and the new readers share the
        # capacities.
        self._settle()
        if now.kind < READ:
            self._stop(now)
        elif now.kind == READ:
            self._read(now)
        else:
            self._wake(now)
        self._begin()
        consumers.leave()

    def balance(self, at: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Return each partition's records at `at`: arrived, processed or lost, processed again, and lost.

        All are thousandths of records, shape (partitions,). This brings the state of all partitions to `at`.
        """
        consumers = self.consumers
        everybody = np.arange(len(consumers.now) - 1)
        consumers.enter(everybody, np.full(len(everybody), at))
        self.curves.capacity = consumers.capacity
        self._settle()
        self._begin()
        consumers.leave()
        waiting = ((self._reader < 0) & (self._since <= at)).nonzero()[0]
        self._wait(waiting, np.full(len(waiting), at))
        arrived = self._count_arrivals(np.arange(len(self._rate)), np.full(len(self._rate), at))
        position = arrived - self._behind
        reached, again, lost = self._reached.copy(), self._again.copy(), self._lost.copy()
        for zombie in self._zombies:
            slots, processed, up_to = zombie.work(at, consumers.capacity)
            if self._before:
                lost[slots] -= processed
            else:
                again[slots] += processed
            if not self._transactional:
                reached[slots] = np.maximum(reached[slots], up_to)
        processed = np.maximum(position, reached)
        # `again` counts uncommitted records as soon as their partition is lost. Records that no reader has
        # reached again by now are subtracted, since they have not been processed again.
        return arrived, processed, again - (processed - position), lost

    def _sharing(self, slots: Slots) -> _Sharing:
        """Return, for these partitions, the columns that the functions of `records.curves` take."""
        return (
            self._behind[slots],
            self._rate[slots],
            self._reader[slots],
            self._drained[slots],
            self.consumers.capacity,
        )

    def _settle(self) -> None:
        """Bring the partitions of the round's consumers up to the round's times."""
        consumers = self.consumers
        slots = consumers.touched[self._reader].nonzero()[0]
        if not len(slots):
            return
        sharing = behind, rate, reader, drained, _ = self._sharing(slots)
        now, since = consumers.now[reader], self._since[slots]
        elapsed = now - since
        after = behind_at(elapsed, *sharing)
        self.curves.add(slots, reader, since, now, behind, rate, drained)
        self._recover(slots, sharing, since, now, after)
        # With equal rates a partition's lag is highest at one end of a stretch, and both ends are recorded
        # anyway. If rates differ, the lag may turn in between.
        if self._rates_differ:
            rows, turn, top = peaks(*sharing)
            passed = turn <= elapsed[rows]
            self.outages.note_level(slots[rows[passed]], top[passed], (since[rows] + turn)[passed])
        if np.count_nonzero(after):
            self.outages.note_level(slots, after, now)
        self._uncommitted[slots] = self._not_committed(slots, sharing, elapsed, after)
        self._behind[slots] = after
        self._since[slots] = now
        consumers.settle(reader, self.group_curve)

    def _not_committed(
        self,
        slots: Slots,
        sharing: _Sharing,
        elapsed: Floats,
        after: Floats,
    ) -> Floats:
        """Return the amounts of these partitions that are processed but not committed (`_uncommitted`)."""
        behind, rate, reader, drained, capacity = sharing
        consumers = self.consumers
        commits = consumers.commits[reader]
        if np.count_nonzero(commits) == len(commits) or (self._before and not self._limited):
            return np.zeros(len(slots))
        if self._before:
            # While a consumer is behind, it polls one batch in each cycle, and commits it at once.
            cycle = self._batch / capacity[reader]
            passed = (consumers.now - consumers.clock)[reader] % cycle
            speed = speed_at(elapsed, rate, reader, drained, capacity)
            return np.where(commits, 0.0, -np.minimum(after, speed * (cycle - passed)))
        # If a commit lies in this stretch, only the amount processed after it is uncommitted. Otherwise the
        # amount of the whole stretch is added.
        tick = consumers.last_tick(self._interval)[reader] - self._since[slots]
        passed = tick > 0
        at_tick = behind_at(np.where(passed, tick, elapsed), *sharing)
        since_tick = rate * (elapsed - tick) + at_tick - after
        processed = self._uncommitted[slots] + behind + rate * elapsed - after
        return np.where(commits, 0.0, np.where(passed, since_tick, processed))

    def _recover(
        self,
        slots: Slots,
        sharing: _Sharing,
        since: Floats,
        now: Floats,
        after: Floats,
    ) -> None:
        """Find which partitions came back to their lag before the outage, and record that in `outages`."""
        behind, _, _, drained, _ = sharing
        target = self.outages.before[slots]
        # If the target is 0, the partition is back when it is drained, and that time is known. Only targets
        # above 0 need a search.
        back = np.where(behind <= target, 0.0, drained)
        if np.count_nonzero(target):
            some = ((target > 0) & (behind > target)).nonzero()[0]
            back[some] = np.inf
            some = some[after[some] <= target[some]]
            if len(some):
                back[some] = fall_times(some, target[some], *sharing)
        self.outages.read(slots, since, now, since + back)

    def _stop(self, now: Round) -> None:
        """Stop the readers of a round's partitions, after all that they have read has been settled."""
        slots, consumer, at, kind = now
        stood = self._reader[slots] < 0
        if np.count_nonzero(stood):
            self._wait(slots[stood], at[stood])
        self._reader[slots] = -1
        self._drained[slots] = np.inf
        self.outages.begin(slots, self._behind[slots], at)
        self.consumers.bend(consumer, self._rate[slots] * ~stood)
        if kind == GIVEN_UP:
            if self._left:
                for key in zip(slots.tolist(), consumer.tolist(), strict=True):
                    self._left.pop(key, None)
            # A reader that stood still, or has uncommitted records, loses the partition even if it gives the
            # partition up: the next reader begins at the committed position.
            refused = stood | (self._uncommitted[slots] != 0)
            if np.count_nonzero(refused):
                self._lose(now.take(refused))
            return
        if self._transactional:
            self._leave_open(now.take(~stood))
        if kind == STALLED:
            self._stalled = True
            self._standing[slots] = consumer
        else:
            self._lose(now)

    def _leave_open(self, now: Round) -> None:
        """Leave open the transactions of consumers that stop with records processed but not committed."""
        # A transaction begins when the one before it is committed, so its timeout runs from the last commit.
        until = self.consumers.last_tick(self._interval)[now.consumer] + self._timeout
        self._deadline[now.partition] = until
        begun = self._uncommitted[now.partition] > 0
        self.transactions.leave_open(now.partition[begun], now.consumer[begun], now.at[begun], until[begun])

    def _lose(self, now: Round) -> None:
        """Let consumers lose these partitions; the next reader begins at the committed position.

        `_left` keeps the position of each consumer, in case its process wakes up and goes on reading
        (`_wake`). Records that were processed but not committed are behind again, so the group's lag jumps up
        by their number.
        """
        slots, consumer, at, _ = now
        position = self._count_arrivals(slots, at) - self._behind[slots]
        uncommitted = self._uncommitted[slots]
        keys = zip(slots.tolist(), consumer.tolist(), strict=True)
        self._left.update(zip(keys, zip(position.tolist(), uncommitted.tolist(), strict=True), strict=True))
        if self._before:
            self._lost[slots] -= uncommitted
        else:
            self._again[slots] += uncommitted
        if not self._transactional:
            self._reached[slots] = np.maximum(self._reached[slots], position)
        self._standing[slots] = -1
        self._uncommitted[slots] = 0.0
        self._behind[slots] += uncommitted
        self.group_curve.jumps(at, uncommitted)

    def _read(self, now: Round) -> None:
        """Let consumers read these partitions from now on.

        A consumer that stood still with a partition goes on at its position. Any other consumer begins at the
        committed position, to which the partition was set back when it was lost.
        """
        slots, consumer, at, _ = now
        consumers = self.consumers
        fresh = self._reader[slots] < 0
        stood, stood_since = self._standing[slots], self._since[slots]
        self._wait(slots, at)
        if self._stalled and (stood >= 0).any():
            goes_on = self._goes_on(now)
            self._standing[slots[goes_on]] = -1
            consumers.busy[consumer[goes_on]] = True
            # A commit that became due while the consumer stood still is made at once.
            due = consumers.commits[consumer] | (consumers.last_tick(self._interval)[consumer] > stood_since)
            self._uncommitted[slots[goes_on & due]] = 0.0
            gone = (stood >= 0) & ~goes_on
            self._lose(Round(slots[gone], stood[gone], at[gone], DROPPED))
        if self._skips:
            self._skip(slots[self._uncharted[slots]], at[self._uncharted[slots]])
        self._reader[slots] = consumer
        consumers.bend(consumer, -self._rate[slots] * fresh)
        if not self._limited:
            consumers.jump(consumer, -self._behind[slots], self.group_curve)
        if not self._commits_on_revoke:
            starts = ~consumers.busy[consumer]
            consumers.clock[consumer[starts]] = at[starts]
        # A process that reads again has ended the transaction that it left open.
        if self._transactional:
            for transaction in self.transactions.of(consumer):
                self.transactions.end(transaction, consumers.now[transaction])

    def _skip(self, slots: Slots, at: Floats) -> None:
        """Let the first reader of these partitions begin at their end; count the records before that as lost.

        The end counts as committed at once, though a client commits it only within `auto.commit.interval.ms`.
        So if that reader is gone earlier, the next reader does not skip records again. `at` has a time in
        milliseconds for each partition.
        """
        self._uncharted[slots] = False
        self._lost[slots] += self._behind[slots]
        self.group_curve.jumps(at, -self._behind[slots])
        self._behind[slots] = 0.0

    def _goes_on(self, now: Round) -> NDArray[np.bool_]:
        """Return, for each of these partitions, whether its consumer stood still with it and still has it."""
        stood: NDArray[np.bool_] = self._standing[now.partition] == now.consumer
        # The coordinator aborts a transaction that takes too long; its producer learns this when it commits.
        return stood & (now.at <= self._deadline[now.partition])

    def _wake(self, now: Round) -> None:
        """Let a consumer that wakes up go on reading partitions that it does not own any more."""
        replaced = self._reader[now.partition] == now.consumer
        if np.count_nonzero(replaced):
            # Another process of the same name has taken over, and begins at the committed position.
            again = now.take(replaced)
            self._stop(again._replace(kind=DROPPED))
            self._read(again._replace(kind=READ))
            self.consumers.clock[again.consumer] = again.at
        stands = self._standing[now.partition] == now.consumer
        if np.count_nonzero(stands):
            self._wait(now.partition[stands], now.at[stands])
            self._lose(now.take(stands))
        keys = zip(now.partition.tolist(), now.consumer.tolist(), strict=True)
        left = np.array([self._left.get(key, (np.nan, np.nan)) for key in keys])
        # The consumer does not go on with partitions that it gave up; these have no entry.
        has_lost = ~np.isnan(left[:, 0])
        position, uncommitted = left[has_lost].T
        slots, _, at, kind = now.take(has_lost)
        rate = self._rate[slots] * (not self._before)
        behind = -uncommitted if self._before else self._count_arrivals(slots, at) - position
        zombie = self._zombies[kind - HAUNTED]
        zombie.wakes(slots, behind, rate, position)
        if self._transactional:
            self.transactions.end(zombie.consumer, zombie.end_ms)

    def _wait(self, slots: Slots, at: Floats) -> None:
        """Bring partitions that no consumer reads up to `at`.

        Records come to them and none is processed. `slots` and `at` have equal length, times are
        milliseconds.
        """
        since, behind, rate = self._since[slots], self._behind[slots], self._rate[slots]
        nobody = np.full(len(slots), -1)
        self.curves.add(slots, nobody, since, at, behind, rate, np.full(len(slots), np.inf))
        behind = behind + rate * (at - since)
        self._behind[slots] = behind
        self._since[slots] = at
        self.outages.note_level(slots, behind, at)

    def _begin(self) -> None:
        """Let the round's consumers share their capacity among the partitions that they read now."""
        slots = self.consumers.touched[self._reader].nonzero()[0]
        # If they read no partition, there is no capacity to share.
        if not len(slots):
            self.consumers.rest(self.group_curve)
            return
        behind, rate, reader = self._behind[slots], self._rate[slots], self._reader[slots]
        if self._limited:
            self.outages.note_level(slots, behind, self._since[slots])
        self._drained[slots] = drain_times(behind, rate, reader, self.consumers.capacity)
        self.consumers.begin(self.group_curve, reader, behind, rate)
