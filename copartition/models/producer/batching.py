"""Simulate how `batch.size`, `linger.ms` and `buffer.memory` batch a stream of records.

This is a discrete-event model of the Java client's `RecordAccumulator` and `Sender`, uncompressed, with one
thread that calls `send()`. Time passes only on the network, in the brokers, and while `send()` waits for
memory.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from copartition.models.events import EventQueue
from copartition.models.producer.accumulator import Accumulator, Batch
from copartition.models.producer.settings import LATEST_MS, BatchingSettings, check_fields
from copartition.models.producer.stream import checked_choice, checked_stream
from partitioning.errors import InvalidConfigError
from partitioning.interface import BatchAware, BytesAware, TimeAware, TopicLayout, TopicPartitioner
from partitioning.record_size import BATCH_OVERHEAD, MAX_RECORD_OVERHEAD, payload_sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerTimes:
    """Describes how long a broker takes for requests; it serves one after another.

    >>> BrokerTimes(latency_ms=2.0, request_ms=1.0).served_ms(0.0, 0.0, 1, 100)
    2.0

    Attributes:
        latency_ms: network and replication time of a request, whatever its size.
        request_ms: time that the broker works on each request.
        batch_ms: time that the broker works on each batch of a request.
        bytes_per_ms: how many bytes the broker takes in per millisecond.

    Raises:
        InvalidConfigError: a time is negative or not finite, or the speed is not above 0.
    """

    latency_ms: float = 1.0
    request_ms: float = 0.0
    batch_ms: float = 0.0
    bytes_per_ms: float = math.inf

    def __post_init__(self) -> None:
        check_fields(self, 0, LATEST_MS, "latency_ms", "request_ms", "batch_ms")
        if not self.bytes_per_ms > 0:
            raise InvalidConfigError(f"bytes_per_ms is {self.bytes_per_ms}; give more than 0")

    def served_ms(self, sent_ms: float, free_ms: float, batches: int, size: int) -> float:
        """Return when the broker has done a request of `batches` batches and `size` bytes, in milliseconds.

        Args:
            sent_ms: when the request leaves the producer; it arrives half of the latency later.
            free_ms: when the broker is done with the requests before it.
            batches: the number of batches in the request.
            size: bytes of all batches.
        """
        starts = max(sent_ms + self.latency_ms / 2, free_ms)
        return starts + self.request_ms + self.batch_ms * batches + size / self.bytes_per_ms


@dataclass(frozen=True, slots=True)
class BatchingResult:
    """Holds the batches of a stream of records; times are ms on the clock of the records.

    Attributes:
        batch: the number of each record's batch, -1 if `send()` timed out, shape (records,).
        called_ms: when `send()` was called for each record, shape (records,): at the record's time, or later
            if the thread was blocked.
        appended_ms: when each record entered its batch, shape (records,); NaN if `send()` timed out.
        partition: the partition of each batch, shape (batches,).
        records: the number of records in each batch.
        size: bytes of each batch, with its overhead of 61.
        sent_ms: when each batch was sent.
        acknowledged_ms: when the answer to its request came.
        request: the number of each batch's request.
    """

    batch: NDArray[np.int64]
    called_ms: NDArray[np.float64]
    appended_ms: NDArray[np.float64]
    partition: NDArray[np.int32]
    records: NDArray[np.int64]
    size: NDArray[np.int64]
    sent_ms: NDArray[np.float64]
    acknowledged_ms: NDArray[np.float64]
    request: NDArray[np.int64]

    @property
    def records_per_batch(self) -> float:
        """Mean number of records in a batch; 0 if nothing was sent."""
        return float(self.records.mean()) if len(self.records) else 0.0

    @property
    def requests(self) -> int:
        """Number of produce requests."""
        return int(self.request.max()) + 1 if len(self.request) else 0

    @property
    def timed_out(self) -> int:
        """Number of records for which `send()` gave up after `max.block.ms` without memory."""
        return int(np.count_nonzero(self.batch < 0))

    @property
    def blocked_ms(self) -> float:
        """Milliseconds for which the calling thread waited for memory, for appended records only."""
        return float(np.nansum(self.appended_ms - self.called_ms))

    def wait_ms(self, percentiles: Sequence[float]) -> NDArray[np.float64]:
        """Return percentiles (0 .. 100) of a record's wait in its batch until it is sent, in milliseconds."""
        kept = self.batch >= 0
        return np.percentile(self.sent_ms[self.batch[kept]] - self.appended_ms[kept], percentiles)

    def latency_ms(self, percentiles: Sequence[float]) -> NDArray[np.float64]:
        """Return percentiles (0 .. 100) of the milliseconds from a call of `send()` to its answer."""
        kept = self.batch >= 0
        return np.percentile(self.acknowledged_ms[self.batch[kept]] - self.called_ms[kept], percentiles)


