"""Model how far behind every partition is, as a flow of records.

There are three parts. The ledger's fold notifies `RecordFlow` of who reads which partition; `ReaderChanges`
groups these changes into rounds; and `Readers` (`records.readers`) computes each round for all its consumers
at once.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.records.curves import PartitionCurves
from copartition.simulation.records.outages import CatchUps, Floats, Slots
from copartition.simulation.records.readers import (
    DROPPED,
    GIVEN_UP,
    HAUNTED,
    READ,
    STALLED,
    Readers,
    Round,
    Zombie,
)

Integers = NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class RecordsResult:
    """The records of one run; arrays have an element for each partition, in the order of `Timeline.first`.

    Attributes:
        lag_ms: times of the group's lag curve, ascending. The lag is linear between them; at a jump the same
            time stands twice.
        lag: records behind at these times, summed over all partitions: records to be processed, or to be
            processed again.
        peak: the most records behind, by partition.
        peak_ms: when each partition was at its peak.
        recovery_ms: the longest time from the start of an outage until the partition was no further behind
            than before it, by partition; infinite where it never was.
        duplicates: records read twice.
        aborted: records processed in a transaction that was aborted, and therefore processed again.
        lost: records that were never processed though their offsets were committed, or that were skipped in
            new partitions.
        consumed: records processed, each counted once.
        waiting: records that have not been processed at the end of the run.
        arrived: records that came, or waited at time 0. This is `consumed + waiting + lost`.
        uncommitted_ms: for each partition, how long `read_committed` readers of the output made from its
            records waited behind an open transaction (the last stable offset did not move).
        catch_up_ms: for each partition, how long it was read but further behind than before its outage.
        catch_ups: the stretches of time that `catch_up_ms` sums up.
        curves: the lag of single partitions, `curves.of(partition)`.
    """

    lag_ms: Floats
    lag: Floats
    peak: Floats
    peak_ms: Floats
    recovery_ms: Floats
    duplicates: Floats
    aborted: Floats
    lost: Floats
    consumed: Floats
    waiting: Floats
    arrived: Floats
    uncommitted_ms: Floats
    catch_up_ms: Floats
    catch_ups: CatchUps
    curves: PartitionCurves


_Rows = tuple[Slots, Slots, Floats, int | Slots]
"""The columns of a `Round`, or of rows that have a kind each and happen in the order of the rows."""


class ReaderChanges:
    """The changes of readers that the ledger has had since the records were computed last.

    Consumers affect each other only through partitions that one consumer gives up and another one reads. So
    changes of different consumers can be made together if stops are made before reads. No sorting is needed
    if the changes of each consumer came in the order of time. Only one kind of change must be made alone:
    that of a consumer that wakes up without its partitions.

    `_sorted` is True as long as all waiting changes are rounds, in the order of time for each consumer. The
    columns by consumer serve to check this, and are kept from one call of `take` to the next.
    """

    def __init__(self) -> None:
        self._waiting: list[_Rows] = []
        self._sorted = True  # whether all waiting changes are rounds, in the order of time
        self._out_of_turn: list[tuple[NDArray[Any], ...]] = []  # columns of rows, the last one their turns
        # By consumer: the time of its latest change; the last round it was in; its time and kind in that
        # round.
        self._latest = np.zeros(64)
        self._round = np.full(64, -1)
        self._at = np.zeros(64)
        self._kind = np.zeros(64, np.intp)
        # The number of the present round, with which the elements of `_round` are compared.
        self._rounds = 0

    def add(
        self,
        partition: NDArray[np.intp],
        consumer: int | NDArray[np.integer],
        at: float | NDArray[np.float64],
        kind: int,
        turn: NDArray[np.intp] | None = None,
    ) -> None:
        """Record that `kind` happens to these partitions, each of which is named once.

        Args:
            partition: flat indexes.
            consumer: the consumer of each partition, or one for all.
            at: the time of each in milliseconds, or one for all.
            kind: what happens, one of the kinds of `Round` (such as `READ`).
            turn: the place of each partition's change in the order, if changes come out of order; None if
                this change comes in order. After changes with turns, call `put_in_turn` before any change
                without a turn.
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
        """Put the changes that came with a turn into the order of their turns."""
        if not self._out_of_turn:
            return
        *changes, turn = map(np.concatenate, zip(*self._out_of_turn, strict=True))
        self._out_of_turn = []
        # A consumer that stops in this turn began to read, before the stop, the partitions that it had opened
        # by then. So reads come first within one turn.
        order = np.lexsort((changes[-1] != READ, turn))
        partition, consumer, at, kind = (column[order] for column in changes)
        self._waiting.append((partition, consumer, at, kind))
        self._sorted = False

    def take(self) -> Iterator[Round]:
        """Yield all waiting changes, in rounds, and drop them."""
        changes, self._waiting = self._waiting, []
        if self._sorted:
            yield from self._together(cast("list[Round]", changes))
        else:
            yield from _sort(changes)
        self._sorted = True

    def _follows(self, consumer: NDArray[np.intp], at: NDArray[np.float64]) -> bool:
        """Return whether each consumer has only one time here, at or after its earlier changes."""
        last = int(consumer.max())
        if last >= len(self._latest):
            self._latest, self._at = (np.append(old, np.zeros(last + 1)) for old in (self._latest, self._at))
            self._round = np.append(self._round, np.full(last + 1, -1))
            self._kind = np.append(self._kind, np.zeros(last + 1, np.intp))
        # If a consumer is named twice, `_latest` keeps the time written last. If its two times differ, the
        # other time is unequal to the kept one, and the result is False.
        before = self._latest[consumer]
        self._latest[consumer] = at
        return not np.count_nonzero((before > at) | (self._latest[consumer] != at))

    def _together(self, changes: list[Round]) -> Iterator[Round]:
        """Yield changes that are in the order of time, as rounds in which each consumer has only one time.

        At one time a consumer may first give up partitions and then read others, in this order within a
        round.
        """
        parts: dict[int, list[Round]] = {}
        for change in changes:
            alone = change.kind >= HAUNTED
            if alone or not self._fits(change):
                yield from _merge(parts)
                parts = {}
                self._rounds += 1
            parts.setdefault(change.kind, []).append(change)
            self._round[change.consumer] = self._rounds
            self._at[change.consumer], self._kind[change.consumer] = change.at, change.kind
            if alone:
                yield from _merge(parts)
                parts = {}
        yield from _merge(parts)

    def _fits(self, change: Round) -> bool:
        """Return whether a change can happen in the present round, after the changes already in the round.

        A change does not fit if one of its consumers already has another time in this round, or already has a
        change of the same kind or of a later kind.
        """
        consumer = change.consumer
        apart = (self._at[consumer] != change.at) | (self._kind[consumer] >= change.kind)
        return not np.count_nonzero(apart & (self._round[consumer] == self._rounds))


