"""Topics and members of a group as integers, in the orders Java sees them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assignors.member_order import java_order
from assignors.subscriptions import Subscriptions
from partitioning.java import HashMap, hash_map_order, string_hashes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from assignors.group import Group, Member


@dataclass(frozen=True)
class Catalogue:
    """What a sticky assignor knows of a group besides who owns what.

    A topic is an index into `topics`, a member an index into `members`. A partition is an id: partition p of
    topic t is `starts[t] + p`, so ids count up by topic name, then number.

    Attributes:
        members: members in JoinGroup order.
        topics: subscribed topics that have partitions, by name.
        counts: partitions of each topic, int64 of shape (len(topics),).
        starts: first id of each topic and, last, the number of all partitions, int64 of shape
            (len(topics) + 1,).
        subscriptions: who subscribes to what.
        index: the topics of the cluster that are in `topics`, by name.
    """

    members: Sequence[Member]
    topics: tuple[str, ...]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    subscriptions: Subscriptions

    @classmethod
    def of(cls, group: Group) -> Catalogue:
        """The catalogue of a group."""
        subscriptions = Subscriptions.of(group.members)
        subscribed = set().union(*subscriptions.lists)
        topics = [topic for topic in group.topics if topic.partitions and topic.name in subscribed]
        names = [topic.name for topic in topics]
        order = java_order(range(len(names)), names)
        counts = np.array([topics[row].partitions for row in order], np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return cls(group.members, tuple(names[row] for row in order), counts, starts, subscriptions)

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
    def by_id(self) -> list[int]:
        """Members in ascending order of member id."""
        return java_order(range(len(self.ids)), self.ids)

    @cached_property
    def _hashes(self) -> NDArray[np.int32]:
        return string_hashes(self.ids)

    @cached_property
    def by_hash(self) -> NDArray[np.intp]:
        """Members in the order in which the leader's HashMap iterates over them."""
        return hash_map_order(self._hashes, keys=self.ids)

    @cached_property
    def by_owner_hash(self) -> NDArray[np.intp]:
        """Members in the order of the HashMap of what they own, which is filled in the order of `by_hash`."""
        visited = self.by_hash
        return visited[
            hash_map_order(self._hashes[visited], keys=[self.ids[row] for row in visited.tolist()])
        ]

    def owner_turns(self, settled: Collection[int]) -> dict[int, int]:
        """The position of each member in that HashMap once the settled ones are taken out of it."""
        visited = self.by_hash.tolist()
        names = [self.ids[row] for row in visited]
        owners = HashMap[str, int]()
        owners.update(zip(names, visited, strict=True))
        for i in hash_map_order(self._hashes[visited], capacity=len(names), keys=names).tolist():
            if visited[i] in settled:
                del owners[names[i]]
        return {row: turn for turn, row in enumerate(owners.values())}

    @cached_property
    def turn(self) -> NDArray[np.intp]:
        """The position of each member in `by_hash`."""
        turn = np.empty(len(self.by_hash), np.intp)
        turn[self.by_hash] = np.arange(len(turn))
        return turn

    @cached_property
    def all_equal(self) -> bool:
        """Whether the JVM takes all subscriptions for equal.

        It compares with the first member that subscribes to anything, so members with no subscription that
        its HashMap visits before do not count. It also compares lengths of lists, so that a topic named twice
        can stand for another one.
        """
        sets = [set(topics) for topics in self.subscriptions.lists]
        lengths = [len(topics) for topics in self.subscriptions.lists]
        ordinary = all(sets) and all(
            len(topics) == length for topics, length in zip(sets, lengths, strict=True)
        )
        visits = range(len(sets)) if ordinary else self.subscriptions.of_member[self.by_hash].tolist()
        first: set[str] = set()
        for code in visits:
            if not first:
                first = sets[code]
            elif lengths[code] != len(first) or not sets[code] <= first:
                return False
        return True

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
