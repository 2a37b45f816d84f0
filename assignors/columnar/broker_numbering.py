"""The numbering of a group as the broker sees it: topics have ids, and some are gone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.numbering import Numbering, Subscriptions, TopicRow
from assignors.group import Member, Topic, made_id, topic_id
from partitioning.java import hash_map_order, hash_set_capacity, string_hashes
from partitioning.java.hash_codes import spread
from partitioning.kit.columns import bounds


@dataclass(frozen=True)
class BrokerNumbering(Numbering):
    """As `Numbering`, but a member is its place in the order in which the coordinator visits them.

    Topics that are gone but still in some member's target come last and have no partitions.
    """

    topic_ids: list[bytes]

    @classmethod
    def of_cluster(
        cls,
        topics: Sequence[Topic],
        members: Sequence[Member],
        subscriptions: Subscriptions,
        targeted: Collection[str] = (),
    ) -> BrokerNumbering:
        """The numbering of these members and of the topics they subscribe to or have in their targets."""
        wanted = set[str]().union(*subscriptions.lists, targeted)
        existing = [topic for topic in topics if topic.partitions and topic.name in wanted]
        names = [topic.name for topic in existing]
        gone = sorted(set(targeted).difference(names))
        counts = np.array([topic.partitions for topic in existing] + [0] * len(gone), np.int64)
        return cls(
            members=members,
            topics=tuple(names + gone),
            counts=counts,
            starts=bounds(counts),
            subscriptions=subscriptions,
            topic_ids=[topic_id(topic) for topic in existing] + [made_id(name) for name in gone],
        )

    @cached_property
    def has_subscriber(self) -> NDArray[np.bool_]:
        """Which topics some member subscribes to, deleted topics included."""
        names = set[str]().union(*self.subscriptions.lists)
        return np.array([name in names for name in self.topics], np.bool_)

    def in_set_order(self, names: Sequence[str]) -> TopicRow:
        """A subscription's topics that exist, in the order of the HashSet of its names."""
        order = hash_map_order(string_hashes(names), capacity=hash_set_capacity(len(names)), keys=names)
        rows = np.array([self.index.get(name, -1) for name in names], np.intp)[order]
        rows = rows[rows >= 0]
        return rows[self.counts[rows] > 0]

    def in_id_order(self, names: Sequence[str]) -> TopicRow:
        """As `in_set_order`, but in the order of the HashSet of ids that is made from the one of names."""
        return self.in_map_order(self.in_set_order(names), hash_set_capacity(len(names)))

    def in_map_order(self, topics: TopicRow, capacity: int) -> TopicRow:
        """These topics in the order of a HashMap of this capacity that their ids are put into."""
        return topics[hash_map_order(self._hashes[topics], capacity=capacity, keys=self.halves[topics])]

    @cached_property
    def uuids(self) -> list[UUID]:
        """The id of each topic."""
        return [UUID(bytes=sixteen) for sixteen in self.topic_ids]

    @cached_property
    def halves(self) -> NDArray[np.int64]:
        """The two halves of each id, signed, by which `Uuid.compareTo` orders them; shape (topics, 2)."""
        return np.frombuffer(b"".join(self.topic_ids), ">i8").astype(np.int64).reshape(-1, 2)

    @cached_property
    def spread_hashes(self) -> NDArray[np.int32]:
        """Each id's hash code as a HashMap uses it."""
        return spread(self._hashes)

    @cached_property
    def _hashes(self) -> NDArray[np.int32]:
        """`Uuid.hashCode` of each id."""
        mixed = self.halves[:, 0] ^ self.halves[:, 1]
        return (mixed ^ (mixed >> 32)).astype(np.int32)
