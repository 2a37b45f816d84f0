"""The columns of the broker's "range" (KIP-848), here called "broker-range"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.broker_numbering import BrokerNumbering
from assignors.columnar.numbering import OddGroup, Subscriptions, member_order
from assignors.columnar.range import range_owners
from assignors.group import Assignment, Group
from partitioning.java.hash_order import sized_map_order
from partitioning.java.sizes import hash_map_capacity, table_length
from partitioning.kit.columns import bounds, sort_positions


def assign_broker_range(group: Group) -> Assignment:
    """The assignment, each member's list in the order of the broker's maps."""
    members = group.members
    if not members:
        return Assignment.of({})
    subscriptions = Subscriptions.of(members)
    numbering = BrokerNumbering.of_cluster(group.topics, members, subscriptions)
    order = member_order(members)
    owner = range_owners(numbering.counts, subscriptions.audiences(numbering.topics, order))
    topic = numbering.topic_of

    if subscriptions.are_equal:
        first = subscriptions.lists[subscriptions.of_member[order[0]]]
        place = np.repeat(_places(first, numbering, equal=True), numbering.counts)
    else:
        places = [_places(topics, numbering, equal=False) for topics in subscriptions.lists]
        place = np.stack(places)[subscriptions.of_member[owner], topic]
    rows = sort_positions(owner, place)
    return Assignment(
        members=numbering.ids,
        topics=numbering.topics,
        counts=numbering.counts,
        offsets=bounds(np.bincount(owner, minlength=len(members))),
        topic=topic[rows],
        partition=numbering.number_of[rows],
    )


def _places(subscription: Sequence[str], numbering: BrokerNumbering, *, equal: bool) -> NDArray[np.intp]:
    """The place of each topic in the HashMap in which members with this subscription get their ranges.

    Where all subscriptions are equal, topics that do not exist do not count for the length of its table.
    """
    added = numbering.in_set_order(subscription)
    length = table_length(hash_map_capacity(len(added if equal else subscription)))
    rows, is_crowded = sized_map_order(numbering.spread_hashes[added], length)
    if is_crowded:
        raise OddGroup
    place = np.zeros(len(numbering.topics), np.intp)
    place[added[rows]] = np.arange(len(added))
    return place