def _column(value: Any, size: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return one value as a column of `size` elements; a column is returned with its type converted."""
    return np.asarray(value, kind) if isinstance(value, np.ndarray) else np.full(size, value, kind)


def _merge(parts: dict[int, list[Round]]) -> Iterator[Round]:
    """Yield the changes of a round, joined into one `Round` for each kind.

    Kinds come in the order of their numbers: stops before reads. `parts` has the changes of each kind.
    """
    for kind, rounds in sorted(parts.items()):
        if len(rounds) == 1:
            yield rounds[0]
        else:
            partition, consumer, at = (
                np.concatenate(column) for column in list(zip(*rounds, strict=True))[:3]
            )
            yield Round(partition, consumer, at, kind)


def _sort(changes: list[_Rows]) -> Iterator[Round]:
    """Yield rounds in the order of time, in each of which a consumer has only one time."""
    partition, consumer, times = (np.concatenate(column) for column in list(zip(*changes, strict=True))[:3])
    kind = np.concatenate([np.broadcast_to(kind, at.shape) for _, _, at, kind in changes])
    # The sort is stable, so changes of one time keep the order in which they were made.
    order = np.argsort(times, kind="stable")
    partition, consumer, times, kind = partition[order], consumer[order], times[order], kind[order]
    waits = np.full(len(order), -1)
    rows = np.argsort(consumer, kind="stable")
    earlier, later = rows[:-1], rows[1:]
    apart = (times[earlier] != times[later]) | (kind[earlier] > kind[later])
    apart &= consumer[earlier] == consumer[later]
    # Each row must be in a later round than the row it waits for. It waits for the row before it of the same
    # consumer if their times differ, or if their kinds are in the wrong order.
    waits[later[apart]] = earlier[apart]
    alone = np.flatnonzero(kind >= HAUNTED)
    # A change of a zombie needs a round of its own: it waits for the row before it, and the row after it
    # waits for it.
    waits[alone] = alone - 1
    waits[alone[alone + 1 < len(waits)] + 1] = alone[alone + 1 < len(waits)]
    # Rounds are contiguous, so a row also waits for all that the rows before it wait for.
    waits = np.maximum.accumulate(waits)
    begin = 0
    while begin < len(waits):
        end = int(np.searchsorted(waits, begin))
        for code in np.unique(kind[begin:end]).tolist():
            which = np.flatnonzero(kind[begin:end] == code) + begin
            yield Round(partition[which], consumer[which], times[which], code)
        begin = end


class RecordFlow:
    """The records of a group: how many are behind, read twice and lost, computed from who reads what.

    Changes name partitions by flat index. A change names each partition once, and the changes of one
    partition come in the order of time. `at` is one time in milliseconds, or one for each partition. Changes
    of different partitions may come in any order, if their times are between the last `advance` and the next
    one; changes of the same time are made in the order in which they came.

    `_reader` and `_stands` include the changes that wait for the next `advance`; `readers` does not.
    """

    def __init__(self, scenario: Scenario, first: NDArray[np.int64], topics: Sequence[str]) -> None:
        """Begin without any partition; partition p of `topics[t]` will have the index `first[t] + p`.

        `first` has shape (topics + 1,). Its last element is the number of all partitions there will ever be.
        """
        load = scenario.load
        assert load is not None, "without a load there are no records"
        rates = scenario.rates
        self._transactional = load.transactions
        there = {topic.name: topic.partitions for topic in scenario.topics}
        waiting = [load.waiting_of(topic, len(rates[topic]), there.get(topic, 0)) for topic in topics]
        nothing = np.empty(0)
        self.readers = Readers(
            scenario,
            np.concatenate([nothing, *(rates[topic] for topic in topics)]),
            np.concatenate([nothing, *waiting]),
        )
        self._changes = ReaderChanges()
        # The reader of each partition after all changes, including those that wait, and whether that reader
        # stands still.
        self._reader = np.full(int(first[-1]), -1)
        self._stands = np.zeros(int(first[-1]), np.bool_)
        self._turns: NDArray[np.intp] | None = None
        self._now = 0.0

    @contextmanager
    def out_of_turn(self) -> Iterator[NDArray[np.intp]]:
        """Let changes inside this context be made as if they had been noted in the order of turns.

        The context gives a column that must hold the turn of each partition's next change; write it before
        that change.
        """
        self._turns = np.zeros(len(self._reader), np.intp)
        yield self._turns
        self._turns = None
        self._changes.put_in_turn()

    def add_partitions(self, partitions: Integers, at: float | Floats) -> None:
        """Let these partitions exist from now on, without a reader.

        From `at` on, records wait in these partitions or come to them. `at` is in milliseconds, one time for
        all partitions or one for each.
        """
        slots = np.asarray(partitions, np.intp)
        self.readers.add_partitions(slots, np.broadcast_to(np.asarray(at, np.float64), slots.shape))

    def reads(self, partitions: Integers, consumer: int | Integers, at: float | Floats) -> None:
        """Let a consumer read partitions from now on, which no other consumer reads.

        The consumer begins at the committed offset. If it stalled and still has the partition, it goes on
        where it was. If the load commits on revocation or before processing, the consumer also commits its
        progress in its other partitions, as clients do when they rejoin, and begins a new commit interval.
        """
        slots = np.asarray(partitions, np.intp)
        reader = self._reader[slots]
        twice = (reader >= 0) & (reader != consumer) & ~self._stands[slots]
        assert not np.count_nonzero(twice), "a partition has two readers"
        self._reader[slots] = consumer
        self._stands[slots] = False
        self._note(slots, consumer, at, READ)

    def stops(self, partitions: Integers, at: float | Floats, *, committed: bool) -> None:
        """Stop the reader of each of these partitions, which will not go on where it was.

        Args:
            partitions: flat indexes; a partition without a reader stays as it is.
            at: the time in milliseconds, or one for each partition.
            committed: True if the reader was asked to give the partitions up, or has closed, so that it could
                commit before. The load says whether it does.
        """
        if not len(partitions):
            return
        self._stop(partitions, at, GIVEN_UP if committed else DROPPED)
        self._reader[partitions] = -1
        self._stands[partitions] = False

    def stalls(self, partitions: Integers, at: float | Floats) -> None:
        """Let the reader of each partition stand still.

        If the same consumer is the next to read the partition, it goes on where it was.
        """
        self._stop(partitions, at, STALLED)
        self._stands[partitions] = True

    def zombie(self, zombie: Zombie) -> None:
        """Let a consumer that has stalled or was dropped go on reading partitions that it has lost.

        The zombie's commits are refused. If a consumer of the same name reads the partitions now, that is a
        second process, which takes the partitions over when the first process becomes the zombie.
        """
        slots = np.asarray(zombie.partitions, np.intp)
        self._changes.add(slots, zombie.consumer, zombie.start_ms, self.readers.haunt(zombie))

    def advance(self, at: float) -> None:
        """Make all waiting changes; none of them may be later than `at`."""
        self._now = at
        for change in self._changes.take():
            assert not np.count_nonzero(change.at > at), "no change is made before its time"
            self.readers.happen(change)

    def lag(self) -> float:
        """Return the records behind at the time of the last `advance`, over all partitions."""
        return float(self.readers.levels(self._now).sum()) / 1000

    def partition_lag(self) -> float:
        """Return the records behind at the last `advance` in the partition that is most behind."""
        return float(self.readers.levels(self._now).max(initial=0.0)) / 1000

    def caught_up_ms(self) -> float:
        """Return the time at which the last partition has caught up and the last transaction ended."""
        return max(self._now, self.readers.caught_up_ms(), self.readers.transactions.ends_ms())

    def result(self, at: float) -> RecordsResult:
        """Return the records up to `at`; the run ends there."""
        self.advance(at)
        readers = self.readers
        arrived, processed, again, lost = readers.balance(at)
        outages = readers.outages
        # Rounding may leave a number slightly below zero.
        again = np.maximum(again, 0.0) / 1000
        nothing = np.zeros(len(again))
        lag_ms, lag = readers.group_curve.until(at)
        return RecordsResult(
            lag_ms=lag_ms,
            lag=lag / 1000,
            peak=outages.peak / 1000,
            peak_ms=outages.peak_ms,
            recovery_ms=np.where(outages.open, np.inf, outages.recovery_ms),
            duplicates=nothing if self._transactional else again,
            aborted=again if self._transactional else nothing,
            lost=lost / 1000,
            consumed=(processed - lost) / 1000,
            waiting=(arrived - processed) / 1000,
            arrived=arrived / 1000,
            uncommitted_ms=readers.transactions.waits_ms(len(again), at),
            catch_up_ms=outages.catch_up_ms,
            catch_ups=outages.catch_ups(),
            curves=readers.curves,
        )

    def _stop(self, partitions: Integers, at: float | Floats, kind: int) -> None:
        """Record a stop of those partitions that have a reader.

        A partition without a reader has nothing to stop; it is left out, and so is its time.
        """
        slots = np.asarray(partitions, np.intp)
        reader = self._reader[slots]
        read = reader >= 0
        if np.count_nonzero(read) < len(read):
            slots, reader = slots[read], reader[read]
            at = at[read] if isinstance(at, np.ndarray) else at
        self._note(slots, reader, at, kind)

    def _note(self, slots: NDArray[np.intp], consumer: int | Integers, at: float | Floats, kind: int) -> None:
        """Record a change, with the turn of each partition if changes come out of order."""
        self._changes.add(slots, consumer, at, kind, None if self._turns is None else self._turns[slots])
