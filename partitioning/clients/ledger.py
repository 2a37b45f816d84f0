"""The ledger of exactly-once writes: which version of the data each partition has, and how much of it.

Its entries are committed offsets of a consumer group, written in the same transaction as the records that
they describe. The offset is the version, and the offset's metadata has the rest. Spark's executors get this
module by value, so it needs nothing else of this package.
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
"""The prefix of the consumer groups of all ledgers and of all transactional ids, for granting permissions."""


def ledger_group(app_id: str) -> str:
    """Return the consumer group that holds an application's ledger."""
    return f"{PREFIX}{app_id}"


def transactional_id(app_id: str, topic: str, partition: int) -> str:
    """Return the transactional id of a partition's only writer; each partition has an id of its own."""
    return f"{ledger_group(app_id)}/{topic}/{partition}"  # a topic's name has no slash, so all ids differ


@dataclass(frozen=True, slots=True)
class Entry:
    """Holds how much of the last written version a partition has.

    Attributes:
        version: the number of that version.
        records: how many of the version's records for this partition are written. They are the first ones.
        digest: the digest of exactly these records.
        done: True if these are all of the version's records for this partition.
        partitions: the partition count for which the version was placed.
        before: the partition count of the version before; 0 if there was none.
        topic_id: the topic's id in the cluster. A topic that is deleted and created again has another id.
        format: the format of this entry and its digest.
        since: the end offset for readers of committed records when the transaction of this entry began; -1 if
            an earlier release, which did not record it, wrote the entry.
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
        """Return the metadata that is committed with the offset: all attributes as JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    def has_types_of(self, other: Entry) -> bool:
        """Return whether each attribute has the type that the same attribute of the other entry has."""
        return all(type(getattr(self, name)) is type(getattr(other, name)) for name in self.__slots__)

    @classmethod
    def parse(cls, offset: int, metadata: str | None) -> Entry | None:
        """Return the entry of a committed offset; None if no offset is committed (it is negative).

        Raises ValueError if another application committed it.
        """
        if offset < 0:
            return None
        try:
            parsed = json.loads(metadata or "")
            # Another format may have more attributes, which are ignored. Attributes that an earlier release
            # did not write get their defaults.
            entry = cls(**{name: parsed[name] for name in cls.__slots__ if name in parsed})
        except (ValueError, KeyError, TypeError, RecursionError):  # RecursionError: JSON nested too deeply
            entry = None
        # The offset and the metadata are written together. If they disagree, another program committed the
        # offset, and its metadata can be any JSON. `typical` is made here. As a constant of the module it
        # would be sent to Spark's executors as a part of its own class, and could not be unpickled.
        typical = cls(0, 0, "", False, 0, 0, "")
        if entry is None or entry.version != offset or not entry.has_types_of(typical):
            raise ValueError(
                f"offset {offset} with metadata {(metadata or '')[:80]!r} is no entry of a ledger"
            )
        return entry


def entries(committed: Iterable[TopicPartition]) -> dict[int, Entry | None]:
    """Return the entry of each of these partitions of one topic, by partition number.

    Raises ValueError, which names the partition, if another application committed its offset.
    """
    by_partition = {}
    for place in committed:
        try:
            by_partition[place.partition] = Entry.parse(place.offset, place.metadata)
        except ValueError as error:
            raise ValueError(f"topic {place.topic!r} partition {place.partition}: {error}") from None
    return by_partition
