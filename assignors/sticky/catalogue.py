"""Topics and members of a group as integers, in the orders Java sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from partitioning.java import hash_map_order, string_hashes, utf16_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.group import Group, Member


def java_order(names: Sequence[str]) -> list[int]:
    """Positions of the names in ascending order of `String.compareTo`."""
    if "".join(names).isascii():
        return sorted(range(len(names)), key=names.__getitem__)
    return sorted(range(len(names)), key=lambda row: utf16_key(names[row]))


@dataclass(frozen=True)
class Catalogue:
    """What a sticky assignor knows of a group besides who owns what.

    A topic is an index into `topics`, a member an index into `members`. A partition is an id: partition p of
    topic t is `starts[t] + p`, so ids count up by topic name, then number.

    Attributes:
        members: members in JoinGroup order.
        topics: subscribed topics that have partitions, by name.
        counts: partitions of each topic, int64 of shape (len(topics),).
        starts: first id of each topic and, last, the number of all partitions, int64 of shape (len(topics) + 1,).
        subscription: index into `subscriptions` of each member.
        subscriptions: the distinct lists of topic names.
        index: the topics of the cluster that are in `topics`, by name.
    """

    members: Sequence[Member]
    topics: tuple[str, ...]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    subscription: list[int]
    subscriptions: list[tuple[str, ...]]

    @classmethod
    def of(cls, group: Group) -> Catalogue:
        """The catalogue of a group."""
        subscription, subscriptions = _distinct_subscriptions(group.members)
        subscribed = set().union(*subscriptions)
        topics = [topic for topic in group.topics if topic.partitions and topic.name in subscribed]
        names = [topic.name for topic in topics]
        order = java_order(names)
        counts = np.array([topics[row].partitions for row in order], np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return cls(
            group.members, tuple(names[row] for row in order), counts, starts, subscription, subscriptions
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
    def by_id(self) -> list[int]:
        """Members in ascending order of member id."""
        return java_order(self.ids)

    @cached_property
    def by_hash(self) -> list[int]:
        """Members in the order in which the leader's HashMap iterates over them."""
        order: list[int] = hash_map_order(string_hashes(self.ids)).tolist()
        return order

    @cached_property
    def all_equal(self) -> bool:
        """Whether the JVM takes all subscriptions for equal.

        It compares with the first member that subscribes to anything, so members with no subscription that its
        HashMap visits earlier do not count; and it compares lengths of lists, so a topic named twice can stand
        for another one.
        """
        sets = [set(topics) for topics in self.subscriptions]
        lengths = [len(topics) for topics in self.subscriptions]
        plain = all(sets) and all(len(topics) == length for topics, length in zip(sets, lengths, strict=True))
        codes = range(len(sets)) if plain else [self.subscription[member] for member in self.by_hash]
        first: set[str] = set()
        for code in codes:
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


def _distinct_subscriptions(members: Sequence[Member]) -> tuple[list[int], list[tuple[str, ...]]]:
    """The subscription of each member as an index into the distinct ones; most often there are few."""
    lists = [member.topics for member in members]
    code_of: dict[int, int] = {}
    distinct: dict[tuple[str, ...], int] = {}
    latest, code = None, -1
    for identity, topics in {id(topics): topics for topics in lists}.items():
        if topics != latest:  # comparing neighbours is cheaper than hashing each
            code = distinct.setdefault(tuple(topics), len(distinct))
        code_of[identity], latest = code, topics
    return [code_of[id(topics)] for topics in lists], list(distinct)
