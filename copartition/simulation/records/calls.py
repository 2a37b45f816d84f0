"""Put calls to a flow in the order of their times, and measure how far behind partitions get in an outage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Slots = NDArray[np.intp]


# What happens to a partition. Plain numbers, since these are columns.
GIVEN_UP: Final = 0
"""Its reader gives it up and had the occasion to commit."""
DROPPED: Final = 1
"""Its reader is gone, or has lost it without knowing."""
STALLED: Final = 2
"""Its reader stands still and may go on."""
READ: Final = 3
"""A consumer reads it."""
HAUNTED: Final = 4
"""A consumer that has lost it wakes up. Numbers from here on tell one such call from the next."""


class Round(NamedTuple):
    """One event that happens to these partitions at the same step; each consumer in it has one time.

    `partition`, `consumer` and `at` are columns of equal length, times in milliseconds; `kind` is one of the
    numbers above.
    """

    partition: NDArray[np.intp]
    consumer: NDArray[np.intp]
    at: NDArray[np.float64]
    kind: int

    def take(self, which: NDArray[np.bool_]) -> Round:
        """Return the part of the round that a mask chooses."""
        return Round(self.partition[which], self.consumer[which], self.at[which], self.kind)


_Rows = tuple[Slots, Slots, Floats, int | Slots]
"""A round, or rows of the same columns to which different things happen in their order."""


class Calls:
    """The calls that were made since the records were looked at last.

    Consumers affect each other only through partitions that one gives up and another reads. So calls about
    different consumers can happen together, stops before reads, and in the order in which they came if that
    is in the order of time for each consumer. Only a call for a consumer that wakes up without its partitions
    happens alone.

    `_sorted` is True as long as all waiting calls are rounds in the order of time for each consumer; then
    they need no sorting. The columns by consumer serve that check, and are kept from one look to the next.
    """

    def __init__(self) -> None:
        self._waiting: list[_Rows] = []
        self._sorted = True  # whether these are all rounds, in the order of time
        self._out_of_turn: list[tuple[NDArray[Any], ...]] = []  # columns of rows, the last one their turns
        # By consumer: the latest time of a call, the round it was in last, when, and with what.
        self._latest = np.zeros(64)
        self._round = np.full(64, -1)
        self._at = np.zeros(64)
        self._kind = np.zeros(64, np.intp)
        self._rounds = 0

    def add(
        self,
        partition: NDArray[np.intp],
        consumer: int | NDArray[np.integer],
        at: float | NDArray[np.float64],
        kind: int,
        turn: NDArray[np.intp] | None = None,
    ) -> None:
        """Note that `kind` happens to these partitions, each of which is named once.

        Args:
            partition: flat indexes.
            consumer: the consumer of each partition, or one for all.
            at: the time of each in milliseconds, or one for all.
            kind: the event, a number above.
            turn: the turn of each partition's call, if calls are made out of turn; `put_in_turn` is to follow
                before any call without one.
        """
        if not len(partition):
            return
        consumers: Slots = _column(consumer, len(partition), np.intp)
        times: Floats = _column(at, len(partition), np.float64)
        if turn is not None:
            self._out_of_turn.append((partition, consumers, times, np.full(len(partition), kind), turn))
            return
        self._waiting.append(Round(partition, consumers, times, kind))
        self._sorted = self._sorted and self._follows(consumers, times)

    def put_in_turn(self) -> None:
        """Put the calls that were made with turns in the order of these."""
        if not self._out_of_turn:
            return
        *calls, turn = map(np.concatenate, zip(*self._out_of_turn, strict=True))
        self._out_of_turn = []
        # A consumer that stops has begun before to read what it had opened by then.
        order = np.lexsort((calls[-1] != READ, turn))
        partition, consumer, at, kind = (column[order] for column in calls)
        self._waiting.append((partition, consumer, at, kind))
        self._sorted = False

    def take(self) -> Iterator[Round]:
        """Yield all calls, in rounds, and forget them."""
        calls, self._waiting = self._waiting, []
        if self._sorted:
            yield from self._together(cast("list[Round]", calls))
        else:
            yield from _sort(calls)
        self._sorted = True

    def _follows(self, consumer: NDArray[np.intp], at: NDArray[np.float64]) -> bool:
        """Return whether each consumer has one time here, not before one that it had in an earlier call."""
        last = int(consumer.max())
        if last >= len(self._latest):
            self._latest, self._at = (np.append(old, np.zeros(last + 1)) for old in (self._latest, self._at))
            self._round = np.append(self._round, np.full(last + 1, -1))
            self._kind = np.append(self._kind, np.zeros(last + 1, np.intp))
        before = self._latest[consumer]
        self._latest[consumer] = at
        return not np.count_nonzero((before > at) | (self._latest[consumer] != at))

    def _together(self, calls: list[Round]) -> Iterator[Round]:
        """Yield calls that are in the order of time, as rounds in which no consumer has a second time.

        At one time a consumer may give up and then read; that is their order within a round.
        """
        parts: dict[int, list[Round]] = {}
        for call in calls:
            alone = call.kind >= HAUNTED
            if alone or not self._fits(call):
                yield from _merge(parts)
                parts = {}
                self._rounds += 1
            parts.setdefault(call.kind, []).append(call)
            self._round[call.consumer] = self._rounds
            self._at[call.consumer], self._kind[call.consumer] = call.at, call.kind
            if alone:
                yield from _merge(parts)
                parts = {}
        yield from _merge(parts)

    def _fits(self, call: Round) -> bool:
        """Return whether all of a call can happen in the present round, after the calls in it so far."""
        consumer = call.consumer
        apart = (self._at[consumer] != call.at) | (self._kind[consumer] >= call.kind)
        return not np.count_nonzero(apart & (self._round[consumer] == self._rounds))


def _column(value: Any, size: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return one value as a column of `size` elements; values that are a column already as they are."""
    return np.asarray(value, kind) if isinstance(value, np.ndarray) else np.full(size, value, kind)


