"""The ledger of exactly-once writes: how much of which version each partition of a topic holds.

Its entries are offsets of a consumer group, committed in the transaction of the records that they describe:
the offset is the version, the rest stands in its metadata. Spark's executors get this module by value, so it
needs nothing else of this package.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition

FORMAT = 1
"""The format of an entry, and of the digest in it."""

PREFIX = "copartition/"
"""Prefix of all ledgers' groups and all transactional ids: grant permissions on this prefix."""


def ledger_group(app_id: str) -> str:
    """Return the consumer group that holds an application's ledger."""
    return f"{PREFIX}{app_id}"


def transactional_id(app_id: str, topic: str, partition: int) -> str:
    """Return the transactional id of the only writer that a partition has; no two partitions share one."""
    return f"{ledger_group(app_id)}/{topic}/{partition}"  # a topic's name holds no slash


@dataclass(frozen=True, slots=True)
class Entry:
    """Says what a partition holds of the version that was written to it last.

    Attributes:
        version: the number of that version.
        records: how many of the version's records are in: the first so many.
        digest: of exactly these.
        done: whether that is all of them.
        partitions: the partition count that the version was placed for.
        before: the partition count of the version before; 0 if there was none.
        topic_id: the topic's id in the cluster, which a topic of the same name made later does not have.
        format: of this entry and its digest.
        since: where readers of committed records stood when the transaction with this entry began; -1 where
            an earlier release did not note it.
        added: how many records that transaction had.
    """

    version: int
    records: int
    digest: str
    done: bool
    partitions: int
    before: int
    topic_id: str
    format: int = FORMAT
    since: int = -1
    added: int = 0

    def metadata(self) -> str:
        """Return what stands beside the offset."""
        return json.dumps(asdict(self), separators=(",", ":"))

    def has_types_of(self, other: Entry) -> bool:
        """Return whether each attribute has the type that the same attribute of the other entry has."""
        return all(type(getattr(self, name)) is type(getattr(other, name)) for name in self.__slots__)

    @classmethod
    def parse(cls, offset: int, metadata: str | None) -> Entry | None:
        """Return the entry of a committed offset, None if there is none.

        ValueError for another application's.
        """
        if offset < 0:
            return None
        try:
            parsed = json.loads(metadata or "")
            # Another format may have more attributes, which are left out, and an earlier release has fewer.
            entry = cls(**{name: parsed[name] for name in cls.__slots__ if name in parsed})
        except (ValueError, KeyError, TypeError, RecursionError):  # the last one for JSON nested deeply
            entry = None
        # The offset and the metadata are written together; if they disagree, another program committed here,
        # which may commit any JSON. The entry to compare with is made here: a constant of the module would
        # travel to Spark's executors inside its own class, where it cannot be unpickled.
        typical = cls(0, 0, "", False, 0, 0, "")
        if entry is None or entry.version != offset or not entry.has_types_of(typical):
            raise ValueError(
                f"offset {offset} with metadata {(metadata or '')[:80]!r} is no entry of a ledger"
            )
        return entry


def entries(committed: Iterable[TopicPartition]) -> dict[int, Entry | None]:
    """Return the entries of one topic's partitions.

    ValueError names one that another application committed.
    """
    by_partition = {}
    for place in committed:
        try:
            by_partition[place.partition] = Entry.parse(place.offset, place.metadata)
        except ValueError as error:
            raise ValueError(f"topic {place.topic!r} partition {place.partition}: {error}") from None
    return by_partition
