"""A task reads the records of its ranges as Arrow batches. It runs where this package is not installed."""

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
from spark_integration.reading.cluster import Range
from spark_integration.sinks.records import ARROW_TYPES as RECORD_TYPES

BATCH_ROWS = 10_000
BATCH_BYTES = 8 << 20
AHEAD = 4
"""Ranges of a task whose consumers connect while the one before them is read."""
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
    # Kafka and Spark count from -1, "no timestamp", librdkafka from 0.
    "timestampType": lambda messages: [message.timestamp()[0] - 1 for message in messages],
    "headers": lambda messages: [
        [{"key": key, "value": value} for key, value in message.headers() or ()] or None
        for message in messages
    ],
}


def read_ranges(
    wanted: Sequence[Range], config: Mapping[str, str], schema: pa.Schema, *, fail_on_data_loss: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the records of some ranges, one range after the other, in batches of some megabytes.

    Those of a range are in the order of their offsets, and a batch holds records of one range.

    Args:
        wanted: the ranges.
        config: librdkafka's consumer configuration.
        schema: the wanted columns, from `ARROW_TYPES`, in order.
        fail_on_data_loss: whether offsets that are gone raise, or are passed over.

    Raises:
        DataLossError: offsets, the partition or its topic are gone.
        ReadError: the brokers refuse us, or send nothing for `SILENT_S` seconds.
    """
    try:
        with closing(_readers(wanted, config, fail_on_data_loss=fail_on_data_loss)) as readers:
            for reader in readers:
                for messages in reader.messages():
                    columns = [pa.array(_VALUES[field.name](messages), field.type) for field in schema]
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)
    except GeneratorExit as end:
        # After `limit(10)` Spark has what it wanted and hangs up. Its worker ends then anyway, by an error
        # that can be sent to nobody: a traceback of BrokenPipeError for each task, which looks like a fault.
        # The worker closes what it reads while it handles that error, so the process can end here instead.
        if isinstance(end.__context__, ConnectionError):
            os._exit(0)
        raise


def _readers(
    wanted: Sequence[Range], config: Mapping[str, str], *, fail_on_data_loss: bool
) -> Generator[_RangeReader]:
    """Yield a reader of each range, and close it when the next one is asked for.

    The consumers of the next `AHEAD` ranges connect and fetch meanwhile: for a few records a partition, which
    share a task, most of the time is that of connecting. A consumer each, because one that was assigned three
    partitions together with `assign` got no record of the first one for ever, in 7 of 40 runs on an idle
    broker (librdkafka 2.16).
    """
    if len(wanted) > 1:
        # Together they hold no more fetched records than a single consumer would by its default, 64 MiB.
        config = {"queued.max.messages.kbytes": str((64 << 10) // (AHEAD + 1)), **config}
    ranges, readers = iter(wanted), deque[_RangeReader]()
    partitions: dict[str, set[int]] = {}
    try:
        while True:
            for offsets in islice(ranges, AHEAD + 1 - len(readers)):
                reader = _RangeReader(offsets, config, fail_on_data_loss=fail_on_data_loss)
                readers.append(reader)
                # Asked once a task, by a consumer that does not fetch yet: a broker answers the requests of a
                # connection in turn, so that a question behind a fetch waits until that fetch is answered.
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
    """Reads one range of one partition, of which its client fetches records since `begin`.

    Attributes:
        consumer: assigned to the partition, in no group; the caller closes it.
        _position: the next offset that is wanted. It passes offsets that hold no record, and ends at the
            range's end.
        _errors: what the client heard, for the message if nothing comes.
    """

    def __init__(self, wanted: Range, config: Mapping[str, str], *, fail_on_data_loss: bool) -> None:
        self._range = wanted
        self._fails = fail_on_data_loss
        self._position = wanted.start
        self._errors: list[KafkaError] = []
        settings = {**config, "error_cb": self._errors.append, "log_level": 0}
        with machine_faults():
            self.consumer = confluent_kafka.Consumer(settings)

    def existing_partitions(self) -> set[int]:
        """Ask the cluster for the partitions of the topic; a consumer's question creates no topic."""
        topic = self._range.topic
        return set(self.consumer.list_topics(topic, timeout=SILENT_S).topics[topic].partitions)

    def begin(self, *, is_there: bool) -> None:
        """Have the client fetch the range, or pass over it if the partition is not there."""
        if is_there:
            self._go_to(self._position)
        else:
            self._skip_partition()

    def messages(self) -> Iterator[list[Any]]:
        """Yield what is in the range, in pieces that fit in a batch."""
        end, at_once = self._range.end, 100
        heard_last = time.monotonic()
        while self._position < end:
            before = self._position
            # No more than the range holds, for to wait for more would take the whole poll.
            batch = self.consumer.consume(min(at_once, end - before), _POLL_S)
            records = [message for message in batch if message.error() is None]
            if records:
                self._position = cast(int, records[-1].offset()) + 1
                if self._position > end:  # past a gap that transactions or compaction left
                    records = [record for record in records if cast(int, record.offset()) < end]
            if records:
                size = sum(map(len, records)) + sum(len(record.key() or b"") for record in records)
                # By the size of the last records: so many of these make a batch of `BATCH_BYTES`.
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
        """Have the next poll begin at this offset."""
        self._position = offset
        self.consumer.assign([confluent_kafka.TopicPartition(*self._range[:2], offset)])

    def _mind(self, message: Any) -> None:
        """Decide what an error among the records means for the position.

        Args:
            message: has the error; of the end of the partition also its offset.

        Raises:
            DataLossError: what is wanted is gone.
            ReadError: this user may not read the topic.
        """
        fault: KafkaError = message.error()
        topic, partition, _, end = self._range
        # The end of the partition passes offsets of aborted records and of transactions' markers, which are
        # no records.
        if fault.code() == KafkaError._PARTITION_EOF:
            self._position = max(self._position, message.offset())
        elif fault.code() in _OUT_OF_RANGE:
            self._report_data_loss(f"it no longer has offset {self._position:,}")
            first, last = self.consumer.get_watermark_offsets(
                confluent_kafka.TopicPartition(topic, partition), timeout=SILENT_S, cached=False
            )
            # Beyond the end: the topic was made anew, and holds nothing of this range. Below the beginning:
            # go on at the first record left.
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
        """Pass over all of the range, if that is allowed: the partition is gone."""
        self._report_data_loss("the cluster no longer has it")
        self._position = self._range.end

    def _report_data_loss(self, what: str) -> None:
        """Raise DataLossError, unless what is gone is to be passed over."""
        if self._fails:
            topic, partition, start, end = self._range
            raise DataLossError(
                f"topic {topic!r}, partition {partition}: {what}, and offsets {start:,} to {end - 1:,} are "
                "to be read. They have aged out, or the topic was deleted or created anew. Begin elsewhere "
                "(startingOffsets, for a stream with a new checkpoint), or pass over what is gone with "
                "option failOnDataLoss 'false'"
            )

    def _silence(self) -> str:
        """Return what to say if no record came in time."""
        topic, partition, _, end = self._range
        errors = describe_errors(self._errors) or "no error was heard"
        return (
            f"topic {topic!r}, partition {partition}: no record from offset {self._position:,} on for "
            f"{SILENT_S:g} s, and it is to be read up to {end - 1:,} ({errors}). Is a broker down, or, with "
            "kafka.isolation.level 'read_committed', a transaction open there?"
        )
