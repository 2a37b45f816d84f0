"""Compute lag over time, of the group and of single partitions, if consumers share their capacity.

Sharing is max-min fair, in closed form. A partition that is `behind` by b records, to which records come at
`rate` r, is drained at time t if it was given b + r t records by then. All partitions of a consumer that are
not drained have been given the same amount s(t), so that sum(min(s(t), b + r t)) = capacity x t. s is convex,
since a drained partition leaves a part of its share to the others. So only the order in which partitions are
drained matters, and no steps in time are needed.

Arrays have an element for each partition. `group` holds the consumer that reads it; `capacity` has an element
for each consumer. Times count from the moment at which the partitions were `behind` by b, in milliseconds.
Amounts are thousandths of records, so that a rate in records a second needs no factor.

This module has two parts. The functions compute what follows from one moment, for many consumers at once. The
two curve classes store the history of a run, from which lag over time is computed when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import ScenarioError
from partitioning.kit.columns import inverse

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]


_TIE = 1e-9
"""Relative differences below this count as rounding."""


def drain_times(behind: Floats, rate: Floats, group: Integers, capacity: Floats) -> Floats:
    """Return the time at which each partition is drained, in milliseconds.

    It is 0 for a partition that never falls behind, and infinite for one that stays behind. All columns have
    shape (partitions,), `capacity` has shape (consumers,). If all capacities are infinite, everything is
    drained at once.

    Each turn of the loop fixes either all partitions of a consumer or only its first one. So it ends after at
    most as many turns as a consumer has partitions; if all rates are equal, after one turn.
    """
    times = np.zeros(len(behind))
    # If no partition is behind or will fall behind, the sorting below is not needed.
    busy = np.count_nonzero(behind) or np.count_nonzero(np.bincount(group, rate, len(capacity)) > capacity)
    if not busy or not np.count_nonzero(capacity < np.inf):
        return times
    # By consumer: the backlog of the partitions fixed so far, and the capacity that their rates leave.
    spent = np.zeros(len(capacity))
    free = capacity.copy()
    left = np.arange(len(behind))
    while len(left):
        fill = _Filling(behind[left], rate[left], group[left], capacity, spent, free)
        left = left[fill.order]
        times[left] = fill.times
        disorder = fill.disorder()
        if not len(disorder):
            break
        # The times of a consumer are right if its partitions are drained in the order assumed, which is so if
        # rates are equal. Otherwise only the time of its first partition is right.
        wrong = np.zeros(len(spent), np.bool_)
        wrong[fill.group[disorder]] = True
        first = wrong[fill.group] & (fill.place == 0)
        spent[fill.group[first]] += fill.behind[first]
        free[fill.group[first]] -= fill.rate[first]
        left = left[wrong[fill.group] & ~first]
    hot = (behind == 0) & (times > 0)
    if np.count_nonzero(hot):
        # A partition that gets exactly the rate at which its records come does not fall behind.
        times[hot & (rate <= speed_at(np.zeros(len(rate)), rate, group, times, capacity) * (1 + _TIE))] = 0.0
    return times


def behind_at(
    elapsed: Floats, behind: Floats, rate: Floats, group: Integers, drained: Floats, capacity: Floats
) -> Floats:
    """Return how far behind each partition is after `elapsed`, which must be equal within each group.

    Amounts are thousandths of records, times are milliseconds; the result has shape (partitions,). `drained`
    must be the result of `drain_times` for the same columns. The result is never negative, also after
    rounding.
    """
    wait = drained > elapsed
    if not np.count_nonzero(wait):
        return np.zeros(len(behind))
    due = behind + rate * elapsed
    sharers = np.bincount(group, wait)
    # A drained partition was given all records that came to it. The rest of the capacity was shared evenly.
    drained_sum = np.bincount(group, np.where(wait, 0.0, due))[group]
    share = (capacity[group] * elapsed - drained_sum) / np.maximum(sharers, 1.0)[group]
    return np.where(wait, np.maximum(due - share, 0.0), 0.0)


def speed_at(elapsed: Floats, rate: Floats, group: Integers, drained: Floats, capacity: Floats) -> Floats:
    """Return the rate at which each partition is processed after `elapsed`, in records a second.

    At the very moment at which a partition is drained it counts as drained. A drained partition is processed
    at the rate at which its records come.
    """
    wait = drained > elapsed
    flowing = np.bincount(group, np.where(wait, 0.0, rate))[group]
    sharers = np.maximum(np.bincount(group, wait), 1.0)[group]
    return np.where(wait, (capacity[group] - flowing) / sharers, rate)


def fall_times(
    rows: Integers,
    target: Floats,
    behind: Floats,
    rate: Floats,
    group: Integers,
    drained: Floats,
    capacity: Floats,
) -> Floats:
    """Return the time at which each of these rows is no longer further behind than `target`.

    At time 0 each row must be further behind than its target. The time has no meaning if the target is never
    reached.

    `rows` are indexes into the other columns, and `target` has an amount for each row. The result has shape
    (len(rows),), in milliseconds. Between two drain times of its consumer a partition's lag is linear. So
    bisection finds the first drain time by which the target has been reached, and the rest follows in closed
    form.
    """
    fill = _Filling.drained_at(behind, rate, group, drained, capacity)

    def there(place: Integers) -> NDArray[np.bool_]:
        # At an infinite time `level` is NaN, so the comparison is False and the result is True: the target
        # was reached before that time.
        at = fill.times[place]
        level = fill.behind[place] + fill.rate[place] * at
        return ~(behind[rows] + rate[rows] * at - level > target)

    low, high = fill.bounds(group[rows])
    with np.errstate(invalid="ignore"):
        place = _first(there, low, high - 1)
    sharers = fill.sharers[place]
    share = fill.spent[place] + sharers * (behind[rows] - target)
    return share / (fill.free[place] - sharers * rate[rows])


def peaks(
    behind: Floats, rate: Floats, group: Integers, drained: Floats, capacity: Floats
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Return the rows that fall further behind before they catch up, and the time and lag of their peaks.

    The three columns have equal length: indexes, times in milliseconds, and amounts in thousandths of
    records. A partition's share of its consumer grows as others are drained. Its lag turns at the drain time
    from which its share exceeds its rate. A partition whose lag never turns is left out.
    """
    start = np.zeros(len(behind))
    # Within rounding a partition that gets exactly its rate neither grows nor shrinks, and has no peak.
    rows = np.flatnonzero(
        (rate > speed_at(start, rate, group, drained, capacity) * (1 + _TIE)) & (drained > 0)
    )
    if len(rows) == 0:
        return rows, start[rows], start[rows]
    fill = _Filling.drained_at(behind, rate, group, drained, capacity)
    low, high = fill.bounds(group[rows])
    # Partitions that are never drained come last; a speed after their drain time has no meaning.
    finite = np.bincount(group, np.isfinite(drained)).astype(np.intp)
    high = np.minimum(high, low + finite[group[rows]] + 1)
    turn = _first(lambda place: fill.free[place] >= fill.sharers[place] * rate[rows], low, high) - 1
    at = fill.times[turn]
    turns = (turn >= low) & np.isfinite(at)
    rows, turn, at = rows[turns], turn[turns], at[turns]
    return rows, at, behind[rows] + rate[rows] * at - fill.behind[turn] - fill.rate[turn] * at


