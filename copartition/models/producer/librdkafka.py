"""Simulate how librdkafka batches a stream of records: it sends a request for each batch of each partition.

The rules are those of `rd_kafka_toppar_producer_serve` and `rd_kafka_msgset_writer_write_msgq` (2.x),
uncompressed, without retries. Time passes only on the network, in the brokers, and in the waits that the
settings ask for.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from copartition.models.producer.batching import BatchingResult, BrokerTimes
from copartition.models.producer.settings import INT_MAX, check_fields
from copartition.models.producer.stream import Stream, checked_choice, checked_stream
from partitioning.errors import InvalidConfigError
from partitioning.interface import BatchAware, BytesAware, LoadAware, TimeAware, TopicLayout, TopicPartitioner
from partitioning.record_size import BATCH_OVERHEAD, payload_sizes, record_sizes

_REQUEST_OVERHEAD = 60
"""Bytes of a request before its batch, which count towards `batch.size`: 40, and 20 for a topic's name."""

_MOST_OVERHEAD = 36
"""Bytes that librdkafka reserves for the next record, besides its key and value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrdkafkaSettings:
    """Holds librdkafka's settings that decide how it batches, under librdkafka's names, with its defaults.

    `linger.ms` is another name of `queue.buffering.max.ms`. Times are milliseconds, and sizes are bytes.

    Raises:
        InvalidConfigError: a value is out of the range that librdkafka allows.

    >>> LibrdkafkaSettings(batch_num_messages=100).batch_size
    1000000
    """

    queue_buffering_max_ms: float = 5.0
    batch_size: int = 1_000_000
    batch_num_messages: int = 10_000
    message_max_bytes: int = 1_000_000
    max_in_flight_requests_per_connection: int = 1_000_000
    queue_buffering_max_messages: int = 100_000

    def __post_init__(self) -> None:
        check_fields(self, 0, 900_000, "queue_buffering_max_ms")
        check_fields(self, 1, INT_MAX, "batch_size", "queue_buffering_max_messages")
        check_fields(self, 1, 1_000_000, "batch_num_messages", "max_in_flight_requests_per_connection")
        check_fields(self, 1_000, 1_000_000_000, "message_max_bytes")


def simulate_librdkafka(
    times_ms: ArrayLike,
    value_bytes: ArrayLike,
    partitions: ArrayLike,
    *,
    leaders: Sequence[int],
    brokers: Sequence[BrokerTimes],
    unkeyed: TopicPartitioner | None = None,
    key_bytes: ArrayLike = -1,
    settings: LibrdkafkaSettings | None = None,
) -> BatchingResult:
    """Return the requests, each with one batch, that a stream of records becomes, and each record's wait.

    The producer is flushed after the last record. `produce()` never waits: it raises BufferError if
    `queue.buffering.max.messages` records have no answer yet. A record that is refused in this way has batch
    -1 in the result. The model sends the bytes of that record all the same, so its later figures are too
    high.

    Args:
        times_ms: when the application produces each record, ascending, shape (n,).
        value_bytes: bytes of each value, or one number for all.
        partitions: partition of each record; -1 leaves the choice to `unkeyed`.
        leaders: index into `brokers` of each partition's leader.
        brokers: the brokers.
        unkeyed: the strategy that chooses the partition of records with -1, for example
            `get_partitioner("sticky-by-time").for_topic(name)`; it is told the time.
        key_bytes: bytes of each key, -1 for null, or one number for all.
        settings: the producer's settings; None for librdkafka's defaults.

    Raises:
        InvalidConfigError: a record is larger than `message.max.bytes`, times go back, a time or size is out
            of range, or a strategy needs bytes, queues or batches, which librdkafka does not pass on.
        InvalidLayoutError: a partition or leader does not exist.

    >>> result = simulate_librdkafka([0, 1, 2], 100, 0, leaders=[0], brokers=[BrokerTimes(latency_ms=2.0)])
    >>> result.requests, result.records.tolist()
    (1, [3])
    """
    stream = checked_stream(times_ms, value_bytes, partitions, key_bytes, leaders, brokers, unkeyed)
    settings = settings or LibrdkafkaSettings()
    content = np.maximum(stream.keys, 0) + np.maximum(stream.values, 0)
    if content.max(initial=0) > settings.message_max_bytes:
        raise InvalidConfigError(
            f"record {int(np.argmax(content))} has {content.max()} bytes, but message.max.bytes allows "
            f"{settings.message_max_bytes}; librdkafka refuses it with MSG_SIZE_TOO_LARGE"
        )
    # librdkafka chooses a partition when the record is produced, and no choice depends on a batch. So the
    # partitions of all records can be chosen before the first batch.
    if unkeyed is not None:
        stream = stream._replace(placed=_place(stream, unkeyed, TopicLayout(len(leaders))))
    payloads = payload_sizes(stream.keys, stream.values)
    sent: list[_Request] = []
    order = np.argsort(stream.placed, kind="stable")
    rows_of = np.split(order, np.searchsorted(stream.placed[order], np.arange(1, len(leaders))))
    for number, broker in enumerate(brokers):
        led = [
            _Queue(rows, stream.times[rows], content[rows], payloads[rows], settings)
            for rows, leader in zip(rows_of, leaders, strict=True)
            if leader == number and len(rows)
        ]
        sent += _requests(led, broker, settings, float(stream.times.max(initial=0)))
    # A request's number is its place in this list, so the requests to all brokers are sorted by time.
    sent.sort(key=lambda request: request.sent_ms)
    return _result(stream, sent, settings)


def _place(stream: Stream, strategy: TopicPartitioner, layout: TopicLayout) -> NDArray[np.int64]:
    """Return the partition of every record; the strategy chooses for records with -1.

    Raises:
        InvalidConfigError: the strategy needs bytes, queues or batches.
        InvalidLayoutError: the strategy names a partition that the topic does not have.
    """
    powers: object = strategy
    if isinstance(powers, BytesAware | LoadAware | BatchAware):
        raise InvalidConfigError(
            f"{type(strategy).__name__} must hear of bytes, queues or batches, of which librdkafka "
            "tells nobody; give one that places by key or time, as sticky-by-time"
        )
    placed = stream.placed.copy()
    rows = np.flatnonzero(placed < 0)
    if isinstance(powers, TimeAware):
        for row, time in zip(rows.tolist(), stream.times[rows].tolist(), strict=True):
            powers.advance(time)
            placed[row] = checked_choice(strategy.partition(None, layout), layout.partitions)
    else:
        column = np.asarray(strategy.partition_batch([None] * len(rows), layout))
        fits = column.dtype.kind in "iu" and bool(np.all((column >= 0) & (column < layout.partitions)))
        placed[rows] = column if fits else [checked_choice(choice, layout.partitions) for choice in column]
    return placed


class _Request(NamedTuple):
    """Holds a request, which has one batch of one partition's records.

    `rows` are the indexes of these records in the stream, `size` is the bytes of the batch, and times are
    milliseconds.
    """

    rows: NDArray[np.int64]
    size: int
    sent_ms: float
    acknowledged_ms: float


class _Queue:
    """Holds the records of one partition, and the number of those that have left the queue (`_gone`).

    All columns have an element for each record of the partition, in the order of time. `_rows` has the
    record's index in the stream, `_content` the bytes of its key and value, and `_payloads` its
    `payload_size`. `_bytes_before` has the sum of `_content` over all records before this one, and as one
    element more the sum over all records.
    """

    def __init__(
        self,
        rows: NDArray[np.int64],
        times: NDArray[np.float64],
        content: NDArray[np.int64],
        payloads: NDArray[np.int64],
        settings: LibrdkafkaSettings,
    ) -> None:
        self._rows = rows
        self._times: list[float] = times.tolist()
        self._milliseconds = times.astype(np.int64)
        self._content = content
        self._bytes_before: list[int] = [0, *np.cumsum(content).tolist()]
        self._payloads = payloads
        self._settings = settings
        self._gone = 0

    def __bool__(self) -> bool:
        return self._gone < len(self._times)

    def ready_ms(self) -> float:
        """Return when the next batch may be sent: its first record has lingered, or there are enough records.

        The queue must not be empty. The time is in milliseconds.
        """
        enough = self._bytes_before[self._gone] + self._settings.batch_size
        # `last` is the index after the record that fills the batch. If `last` is beyond the end, no record
        # fills the batch.
        last = min(self._gone + self._settings.batch_num_messages, bisect_left(self._bytes_before, enough))
        lingered = self._times[self._gone] + self._settings.queue_buffering_max_ms
        return min(lingered, self._times[last - 1]) if last <= len(self._times) else lingered

    def take(self, now: float) -> tuple[NDArray[np.int64], int]:
        """Return the rows and the bytes of a batch that is made now; its records leave the queue.

        A batch has at least one record, however large the record is. `now` is in milliseconds.
        """
        start = self._gone
        # Records that are produced later cannot join the batch.
        stop = min(bisect_right(self._times, now), start + self._settings.batch_num_messages)
        sizes = record_sizes(
            self._payloads[start:stop],
            np.arange(stop - start),
            self._milliseconds[start:stop] - self._milliseconds[start],
        )
        before = _REQUEST_OVERHEAD + BATCH_OVERHEAD + np.cumsum(sizes) - sizes
        limit = min(self._settings.batch_size, self._settings.message_max_bytes)
        too_many = before + self._content[start:stop] + _MOST_OVERHEAD > limit
        # The first record always goes; otherwise a record that is too large would block the queue forever.
        too_many[0] = False
        if too_many.any():
            stop = start + int(np.argmax(too_many))
        self._gone = stop
        return self._rows[start:stop], BATCH_OVERHEAD + int(sizes[: stop - start].sum())


def _requests(
    queues: Sequence[_Queue], broker: BrokerTimes, settings: LibrdkafkaSettings, flushed_ms: float
) -> list[_Request]:
    """Return the requests to one broker, in the order in which they are sent.

    The queue that has been ready for longest is served first.

    Args:
        queues: the queues of the partitions that the broker leads; none of them is empty.
        broker: the broker's times; it serves one request after another.
        settings: the producer's settings.
        flushed_ms: the time at which the flush makes every queue ready.
    """
    waiting = [(min(queue.ready_ms(), flushed_ms), number) for number, queue in enumerate(queues)]
    heapq.heapify(waiting)
    in_flight: deque[float] = deque()
    sent: list[_Request] = []
    sent_ms = served_ms = 0.0
    while waiting:
        ready_ms, number = heapq.heappop(waiting)
        # librdkafka makes one request ahead of those that it may send. From then on no record can join that
        # request, so `made_ms` is the time at which its records are taken.
        made_ms = max(ready_ms, sent_ms)
        rows, size = queues[number].take(made_ms)
        sent_ms = made_ms
        if len(in_flight) == settings.max_in_flight_requests_per_connection:
            sent_ms = max(sent_ms, in_flight.popleft())
        served_ms = broker.served_ms(sent_ms, served_ms, 1, size)
        acknowledged_ms = served_ms + broker.latency_ms / 2
        in_flight.append(acknowledged_ms)
        sent.append(_Request(rows, size, sent_ms, acknowledged_ms))
        # A queue with more records waits for its next turn behind the queues that are ready earlier.
        if queues[number]:
            heapq.heappush(waiting, (min(queues[number].ready_ms(), flushed_ms), number))
    return sent


def _result(stream: Stream, sent: Sequence[_Request], settings: LibrdkafkaSettings) -> BatchingResult:
    """Return the columns of the result.

    A record is refused if `queue.buffering.max.messages` earlier records have no answer when it is produced.
    """
    records = len(stream.times)
    numbers = np.arange(len(sent))
    counts = np.array([len(request.rows) for request in sent], np.int64)
    batch = np.empty(records, np.int64)
    if len(sent):
        batch[np.concatenate([request.rows for request in sent])] = np.repeat(numbers, counts)
    # A record keeps its place in the queue until its answer, so the queue is full if too many records have no
    # answer yet.
    acknowledged = np.array([request.acknowledged_ms for request in sent])
    # Answers are counted per record and not per batch, because a batch's answer makes room for all its
    # records.
    answered = np.searchsorted(np.sort(acknowledged[batch]), stream.times, "right")
    refused = np.arange(records) - answered >= settings.queue_buffering_max_messages
    return BatchingResult(
        np.where(refused, -1, batch),
        stream.times,
        np.where(refused, np.nan, stream.times),
        np.array([stream.placed[request.rows[0]] for request in sent], np.int32),
        counts,
        np.array([request.size for request in sent], np.int64),
        np.array([request.sent_ms for request in sent]),
        acknowledged,
        numbers,
    )
