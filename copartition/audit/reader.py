"""Read a topic's records: choose offsets, and turn messages into columns with few calls for each message.

Bounds are the first offset to read and the offset after the last one. They lie within the ends that the
cluster reported when reading began, so records that are written meanwhile are never read. A partition is
paused as soon as its end is reached, so that the reading of a sample fetches little more than it needs.
"""

import math
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from numpy.typing import NDArray

from copartition.audit.topic_audit import Coverage, Records, Selection, concatenate, pick_records
from copartition.audit.topic_state import NO_RIGHT, UNKNOWN_TOPIC, TopicState
from copartition.kit.words import count
from partitioning.clients.contact import quiet_client
from partitioning.errors import (
    BrokerUnreachableError,
    InvalidConfigError,
    TopicChangedError,
    UnknownTopicError,
)
from partitioning.keys import KeyColumn, key_column
from partitioning.kit.columns import bounds as edges

_MOST_MESSAGES = 10_000
_FIRST_MESSAGES = 200
_MOST_BYTES = 1 << 24
"""The most bytes of the messages that are asked for at a time, as estimated from the messages before."""

_TIMES = 64
"""Timestamps are read of one record in this many, and of the first and last record of each run.

A run is a series of messages of one partition that come one after another.
"""


KEY_SCHEMA = "__key_schema_id"
"""The header in which serializers of a schema registry send a key's schema, if it is not in the key."""


