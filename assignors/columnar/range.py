"""The columns of "range" (KIP-881): every topic is cut into ranges, topics with equal counts alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.member_order import hash_order, member_order
from assignors.columnar.numbering import Numbering, in_name_order, topics_that_exist
from assignors.columnar.range_racks import RackMatching
from assignors.columnar.subscriptions import Subscriptions
from partitioning.java import hash_map_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.assignment import Assignment
    from assignors.columnar.numbering import JoinPosition
    from assignors.columnar.subscriptions import Audiences
    from assignors.group import Group, Member


def assign_range(group: Group) -> Assignment:
    """Who gets what; topics in the order of the JVM's HashMap or, where racks decide, by name.

    Raises:
        OddGroup: the rule has to answer.
    """
    members = group.members
    subscriptions = Subscriptions.of(members)
    subscribed = hash_map_keys(_seen(members, subscriptions))
    known = topics_that_exist(group, subscribed)
    names = hash_map_keys([name for name in subscribed if name in known])
    order = member_order(members)

    topics = [known[name] for name in names]
    matching = RackMatching.of(topics, members, subscriptions, order)
    if matching is not None:
        topics = in_name_order(topics)
    numbering = Numbering.of(members, subscriptions, topics)
    if matching is None:
        owner = range_owners(numbering.counts, subscriptions.audiences(numbering.topics, order))
    else:
        owner = matching.owners(numbering.topics)
    return numbering.assignment_by_owner(owner)


def _seen(members: Sequence[Member], subscriptions: Subscriptions) -> list[str]:
    """Every subscribed topic, in the order they are first seen in the HashMap of members."""
    if len(subscriptions.lists) == 1:
        return list(subscriptions.lists[0])
    visits = hash_order([member.id for member in members])
    codes = dict.fromkeys(subscriptions.of_member[visits].tolist())
    return list(dict.fromkeys(topic for code in codes for topic in subscriptions.lists[code]))


def range_owners(counts: NDArray[np.int64], audiences: Audiences) -> JoinPosition:
    """The member that gets each partition, topic after topic.

    Args:
        counts: partitions of each topic.
        audiences: its subscribers, in the order in which they get their ranges.
    """
    cuts: dict[tuple[int, int], JoinPosition] = {}
    given: list[JoinPosition] = [np.empty(0, np.intp)]
    for count, audience in zip(counts.tolist(), audiences.of_topic, strict=True):
        cut = cuts.get((count, audience))
        if cut is None:
            cut = cuts[count, audience] = _cut(count, audiences.members[audience])
        given.append(cut)
    return np.concatenate(given)


def _cut(count: int, members: JoinPosition) -> JoinPosition:
    """The owners of one topic's partitions: ranges of one length, the first ones one longer where need be."""
    quota, extra = divmod(count, len(members))
    if quota == 0:
        return members[:extra]
    return np.repeat(members, quota + (np.arange(len(members)) < extra))
