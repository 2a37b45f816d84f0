"""A task reads the records of its ranges as Arrow batches. It runs where this package is not installed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, cast

import confluent_kafka
import pyarrow as pa
from confluent_kafka import KafkaError

from partitioning.clients.contact import Place, machine_faults
from partitioning.clients.delivery import describe_errors
from spark_integration.errors import DataLossError, ReadError
from spark_integration.reading.cluster import Range
from spark_integration.sinks.records import ARROW_TYPES as RECORD_TYPES

BATCH_ROWS = 10_000
BATCH_BYTES = 8 << 20
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
        wanted: the ranges, each of another partition. All but the first are few records: they are held until
            their turn comes.
        config: librdkafka's consumer configuration.
        schema: the wanted columns, from `ARROW_TYPES`, in order.
        fail_on_data_loss: whether offsets that are gone raise, or are passed over.

    Raises:
        DataLossError: offsets, the partition or its topic are gone.
        ReadError: the brokers refuse us, or send nothing for `SILENT_S` seconds.
    """
    reader = _Reader(wanted, config, fail_on_data_loss=fail_on_data_loss)
    with closing(reader.consumer):
        for messages in reader.messages():
            yield pa.RecordBatch.from_arrays(
                [pa.array(_VALUES[field.name](messages), field.type) for field in schema], schema=schema
            )