class _Filling:
    """Partitions sorted by group and, within a group, by the order in which they may be drained.

    All attributes are columns in that order. `order` has the index of each partition in the arguments, and
    `place` counts from 0 in each group. For each partition, `spent` is the sum of the backlogs of the
    partitions that are drained before it in its group, and `free` is the capacity that the rates of those
    partitions leave.

    The arguments `spent` and `free` have an element for each consumer: the backlog of partitions that were
    fixed before, and the capacity that their rates leave. `key` gives the order; if it is None, partitions
    are sorted by the time at which each would be drained if it were the first.
    """

    def __init__(
        self,
        behind: Floats,
        rate: Floats,
        group: Integers,
        capacity: Floats,
        spent: Floats,
        free: Floats,
        key: Floats | None = None,
    ) -> None:
        size = np.bincount(group, minlength=len(spent))
        rounding = _TIE * capacity[group]
        if key is None:
            # The key is the time at which the partition would be drained if it were the first of its group.
            n = size[group]
            key = quotient(spent[group] + n * behind, free[group] - n * rate, rounding)
        # If no partition of a group would ever be drained, the one with the lowest rate comes first. Small
        # integers sort in linear time.
        order = np.lexsort((rate, key)) if np.count_nonzero(rate != rate[0]) else key.argsort()
        # Groups are brought together by a stable sort, so the order by time stays within each group.
        small = group.astype(np.min_scalar_type(len(spent)))
        self.order = order[small[order].argsort(kind="stable")]  # indexes into the arguments
        self.group = group[self.order]
        self.behind = behind[self.order]
        self.rate = rate[self.order]
        self._size = size
        self._start = size.cumsum() - size
        first = self._start[self.group]
        self.place = np.arange(len(group)) - first  # the place of each partition in its group
        self.sharers = size[self.group] - self.place  # partitions of its group not drained before it
        # The backlog of the partitions drained before it.
        self.spent = spent[self.group] + _sum_before(self.behind, first)
        # The capacity that the rates of these partitions leave.
        self.free = free[self.group] - _sum_before(self.rate, first)
        need = self.spent + self.sharers * self.behind
        # The time at which each partition is drained if the partitions of its group are drained in this
        # order.
        self.times = quotient(need, self.free - self.sharers * self.rate, rounding[self.order])

    @classmethod
    def drained_at(
        cls, behind: Floats, rate: Floats, group: Integers, drained: Floats, capacity: Floats
    ) -> _Filling:
        """Return the partitions in the order of these drain times, which must be right."""
        fill = cls(behind, rate, group, capacity, np.zeros(len(capacity)), capacity, drained)
        fill.times = drained[fill.order]
        return fill

    def disorder(self) -> NDArray[np.intp]:
        """Return the places of partitions that would be drained before their predecessors in the order.

        The first place of a group is never among them. Differences within rounding do not count; otherwise
        equal partitions would be sorted again and again.
        """
        early = (self.times[1:] < self.times[:-1] * (1 - _TIE)) & (self.place[1:] > 0)
        return early.nonzero()[0] + 1

    def bounds(self, group: Integers) -> tuple[Integers, Integers]:
        """Return the first place of each of these groups, and the place behind its last."""
        return self._start[group], self._start[group] + self._size[group]


