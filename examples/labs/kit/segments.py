"""Reads a partition as its segment holds it: batches with their headers, control batches included.

A broker answers a Fetch request with bytes of the segment as they are, so this works on any cluster.
"""

from __future__ import annotations

import struct
import time
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka.admin import AdminClient
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.record.memory_records import MemoryRecords

from partitioning import coordinator_partition
from tests.support.raw_requests import ask, connect

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

PATIENCE_S = 60
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
GROUP, TRANSACTION = 0, 1
# Errors of Fetch while a partition is new or its leader changes: the next try may read it.
PASSING = {3, 5, 6, 9, 74, 75, 76, 78}
STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead")


class Batch(NamedTuple):
    """A batch's header, and its records.

    Attributes:
        offset: of its first record.
        producer_id: -1 without idempotence, as are `epoch` and `sequence`.
        control: COMMIT or ABORT; empty for a batch of records.
        records: (key, value) of each record; none of a control batch.
    """

    offset: int
    producer_id: int
    epoch: int
    sequence: int
    transactional: bool
    control: str
    records: list[tuple[bytes | None, bytes | None]]

    @property
    def values(self) -> list[str]:
        """The values of its records."""
        return [(value or b"").decode() for _, value in self.records]


class Log(NamedTuple):
    """A partition: what a reader of this isolation gets of it, and its two ends."""

    batches: list[Batch]
    high_watermark: int
    last_stable: int

    @property
    def values(self) -> list[str]:
        """The values of all records."""
        return [value for batch in self.batches for value in batch.values]