class _Reader:
    """Reads ranges, each of another partition, by one consumer.

    All partitions are fetched together: a consumer that is sent from one to the next waits for the answer to
    its last question first, up to half a second.

    Attributes:
        consumer: assigned to the partitions, in no group; the caller closes it.
        _open: the ranges that are not read to their end, by partition, in the order in which they are given.
        _position: the next offset that is wanted of each. It passes offsets that hold no record, and ends at
            the range's end.
        _held: records of later ranges, until it is their turn.
        _errors: what the client heard, for the message if nothing comes.
    """

    def __init__(
        self, wanted: Sequence[Range], config: Mapping[str, str], *, fail_on_data_loss: bool
    ) -> None:
        self._open = {(offsets.topic, offsets.partition): offsets for offsets in wanted}
        self._fails = fail_on_data_loss
        self._position = {place: offsets.start for place, offsets in self._open.items()}
        self._held: dict[Place, list[Any]] = {}
        self._errors: list[KafkaError] = []
        settings = {**config, "error_cb": self._errors.append, "log_level": 0}
        with machine_faults():
            self.consumer = confluent_kafka.Consumer(settings)

    def messages(self) -> Iterator[list[Any]]:
        """Yield what is in the ranges, in pieces that fit in a batch."""
        at_once = 100
        heard_last = time.monotonic()
        self._begin()
        while True:
            yield from self._in_turn()
            if not self._open:
                return
            before = self._position.copy()
            left = sum(offsets.end - before[place] for place, offsets in self._open.items())
            # No more than the ranges hold, for to wait for more would take the whole poll.
            batch = self.consumer.consume(min(at_once, left), _POLL_S)
            records = [message for message in batch if message.error() is None]
            if records:
                size = sum(map(len, records)) + sum(len(record.key() or b"") for record in records)
                # By the size of the last records: so many of these make a batch of `BATCH_BYTES`.
                at_once = min(BATCH_ROWS, max(BATCH_BYTES * len(records) // max(size, 1), 1))
                self._take(records)
            for message in batch:
                if message.error() is not None:
                    self._mind(message)
            if self._position != before:
                heard_last = time.monotonic()
            elif time.monotonic() - heard_last > SILENT_S:
                raise ReadError(self._silence())

    def _begin(self) -> None:
        """Go to the partitions, as far as they are still there."""
        for topic in {topic for topic, _ in self._open}:
            # A consumer's question creates no topic.
            known = self.consumer.list_topics(topic, timeout=SILENT_S).topics[topic].partitions
            for place in self._open:
                if place[0] == topic and place[1] not in known:
                    self._skip(place)
        self._assign()

    def _take(self, records: list[Any]) -> None:
        """Hold what is wanted of these records, and note how far each range is."""
        of_places = {next(iter(self._position)): records}
        if len(self._position) > 1:
            of_places = {}
            for record in records:
                of_places.setdefault((record.topic(), record.partition()), []).append(record)
        for place, found in of_places.items():
            if place not in self._open:
                continue  # fetched before the partition was paused
            end = self._open[place].end
            self._position[place] = cast(int, found[-1].offset()) + 1
            # Past a gap that transactions or compaction left, or fetched for other ranges' sake.
            beyond = self._position[place] > end
            held = [record for record in found if cast(int, record.offset()) < end] if beyond else found
            self._held.setdefault(place, []).extend(held)
            if self._position[place] >= end and len(self._position) > 1:
                # Only others are wanted now, and the consumer does not know where a range ends.
                self.consumer.pause([confluent_kafka.TopicPartition(*place)])

    def _in_turn(self) -> Iterator[list[Any]]:
        """Yield what is held of the first open range, and of those after it once it has come to its end."""
        for place in [*self._open]:
            if held := self._held.pop(place, None):
                yield held
            if self._position[place] < self._open[place].end:
                return
            del self._open[place]

    def _assign(self) -> None:
        """Have the next poll begin at the position of each open range."""
        places = [
            confluent_kafka.TopicPartition(*place, self._position[place])
            for place, offsets in self._open.items()
            if self._position[place] < offsets.end
        ]
        self.consumer.assign(places)

    def _mind(self, message: Any) -> None:
        """Decide what an error among the records means for the position.

        Args:
            message: has the error; of the end of the partition also its offset.

        Raises:
            DataLossError: what is wanted is gone.
            ReadError: this user may not read the topic.
        """
        fault: KafkaError = message.error()
        place = message.topic(), message.partition()
        if place not in self._open:
            # An error of the topic is one of each of its partitions; what is read to its end has none.
            place = next((other for other in self._open if other[0] == place[0]), next(iter(self._open)))
        end = self._open[place].end
        # The end of the partition passes offsets of aborted records and of transactions' markers, which are
        # no records.
        if fault.code() == KafkaError._PARTITION_EOF:
            if message.partition() == place[1]:
                self._position[place] = max(self._position[place], message.offset())
        elif fault.code() in _OUT_OF_RANGE:
            position = self._position[place]
            self._report_data_loss(place, f"it no longer has offset {position:,}")
            first, last = self.consumer.get_watermark_offsets(
                confluent_kafka.TopicPartition(*place), timeout=SILENT_S, cached=False
            )
            # Beyond the end: the topic was made anew, and holds nothing of this range. Below the beginning:
            # go on at the first record left.
            self._position[place] = end if first >= end or position > last else max(first, position)
            self._assign()
        elif fault.code() in _TOPIC_GONE:
            self._skip(place)
        elif fault.code() in _REFUSED:
            raise ReadError(
                f"topic {place[0]!r}, partition {place[1]}, may not be read by us: {fault.str()}. This "
                "user needs Read on the topic"
            )
        else:
            self._errors.append(fault)

    def _skip(self, place: Place) -> None:
        """Pass over all of a range, if that is allowed: the partition is gone."""
        self._report_data_loss(place, "the cluster no longer has it")
        self._position[place] = self._open[place].end

    def _report_data_loss(self, place: Place, what: str) -> None:
        """Raise DataLossError, unless what is gone is to be passed over."""
        if self._fails:
            topic, partition, start, end = self._open[place]
            raise DataLossError(
                f"topic {topic!r}, partition {partition}: {what}, and offsets {start:,} to {end - 1:,} are "
                "to be read. They have aged out, or the topic was deleted or created anew. Begin elsewhere "
                "(startingOffsets, for a stream with a new checkpoint), or pass over what is gone with "
                "option failOnDataLoss 'false'"
            )

    def _silence(self) -> str:
        """Return what to say if no record came in time."""
        place, offsets = next(iter(self._open.items()))
        topic, partition, _, end = offsets
        errors = describe_errors(self._errors) or "no error was heard"
        return (
            f"topic {topic!r}, partition {partition}: no record from offset {self._position[place]:,} on for "
            f"{SILENT_S:g} s, and it is to be read up to {end - 1:,} ({errors}). Is a broker down, or, with "
            "kafka.isolation.level 'read_committed', a transaction open there?"
        )
