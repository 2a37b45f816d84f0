"""Topic ids, by which the broker decides."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from partitioning.java import hash_map_order, hash_set_capacity, string_hashes
from partitioning.java.hash_codes import spread
from partitioning.java.hash_map import HashTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.group import Topic


def topic_id(topic: Topic) -> bytes:
    """The topic's id, 16 bytes, or where it has none a stable one made from its name."""
    return made_id(topic.name) if topic.id is None else topic.id.bytes


@lru_cache(maxsize=1 << 16)
def made_id(name: str) -> bytes:
    """The id a topic's name stands for: Java's `UUID.nameUUIDFromBytes` of the name in UTF-8."""
    digest = hashlib.md5(name.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return uuid.UUID(bytes=digest, version=3).bytes


@dataclass(frozen=True)
class TopicTable:
    """The topics the broker deals with in one decision; a topic is an index into each column.

    Attributes:
        names: topics that exist, then those that are gone but still in some member's target.
        ids: their ids, 16 bytes each.
        counts: partitions of each, 0 for those that are gone.
        index: topics by name.
    """

    names: list[str]
    ids: list[bytes]
    counts: NDArray[np.int64]
    index: dict[str, int]

    @classmethod
    def of(cls, topics: Sequence[Topic], subscribed: set[str], targeted: set[str]) -> TopicTable:
        """The table for a cluster's topics, names members subscribe to, and names in their targets."""
        existing = [
            topic
            for topic in topics
            if topic.partitions and (topic.name in subscribed or topic.name in targeted)
        ]
        names = [topic.name for topic in existing]
        gone = sorted(targeted.difference(names))
        ids = [topic_id(topic) for topic in existing] + [made_id(name) for name in gone]
        counts = [topic.partitions for topic in existing] + [0] * len(gone)
        names += gone
        return cls(names, ids, np.array(counts, np.int64), {name: row for row, name in enumerate(names)})

    def which(self, names: set[str]) -> NDArray[np.bool_]:
        """Which topics have one of these names."""
        return np.array([name in names for name in self.names], np.bool_)

    def in_set_order(self, names: Sequence[str]) -> NDArray[np.intp]:
        """A subscription's topics that exist, in the order of the HashSet of its names."""
        distinct = list(dict.fromkeys(names))
        order = hash_map_order(string_hashes(distinct), capacity=hash_set_capacity(len(names)), keys=distinct)
        rows = np.array([self.index.get(name, -1) for name in distinct], np.intp)[order]
        rows = rows[rows >= 0]
        return rows[self.counts[rows] > 0]

    def in_id_order(self, names: Sequence[str]) -> NDArray[np.intp]:
        """The same in the order of the HashSet of ids that is made from the one of names."""
        topics = self.in_set_order(names)
        capacity = hash_set_capacity(len(set(names)))
        return topics[hash_map_order(self.hashes[topics], capacity=capacity, keys=self.halves[topics])]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """A partition's id is its number plus its topic's start; ids of existing partitions count up."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def topic_of(self) -> NDArray[np.intp]:
        """The topic of each partition id."""
        return np.repeat(np.arange(len(self.names)), self.counts)

    @cached_property
    def halves(self) -> NDArray[np.int64]:
        """The two halves of each id, signed, by which `Uuid.compareTo` orders them; shape (topics, 2)."""
        return np.frombuffer(b"".join(self.ids), ">i8").astype(np.int64).reshape(-1, 2)

    @cached_property
    def hashes(self) -> NDArray[np.int32]:
        """`Uuid.hashCode` of each id."""
        mixed = self.halves[:, 0] ^ self.halves[:, 1]
        return (mixed ^ (mixed >> 32)).astype(np.int32)

    def hash_map(self, capacity: int) -> HashTable[int]:
        """A `new HashMap(capacity)` for topics."""
        spreads, ranks = self._hashed
        return HashTable(capacity, spreads.__getitem__, ranks.__getitem__)

    @cached_property
    def _hashed(self) -> tuple[list[int], list[tuple[int, ...]]]:
        """Each topic's hash as `HashMap` uses it, and what orders topics with the same one."""
        return spread(self.hashes).tolist(), [tuple(halves) for halves in self.halves.tolist()]
