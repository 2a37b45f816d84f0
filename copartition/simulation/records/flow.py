"""Model how far behind every partition is, as a flow of records."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.records.calls import DROPPED, GIVEN_UP, READ, STALLED, Calls, CatchUps
from copartition.simulation.records.curves import PartitionCurves
from copartition.simulation.records.readers import Readers, Zombie

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class RecordsResult:
    """The records of one run; arrays have an element for each partition, in the order of `Timeline.first`.

    Attributes:
        lag_ms: times of the group's lag curve, increasing; the lag is linear between them. Where it jumps, a
            time stands twice.
        lag: records behind at these times, over all partitions: still to be processed, or to be processed
            again.
        peak: the most records behind, by partition.
        peak_ms: when.
        recovery_ms: the longest time from the start of an outage until the partition was no further behind
            than before it, by partition; infinite where it never was.
        duplicates: records read twice.
        aborted: records processed in a transaction that was aborted, and so again.
        lost: records never processed though their offsets were committed.
        consumed: records processed, each counted once.
        waiting: records at the end that nobody has processed.
        arrived: records that came, or waited at time 0; `consumed + waiting + lost`.
        uncommitted_ms: how long `read_committed` readers of what was made from the partition's records stood
            before an open transaction (the last stable offset did not move), by partition.
        catch_up_ms: how long the partition was read but further behind than before its outage, by partition.
        catch_ups: when that was.
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


class Flow:
    """The records of a group: from who reads what, how many are behind, read twice and lost.

    Calls are about partitions by flat index; each partition is named once in a call, and is named in calls in
    the order of time. `at` is one time or one for each partition, in milliseconds. Calls about different
    partitions may come in any order, as long as no call is for a time before the last `advance`, or after the
    next one; calls for the same time happen in the order in which they were made.

    `_reader` and `_stands` are ahead of `readers`: they include the calls that wait for the next `advance`.
    """

    def __init__(self, scenario: Scenario, first: NDArray[np.int64], topics: Sequence[str]) -> None:
        """No partition exists yet; partition p of `topics[t]` will have the index `first[t] + p`."""
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
        self._calls = Calls()
        # Who reads each partition after all calls, happened or not, and whether that one stands still.
        self._reader = np.full(int(first[-1]), -1)
        self._stands = np.zeros(int(first[-1]), np.bool_)
        self._turns: NDArray[np.intp] | None = None
        self._now = 0.0

    @contextmanager
    def out_of_turn(self) -> Iterator[NDArray[np.intp]]:
        """Let calls inside happen as if they had been made in the order of turns.

        Yield a column with the turn of the next call about each partition, to be written to before that call.
        """
        self._turns = np.zeros(len(self._reader), np.intp)
        yield self._turns
        self._turns = None
        self._calls.put_in_turn()

    def born(self, partitions: Integers, at: float | Floats) -> None:
        """Let these partitions exist from now on.

        Records wait in them or come, and no consumer reads them.
        """
        slots = np.asarray(partitions, np.intp)
        self.readers.born(slots, np.broadcast_to(np.asarray(at, np.float64), slots.shape))

    def reads(self, partitions: Integers, consumer: int | Integers, at: float | Floats) -> None:
        """Let a consumer read partitions from now on, which no other consumer reads.

        It begins at the committed offset, or goes on where it was if it has stalled and has them still. It
        commits its progress in other partitions, as clients do when they rejoin, and its commit interval
        begins.
        """
        slots = np.asarray(partitions, np.intp)
        reader = self._reader[slots]
        twice = (reader >= 0) & (reader != consumer) & ~self._stands[slots]
        assert not np.count_nonzero(twice), "a partition has two readers"
        self._reader[slots] = consumer
        self._stands[slots] = False
        self._call(slots, consumer, at, READ)

    def stops(self, partitions: Integers, at: float | Floats, *, committed: bool) -> None:
        """Stop the reader of each of these partitions, which will not go on where it was.

        Args:
            partitions: flat indexes; a partition without a reader stays as it is.
            at: the time.
            committed: True if the reader was asked to give them up, or has closed, and could commit before;
                the load says whether it does.
        """
        if not len(partitions):
            return
        self._stop(partitions, at, GIVEN_UP if committed else DROPPED)
        self._reader[partitions] = -1
        self._stands[partitions] = False

    def stalls(self, partitions: Integers, at: float | Floats) -> None:
        """Let the reader of each partition stand still.

        It goes on where it was if it is the next to read it.
        """
        self._stop(partitions, at, STALLED)
        self._stands[partitions] = True

    def zombie(self, zombie: Zombie) -> None:
        """Let a consumer that has stalled or was dropped read on where it was, though it has lost partitions.

        Its commits are refused. If the consumer reads them now, that is a second process of its name, which
        takes them over when the first becomes a zombie.
        """
        slots = np.asarray(zombie.partitions, np.intp)
        self._calls.add(slots, zombie.consumer, zombie.start_ms, self.readers.haunt(zombie))

    def advance(self, at: float) -> None:
        """Make all calls up to `at`, which must be all there are."""
        self._now = at
        for call in self._calls.take():
            assert not np.count_nonzero(call.at > at), "no call is made before its time"
            self.readers.happen(call)

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
        """Call a stop of the partitions that have a reader."""
        slots = np.asarray(partitions, np.intp)
        reader = self._reader[slots]
        read = reader >= 0
        if np.count_nonzero(read) < len(read):
            slots, reader = slots[read], reader[read]
            at = at[read] if isinstance(at, np.ndarray) else at
        self._call(slots, reader, at, kind)

    def _call(self, slots: NDArray[np.intp], consumer: int | Integers, at: float | Floats, kind: int) -> None:
        """Note a call, with the turn of each partition if calls are made out of turn."""
        self._calls.add(slots, consumer, at, kind, None if self._turns is None else self._turns[slots])