def simulate_batching(
    times_ms: ArrayLike,
    value_bytes: ArrayLike,
    partitions: ArrayLike,
    *,
    leaders: Sequence[int],
    brokers: Sequence[BrokerTimes],
    unkeyed: TopicPartitioner | None = None,
    key_bytes: ArrayLike = -1,
    settings: BatchingSettings | None = None,
) -> BatchingResult:
    """Return the batches and requests that a stream of records becomes, and how long each record waits.

    The producer is closed after the last record, so it sends everything that is left.

    Args:
        times_ms: when the application wants to send each record, ascending, shape (n,).
        value_bytes: bytes of each value, or one number for all.
        partitions: partition of each record, from any strategy's `partition_batch`; -1 leaves it to
            `unkeyed`.
        leaders: index into `brokers` of each partition's leader.
        brokers: the brokers.
        unkeyed: the strategy that chooses the partition of records with -1, for example
            `get_partitioner("sticky").for_topic(name)`. It is told of bytes, queues, new batches and time if
            it has the methods for them.
        key_bytes: bytes of each key, -1 for null, or one number for all.
        settings: the producer's settings; None for the defaults of Kafka 4.x.

    Raises:
        InvalidConfigError: a record is larger than `max.request.size` or `buffer.memory`, times go back, a
            time or size is out of range, or a strategy is both `BytesAware` and `BatchAware`.
        InvalidLayoutError: a partition or leader does not exist.

    >>> result = simulate_batching([0, 1, 2], 100, 0, leaders=[0], brokers=[BrokerTimes(latency_ms=2.0)])
    >>> result.requests, result.latency_ms([100]).tolist()
    (1, [4.0])
    """
    stream = checked_stream(times_ms, value_bytes, partitions, key_bytes, leaders, brokers, unkeyed)
    settings = settings or BatchingSettings()
    strategy: object = unkeyed  # its type does not include the optional Protocols
    if isinstance(strategy, BytesAware) and isinstance(strategy, BatchAware):
        raise InvalidConfigError(
            f"{type(strategy).__name__} counts bytes (BytesAware) and waits for new batches (BatchAware); "
            "a Java producer supports one of them only, so leave the other out"
        )
    payloads = payload_sizes(stream.keys, stream.values)
    largest = int(payloads.max(initial=0)) + MAX_RECORD_OVERHEAD + BATCH_OVERHEAD
    limit = min(settings.max_request_size, settings.buffer_memory)
    if largest > limit:
        raise InvalidConfigError(
            f"record {int(np.argmax(payloads))} takes up to {largest} bytes, but max.request.size and "
            f"buffer.memory allow {limit}; the Java client throws RecordTooLargeException"
        )
    producer = _Producer(settings, leaders, brokers, unkeyed)
    return producer.run(stream.times.tolist(), stream.placed.tolist(), payloads.tolist())


