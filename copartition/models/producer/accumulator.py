"""The batches that wait in the Java client's `RecordAccumulator`, uncompressed, for one topic.

Times are milliseconds, sizes bytes; partitions and brokers are numbers from 0 on.
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
    """A batch of one partition; it is full when closed or filled to its buffer.

    `buffer` and `size` are bytes of memory it holds and fills; times are in ms; `number` is its place among
    the batches sent, -1 before.
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
        """True if the batch can go at once."""
        return self.closed or self.size >= self.buffer

    def has_room(self, payload: int, timestamp: int) -> bool:
        """Return whether the record fits; a first one always does.

        A batch that is too full for one is closed, as the client closes it: a smaller record later opens a
        new batch.

        Args:
            payload: the record's `payload_size`.
            timestamp: of the record, whole milliseconds.
        """
        if self.records and self.size + self._bytes_of(payload, timestamp) > self.buffer:
            self.closed = True
        return not self.closed

    def try_append(self, payload: int, timestamp: int) -> int:
        """Return the bytes that the record adds, 0 if there is no room."""
        if not self.has_room(payload, timestamp):
            return 0
        added = self._bytes_of(payload, timestamp)
        self.records += 1
        self.size += added
        return added

    def _bytes_of(self, payload: int, timestamp: int) -> int:
        """Return the bytes of the record as the next one of this batch.

        They depend on the batch: varints hold the record's place in it and its time after the first record.
        """
        return record_size(payload, self.records, timestamp - self.base_timestamp)


class Appended(NamedTuple):
    """The result of an append.

    Attributes:
        batch: the batch that took the record.
        added: bytes by which the batches grew.
        opened: whether the batch is new.
        full: whether its partition has a full batch now.
        unused: bytes of memory that were taken for a batch which was not needed.
    """

    batch: Batch
    added: int
    opened: bool
    full: bool
    unused: int


class Accumulator:
    """One queue of batches a partition.

    `leaders` are the brokers that lead each partition (None: no leader); a broker's are drained in the order
    of `layout.available`. `strategy` chooses for unkeyed records; it is asked here if that depends on the
    bytes appended (`BytesAware`), and sees the queues if it wants to (`LoadAware`). `allocate` takes memory
    for a new batch, and says when it had it; None if it timed out.

    Between calls only the last batch of a queue may be open. `_drain_from` has for each broker the place in
    `_partitions_of` at which its next request begins.
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
        # The order counts: a request that is full leaves out the partitions that come late in it.
        order = range(layout.partitions) if layout.available is None else layout.available
        self._partitions_of: dict[int, list[int]] = {}
        for partition in order:
            leader = leaders[partition]
            if leader is not None:
                self._partitions_of.setdefault(leader, []).append(partition)
        self._drain_from: dict[int, int] = {}
        self._ready_at: dict[int, float] = {}
        self._drained_at: dict[int, float] = {}

    def append(self, placed: int, payload: int, now: float) -> Appended | None:
        """Put a record into a batch; return None if `max.block.ms` passed before there was memory for one.

        `payload` is the record's `payload_size`; if `placed` is -1, `strategy` chooses the partition.
        `now` is in ms.
        """
        # The record keeps the time of the call, also if it waits for memory below and enters its batch later.
        timestamp = int(now)
        sticky = self._sticky if placed < 0 else None
        buffer = 0
        while True:
            partition = placed if sticky is None else self._stick(sticky)
            queue = self._queues.setdefault(partition, deque())
            added = queue[-1].try_append(payload, timestamp) if queue else 0
            if added or buffer:
                break
            # The wait for memory may change which partition is best, so choose again after it.
            buffer = max(self._settings.batch_size, 1, payload + MAX_RECORD_OVERHEAD + BATCH_OVERHEAD)
            allocated = self._allocate(buffer)
            if allocated is None:
                return None
            now = allocated
        # Room may have come up while the thread waited, as the sticky choice can have moved to another queue:
        # then the memory that was taken is not needed, and is given back as `unused`.
        opened = not added
        # The buffer is used up: `buffer` becomes 0, so nothing is given back as unused.
        if opened:
            queue.append(Batch(partition, buffer, now, timestamp))
            queue[-1].try_append(payload, timestamp)
            added, buffer = queue[-1].size, 0
        if sticky is not None:
            sticky.note_append(added, self._layout, enable_switch=queue[-1].full)
        return Appended(queue[-1], added, opened, len(queue) > 1 or queue[-1].full, buffer)

    def opens(self, partition: int, payload: int, now: float) -> bool:
        """Return whether the record finds no batch with room.

        The question closes one that is too full for it.
        """
        queue = self._queues.get(partition)
        return not (queue and queue[-1].has_room(payload, int(now)))

    def ready(self, now: float, *, everything: bool = False) -> set[int]:
        """Return the brokers for which a batch can go: a full one, or one that lingered.

        With `everything` any batch can go. The sender asks this before it sends, so this is where the sticky
        partitioner learns of the queues.
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
        """Note that the sender found whether a broker with ready batches can take a request (KIP-794)."""
        self._ready_at[broker] = now
        if can_drain or broker not in self._drained_at:
            self._drained_at[broker] = now

    def drain(self, broker: int, most: int) -> list[Batch]:
        """Return a request: the first batch of every partition, ready or not, up to some bytes or a batch.

        Args:
            broker: the leader.
            most: the bytes of a request; a single batch may be larger.
        """
        partitions = self._partitions_of.get(broker, [])
        start = self._drain_from.get(broker, 0)
        drained: list[Batch] = []
        size = 0
        for step in range(len(partitions)):
            # The next request starts with the partition this one looked at last.
            self._drain_from[broker] = (start + step) % len(partitions)
            queue = self._queues.get(partitions[self._drain_from[broker]])
            if not queue:
                continue
            if drained and size + queue[0].size > most:
                break
            # A batch on its way takes no more records.
            queue[0].closed = True
            size += queue[0].size
            drained.append(queue.popleft())
        return drained

    def _stick(self, sticky: BytesAware) -> int:
        """Return an unkeyed record's partition, the next one if all batches of the current one are full."""
        # A change is put off while the queue has a batch that is not full (KIP-794, `partitionChanged`);
        # since then the sender may have taken that batch.
        queue = self._queues.get(sticky.peek(self._layout))
        if not queue or queue[-1].full:
            sticky.note_append(0, self._layout, enable_switch=True)
        return sticky.peek(self._layout)

    def _load(self) -> dict[int, int] | None:
        """Return how many batches wait for each partition; None until each had some.

        Partitions of a broker that has not taken a request for too long are left out. Quirk: the size of one
        that is left out stays for the next one if that has none.
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
