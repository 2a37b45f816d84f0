"""Members of share groups and Streams groups made by hand: they do what a test says, beat by beat."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping, Sequence

from copartition.groups.live.wire import (
    NO_TAGS,
    AnswerReader,
    compact_array,
    compact_text,
    connect_to,
    find_coordinator,
)
from partitioning.errors import ProtocolError
from tests.support.waiting import wait_until

SHARE_HEARTBEAT, STREAMS_HEARTBEAT, OFFSET_COMMIT = 76, 88, 8
LEAVES = -1
_NULL = b"\0"


def _text(text: str | None) -> bytes:
    return _NULL if text is None else compact_text(text)


_LOADING = (14, 15, 16)
"""Errors of a coordinator that is not there yet, or moves."""


def _unless_loading(beat: Callable[[], int]) -> int:
    """What a heartbeat returns; 0 while the coordinator is not there yet."""
    try:
        return beat()
    except RefusedError as error:
        if error.args[0] not in _LOADING:
            raise
        return 0


class RefusedError(Exception):
    """The coordinator refuses a heartbeat, or a commit, with this code."""


class _Member:
    """What both kinds of members have."""

    def __init__(
        self, servers: str, group: str, client_id: str, rack: str | None, instance: str | None
    ) -> None:
        self.config = {"bootstrap.servers": servers}
        self.group, self.client_id, self.rack, self.instance = group, client_id, rack, instance
        # Clients make their own ids: a name here, so that what is recorded can be read.
        self.id, self.epoch = client_id, 0

    def _coordinator(self) -> tuple[str, int] | None:
        """The coordinator; None while the first one of a cluster is not there yet."""
        try:
            return find_coordinator(self.group, self.config)
        except ProtocolError:
            return None

    def _ask(self, key: int, version: int, body: bytes) -> AnswerReader:
        with connect_to(*wait_until(self._coordinator), self.config) as connection:
            answer = connection.ask(key, version, body)
        answer.int32()
        return answer

    def _epoch_of(self, answer: AnswerReader) -> int:
        """Take the fields that both heartbeats' answers begin with, and return the member's epoch."""
        error, message = answer.int16(), answer.compact()
        if error:
            raise RefusedError(error, message)
        answer.text()
        return answer.int32()

    def commit(self, topic: str, offsets: Mapping[int, int]) -> None:
        """Commit offsets as a member of a Streams group does (OffsetCommit version 9)."""
        partitions = [
            struct.pack(">iqi", number, offset, -1) + _text("") + NO_TAGS
            for number, offset in offsets.items()
        ]
        topics = compact_array([compact_text(topic) + compact_array(partitions) + NO_TAGS])
        body = compact_text(self.group) + struct.pack(">i", self.epoch) + compact_text(self.id) + _NULL
        answer = self._ask(OFFSET_COMMIT, 9, body + topics + NO_TAGS)
        for _ in answer.items():
            answer.text()
            for _ in answer.items():
                answer.int32()
                if error := answer.int16():
                    raise RefusedError(error, "a commit")
                answer.tags()
            answer.tags()


class ShareMember(_Member):
    """A member of a share group that reads nothing."""

    def __init__(
        self, servers: str, group: str, topics: Sequence[str], client_id: str, rack: str | None = None
    ) -> None:
        super().__init__(servers, group, client_id, rack, None)
        self.topics = topics
        self.partitions = 0

    def beat(self) -> int:
        """Send a heartbeat, and return how many partitions the member has."""
        body = (
            compact_text(self.group)
            + compact_text(self.id)
            + struct.pack(">i", self.epoch)
            + _text(self.rack)
        )
        topics = compact_array([*map(compact_text, self.topics)]) if self.epoch != LEAVES else _NULL
        answer = self._ask(SHARE_HEARTBEAT, 1, body + topics + NO_TAGS)
        self.epoch = self._epoch_of(answer)
        answer.int32()
        if answer.int8() == 1:
            self.partitions = 0
            for _ in answer.items():
                answer.skip(16)
                self.partitions += len([answer.int32() for _ in answer.items()])
                answer.tags()
        return self.partitions

    def settle(self) -> ShareMember:
        """Send heartbeats until the member has partitions."""
        wait_until(lambda: _unless_loading(self.beat))
        return self

    def leave(self) -> None:
        """Leave the group."""
        self.epoch = LEAVES
        self.beat()


Subtopology = tuple[Sequence[str], Sequence[str]]
"""Source topics, and names of changelog topics."""
Tasks = dict[str, list[int]]


class StreamsMember(_Member):
    """A member of a Streams group that runs nothing; it gives tasks up and takes them as it is told."""

    def __init__(
        self,
        servers: str,
        group: str,
        topology: Mapping[str, Subtopology],
        client_id: str,
        *,
        process: str | None = None,
        topology_epoch: int = 0,
        instance: str | None = None,
        rack: str | None = None,
    ) -> None:
        super().__init__(servers, group, client_id, rack, instance)
        self.topology, self.topology_epoch = topology, topology_epoch
        self.process = process or str(uuid.uuid4())
        self.active: Tasks = {}
        self.standby: Tasks = {}
        self.warmup: Tasks = {}
        self.statuses: list[int] = []

    def _topology(self) -> bytes:
        if self.epoch:
            return b"\xff"
        parts = []
        for name, (sources, changelogs) in self.topology.items():
            infos = [compact_text(topic) + struct.pack(">ih", 0, 0) + b"\1" + NO_TAGS for topic in changelogs]
            # Sources of one subtopology are joined, so that their counts must be equal.
            joined = (
                compact_array([struct.pack(">h", place) for place in range(len(sources))]) + b"\1\1" + NO_TAGS
            )
            parts.append(
                compact_text(name)
                + compact_array([*map(compact_text, sources)])
                + b"\1"
                + compact_array(infos)
                + b"\1\1"
                + (compact_array([joined]) if len(sources) > 1 else b"\1")
                + NO_TAGS
            )
        return b"\1" + struct.pack(">i", self.topology_epoch) + compact_array(parts) + NO_TAGS

    def beat(self, *, keeps: bool = False) -> int:
        """Send a heartbeat, and return how many tasks the member has.

        Args:
            keeps: the member says that it has what it had, whatever it was told: one that closes slowly.
        """
        joins = self.epoch == 0
        leaves = self.epoch < 0
        roles = (self.active, self.standby, self.warmup)
        tasks = b"".join(_NULL if leaves else _tasks({} if joins else role) for role in roles)
        body = (
            compact_text(self.group)
            + compact_text(self.id)
            + struct.pack(">ii", self.epoch, 0)
            + _text(self.instance)
            + _text(self.rack)
            + struct.pack(">i", 300_000)
            + (b"\xff" if leaves else self._topology())
            + tasks
            + _text(self.process)
            + b"\xff"  # no endpoint
            + b"\1"  # no client tags
            + b"\1\1"  # no offsets of tasks
            + b"\0"
            + NO_TAGS
        )
        answer = self._ask(STREAMS_HEARTBEAT, 0, body)
        self.epoch = self._epoch_of(answer)
        answer.skip(4 + 4 + 4)  # interval of heartbeats, recovery lag, interval of offsets
        self.statuses = []
        for _ in range(max(answer.uvarint() - 1, 0)):
            self.statuses.append(answer.int8())
            answer.text()
            answer.tags()
        told = [_answered_tasks(answer) for _ in range(3)]
        if not keeps:
            self.active, self.standby, self.warmup = (
                role if new is None else new for role, new in zip(roles, told, strict=True)
            )
        return sum(len(numbers) for role in (self.active, self.standby) for numbers in role.values())

    def settle(self) -> StreamsMember:
        """Send heartbeats until the member has tasks."""
        wait_until(lambda: _unless_loading(self.beat))
        return self

    def leave(self) -> None:
        """Leave the group."""
        self.epoch = LEAVES
        self.beat()


def _tasks(tasks: Tasks) -> bytes:
    return compact_array(
        [
            compact_text(name) + compact_array([struct.pack(">i", number) for number in numbers]) + NO_TAGS
            for name, numbers in tasks.items()
        ]
    )


def _answered_tasks(answer: AnswerReader) -> Tasks | None:
    """The tasks of a role in an answer; None: unchanged."""
    size = answer.uvarint()
    if not size:
        return None
    tasks = {}
    for _ in range(size - 1):
        name = answer.text()
        tasks[name] = [answer.int32() for _ in answer.items()]
        answer.tags()
    return tasks
