"""Kafka's "range" assignor (KIP-881)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from assignors.interface import RebalanceProtocol
from assignors.member_order import hash_order, java_order, member_order
from assignors.owners import assignment_by_owner
from assignors.range_racks import RackMatching
from assignors.subscriptions import Subscriptions
from partitioning.java import hash_map_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.assignment import Assignment
    from assignors.group import Group


class RangeAssignor:
    """Cuts every topic into ranges, one a member; topics with equal counts are cut alike.

    Where racks matter, partitions go first to members in a rack that has a replica; topics with the same
    members and the same count stay together all the same (KIP-881).
    """

    name: ClassVar[str] = "range"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.EAGER})

    def assign(self, group: Group) -> Assignment:
        """Who gets what.

        A member's list has its topics in the order of the JVM's HashMap, or, where racks decide, by name.
        """
        members = group.members
        subscriptions = Subscriptions.of(members)
        known = {topic.name: topic for topic in group.topics if topic.partitions}
        visits = hash_order([member.id for member in members]) if len(subscriptions.lists) > 1 else ()
        subscribed = hash_map_keys(list(subscriptions.seen_in(visits))) if members else []
        topics = hash_map_keys([name for name in subscribed if name in known])
        order = member_order(members)

        matching = RackMatching.of([known[name] for name in topics], members, subscriptions, order)
        if matching is not None:
            topics = [topics[row] for row in java_order(range(len(topics)), topics)]
        counts = np.array([known[name].partitions for name in topics], np.int64)
        if matching is None:
            owner = range_owners(counts, subscriptions, topics, order)
        else:
            owner = matching.owners(topics)
        return assignment_by_owner(members, topics, counts, owner)


def range_owners(
    counts: NDArray[np.int64],
    subscriptions: Subscriptions,
    topics: Sequence[str],
    order: NDArray[np.intp],
) -> NDArray[np.intp]:
    """The member that gets each partition, topic after topic.

    Args:
        counts: partitions of each topic.
        subscriptions: who subscribes; every topic has a subscriber.
        topics: names of the topics.
        order: positions of the members, in the order in which they get their ranges.
    """
    subscribers: dict[tuple[int, ...], NDArray[np.intp]] = {}
    cuts: dict[tuple[int, tuple[int, ...]], NDArray[np.intp]] = {}
    given = [np.empty(0, np.intp)]
    for count, audience in zip(counts.tolist(), subscriptions.audiences(topics), strict=True):
        cut = cuts.get((count, audience))
        if cut is None:
            if audience not in subscribers:
                subscribers[audience] = subscriptions.members_of(audience, order)
            cut = cuts[count, audience] = _cut(count, subscribers[audience])
        given.append(cut)
    return np.concatenate(given)


def _cut(count: int, members: NDArray[np.intp]) -> NDArray[np.intp]:
    """The owners of one topic's partitions: ranges of one length, the first ones one longer where need be."""
    quota, extra = divmod(count, len(members))
    if quota == 0:
        return members[:extra]
    return np.repeat(members, quota + (np.arange(len(members)) < extra))