def until(holds: Callable[[], Any], what: str) -> Any:
    """Wait until something holds, and return it.

    Raises:
        TimeoutError: it does not within a minute.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {PATIENCE_S} s")
        time.sleep(0.02)
    return found


@cache
def _admin(servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": servers, "log_level": 0})


def leader(servers: str, topic: str, partition: int = 0) -> tuple[int, str]:
    """The node that leads a partition, and its address, which is empty while nobody does."""
    found = _admin(servers).list_topics(timeout=PATIENCE_S)
    node = found.topics[topic].partitions[partition].leader
    broker = found.brokers.get(node)
    return node, f"{broker.host}:{broker.port}" if broker else ""


def partitions(servers: str, topic: str) -> int:
    """How many partitions a topic has, 0 where there is no such topic."""
    found = _admin(servers).list_topics(timeout=PATIENCE_S)
    return len(found.topics[topic].partitions) if topic in found.topics else 0


def coordinator(servers: str, kind: int, name: str) -> tuple[int, str]:
    """The node that coordinates a group (`GROUP`) or a transactional id (`TRANSACTION`), and its address."""
    with connect(servers.split(",", maxsplit=1)[0]) as connection:

        def find() -> Any:
            told = ask(connection, FindCoordinatorRequest[3](key=name, key_type=kind))
            return None if told.error_code else told  # the inner topic may not be there yet

        told = until(find, f"a coordinator of {name}")
        return told.node_id, f"{told.host}:{told.port}"


class _NoLeaderError(Exception):
    """A broker does not lead the partition now, or not yet."""


def read(
    servers: str, topic: str, partition: int = 0, *, isolation: int = READ_UNCOMMITTED, since: int = 0
) -> Log:
    """Read a partition from an offset to its end, as soon as it has a leader."""

    def attempt() -> Log | None:
        _, address = leader(servers, topic, partition)
        try:
            return _read_from(address, topic, partition, isolation, since) if address else None
        except _NoLeaderError:
            return None

    log: Log = until(attempt, f"a leader of partition {partition} of {topic} that answers")
    return log


def _read_from(address: str, topic: str, partition: int, isolation: int, since: int) -> Log:
    batches: list[Batch] = []
    aborted: set[tuple[int, int]] = set()
    with connect(address) as connection:
        while True:
            found = _fetch(connection, topic, partition, since, isolation)
            records = MemoryRecords(bytes(found.records or b""))
            while records.has_next():
                batch = records.next_batch()
                since = batch.next_offset
                batches.append(_batch(batch))
            aborted |= {
                (transaction.producer_id, transaction.first_offset)
                for transaction in found.aborted_transactions or ()
            }
            end = found.last_stable_offset if isolation == READ_COMMITTED else found.high_watermark
            if since >= end or not found.records:
                return Log(_drop_aborted(batches, aborted), found.high_watermark, found.last_stable_offset)


def read_settled(servers: str, topic: str, partition: int = 0) -> Log:
    """What is committed, once no transaction is open: a commit is answered before its markers are written."""

    def last_log() -> Log | None:
        log = read(servers, topic, partition, isolation=READ_COMMITTED)
        return log if log.last_stable == log.high_watermark else None

    log: Log = until(last_log, f"the end of the transactions in {topic}")
    return log


def _fetch(connection: socket.socket, topic: str, partition: int, since: int, isolation: int) -> Any:
    topics = FetchRequest.FetchTopic
    wanted = topics.FetchPartition(partition=partition, fetch_offset=since, partition_max_bytes=1 << 24)
    request = FetchRequest[12](
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 24,
        isolation_level=isolation,
        topics=[topics(topic=topic, partitions=[wanted])],
        forgotten_topics_data=[],
    )
    found = ask(connection, request).responses[0].partitions[0]
    if found.error_code in PASSING:
        raise _NoLeaderError
    if found.error_code:
        raise RuntimeError(f"partition {partition} of {topic} cannot be read: error {found.error_code}")
    return found


def _batch(batch: Any) -> Batch:
    records = list(batch)
    control = ""
    if batch.is_control_batch:
        control = {0: "ABORT", 1: "COMMIT"}.get(struct.unpack(">hh", records[0].key[:4])[1], "other")
    return Batch(
        batch.base_offset,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.is_transactional,
        control,
        [] if control else [(record.key, record.value) for record in records],
    )


def _drop_aborted(batches: list[Batch], aborted: set[tuple[int, int]]) -> list[Batch]:
    """What a reader of committed records keeps: no batch from an aborted offset up to its marker."""
    kept, dropping = [], set()
    for batch in batches:
        if (batch.producer_id, batch.offset) in aborted:
            dropping.add(batch.producer_id)
        if batch.control:
            dropping.discard(batch.producer_id)
        if batch.producer_id not in dropping:
            kept.append(batch)
    return kept


def transaction_states(servers: str, transactional_id: str) -> list[str]:
    """What `__transaction_state` has of a transactional id, oldest first.

    The value's layout (TransactionLogValue): version, producer id (8), epoch (2), timeout (4), status (1).
    """
    number = coordinator_partition(transactional_id, partitions(servers, "__transaction_state"))
    return [
        STATES[value[2 + 8 + 2 + 4]]
        for key, value in _records(servers, "__transaction_state", number)
        if value and key[4:] == transactional_id.encode()
    ]


def commits(
    servers: str, group: str, isolation: int = READ_UNCOMMITTED, number: int | None = None
) -> list[int]:
    """The offsets that `__consumer_offsets` has of a group, oldest first; by default where the group belongs.

    Key (OffsetCommitKey): version 0 or 1, group, topic, partition. Value: version, offset (8), and more.
    """
    if number is None:
        number = coordinator_partition(group, partitions(servers, "__consumer_offsets"))
    return [
        struct.unpack_from(">q", value, 2)[0]
        for key, value in _records(servers, "__consumer_offsets", number, isolation)
        if value and struct.unpack_from(">h", key)[0] in {0, 1} and _string(key, 2)[0] == group
    ]


def generation(servers: str, group: str) -> int:
    """The last generation of a classic group that its coordinator wrote down, 0 for none.

    Key (GroupMetadataKey): version 2, group. Value: version, protocol type, generation (4), and more.
    """
    number = coordinator_partition(group, partitions(servers, "__consumer_offsets"))
    last = 0
    for key, value in _records(servers, "__consumer_offsets", number):
        if value and struct.unpack_from(">h", key)[0] == 2 and _string(key, 2)[0] == group:
            _, at = _string(value, 2)
            (last,) = struct.unpack_from(">i", value, at)
    return last


def _records(
    servers: str, topic: str, partition: int, isolation: int = READ_UNCOMMITTED
) -> Iterator[tuple[bytes, bytes | None]]:
    for batch in read(servers, topic, partition, isolation=isolation).batches:
        yield from ((key or b"", value) for key, value in batch.records)


def _string(data: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from(">h", data, at)
    return data[at + 2 : at + 2 + size].decode(), at + 2 + size
