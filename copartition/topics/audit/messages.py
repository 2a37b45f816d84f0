"""confluent-kafka's messages as columns, with as few calls for each as there can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from confluent_kafka import KafkaError, Message

from copartition.topics.audit.records import picked
from copartition.topics.audit.topic_audit import Records
from partitioning.keys import KeyColumn, key_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_MOST_MESSAGES = 10_000
_FIRST_MESSAGES = 200
_MOST_BYTES = 1 << 24
"""Of the messages that are asked for at a time, as far as those before tell."""

_TIMES = 64
"""Of so many records the time of one is looked at, besides that of the first and the last of a run."""


class Messages:
    """Turns messages into columns, up to the ends of their partitions.

    Args:
        ends: of each partition of the topic, the offset after the last one to keep.

    Attributes:
        next_count: how many messages to ask for next.
    """

    def __init__(self, ends: NDArray[np.int64]) -> None:
        self._ends = ends
        self.next_count = _FIRST_MESSAGES

    def columns(self, messages: Sequence[Message]) -> tuple[Records, set[int], list[tuple[KafkaError, int]]]:
        """The records before the ends, the partitions that are at their end, and errors by partition.

        Args:
            messages: what `consume` gave; one at least.
        """
        errors: list[tuple[KafkaError, int]] = []
        finished: set[int] = set()
        keys: list[Any] = list(map(Message.key, messages))
        try:
            column = _column(keys)
        except TypeError:  # some are None
            faults = self._faults(messages, keys, errors, finished)
            messages = [each for row, each in enumerate(messages) if row not in faults]
            column = key_column([key for row, key in enumerate(keys) if row not in faults])
        count = len(messages)
        partition = np.fromiter(map(Message.partition, messages), np.int32, count)
        bounds = np.append(np.flatnonzero(partition[1:] != partition[:-1]), count - 1)[: count or 0]
        offset = _offsets(messages, bounds)
        finished.update(partition[bounds][offset[bounds] >= self._ends[partition[bounds]] - 1].tolist())
        timestamp_ms = np.full(count, -1, np.int64)
        for row in {*range(0, count, _TIMES), *bounds.tolist(), *(bounds[:-1] + 1).tolist()}:
            kind, written_ms = messages[row].timestamp()
            timestamp_ms[row] = written_ms if kind else -1
        self._adapt(messages)
        records = Records(partition, offset, timestamp_ms, column)
        kept = offset < self._ends[partition]
        if not kept.all():
            records = picked(records, np.flatnonzero(kept))
        return records, finished, errors

    def _faults(
        self,
        messages: Sequence[Message],
        keys: Sequence[bytes | None],
        errors: list[tuple[KafkaError, int]],
        finished: set[int],
    ) -> set[int]:
        """The rows that are no records, which none with a key can be; noted as errors, or as an end."""
        rows = set()
        for row, key in enumerate(keys):
            if key is None and (fault := messages[row].error()) is not None:
                rows.add(row)
                partition, offset = messages[row].partition(), messages[row].offset()
                if fault.code() != KafkaError._PARTITION_EOF:
                    errors.append((fault, -1 if partition is None else partition))
                elif partition is not None and offset is not None and offset >= self._ends[partition]:
                    finished.add(partition)
        return rows

    def _adapt(self, messages: Sequence[Message]) -> None:
        """Ask for no more at a time than memory holds, values included."""
        few = messages[:: max(1, len(messages) // 50)]
        if few:
            mean = sum(len(each) + len(each.key() or b"") for each in few) / len(few)
            most = int(_MOST_BYTES / max(mean, 1))
            self.next_count = max(1, min(_MOST_MESSAGES, most, 4 * self.next_count))


def _offsets(messages: Sequence[Message], bounds: NDArray[np.intp]) -> NDArray[np.int64]:
    """The offset of each message, asked of the ends of the runs where no offset of a partition is left out.

    Args:
        messages: the messages.
        bounds: the last message of each run of messages of one partition.
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
    """A column of keys none of which is null."""
    data = np.frombuffer(b"".join(keys), np.uint8)
    offsets = np.zeros(len(keys) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, keys), np.int64, len(keys)), out=offsets[1:])
    return KeyColumn(offsets, data, None)
