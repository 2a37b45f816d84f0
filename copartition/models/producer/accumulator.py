"""Keep the uncompressed batches of one topic that wait in the Java client's `RecordAccumulator`.

Times are milliseconds, sizes are bytes; partitions and brokers are numbers from 0 on.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from copartition.models.producer.settings import BatchingSettings
from partitioning.interface import BytesAware, LoadAware, TopicLayout
from partitioning.record_size import BATCH_OVERHEAD, MAX_RECORD_OVERHEAD, record_size


@dataclass(slots=True, eq=False)
class Batch:
    """Holds a batch of one partition.

    Attributes:
        partition: the partition.
        buffer: bytes of memory that the batch holds.
        created_ms: when the batch was created.
        base_timestamp: the time of its first record, in whole milliseconds.
        number: its place among the batches that were sent, from 0 on; -1 before it is sent.
        records: number of its records.
        size: bytes of the buffer that are filled, the batch's overhead included.
        closed: whether it takes no more records.
    """

    partition: int
    buffer: int
    created_ms: float
    base_timestamp: int
    number: int = -1
    records: int = 0
    size: int = BATCH_OVERHEAD
    closed: bool = False

    @property
    def full(self) -> bool:
        """True if the batch can be sent at once."""
        return self.closed or self.size >= self.buffer

    def has_room(self, payload: int, timestamp: int) -> bool:
        """Return whether the record fits; the first record of a batch always does.

        If a record does not fit, the batch is closed, as the client closes it: a smaller record that comes
        later opens a new batch.

        Args:
            payload: the record's `payload_size`.
            timestamp: the time of the record, in whole milliseconds.
        """
        if self.records and self.size + self._bytes_of(payload, timestamp) > self.buffer:
            self.closed = True
        return not self.closed

    def try_append(self, payload: int, timestamp: int) -> int:
        """Append a record and return the bytes that it adds; return 0 if the batch has no room for it."""
        if not self.has_room(payload, timestamp):
            return 0
        added = self._bytes_of(payload, timestamp)
        self.records += 1
        self.size += added
        return added

    def _bytes_of(self, payload: int, timestamp: int) -> int:
        """Return the bytes that the record takes as the next one of this batch.

        The number depends on the batch, because varints hold the record's index in the batch and its time
        after the first record.
        """
        return record_size(payload, self.records, timestamp - self.base_timestamp)


class AppendResult(NamedTuple):
    """The result of an append.

    Attributes:
        batch: the batch that took the record.
        added: the bytes by which the batch grew.
        opened: whether the batch is new.
        full: whether the batch's partition now has a full batch.
        unused: bytes of memory that were allocated for a new batch but turned out not to be needed.
    """

    batch: Batch
    added: int
    opened: bool
    full: bool
    unused: int


class Accumulator:
    """Models `RecordAccumulator`: one queue of batches for each partition.

    Invariant: between calls, only the last batch of a queue may be open.

    Args:
        settings: the producer's settings.
        leaders: the broker that leads each partition; None if it has no leader.
        layout: the topic's layout. A broker's partitions are drained in the order of `layout.available`.
        strategy: chooses the partition of unkeyed records. It is asked here only if its choice depends on the
            bytes appended (`BytesAware`). It is given the lengths of the queues if it is `LoadAware`.
        allocate: a function that takes this many bytes of memory for a new batch, and returns the time in ms
            at which the memory was there; None if the wait took too long.

    Attributes:
        _queues: partition -> its batches, oldest first.
        _partitions_of: broker -> the partitions that it leads, in the order of draining.
        _drain_from: broker -> the index in its list of `_partitions_of` at which its next request begins.
        _ready_at: broker -> when a batch for it was last found ready.
        _drained_at: broker -> when it last could take a request; at first, when a batch for it was first
            found ready.
    """

    def __init__(
        self,
        settings: BatchingSettings,
        leaders: Sequence[int | None],
        layout: TopicLayout,
        strategy: object,
        allocate: Callable[[int], float | None],
    ) -> None:
        self._settings = settings
        self._leaders = leaders
        self._layout = layout
        self._sticky = strategy if isinstance(strategy, BytesAware) else None
        self._balancing = strategy if isinstance(strategy, LoadAware) else None
        self._allocate = allocate
        self._queues: dict[int, deque[Batch]] = {}
        # The order matters: a request that is full leaves out the partitions at the end.
        order = range(layout.partitions) if layout.available is None else layout.available
        self._partitions_of: dict[int, list[int]] = {}
        for partition in order:
            leader = leaders[partition]
            if leader is not None:
                self._partitions_of.setdefault(leader, []).append(partition)
        self._drain_from: dict[int, int] = {}
        self._ready_at: dict[int, float] = {}
        self._drained_at: dict[int, float] = {}

    def append(self, placed: int, payload: int, now: float) -> AppendResult | None:
        """Put a record into a batch; return None if `max.block.ms` passed before a new batch had memory.

        Args:
            placed: the record's partition; -1 if `strategy` chooses it.
            payload: the record's `payload_size`.
            now: the time of the call, in milliseconds.
        """
        # The record keeps the time of this call, even if it waits for memory and enters its batch later.
        timestamp = int(now)
        sticky = self._sticky if placed < 0 else None
        buffer = 0
        while True:
            partition = placed if sticky is None else self._stick(sticky)
            queue = self._queues.setdefault(partition, deque())
            added = queue[-1].try_append(payload, timestamp) if queue else 0
            if added or buffer:
                break
            # The wait for memory may change which partition is best, so the strategy chooses again after it.
            buffer = max(self._settings.batch_size, 1, payload + MAX_RECORD_OVERHEAD + BATCH_OVERHEAD)
            allocated = self._allocate(buffer)
            if allocated is None:
                return None
            now = allocated
        # Another batch may have room after the wait, because the sticky choice may have moved to another
        # queue. Then the allocated memory is not needed, and is returned as `unused`.
        opened = not added
        # The new batch uses the buffer, so `buffer` becomes 0 and nothing is returned as unused.
        if opened:
            queue.append(Batch(partition, buffer, now, timestamp))
            queue[-1].try_append(payload, timestamp)
            added, buffer = queue[-1].size, 0
        if sticky is not None:
            sticky.note_append(added, self._layout, enable_switch=queue[-1].full)
        return AppendResult(queue[-1], added, opened, len(queue) > 1 or queue[-1].full, buffer)

    def opens(self, partition: int, payload: int, now: float) -> bool:
        """Return whether the record needs a new batch, because the partition has no batch with room.

        If the last batch has too little room for the record, this call closes that batch.
        """
        queue = self._queues.get(partition)
        return not (queue and queue[-1].has_room(payload, int(now)))

    def ready(self, now: float, *, everything: bool = False) -> set[int]:
        """Return the brokers to which a batch can be sent: a full batch, or a batch that has lingered.

        With `everything`, any batch can be sent. The sender calls this before it sends, and here the sticky
        partitioner is given the lengths of the queues.
        """
        if self._balancing is not None:
            self._balancing.update_load(self._load(), self._layout)
        linger = self._settings.linger_ms
        return {
            leader
            for partition, queue in self._queues.items()
            if queue
            and (leader := self._leaders[partition]) is not None
            and (everything or len(queue) > 1 or queue[0].full or queue[0].created_ms + linger <= now)
        }

    def update_node_latency_stats(self, broker: int, now: float, *, can_drain: bool) -> None:
        """Record whether a broker with ready batches can take a request, as the sender found (KIP-794)."""
        self._ready_at[broker] = now
        if can_drain or broker not in self._drained_at:
            self._drained_at[broker] = now

    def drain(self, broker: int, most: int) -> list[Batch]:
        """Return a request: the first batch of each partition of a broker, ready or not, up to `most` bytes.

        Args:
            broker: the leader.
            most: the most bytes of a request; a single batch may be larger.
        """
        partitions = self._partitions_of.get(broker, [])
        start = self._drain_from.get(broker, 0)
        drained: list[Batch] = []
        size = 0
        for step in range(len(partitions)):
            # The next request starts with the last partition that this request looked at.
            self._drain_from[broker] = (start + step) % len(partitions)
            queue = self._queues.get(partitions[self._drain_from[broker]])
            if not queue:
                continue
            if drained and size + queue[0].size > most:
                break
            # A batch that is sent takes no more records.
            queue[0].closed = True
            size += queue[0].size
            drained.append(queue.popleft())
        return drained

    def _stick(self, sticky: BytesAware) -> int:
        """Return an unkeyed record's partition; change it first if the current one has no batch with room."""
        # The client puts off a change of partition while the queue has a batch that is not full (KIP-794,
        # `partitionChanged`). The sender may have taken that batch since, so the change is made up for here.
        queue = self._queues.get(sticky.peek(self._layout))
        if not queue or queue[-1].full:
            sticky.note_append(0, self._layout, enable_switch=True)
        return sticky.peek(self._layout)

    def _load(self) -> dict[int, int] | None:
        """Return how many batches wait for each partition; None until each partition has had a batch.

        The result is None, too, if adaptive partitioning is off. Partitions of a broker that has taken no
        request for too long are left out. Quirk: the number of batches of a partition that is left out stays
        in the list, and is taken for that of the next partition if the next one has no batch.
        """
        if not self._settings.partitioner_adaptive_partitioning_enable or (
            len(self._queues) < self._layout.partitions
        ):
            return None
        timeout = self._settings.partitioner_availability_timeout_ms
        ids: list[int] = []
        sizes = [0] * len(self._queues)
        for partition, queue in sorted(self._queues.items()):
            leader = self._leaders[partition]
            if leader is None:
                continue
            ids.append(partition)
            if queue:
                sizes[len(ids) - 1] = len(queue)
                if 0 < timeout < self._ready_at.get(leader, 0) - self._drained_at.get(leader, 0):
                    ids.pop()
        return dict(zip(ids, sizes, strict=False))
