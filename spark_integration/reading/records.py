"""Read a task's ranges as Arrow batches. This runs on executors, where this package is not installed."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, cast

import confluent_kafka
import pyarrow as pa
from confluent_kafka import KafkaError

from partitioning.clients.contact import machine_faults
from partitioning.clients.delivery import describe_errors
from spark_integration.errors import DataLossError, ReadError
from spark_integration.reading.cluster import OffsetRange
from spark_integration.sinks.records import ARROW_TYPES as RECORD_TYPES

BATCH_ROWS = 10_000
BATCH_BYTES = 8 << 20
AHEAD = 4
"""Number of a task's next ranges whose consumers connect already while an earlier range is read."""
SILENT_S = 60.0
"""Seconds that a task waits for the next record before it fails."""

_POLL_S = 0.2
_OUT_OF_RANGE = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}
_TOPIC_GONE = {KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART}
_REFUSED = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._AUTHENTICATION}

ARROW_TYPES = RECORD_TYPES | {"offset": pa.int64(), "timestampType": pa.int32()}


_VALUES: Mapping[str, Callable[[Sequence[Any]], list[Any]]] = {
    "key": lambda messages: [message.key() for message in messages],
    "value": lambda messages: [message.value() for message in messages],
    "topic": lambda messages: [messages[0].topic()] * len(messages),
    "partition": lambda messages: [messages[0].partition()] * len(messages),
    "offset": lambda messages: [message.offset() for message in messages],
    "timestamp": lambda messages: [1000 * message.timestamp()[1] for message in messages],  # microseconds
    # Kafka and Spark number the types of timestamps from -1, "no timestamp"; librdkafka numbers them from 0.
    "timestampType": lambda messages: [message.timestamp()[0] - 1 for message in messages],
    "headers": lambda messages: [
        [{"key": key, "value": value} for key, value in message.headers() or ()] or None
        for message in messages
    ],
}


