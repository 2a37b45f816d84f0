"""Kafka's "roundrobin" assignor."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from assignors.errors import AssignorError
from assignors.interface import RebalanceProtocol
from assignors.member_order import java_order, member_order
from assignors.owners import assignment_by_owner
from assignors.subscriptions import Subscriptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.assignment import Assignment
    from assignors.group import Group


class RoundRobinAssignor:
    """Hands partitions out one by one, topic after topic, to the members in a circle; racks are ignored."""

    name: ClassVar[str] = "roundrobin"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.EAGER})

    def assign(self, group: Group) -> Assignment:
        """Who gets what; a member's list is sorted by topic and number.

        Raises:
            AssignorError: the group has no members.
        """
        members = group.members
        if not members:
            raise AssignorError(
                "the group has no members to go round; assign only groups with members",
                jvm_exception="IllegalArgumentException",
            )
        subscriptions = Subscriptions.of(members)
        subscribed = subscriptions.seen_in(range(len(members)))
        known = {topic.name: topic.partitions for topic in group.topics if topic.partitions}
        names = [name for name in subscribed if name in known]
        topics = [names[row] for row in java_order(range(len(names)), names)]
        counts = np.array([known[name] for name in topics], np.int64)

        order = member_order(members)
        owner = order[_seats(counts, subscriptions, topics, order)]
        return assignment_by_owner(members, topics, counts, owner)


def _seats(
    counts: NDArray[np.int64],
    subscriptions: Subscriptions,
    topics: Sequence[str],
    order: NDArray[np.intp],
) -> NDArray[np.intp]:
    """The seat in the circle, an index into `order`, of who gets each partition, topic after topic."""
    if len(subscriptions.lists) == 1:
        return np.arange(int(counts.sum())) % len(order)
    position = np.empty(len(order), np.intp)
    position[order] = np.arange(len(order))
    subscribers: dict[tuple[int, ...], tuple[NDArray[np.intp], list[int]]] = {}
    given = [np.empty(0, np.intp)]
    cursor = 0
    for count, audience in zip(counts.tolist(), subscriptions.audiences(topics), strict=True):
        if audience not in subscribers:
            seats = position[subscriptions.members_of(audience, order)]
            subscribers[audience] = seats, seats.tolist()
        seats, numbers = subscribers[audience]
        first = bisect_left(numbers, cursor)
        given.append(seats[np.arange(first, first + count) % len(numbers)])
        cursor = numbers[(first + count - 1) % len(numbers)] + 1
    return np.concatenate(given)