class _Producer:
    """Models the accumulator, the sender and the clock of one producer.

    Attributes:
        _events: the clock, and the events to come.
        _free: bytes of `buffer.memory` that no batch holds.
        _in_flight: number of requests without an answer, by broker.
        _busy_until: the time in ms at which each broker has served all requests so far.
        _sent: (batch, time in ms, number of its request) of each batch, in the order of batch numbers.
        _acknowledged: number of a request -> the time in ms of its answer.
        _closing: whether the producer is being closed, so that every batch may be sent at once.
        _blocked: whether `send()` waits for memory; then, too, every batch may be sent at once.
    """

    def __init__(
        self,
        settings: BatchingSettings,
        leaders: Sequence[int],
        brokers: Sequence[BrokerTimes],
        unkeyed: TopicPartitioner | None,
    ) -> None:
        strategy: object = unkeyed  # its type does not include the optional Protocols
        self._settings = settings
        self._brokers = brokers
        self._unkeyed = unkeyed
        self._layout = TopicLayout(len(leaders))
        self._is_sticky = isinstance(strategy, BytesAware)
        self._batches = strategy if isinstance(strategy, BatchAware) else None
        self._times = strategy if isinstance(strategy, TimeAware) else None
        self._accumulator = Accumulator(settings, leaders, self._layout, strategy, self._allocate)
        self._closing = self._blocked = False
        self._free = settings.buffer_memory
        self._requests = 0
        self._events = EventQueue()
        self._in_flight = [0] * len(brokers)
        self._busy_until = [0.0] * len(brokers)
        self._sent: list[tuple[Batch, float, int]] = []
        self._acknowledged: dict[int, float] = {}

    def run(self, times: list[float], placed: list[int], payloads: list[int]) -> BatchingResult:
        """Send all records, close the producer, and return the result.

        Args:
            times: when the application wants to send each record, ascending, ms.
            placed: partition of each record; -1 leaves the choice to the strategy.
            payloads: `payload_size` of each record.
        """
        # The list holds batches and not their numbers, because a batch gets its number only when it is sent.
        batch_of: list[Batch | None] = []
        called: list[float] = []
        appended: list[float] = []
        for time, partition, payload in zip(times, placed, payloads, strict=True):
            self._advance(max(time, self._events.now))
            called.append(self._events.now)
            batch_of.append(self._append(partition, payload))
            appended.append(self._events.now if batch_of[-1] is not None else math.nan)
        # From here on every batch may be sent at once, as in `KafkaProducer.close`.
        self._closing = True
        self._send()
        self._advance(math.inf)
        return self._result(batch_of, called, appended)

    def _result(
        self, batch_of: list[Batch | None], called: list[float], appended: list[float]
    ) -> BatchingResult:
        """Return the result: columns with an element for each record, and columns for each batch.

        Args:
            batch_of: the batch of each record; None if `send()` timed out.
            called: when `send()` was called for each record, in ms.
            appended: when each record entered its batch, in ms; NaN if `send()` timed out.
        """
        batches = [batch for batch, _, _ in self._sent]
        requests = np.array([request for _, _, request in self._sent], np.int64)
        answers = np.array([self._acknowledged[request] for request in range(self._requests)])
        return BatchingResult(
            np.array([-1 if batch is None else batch.number for batch in batch_of], np.int64),
            np.array(called),
            np.array(appended),
            np.array([batch.partition for batch in batches], np.int32),
            np.array([batch.records for batch in batches], np.int64),
            np.array([batch.size for batch in batches], np.int64),
            np.array([sent for _, sent, _ in self._sent]),
            answers[requests] if len(requests) else np.empty(0),
            requests,
        )

    # The methods from here on model the thread that calls `send()`.

    def _append(self, placed: int, payload: int) -> Batch | None:
        """Return the batch that took the record; None if `max.block.ms` passed first."""
        if self._times is not None:
            self._times.advance(self._events.now)
        if placed < 0 and not self._is_sticky:
            placed = self._place(payload)
        elif self._batches is not None and self._accumulator.opens(placed, payload, self._events.now):
            self._batches.new_batch(placed, self._layout)  # for a keyed record, whose partition stays
        appended = self._accumulator.append(placed, payload, self._events.now)
        if appended is None:
            return None
        # Memory that was allocated but turned out not to be needed goes back to the pool at once.
        self._free += appended.unused
        # A batch that lingers is looked at again when its linger time is over.
        if appended.opened:
            self._events.at(self._events.now + self._settings.linger_ms, self._send)
        if appended.opened or appended.full:
            self._send()  # the record may have closed a batch of another partition on its way
        return appended.batch

    def _place(self, payload: int) -> int:
        """Return the partition that the strategy chooses for an unkeyed record.

        If the record would open a new batch there, the strategy is told so and chooses again (KIP-480).
        """
        placed = self._choose()
        if self._batches is not None and self._accumulator.opens(placed, payload, self._events.now):
            self._batches.new_batch(placed, self._layout)
            placed = self._choose()
        return placed

    def _choose(self) -> int:
        """Return the strategy's partition; raise `InvalidLayoutError` if the topic does not have it."""
        assert self._unkeyed is not None
        return checked_choice(self._unkeyed.partition(None, self._layout), self._layout.partitions)

    def _allocate(self, size: int) -> float | None:
        """Take memory from the pool, waiting for it up to `max.block.ms` (BufferPool.allocate).

        Returns:
            The time in milliseconds when there was enough; None if that took too long.
        """
        deadline = self._events.now + self._settings.max_block_ms
        self._blocked = self._free < size
        if self._blocked:
            self._send()
        # Only answers free memory, so the clock moves from event to event until there is enough.
        while self._free < size and self._events.is_due(deadline):
            self._events.let_next_happen()
        self._blocked = False
        # If no answer came in time, `send()` gives up at its deadline, not at the last event.
        if self._free < size:
            self._events.now = deadline
            return None
        self._free -= size
        return self._events.now

    # The methods from here on model the sender.

    def _send(self) -> None:
        """Send ready batches as long as brokers can take another request (Sender.sendProducerData)."""
        most = self._settings.max_in_flight_requests_per_connection
        while True:
            ready = sorted(
                self._accumulator.ready(self._events.now, everything=self._closing or self._blocked)
            )
            free = [broker for broker in ready if self._in_flight[broker] < most]
            for broker in ready:
                self._accumulator.update_node_latency_stats(
                    broker, self._events.now, can_drain=broker in free
                )
            if not free:
                return
            for broker in free:
                self._send_request(broker, self._accumulator.drain(broker, self._settings.max_request_size))

    def _send_request(self, broker: int, drained: list[Batch]) -> None:
        """Number a request and its batches, and plan the answer."""
        request, self._requests = self._requests, self._requests + 1
        self._in_flight[broker] += 1
        for batch in drained:
            batch.number = len(self._sent)
            self._sent.append((batch, self._events.now, request))
        model = self._brokers[broker]
        # The broker serves one request after another, so this request waits for all that were sent before.
        self._busy_until[broker] = model.served_ms(
            self._events.now, self._busy_until[broker], len(drained), sum(batch.size for batch in drained)
        )
        self._events.at(
            self._busy_until[broker] + model.latency_ms / 2,
            lambda: self._take_answer(broker, request, sum(batch.buffer for batch in drained)),
        )

    def _take_answer(self, broker: int, request: int, memory: int) -> None:
        """Handle the answer to a request: free its memory, and send the batches that waited for an answer."""
        self._acknowledged[request] = self._events.now
        self._in_flight[broker] -= 1
        self._free += memory
        self._send()

    # This method moves the clock.

    def _advance(self, time: float) -> None:
        """Let all events up to a time happen, and set the clock to that time.

        If the time is infinite, all events happen, and the clock stays at the last one.
        """
        while self._events.is_due(time):
            self._events.let_next_happen()
        if time < math.inf:
            self._events.now = time