def read_ranges(
    wanted: Sequence[OffsetRange], config: Mapping[str, str], schema: pa.Schema, *, fail_on_data_loss: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a task's ranges, one range after the other, in batches of some megabytes.

    A batch has records of one range only, in the order of their offsets.

    Args:
        wanted: the ranges.
        config: librdkafka's consumer settings.
        schema: the wanted columns, from `ARROW_TYPES`, in order.
        fail_on_data_loss: whether offsets that are gone raise an error; if False they are skipped.

    Raises:
        DataLossError: offsets, the partition or its topic are gone.
        ReadError: the brokers refuse this user, or send nothing for `SILENT_S` seconds.
    """
    try:
        with closing(_readers(wanted, config, fail_on_data_loss=fail_on_data_loss)) as readers:
            for reader in readers:
                for messages in reader.messages():
                    columns = [pa.array(_VALUES[field.name](messages), field.type) for field in schema]
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)
    except GeneratorExit as end:
        # A query with `limit(10)` closes the connection once it has ten rows. The worker then fails to send
        # more, and while it handles that ConnectionError it closes this generator. The worker would then end
        # with a traceback of BrokenPipeError for each task, which looks like a fault. Ending the process here
        # leaves no traceback.
        if isinstance(end.__context__, ConnectionError):
            os._exit(0)
        raise


def _readers(
    wanted: Sequence[OffsetRange], config: Mapping[str, str], *, fail_on_data_loss: bool
) -> Generator[_RangeReader]:
    """Yield a reader of each range, and close it when the next one is asked for.

    Meanwhile the consumers of the next `AHEAD` ranges connect and fetch. If a task reads a few records from
    each of many partitions, it spends most of its time on connecting.

    Each range has its own consumer. A single consumer that was assigned three partitions at once never got a
    record of the first one in 7 of 40 runs on an idle broker (librdkafka 2.16).
    """
    if len(wanted) > 1:
        # Together the open consumers hold no more fetched records than a single one does by default: 64 MiB.
        config = {"queued.max.messages.kbytes": str((64 << 10) // (AHEAD + 1)), **config}
    ranges, readers = iter(wanted), deque[_RangeReader]()
    partitions: dict[str, set[int]] = {}
    try:
        while True:
            for offsets in islice(ranges, AHEAD + 1 - len(readers)):
                reader = _RangeReader(offsets, config, fail_on_data_loss=fail_on_data_loss)
                readers.append(reader)
                # Ask once for each topic, with a consumer that does not fetch yet. A broker answers the
                # requests of a connection in order, so this request would have to wait for an earlier fetch.
                if offsets.topic not in partitions:
                    partitions[offsets.topic] = reader.existing_partitions()
                reader.begin(is_there=offsets.partition in partitions[offsets.topic])
            if not readers:
                return
            yield readers[0]
            readers.popleft().consumer.close()
    finally:
        for reader in readers:
            reader.consumer.close()


class _RangeReader:
    """Reads one range of one partition; its client fetches records from `begin` on.

    Attributes:
        consumer: the consumer, which is assigned to the partition and a member of no group; the caller closes
            it.
        _position: the next offset to read. It also moves past offsets without a record, such as those of
            transaction markers. The range has been read when the position has reached the range's end.
        _errors: the errors that the client has reported, for the message if no record comes.
    """

    def __init__(self, wanted: OffsetRange, config: Mapping[str, str], *, fail_on_data_loss: bool) -> None:
        self._range = wanted
        self._fails = fail_on_data_loss
        self._position = wanted.start
        self._errors: list[KafkaError] = []
        settings = {**config, "error_cb": self._errors.append, "log_level": 0}
        with machine_faults():
            self.consumer = confluent_kafka.Consumer(settings)

    def existing_partitions(self) -> set[int]:
        """Ask the cluster for the topic's partition numbers; a consumer's request does not create a topic."""
        topic = self._range.topic
        return set(self.consumer.list_topics(topic, timeout=SILENT_S).topics[topic].partitions)

    def begin(self, *, is_there: bool) -> None:
        """Start to fetch the range, or treat it as data loss if the partition no longer exists."""
        if is_there:
            self._go_to(self._position)
        else:
            self._skip_partition()

    def messages(self) -> Iterator[list[Any]]:
        """Yield the range's messages in lists of at most about `BATCH_BYTES` and `BATCH_ROWS`, in order.

        Raises:
            DataLossError, ReadError: as in `read_ranges`.
        """
        end, at_once = self._range.end, 100
        heard_last = time.monotonic()
        while self._position < end:
            before = self._position
            # Ask for no more messages than the range may have: consume() waits for the whole `_POLL_S` if it
            # gets fewer than it is asked for.
            batch = self.consumer.consume(min(at_once, end - before), _POLL_S)
            records = [message for message in batch if message.error() is None]
            if records:
                self._position = cast(int, records[-1].offset()) + 1
                # The last record may lie beyond the range if the range's last offsets have no records.
                if self._position > end:
                    records = [record for record in records if cast(int, record.offset()) < end]
            if records:
                size = sum(map(len, records)) + sum(len(record.key() or b"") for record in records)
                # Ask next for as many records as fill `BATCH_BYTES` if they are as large as these on average.
                at_once = min(BATCH_ROWS, max(BATCH_BYTES * len(records) // max(size, 1), 1))
                yield records
            for message in batch:
                if message.error() is not None:
                    self._mind(message)
            if self._position != before:
                heard_last = time.monotonic()
            elif time.monotonic() - heard_last > SILENT_S:
                raise ReadError(self._silence())

    def _go_to(self, offset: int) -> None:
        """Continue reading at this offset."""
        self._position = offset
        self.consumer.assign([confluent_kafka.TopicPartition(*self._range[:2], offset)])

    def _mind(self, message: Any) -> None:
        """Act on an error that came among the records: move the position, raise, or keep it for a message.

        Args:
            message: a message with an error; for the end of the partition also with that end's offset.

        Raises:
            DataLossError: offsets, the partition or its topic are gone, and the read fails on data loss.
            ReadError: this user may not read the topic.
        """
        fault: KafkaError = message.error()
        topic, partition, _, end = self._range
        # The partition's last offsets may be those of aborted records and transaction markers, for which no
        # record comes. The end of the partition moves the position past them.
        if fault.code() == KafkaError._PARTITION_EOF:
            self._position = max(self._position, message.offset())
        elif fault.code() in _OUT_OF_RANGE:
            self._report_data_loss(f"it no longer has offset {self._position:,}")
            first, last = self.consumer.get_watermark_offsets(
                confluent_kafka.TopicPartition(topic, partition), timeout=SILENT_S, cached=False
            )
            # If the position is beyond the last offset, the topic was deleted and created again, and has
            # nothing of this range. If it is before the first offset, continue with the first record left.
            self._go_to(end if first >= end or self._position > last else max(first, self._position))
        elif fault.code() in _TOPIC_GONE:
            self._skip_partition()
        elif fault.code() in _REFUSED:
            raise ReadError(
                f"topic {topic!r}, partition {partition}, may not be read by us: {fault.str()}. This "
                "user needs Read on the topic"
            )
        else:
            self._errors.append(fault)

    def _skip_partition(self) -> None:
        """Skip the rest of the range because the partition is gone; DataLossError if that is not allowed."""
        self._report_data_loss("the cluster no longer has it")
        self._position = self._range.end

    def _report_data_loss(self, what: str) -> None:
        """Raise DataLossError, unless the option `failOnDataLoss` is "false".

        Args:
            what: the loss that was found in the partition, as a clause for the message.
        """
        if self._fails:
            topic, partition, start, end = self._range
            raise DataLossError(
                f"topic {topic!r}, partition {partition}: {what}, and offsets {start:,} to {end - 1:,} are "
                "to be read. They have aged out, or the topic was deleted or created anew. Begin elsewhere "
                "(startingOffsets, for a stream with a new checkpoint), or pass over what is gone with "
                "option failOnDataLoss 'false'"
            )

    def _silence(self) -> str:
        """Return the message of the error that no record came for `SILENT_S` seconds."""
        topic, partition, _, end = self._range
        errors = describe_errors(self._errors) or "no error was heard"
        return (
            f"topic {topic!r}, partition {partition}: no record from offset {self._position:,} on for "
            f"{SILENT_S:g} s, and it is to be read up to {end - 1:,} ({errors}). Is a broker down, or, with "
            "kafka.isolation.level 'read_committed', a transaction open there?"
        )