class Messages:
    """Turns messages into columns, up to the end of each partition.

    `schemas` collects the key schemas that headers name, of the records whose timestamps are read (`_TIMES`).

    Args:
        ends: for each partition, the offset after the last one to keep, 0 if it is not read; shape
            (partitions,).
    """

    def __init__(self, ends: NDArray[np.int64]) -> None:
        self._ends = ends
        self.schemas = set[str]()
        self.next_count = _FIRST_MESSAGES  # how many messages to ask for the next time

    def columns(self, messages: Sequence[Message]) -> tuple[Records, set[int], list[KafkaError]]:
        """Return the records before the ends, the partitions that are at their end, and the errors.

        Args:
            messages: as `consume` returned them: records and errors, with partitions in runs.

        Returns:
            Records in the order of the messages, without those at or behind their end.
            Partitions that have no more records to read.
            Errors other than the end of a partition.
        """
        # There may be millions of messages, so `map` gets the method of the class and makes the calls in C.
        keys: list[Any] = list(map(Message.key, messages))
        faults: list[Any] = []
        try:
            column = _column(keys)
        except TypeError:  # some keys are None, for example those of errors
            faults = [message for message in messages if message.error() is not None]
            messages = [message for message in messages if message.error() is None]
            column = key_column([message.key() for message in messages])
        errors = [fault.error() for fault in faults if fault.error().code() != KafkaError._PARTITION_EOF]
        ends = [fault for fault in faults if fault.error().code() == KafkaError._PARTITION_EOF]
        finished = {end.partition() for end in ends if end.offset() >= self._ends[end.partition()]}
        count = len(messages)
        partition = np.fromiter(map(Message.partition, messages), np.int32, count)
        bounds = np.append(np.flatnonzero(partition[1:] != partition[:-1]), count - 1)[: count or 0]
        offset = _offsets(messages, bounds)
        # The last offset may never come, because it may be a transaction's marker or compacted away. Then the
        # event of the partition's end reports it.
        finished.update(partition[bounds][offset[bounds] >= self._ends[partition[bounds]] - 1].tolist())
        timestamp_ms = np.full(count, -1, np.int64)
        for row in {*range(0, count, _TIMES), *bounds.tolist(), *(bounds[:-1] + 1).tolist()}:
            kind, written_ms = messages[row].timestamp()
            timestamp_ms[row] = written_ms if kind else -1
            self.schemas.update(_schemas(messages[row]))
        self._adapt(messages)
        records = Records(partition, offset, timestamp_ms, column)
        kept = offset < self._ends[partition]
        if not kept.all():
            records = pick_records(records, np.flatnonzero(kept))
        return records, finished, errors

    def _adapt(self, messages: Sequence[Message]) -> None:
        """Set how many messages are asked for next, so that they fit in memory together with their values."""
        few = messages[:: max(1, len(messages) // 50)]
        if few:
            mean = sum(len(message) + len(message.key() or b"") for message in few) / len(few)
            most = int(_MOST_BYTES / max(mean, 1))
            self.next_count = max(1, min(_MOST_MESSAGES, most, 4 * self.next_count))


def _schemas(message: Message) -> Iterator[str]:
    """Yield the GUID of a key's schema, as confluent-kafka's `header_schema_id_serializer` writes it."""
    headers: Any = message.headers()
    for name, value in headers or ():
        # The first byte says that the 16 bytes of a GUID follow; after them Protobuf names the message type.
        if name == KEY_SCHEMA and isinstance(value, bytes) and value[:1] == b"\1" and len(value) >= 17:
            yield str(uuid.UUID(bytes=value[1:17]))


def _offsets(messages: Sequence[Message], bounds: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the offset of each message.

    If a run of one partition leaves out no offset, only its first and last message are asked for theirs.

    Args:
        messages: messages that are records, not errors.
        bounds: row of the last message of each run of one partition, ascending.
    """
    offset = np.empty(len(messages), np.int64)
    begin = 0
    for end in bounds.tolist():
        first, last = (messages[row].offset() or 0 for row in (begin, end))
        if last - first == end - begin:
            offset[begin : end + 1] = np.arange(first, last + 1)
        else:
            run = messages[begin : end + 1]
            offset[begin : end + 1] = np.fromiter(map(Message.offset, run), np.int64, len(run))
        begin = end + 1
    return offset


def _column(keys: Sequence[bytes]) -> KeyColumn:
    """Return a column of keys, none of which is null."""
    sizes = np.fromiter(map(len, keys), np.int64, len(keys))
    return KeyColumn(edges(sizes), np.frombuffer(b"".join(keys), np.uint8), None)


SAMPLE_S = 5.0
"""The longest time for which a sample is read, in seconds; its first spot is read however long it takes."""

SAMPLE_ALL = 180_000
"""A topic that has at most this many offsets is read as a whole."""

SPOTS = (1.0, 0.0, 0.5, 0.25, 0.75, 0.125, 0.375, 0.625, 0.875)
"""The spots at which a sample reads each partition: 0 is its start, 1 its end. The best evidence is first."""

SAMPLE_ROWS = 20_000
"""A sample reads this many offsets at each spot, in all partitions together."""

FEWEST_AT_SPOT = 20

FETCHING = {"queued.max.messages.kbytes": 32_768, "fetch.queue.backoff.ms": 20}
"""These settings use little memory, and do not wait a second, as by default, whenever the queue is full."""

_BATCH_ROWS = 1 << 16
_BATCH_BYTES = 1 << 24
_POLL_S = 0.1
_ASK_AFTER_S = 2.0
_SILENCE_S = 20.0

Bounds = dict[int, tuple[int, int]]
"""Partition -> the first offset to read and the one after the last."""


class TopicReading:
    """A topic that is being read: a context manager. Iterate over it once, then read `coverage`.

    Keys, partitions, offsets and timestamps are read; values are dropped at once. Only some of the records
    have their timestamp, the others have -1.

    Args:
        topic: the topic's name.
        config: librdkafka settings; those that would commit, create or skip something are overridden.
        selection: the records to read; a sample by default.

    Attributes:
        topic: the topic's name.
        num_partitions: the partition count when reading began.
        compacted: whether `cleanup.policy` has "compact"; None if unknown.
        remarks: what happened to the topic during the reading, in sentences.

    Raises:
        UnknownTopicError: there is no such topic; the message proposes near names.
        TopicAccessError: reading or describing it is not allowed; the message names the missing ACL.
        BrokerUnreachableError: no broker answers; the message says why.
        InvalidConfigError: the topic does not have a selected partition, or librdkafka refuses a setting.
    """

    def __init__(self, topic: str, config: Mapping[str, Any], selection: Selection | None = None) -> None:
        self.topic = topic
        self._selection = selection or Selection()
        committed = self._selection.committed
        self._state = TopicState(topic, config)
        self.num_partitions = self._state.num_partitions
        self.compacted = self._state.is_compacted()
        self._schemas = set[str]()
        self.remarks: list[str] = []
        self._partitions = self._chosen_partitions()
        # The ends are fixed before the first record is read, so that reading ends even if writers are faster.
        self._whole = self._state.ends(self._partitions, committed=committed)
        self._bounds = self._selected_bounds()
        self._read = 0
        self._left_out = 0
        self._errors: list[KafkaError] = []
        settings: dict[str, Any] = {
            "group.id": "copartition-audit",  # librdkafka requires a group id; no broker is asked about it
            **FETCHING,
            **config,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "allow.auto.create.topics": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
        if self._sampled:
            # Fetch little more than a spot needs, and do not wait long for records that are no longer wanted.
            settings |= {"fetch.message.max.bytes": 1 << 16, "fetch.wait.max.ms": 20}
        self._consumer: Consumer = quiet_client(Consumer, settings, self._errors)

    def __enter__(self) -> Self:
        """Return itself; the consumer exists already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the consumer, which has nothing to commit."""
        self._consumer.close()

    def __iter__(self) -> Iterator[Records]:
        """Yield the selected records in batches, in the order in which they arrive.

        Raises:
            TopicChangedError: the topic was deleted or recreated while it was read.
            TopicAccessError: reading it is not allowed.
            BrokerUnreachableError: the cluster no longer answers.
        """
        begun = time.monotonic()
        spots = self._spots() if self._sampled else [self._bounds]
        # The first spot is read however long it takes. The later spots are weaker evidence, so they are read
        # only as long as there is time.
        for number, bounds in enumerate(spots):
            if number and time.monotonic() - begun > SAMPLE_S:
                self._left_out = len(spots) - number
                break
            yield from self._batches(bounds, until=begun + SAMPLE_S if number else math.inf)
        self._look_again()

    @property
    def coverage(self) -> Coverage:
        """The part of the topic that has been read so far."""
        present = sum(end - start for start, end in self._whole.values())
        return Coverage(self._kind, self._read, present, tuple(self._partitions), self._text())

    @property
    def header_schemas(self) -> tuple[str, ...]:
        """GUIDs of the key schemas that the headers looked at have named so far, ascending."""
        return tuple(sorted(self._schemas))

    @property
    def _sampled(self) -> bool:
        """True if only a sample is read: the selection asks for nothing else, and the topic is not small."""
        selection = self._selection
        whole = selection.full or selection.last is not None or selection.since_ms is not None
        return not whole and sum(end - start for start, end in self._bounds.values()) > SAMPLE_ALL

    @property
    def _kind(self) -> Literal["full", "last", "since", "sample", "partitions"]:
        """The kind of reading, as `Coverage` names it."""
        if self._sampled:
            return "sample"
        if self._bounds != self._whole:
            return "since" if self._selection.last is None else "last"
        # If the topic grew meanwhile, its new partitions were not read, so the reading is not "full".
        every = len(self._partitions) == self.num_partitions and not self.remarks
        return "full" if every else "partitions"

    def _text(self) -> str:
        """Return what was read and what was left out, in words."""
        where = count(self.num_partitions, "partition")
        if (some := len(self._partitions)) < self.num_partitions:
            where = f"{some:,} of {self.num_partitions:,} partitions"
        if self._sampled:
            spots = len(SPOTS) - self._left_out
            what = (
                f"a sample: {self._read:,} records at up to {spots} spots of each of {where}; a writer that "
                "was at work between them only is not seen"
            )
        elif self._kind == "last":
            what = f"the last {self._selection.last:,} offsets of each of {where}"
        elif self._kind == "since":
            what = f"the records since {self._selection.since_ms} ms in {where}"
        else:
            what = f"every record in {where}"
        left_out = ["what open and aborted transactions wrote is left out"] * self._selection.committed
        # Without an id, a topic recreated under the same name is noticed only if it has fewer partitions.
        assumed = ["assumed, as the cluster told no topic id: nobody made the topic anew meanwhile"]
        return "; ".join([what, *left_out, *self.remarks, *assumed * (self._state.id is None)])

    def _chosen_partitions(self) -> list[int]:
        """Return the partitions to read, ascending.

        Raises:
            InvalidConfigError: no partition is selected, or one that the topic does not have.
        """
        if self._selection.partitions is None:
            return [*range(self.num_partitions)]
        for partition in self._selection.partitions:
            if not 0 <= partition < self.num_partitions:
                raise InvalidConfigError(
                    f"topic {self.topic!r} has no partition {partition}: "
                    f"it has 0 to {self.num_partitions - 1}"
                )
        if not self._selection.partitions:
            raise InvalidConfigError(f"topic {self.topic!r}: no partitions are selected; give one at least")
        return sorted({*self._selection.partitions})

    def _selected_bounds(self) -> Bounds:
        """Return the bounds of the selection, within those of the whole topic."""
        if (last := self._selection.last) is not None:
            return {
                partition: (max(start, end - last), end) for partition, (start, end) in self._whole.items()
            }
        if (since_ms := self._selection.since_ms) is not None:
            committed = self._selection.committed
            bounds = self._state.ends(self._partitions, committed=committed, since_ms=since_ms)
            # Records that came after the ends were fixed are not read.
            return {
                partition: (
                    min(max(start, self._whole[partition][0]), self._whole[partition][1]),
                    self._whole[partition][1],
                )
                for partition, (start, _) in bounds.items()
            }
        return self._whole

    def _spots(self) -> list[Bounds]:
        """Return for each spot the bounds of a few offsets in each partition, in the order of `SPOTS`.

        In a short partition, a spot ends where the next one begins, so that no offset is read twice.
        """
        size = max(SAMPLE_ROWS // len(self._bounds), FEWEST_AT_SPOT)
        spots: list[Bounds] = [{} for _ in SPOTS]
        for partition, (start, end) in self._bounds.items():
            # The last spot begins this many offsets after the start, so that it ends with the partition.
            room = max(end - start - size, 0)
            begin = {share: start + int(share * room) for share in SPOTS}
            after = dict(zip(sorted(SPOTS), [*sorted(begin.values())[1:], end], strict=True))
            for spot, share in zip(spots, SPOTS, strict=True):
                spot[partition] = (begin[share], min(begin[share] + size, after[share]))
        return spots

    def _batches(self, bounds: Bounds, *, until: float) -> Iterator[Records]:
        """Yield all records within the bounds, or as many as come before `until`.

        Args:
            bounds: the bounds by partition; a partition without an offset between them is not assigned.
            until: seconds on the clock of `time.monotonic`; infinite for no limit.
        """
        left = {partition: end for partition, (start, end) in bounds.items() if start < end}
        ends = np.zeros(self.num_partitions, np.int64)
        # The end of all other partitions is 0, so that their messages which are still on the way are dropped.
        ends[[*left]] = [*left.values()]
        places = [TopicPartition(self.topic, partition, bounds[partition][0]) for partition in left]
        self._consumer.assign(places)
        self._consumer.resume(places)  # partitions that were read to the end of an earlier spot are paused
        messages = Messages(ends)
        held: list[Records] = []
        rows = size = 0
        answered = time.monotonic()
        while left and time.monotonic() < until:
            got = self._consumer.consume(messages.next_count, _POLL_S)
            # Errors count as answers, too, because they show that the client has not fallen silent.
            if got:
                answered = time.monotonic()
                records, finished, errors = messages.columns(got)
                self._schemas |= messages.schemas
                for error in errors:
                    self._handle_error(error)
                if done := left.keys() & finished:
                    self._consumer.pause([TopicPartition(self.topic, partition) for partition in done])
                    for partition in done:
                        del left[partition]
                if len(records.offset):
                    held.append(records)
                    rows += len(records.offset)
                    size += len(records.keys.data)
            elif time.monotonic() - answered > _ASK_AFTER_S:
                self._ask_why(left, time.monotonic() - answered)
            if rows >= _BATCH_ROWS or size >= _BATCH_BYTES:
                self._read += rows
                yield concatenate(held)
                held, rows, size = [], 0, 0
        if held:
            self._read += rows
            yield concatenate(held)
        self._consumer.unassign()

    def _handle_error(self, error: KafkaError) -> None:
        """Handle an error that came in place of records: raise it, or return if librdkafka recovers itself.

        Raises:
            TopicAccessError: reading the topic is not allowed.
            TopicChangedError: the topic was deleted or recreated.
        """
        if error.name() == NO_RIGHT:
            raise self._state.error_of(error, "READ")
        if error.name() in {*UNKNOWN_TOPIC, "UNKNOWN_TOPIC_ID"}:
            self._look_again()

    def _ask_why(self, left: Mapping[int, int], silent_s: float) -> None:
        """Check after a silence whether the topic still exists and its leaders answer; raise if not.

        Args:
            left: the end of each partition that is not finished.
            silent_s: seconds since the last message.

        Raises:
            TopicChangedError: the topic was deleted or recreated.
            BrokerUnreachableError: nothing came for `_SILENCE_S`.
        """
        self._look_again()
        if silent_s > _SILENCE_S:
            few = ", ".join(map(str, [*left][:3]))
            raise BrokerUnreachableError(
                f"topic {self.topic!r}: no record came for {silent_s:.0f} s although {len(left)} partitions "
                f"have more ({few}{' ...' * (len(left) > 3)}); do their leaders answer?"
            )

    def _look_again(self) -> None:
        """Add a remark if the topic has grown; raise if it is another topic now.

        Raises:
            TopicChangedError: the topic was deleted or recreated.
            BrokerUnreachableError: no broker answers, so it is unknown whether this is still the same topic.
        """
        try:
            count, same = self._state.count(), self._state.same()
        except UnknownTopicError as error:
            raise TopicChangedError(
                f"topic {self.topic!r} was deleted while it was read, so nothing is known of its records"
            ) from error
        # Kafka never removes partitions, so a topic with fewer of them is another one, even without an id.
        if same is False or count < self.num_partitions:
            raise TopicChangedError(f"topic {self.topic!r} was recreated while it was read: read it again")
        if count > self.num_partitions:
            grown = (
                f"the topic grew from {self.num_partitions:,} to {count:,} partitions meanwhile, and what is "
                "in the new ones was not read"
            )
            # The topic is checked again and again while it is silent; the remark is added only once.
            if grown not in self.remarks:
                self.remarks.append(grown)
