"""The broker's "range" assignor (KIP-848), here called "broker-range"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from assignors.assignment import Assignment
from assignors.broker.topic_ids import TopicTable
from assignors.member_order import member_order
from assignors.range import range_owners
from assignors.subscriptions import Subscriptions
from partitioning.columns import sort_positions
from partitioning.java import hash_map_capacity
from partitioning.java.hash_codes import spread
from partitioning.java.hash_order import sized_map_order
from partitioning.java.sizes import table_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.group import Group
    from assignors.interface import RebalanceProtocol


class BrokerRangeAssignor:
    """Cuts every topic into ranges, one a member, whatever the members had; racks are ignored.

    Topics are listed by their id, so where `Topic.id` is None the order is that for an id made from the name.
    """

    name: ClassVar[str] = "broker-range"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset()

    def assign(self, group: Group) -> Assignment:
        """Who gets what, each member's list in the order of the broker's maps."""
        members = group.members
        if not members:
            return Assignment.of({})
        subscriptions = Subscriptions.of(members)
        table = TopicTable.of(group.topics, set[str]().union(*subscriptions.lists), set())
        order = member_order(members)
        owner = range_owners(table.counts, subscriptions, table.names, order)
        topic = np.repeat(np.arange(len(table.names), dtype=np.int32), table.counts)
        number = (np.arange(len(owner)) - np.repeat(table.starts, table.counts)).astype(np.int32)

        equal = len({frozenset(topics) for topics in subscriptions.lists}) == 1
        if equal:
            maps = [_TopicMap.of(subscriptions.lists[subscriptions.of_member[order[0]]], table, equal=True)]
            map_of = np.zeros(len(members), np.intp)
            rank = np.repeat(maps[0].rank, table.counts)
        else:
            maps = [_TopicMap.of(topics, table, equal=False) for topics in subscriptions.lists]
            map_of = subscriptions.of_member
            rank = np.stack([each.rank for each in maps])[map_of[owner], topic]
        rows = sort_positions(owner, rank)
        sizes = np.bincount(owner, minlength=len(members))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        for member in np.flatnonzero(np.array([each.is_crowded for each in maps])[map_of]).tolist():
            mine = rows[offsets[member] : offsets[member + 1]]
            mine[:] = mine[np.argsort(maps[map_of[member]].rank_among(topic[mine], table), kind="stable")]
        return Assignment(
            tuple(member.id for member in members),
            tuple(table.names),
            table.counts,
            offsets,
            topic[rows],
            number[rows],
        )


@dataclass(frozen=True, slots=True)
class _TopicMap:
    """The HashMap of topics in which members with one subscription get their ranges.

    Attributes:
        added: its topics, rows of the topic table, in the order they are added.
        length: length of its table.
        rank: place of each topic of the table in its order.
        is_crowded: whether the map may be so crowded that Java does not keep that order.
    """

    added: NDArray[np.intp]
    length: int
    rank: NDArray[np.intp]
    is_crowded: bool

    @classmethod
    def of(cls, subscription: Sequence[str], table: TopicTable, *, equal: bool) -> _TopicMap:
        """The map for a subscription; where all are equal, unknown topics do not count for its length."""
        added = table.in_set_order(subscription)
        topics = len(added) if equal else len(set(subscription))
        length = table_length(hash_map_capacity(topics))
        order, is_crowded = sized_map_order(spread(table.hashes)[added], length)
        rank = np.zeros(len(table.names), np.intp)
        rank[added[order]] = np.arange(len(added))
        return cls(added, length, rank, is_crowded)

    def rank_among(self, topics: NDArray[np.intp], table: TopicTable) -> NDArray[np.intp]:
        """Place of each of these topics in a map that has no others."""
        present = set(topics.tolist())
        entries = table.hash_map(self.length)
        for topic in self.added.tolist():
            if topic in present:
                entries.add(topic)
        rank = np.zeros(len(table.names), np.intp)
        rank[list(entries)] = np.arange(len(present))
        return rank[topics]