def _sum_before(values: Floats, first: Integers) -> Floats:
    """Return, for each element, the sum of the values before it in its group.

    `first` has, for each element, the index of the first element of its group. One running sum serves all
    groups: the part before a group is subtracted.
    """
    sums = values.cumsum() - values
    return sums - sums[first]


def quotient(need: NDArray[Any], surplus: NDArray[Any], rounding: float | Floats) -> Floats:
    """Return `need / surplus`; infinite if the surplus is no more than rounding."""
    times = np.full(len(need), np.inf)
    np.divide(need, surplus, out=times, where=surplus > rounding)
    return times


def _first(holds: Callable[[Integers], NDArray[np.bool_]], low: Integers, high: Integers) -> Integers:
    """Return the first place from `low` up to `high` at which `holds` is true, by bisection.

    If `holds` is true at no place of the range, the result is `high`. `holds` must stay true from the first
    place at which it is true.

    `low` and `high` are columns with one range for each search. `holds` is called for all searches at once,
    with a column of one place for each.
    """
    end = high
    while (low < high).any():
        middle = (low + high) // 2
        here = (low == high) | holds(np.minimum(middle, end - 1))
        high = np.where(here, middle, high)
        low = np.where(here, low, middle + 1)
    return low


MOST_STRETCHES = 2_000_000
"""The most stretches that a run keeps. They take 100 MB, far more than any plot can show."""


