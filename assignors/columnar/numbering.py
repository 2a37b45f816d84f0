"""Members, topics and partitions of a group as integers, the same ones for every strategy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from assignors.assignment import Assignment
from assignors.columnar.member_order import hash_order, java_order
from assignors.columns import bounds, group_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from assignors.columnar.subscriptions import Subscriptions
    from assignors.group import Group, Member, Topic

# What the numbers in an array count.
JoinPosition: TypeAlias = "NDArray[np.integer]"
"""Members in the order in which they joined: indices into `Group.members`."""
IdRank: TypeAlias = "NDArray[np.integer]"
"""Members in ascending order of member id."""
Visit: TypeAlias = "NDArray[np.integer]"
"""Members in the order in which a HashMap of their ids iterates."""
TopicRow: TypeAlias = "NDArray[np.integer]"
"""Topics, indices into `Numbering.topics`."""
PartitionId: TypeAlias = "NDArray[np.integer]"
"""Partitions: partition p of topic t is `starts[t] + p`."""


@dataclass(frozen=True)
class Numbering:
    """What a strategy knows of a group besides who owns what.

    A member is an index into `members`, a topic an index into `topics`. A partition is an id: partition p of
    topic t is `starts[t] + p`.

    Attributes:
        members: the members, in the order of which a strategy's arrays speak.
        topics: names of the topics it deals with, in the order it wants.
        counts: partitions of each topic, int64 of shape (len(topics),).
        starts: first id of each topic and, last, the number of all partitions, int64 of shape
            (len(topics) + 1,).
        subscriptions: who subscribes to what.
    """

    members: Sequence[Member]
    topics: tuple[str, ...]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    subscriptions: Subscriptions

    @classmethod
    def of(
        cls, members: Sequence[Member], subscriptions: Subscriptions, topics: Sequence[Topic]
    ) -> Numbering:
        """The numbering of these members and topics."""
        counts = np.array([topic.partitions for topic in topics], np.int64)
        return cls(
            members=members,
            topics=tuple([topic.name for topic in topics]),
            counts=counts,
            starts=bounds(counts),
            subscriptions=subscriptions,
        )

    @property
    def total(self) -> int:
        """How many partitions there are."""
        return int(self.starts[-1])

    @cached_property
    def index(self) -> dict[str, int]:
        """Topic names to topics."""
        return {name: topic for topic, name in enumerate(self.topics)}

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Member ids."""
        return tuple([member.id for member in self.members])

    @cached_property
    def by_id(self) -> JoinPosition:
        """Members in ascending order of member id, which breaks the sticky strategies' ties."""
        return np.array(java_order(range(len(self.ids)), self.ids), np.intp)

    @cached_property
    def id_rank(self) -> IdRank:
        """The position of each member in `by_id`."""
        return _inverse(self.by_id)

    @cached_property
    def by_hash(self) -> JoinPosition:
        """Members in the order in which the leader's HashMap of subscriptions iterates over them."""
        return hash_order(self.ids)

    @cached_property
    def by_owner_hash(self) -> JoinPosition:
        """Members in the order of a HashMap that is filled in the order of `by_hash`."""
        visited = self.by_hash
        return visited[hash_order([self.ids[row] for row in visited.tolist()])]

    @cached_property
    def topic_of(self) -> NDArray[np.int32]:
        """The topic of each partition id."""
        return np.repeat(np.arange(len(self.topics), dtype=np.int32), self.counts)

    @cached_property
    def number_of(self) -> NDArray[np.int32]:
        """The partition number of each partition id."""
        number = np.arange(self.total, dtype=np.int32)
        number -= np.repeat(self.starts[:-1].astype(np.int32), self.counts)
        return number

    @cached_property
    def subscribed(self) -> NDArray[np.bool_]:
        """Whether a subscription has a topic that exists, bool of shape (subscriptions, topics)."""
        subscribed = np.zeros((len(self.subscriptions.lists), len(self.topics)), np.bool_)
        for code, names in enumerate(self.subscriptions.lists):
            subscribed[code, [self.index[name] for name in names if name in self.index]] = True
        subscribed[:, self.counts == 0] = False
        return subscribed

    def assignment_by_owner(self, owner: JoinPosition) -> Assignment:
        """The assignment in which every list has the topics in order, partitions ascending.

        Args:
            owner: the member that gets each partition id.
        """
        rows, offsets = group_rows(owner, len(self.members))
        return Assignment(
            members=self.ids,
            topics=self.topics,
            counts=self.counts,
            offsets=offsets,
            topic=self.topic_of[rows],
            partition=self.number_of[rows],
        )


def topics_that_exist(group: Group, names: Iterable[str]) -> dict[str, Topic]:
    """The topics of these names that have partitions, in the order of the cluster's metadata."""
    wanted = names if isinstance(names, (set, dict)) else set(names)
    return {topic.name: topic for topic in group.topics if topic.partitions and topic.name in wanted}


def in_name_order(topics: Iterable[Topic]) -> list[Topic]:
    """The topics, ordered by name as Java does."""
    listed = list(topics)
    return [listed[row] for row in java_order(range(len(listed)), [topic.name for topic in listed])]


def _inverse(order: NDArray[np.integer]) -> NDArray[np.intp]:
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    return place
