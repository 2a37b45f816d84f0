"""Assigns as "roundrobin" does: partitions go round a circle of members, one topic at a time.

A seat is a member's place in the circle: an index into the result of `member_order`.
"""

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment
from assignors.columnar.numbering import (
    JoinPosition,
    Numbering,
    OddGroup,
    Subscriptions,
    in_name_order,
    member_order,
    topics_that_exist,
)
from assignors.group import Group
from partitioning.kit.columns import inverse


def assign_round_robin(group: Group) -> Assignment:
    """Return the assignment of "roundrobin"; a member's list is sorted by topic name, then by number."""
    members = group.members
    if not members:
        raise OddGroup
    subscriptions = Subscriptions.of(members)
    existing = topics_that_exist(group, set().union(*subscriptions.lists))
    topics = in_name_order(existing.values())
    numbering = Numbering.of(members, subscriptions, topics)
    order = member_order(members)
    return numbering.assignment_by_owner(order[_seats(numbering, order)])


def _seats(numbering: Numbering, order: JoinPosition) -> NDArray[np.intp]:
    """Return the seat of the member that gets each partition, by partition id; seats are indices of `order`.

    Members that do not subscribe to a topic are skipped. The next topic continues behind the last seat used.
    """
    # With one subscription no member is skipped: partition ids in order take the seats in order.
    if len(numbering.subscriptions.lists) == 1:
        return np.arange(numbering.total) % len(order)
    position = inverse(order)
    audiences = numbering.subscriptions.audiences(numbering.topics, order)
    seats_of = [position[members] for members in audiences.members]
    numbers_of = [seats.tolist() for seats in seats_of]
    turns = [np.empty(0, np.intp)]
    cursor = 0
    for count, audience in zip(numbering.counts.tolist(), audiences.of_topic, strict=True):
        seats, numbers = seats_of[audience], numbers_of[audience]
        # The first subscriber at or after the cursor gets partition 0. The first seat follows the last one.
        first = bisect_left(numbers, cursor)
        turns.append(seats[np.arange(first, first + count) % len(numbers)])
        # The next topic continues behind the member that got the last partition.
        cursor = numbers[(first + count - 1) % len(numbers)] + 1
    return np.concatenate(turns)