class GroupCurve:
    """The lag of the whole group, stored as changes of its slope and jumps, in any order.

    Times are milliseconds, amounts thousandths of records, slopes records a second.

    Only changes are stored, so consumers may be handled in any order and each adds what it contributes;
    `until` sorts them once.
    """

    def __init__(self) -> None:
        self._bends = [(np.empty(0), np.empty(0))]
        self._jumps = [(np.empty(0), np.empty(0))]

    def bends(self, at: Floats, slope: Floats) -> None:
        """Let the lag grow faster by `slope` from `at` on; both are columns of equal length."""
        # Bends at one time are stored as one.
        if len(at) > 1 and at[0] == at[-1] and not np.count_nonzero(at != at[0]):
            at, slope = at[:1], slope.sum(keepdims=True)
        self._bends.append((at, slope))

    def jumps(self, at: Floats, by: Floats) -> None:
        """Let the lag jump by `by` at the time `at`; both are columns of equal length."""
        self._jumps.append((at, by))

    def until(self, end: float) -> tuple[Floats, Floats]:
        """Return ascending times from 0 to `end`, and the lag at each, as columns of equal length.

        The lag is linear between two times. At a jump the same time stands twice.
        """
        bent, slope = (np.concatenate(column) for column in zip(*self._bends, strict=True))
        jumped, jump = (np.concatenate(column) for column in zip(*self._jumps, strict=True))
        at, place = np.unique(np.concatenate([bent, jumped, [0.0, end]]), return_inverse=True)
        # Changes of one time are summed. `place` has the indexes of all bends first, then those of all jumps.
        slope = np.bincount(place[: len(bent)], slope, len(at))
        jump = np.bincount(place[len(bent) : -2], jump, len(at))
        kept = (slope != 0) | (jump != 0) | (at == 0) | (at == end)
        at, slope, jump = at[kept], slope[kept], jump[kept]
        grown = np.diff(at, prepend=0.0) * np.concatenate([[0.0], np.cumsum(slope)[:-1]])
        value = np.cumsum(grown + jump)
        kept = at <= end
        at, jump, value = at[kept], jump[kept], value[kept]
        # At a jump the lag has two values: the one before it, and the one after it.
        twice = np.repeat(np.arange(len(at)), 1 + (jump != 0))
        before = np.append(twice[1:] == twice[:-1], False)
        return at[twice], np.maximum(value[twice] - before * jump[twice], 0.0)


class _Stretches(NamedTuple):
    """The time between two changes of each partition, as columns of equal length.

    `consumer` is -1 if no consumer read the partition. `since`, `until` and `drained` are milliseconds, and
    `behind` is the lag at `since` in thousandths of records. If nothing changed, the partition would be
    drained `drained` after `since`.
    """

    partition: Integers
    consumer: Integers
    since: Floats
    until: Floats
    behind: Floats
    rate: Floats
    drained: Floats


