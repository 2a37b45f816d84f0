"""Model a share group's partition on its leader, after `kafka.server.share.SharePartition` of Kafka 4.3.1.

The class changed in 4.4.0, but groups on a broker of 4.4.0 behave as in this model
(`benchmarks/share_groups`). Records are acquired in whole batches (`share.acquire.mode` is
`batch_optimized`), and the log has no gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AVAILABLE, ACQUIRED, ACCEPTED, REJECTED, ARCHIVED = range(5)
"""States of a record; the last three are final."""
_ISOLATED = 3
"""The lowest delivery limit with which a record's last delivery contains no other record."""


@dataclass(slots=True, eq=False)
class AcquiredRecords:
    """Holds the records that one fetch acquired, which share one lock.

    Attributes:
        offsets: the offsets of the records.
        since_ms: when their lock began, or was renewed last.
    """

    offsets: list[int]
    since_ms: float


@dataclass(slots=True)
class _Batch:
    """Holds offsets of records that were acquired together, from `first` up to and including `last`.

    The records have one state in common until the batch is `split`.
    """

    first: int
    last: int
    split: bool = False


class SharePartition:
    """Models a partition: the state of each record, its holder, and how often it was delivered.

    Records are identified by their offsets, from 0 on. The records from `_start` to `_end` (included) are in
    flight: all before are final, and all after have never been acquired. `_batches` are the batches of this
    range, in order and without gaps. `_leases` has the lease of each acquired record, None for the others.

    Args:
        records: the number of records in the log.
        batch_records: the number of records in a batch of the log.
        delivery_limit: `group.share.delivery.count.limit`.
        max_locks: `group.share.partition.max.record.locks`.

    Attributes:
        states: the state of each record.
        deliveries: how often each record was delivered.


    >>> partition = SharePartition(10, 5, 5, 2000)
    >>> partition.acquire(3, 0.0).offsets, partition.in_flight
    ([0, 1, 2, 3, 4], 5)
    """

    def __init__(self, records: int, batch_records: int, delivery_limit: int, max_locks: int) -> None:
        self.states = bytearray(records)
        self.deliveries = [0] * records
        self._leases: list[AcquiredRecords | None] = [None] * records
        self._log_batch, self._limit, self._max_locks = batch_records, delivery_limit, max_locks
        # A record with this many deliveries may be harmful, and is acquired with fewer others (`_isolate`).
        self._throttled = max(2, ceil(delivery_limit / 2))
        self._batches: list[_Batch] = []
        self._start, self._end = 0, -1

    @property
    def in_flight(self) -> int:
        """Number of records that count against the limit of locks: all from the start to the end offset."""
        return self._end - self._start + 1

    def acquire(self, most: int, now_ms: float) -> AcquiredRecords:
        """Return the lease of the records that a fetch for `most` records gets.

        The lease may have more than `most` records, because batches are acquired whole. If there is no record
        to give, the lease is empty. Each record of the lease counts as delivered once more.
        """
        # Released records are delivered again before new ones are read.
        free = self.states.find(AVAILABLE, self._start, self._end + 1)
        fetch = self._end + 1 if free < 0 else free
        last = len(self.states) - 1
        # No new record is locked beyond the limit. Released records between the start and the end offset
        # count towards the limit already, so they may be delivered again. Otherwise a full range with a
        # released record would be blocked forever.
        wanted = min(most, self._max_locks - self.in_flight)
        if wanted <= 0 and free >= 0:
            wanted, last = min(most, self._end - fetch + 1), self._end
        lease = AcquiredRecords([], now_ms)
        if wanted > 0 and fetch <= last:
            lease.offsets += self._take(fetch // self._log_batch * self._log_batch, last, wanted, most)
        for offset in lease.offsets:
            self.states[offset] = ACQUIRED
            self.deliveries[offset] += 1
            self._leases[offset] = lease
        return lease

    def _take(self, base: int, last: int, wanted: int, size: int) -> Iterator[int]:
        """Yield the offsets of a fetch that reads the log from `base` to `last`.

        Args:
            base: the first offset, at the beginning of a batch of the log.
            last: the last offset, included.
            wanted: once this many records are taken, no further batch is begun.
            size: `max.poll.records` of the fetch, which decides how new records are divided into batches.
        """
        count = 0
        for batch in self._batches:
            if batch.last < base:
                continue
            if batch.first > last or count >= wanted:
                break
            span = range(max(batch.first, base), min(batch.last, last) + 1)
            free = [offset for offset in span if self.states[offset] == AVAILABLE]
            throttled = max((self.deliveries[offset] for offset in free), default=0) >= self._throttled
            # A batch that was delivered often is not mixed with others: a fetch begins with it.
            if throttled and count:
                return
            # Only a part of the batch is acquired, so its records no longer share one state.
            if free and (batch.split or throttled or len(span) <= batch.last - batch.first):
                batch.split = True
                free = [*self._isolate(free, batch.last - batch.first + 1)]
            yield from free
            count += len(free)
            if throttled and free:
                return
        first = max(base, self._end + 1)
        if count < wanted and first <= last:
            end = ((first + wanted - count - 1) // self._log_batch + 1) * self._log_batch - 1
            yield from self._extend(first, min(end, last), size)

    def _isolate(self, free: list[int], size: int) -> Iterator[int]:
        """Yield the first of the free records: fewer, the more often they were delivered, at last one alone.

        So a record that crashes its member takes fewer and fewer other records with it.

        Args:
            free: the offsets of the available records of one batch, ascending.
            size: the number of records of that batch.
        """
        most = 0
        for number, offset in enumerate(free):
            excess = self.deliveries[offset] - self._throttled
            final = self.deliveries[offset] == self._limit - 1 and self._limit >= _ISOLATED
            if final and number:
                return
            if excess >= 0 and not most:
                most = max(1, size >> (excess + 1))
            yield offset
            if final or number + 1 == most:
                return

    def _extend(self, first: int, last: int, size: int) -> range:
        """Add batches for the records from `first` to `last` (included), and return their offsets.

        A batch ends at the end of a batch of the log, as soon as it has `size` records. The last one may have
        fewer.
        """
        at = first
        for base in range(first, last + 1, self._log_batch):
            if base - at >= size:
                self._batches.append(_Batch(at, base - 1))
                at = base
        self._batches.append(_Batch(at, last))
        self._end = last
        return range(first, last + 1)

    def acknowledge(self, lease: AcquiredRecords, ends: Mapping[int, int]) -> bool:
        """Give records the states that their member wants for them.

        Args:
            lease: the lease of the fetch that got them.
            ends: offset -> state; AVAILABLE releases a record.

        Returns:
            True if the states are set. If one lock has ended, the whole request is refused, and the result is
            False.
        """
        # If a record does not have this lease any more, its lock has ended, and another fetch may have got
        # it.
        if any(self._leases[offset] is not lease for offset in ends):
            return False
        first, last = min(ends, default=0), max(ends, default=-1)
        # A batch whose records get different states is kept record by record from now on.
        for batch in self._batches:
            if first <= batch.last and batch.first <= last:
                wanted = {ends.get(offset) for offset in range(batch.first, batch.last + 1)}
                batch.split = batch.split or len(wanted) > 1
        for offset, state in ends.items():
            self._leave(offset, state)
        self._advance()
        return True

    def give_back(self, lease: AcquiredRecords) -> None:
        """Release the remaining records of a lease, as when a lock, a session or a connection ends."""
        for offset in lease.offsets:
            if self._leases[offset] is lease:
                self._leave(offset, AVAILABLE)
        self._advance()

    def _leave(self, offset: int, state: int) -> None:
        """Give a record its state; a record that is released at the delivery limit is archived."""
        archives = state == AVAILABLE and self.deliveries[offset] >= self._limit
        self.states[offset] = ARCHIVED if archives else state
        self._leases[offset] = None

    def _advance(self) -> None:
        """Move the start offset over records whose states are final."""
        while self._start <= self._end and self.states[self._start] >= ACCEPTED:
            self._start += 1
        self._batches = [batch for batch in self._batches if batch.last >= self._start]