def _merge(parts: dict[int, list[Round]]) -> Iterator[Round]:
    """Yield the calls of a round, those of one kind as one."""
    for kind, rounds in sorted(parts.items()):
        if len(rounds) == 1:
            yield rounds[0]
        else:
            partition, consumer, at = (
                np.concatenate(column) for column in list(zip(*rounds, strict=True))[:3]
            )
            yield Round(partition, consumer, at, kind)


def _sort(calls: list[_Rows]) -> Iterator[Round]:
    """Yield rounds in the order of time, in which no consumer has a second time."""
    partition, consumer, times = (np.concatenate(column) for column in list(zip(*calls, strict=True))[:3])
    kind = np.concatenate([np.broadcast_to(kind, at.shape) for _, _, at, kind in calls])
    order = np.argsort(times, kind="stable")
    partition, consumer, times, kind = partition[order], consumer[order], times[order], kind[order]
    waits = np.full(len(order), -1)
    rows = np.argsort(consumer, kind="stable")
    earlier, later = rows[:-1], rows[1:]
    apart = (times[earlier] != times[later]) | (kind[earlier] > kind[later])
    apart &= consumer[earlier] == consumer[later]
    # Each row must be in a later round than the row it waits for: its consumer's row before, if the times
    # differ.
    waits[later[apart]] = earlier[apart]
    alone = np.flatnonzero(kind >= HAUNTED)
    waits[alone] = alone - 1
    waits[alone[alone + 1 < len(waits)] + 1] = alone[alone + 1 < len(waits)]
    # What a row or one before it waits for has been in an earlier round.
    waits = np.maximum.accumulate(waits)
    begin = 0
    while begin < len(waits):
        end = int(np.searchsorted(waits, begin))
        for code in np.unique(kind[begin:end]).tolist():
            which = np.flatnonzero(kind[begin:end] == code) + begin
            yield Round(partition[which], consumer[which], times[which], code)
        begin = end


class CatchUps(NamedTuple):
    """Stretches in which a partition was read but further behind than before its outage, as columns.

    Partitions are flat indexes; `start` is before `end`, both in milliseconds.
    """

    partition: NDArray[np.int32]
    start: Floats
    end: Floats


class Outages:
    """The outage that each partition is in, until it is no further behind than before it.

    An outage begins when a partition is no longer read. If it stops again before it has caught up, that is
    still the same outage. Columns have an element for each partition; amounts are thousandths of records,
    times milliseconds. `before` and `_since` have a meaning only while `open` is True.
    """

    def __init__(self, partitions: int) -> None:
        self.open = np.zeros(partitions, np.bool_)
        self.before = np.zeros(partitions)  # how far behind it was when that began
        self.peak = np.zeros(partitions)  # the furthest behind it has been
        self.peak_ms = np.zeros(partitions)  # when
        self.recovery_ms = np.zeros(partitions)  # its longest outage that is over
        self.catch_up_ms = np.zeros(partitions)  # how long it was read while it was in an outage
        self._catch_ups = [CatchUps(np.empty(0, np.int32), np.empty(0), np.empty(0))]
        self._since = np.zeros(partitions)

    def begin(self, slots: Slots, behind: Floats, at: Floats) -> None:
        """Begin the outages of these partitions, unless they are in one already."""
        new = ~self.open[slots]
        slots = slots[new]
        self.open[slots] = True
        self.before[slots] = behind[new]
        self._since[slots] = at[new]

    def note_level(self, slots: Slots, behind: Floats, at: Floats) -> None:
        """Note how far behind these partitions are at `at`; the times told must include every peak."""
        higher = behind > self.peak[slots]
        if np.count_nonzero(higher):
            slots = slots[higher]
            self.peak[slots] = behind[higher]
            self.peak_ms[slots] = at[higher]

    def read(self, slots: Slots, since: Floats, until: Floats, back: Floats) -> None:
        """Note that these were read from `since` to `until`, and end the outages that ended meanwhile.

        `back` is the time at which each would be no further behind than before its outage; infinite: never.
        """
        affected = self.open[slots].nonzero()[0]
        if not len(affected):
            return
        slots, since, until, back = slots[affected], since[affected], until[affected], back[affected]
        end = np.minimum(back, until)
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
