"""The bytes of Connect's group protocol, versions 0 to 2: what workers report, what their leader answers."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from assignors.connect import CONNECTOR, INSTANCE
from partitioning.topic_partition import TopicPartition

Tasks = list[TopicPartition]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the leader to one worker.

    Attributes:
        assigned: what it runs under the eager protocol, what it starts under the others.
        revoked: what it has to stop.
        delay_ms: after which time it asks for another rebalance; 0: it does not.
        config_offset: up to which offset of the config topic the leader had read.
        error: 1 where the leader had read less of it than some worker, and so assigned nothing; else 0.
    """

    assigned: Tasks
    revoked: Tasks
    delay_ms: int
    config_offset: int
    error: int


def reported_tasks(metadata: bytes) -> Tasks:
    """What a worker runs as it joins, by the metadata in its JoinGroup."""
    source = _Bytes(metadata)
    version = source.number("h")
    source.text()
    source.number("q")
    if version == 0:
        return []
    size = source.number("i")
    return [] if size <= 0 else answer(source.take(size)).assigned


def answer(assignment: bytes) -> Answer:
    """An answer of the leader; what a worker reports to run has the same form."""
    source = _Bytes(assignment)
    version = source.number("h")
    error = source.number("h")
    source.text()
    source.text()
    config_offset = source.number("q")
    assigned = source.tasks()
    revoked = source.tasks() if version else []
    return Answer(assigned, revoked, source.number("i") if version else 0, config_offset, error)


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self, form: str) -> int:
        (value,) = struct.unpack(f">{form}", self.take(struct.calcsize(f">{form}")))
        return int(value)

    def text(self) -> str:
        return self.take(max(0, self.number("h"))).decode()

    def tasks(self) -> Tasks:
        """Connectors first, each with the numbers of its tasks; -1 is the connector itself."""
        runs = [
            (self.text(), [self.number("i") for _ in range(self.number("i"))])
            for _ in range(max(0, self.number("i")))
        ]
        return [
            TopicPartition(CONNECTOR + name, 0) if number == INSTANCE else TopicPartition(name, number)
            for name, numbers in runs
            for number in numbers
        ]