class PartitionCurves:
    """The lag of each partition over time, computed on demand from the stretches between two changes.

    `capacity`, by consumer, is set when the run is over. If there are more than `MOST_STRETCHES`, all
    stretches are dropped, and `of` and `longest_wait_ms` raise.
    """

    def __init__(self) -> None:
        self.capacity = np.empty(0)  # the capacity of each consumer, set when the run is over
        self._rows: list[tuple[NDArray[Any], ...]] | None = []
        self._count = 0

    def add(self, *stretches: NDArray[Any]) -> None:
        """Add stretches, as columns in the order of `_Stretches`."""
        self._count += len(stretches[0])
        # An incomplete curve would be a wrong one, so nothing is kept, and `of` raises.
        if self._count > MOST_STRETCHES:
            self._rows = None
        if self._rows is not None:
            self._rows.append(stretches)

    def of(self, partition: int) -> tuple[Floats, Floats]:
        """Return times in milliseconds and the lag of a partition at each, in records.

        The lag is linear between two times. At a jump the same time stands twice.

        Raises:
            ScenarioError: the run was too long to keep every partition's stretches.
        """
        rows = np.flatnonzero(self._stretches.partition == partition)
        points = [self._points(row) for row in rows.tolist()]
        times, behind = np.concatenate([np.empty((2, 0)), *points], axis=1)
        new = np.ones(len(times), np.bool_)
        new[1:] = (times[1:] != times[:-1]) | (behind[1:] != behind[:-1])
        return times[new], behind[new] / 1000

    def longest_wait_ms(self) -> float:
        """Return the longest wait of a record, in milliseconds, if consumers read their partitions in turn.

        Consumers share their capacity fairly only on average. A client hands over all records that it has
        fetched of one partition before it turns to the next one. So the last partition waits for the backlog
        of all others, even if it has none itself.

        Raises:
            ScenarioError: the run was too long to keep every partition's stretches.
        """
        stretches, (order, number) = self._stretches, self._neighbours
        partition, consumer, since, until, behind, rate, _ = (column[order] for column in stretches)
        capacity = self.capacity[consumer]
        assert (capacity < np.inf).all(), "whoever processes everything at once never waits"
        lasted, groups = until - since, int(number.max(initial=0)) + 1
        # `whole` and `coming` are sums over all partitions that the same consumer read during the same
        # stretch.
        whole, coming = np.bincount(number, behind, groups)[number], np.bincount(number, rate, groups)[number]
        before = np.where(consumer < 0, lasted, (whole - behind) / capacity)
        # The oldest record of a partition has waited for as long as it took the present backlog to come.
        age = np.divide(behind, rate, out=np.zeros(len(partition)), where=rate > 0)
        # A consumer that gets more than it can process is further behind at the end of a stretch.
        grown = np.where(consumer < 0, 0.0, whole + (coming - capacity) * lasted)
        at_end = np.divide(grown, coming, out=np.zeros(len(partition)), where=coming > 0)
        return float(np.maximum(age + before, at_end)[rate > 0].max(initial=0.0))

    @cached_property
    def _stretches(self) -> _Stretches:
        """The stretches of the run as columns."""
        if self._rows is None:
            raise ScenarioError(
                f"no partition has a lag curve: a run keeps {MOST_STRETCHES:,} stretches of single "
                f"partitions at most, and this one has {self._count:,}; simulate fewer partitions or events"
            )
        return _Stretches(*(np.concatenate(column) for column in zip(*self._rows or (), strict=True)))

    @cached_property
    def _neighbours(self) -> tuple[Integers, Integers]:
        """The order of stretches by consumer and time, and in that order the group number of each.

        A group has the stretches that one consumer read at the same time. Partitions that share a consumer
        change together, so the stretches of a group have the same ends, and the lag of each depends on all of
        them.
        """
        reading = self._stretches.until, self._stretches.since, self._stretches.consumer
        order = np.lexsort(reading)
        begins = np.any([np.diff(column[order], prepend=np.nan) != 0 for column in reading], axis=0)
        return order, np.cumsum(begins)

    def _points(self, row: int) -> Floats:
        """Return a stretch's ends, and the times at which its slope changes because a partition is drained.

        The result has shape (2, points): times in milliseconds, and amounts behind in thousandths of records.
        """
        stretches = self._stretches
        since, until = stretches.since[row], stretches.until[row]
        if stretches.consumer[row] < 0:
            times = np.array([since, until])
            return np.stack([times, stretches.behind[row] + stretches.rate[row] * (times - since)])
        order, number = self._neighbours
        among = order[slice(*np.searchsorted(number, number[self._place[row]] + np.arange(2)))]
        behind, rate, drained = stretches.behind[among], stretches.rate[among], stretches.drained[among]
        elapsed = np.unique(np.concatenate([[0.0, until - since], drained[drained < until - since]]))
        group, capacity = np.zeros(len(among), np.intp), self.capacity[stretches.consumer[among[:1]]]
        # The lag of one partition depends on all partitions that are read with it. So the lags of all are
        # computed, and one is taken.
        own = among == row
        levels = [behind_at(time, behind, rate, group, drained, capacity)[own] for time in elapsed]
        return np.stack([since + elapsed, np.concatenate(levels)])

    @cached_property
    def _place(self) -> Integers:
        """For each stretch, its index in the order of `_neighbours`."""
        return inverse(self._neighbours[0])
