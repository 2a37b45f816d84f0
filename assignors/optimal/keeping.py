"""Who keeps what: the fewest moves within bounds on loads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.optimal.network import UNLIMITED, Arcs, Network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.optimal.network import Ints
    from assignors.optimal.readers import Readers


class Kept(NamedTuple):
    """What stays, and where the rest goes.

    Attributes:
        member: a member and, in the same row of the other two, what it keeps; ordered by member and topic.
        topic: a topic of which it has partitions.
        amount: how many of these it keeps.
        placed: how many of the others each row of the readers gets: partitions of a topic for a class.
    """

    member: NDArray[np.intp]
    topic: NDArray[np.intp]
    amount: NDArray[np.int64]
    placed: NDArray[np.int64]


def keep(
    size: NDArray[np.int64], readers: Readers, holder: Ints, topic: Ints, low: Ints, high: Ints
) -> Kept | None:
    """Keep as many partitions as can be kept.

    The flow goes from topics through classes to members and on to the sum of all loads, which is a node as
    well. It starts with every partition at its holder, if it has one; taking it away costs 1. Members that
    hold nothing stay a part of their class.

    Args:
        size: partitions of each topic; where it is not 0, the topic has readers.
        readers: who may get what.
        holder: a member that has a partition it may keep, one row a partition.
        topic: the topic of that partition.
        low: the least load of each member.
        high: the greatest one.

    Returns:
        What stays; None where no assignment has such loads.
    """
    members, classes = len(readers.of_member), len(readers.members)
    pairs, held = np.unique(holder.astype(np.int64) * readers.topics + topic, return_counts=True)
    member, of_topic = np.divmod(pairs, readers.topics)
    load = np.bincount(holder, minlength=members)
    holders = np.flatnonzero(load)
    node = np.cumsum(load > 0) + (readers.topics + classes - 1)
    of_class = readers.topics + readers.of_member
    everyone = readers.topics + classes + len(holders)

    counted = np.clip(load, low, high)
    without = load == 0
    excess = np.zeros(everyone + 1, np.int64)
    excess[: readers.topics] = size - np.bincount(of_topic, held, readers.topics).astype(np.int64)
    excess[node[holders]] = (load - counted)[holders]
    np.subtract.at(excess, of_class[without], counted[without])
    excess[everyone] = counted.sum() - size.sum()

    sink = np.full(members, everyone)
    network = Network(
        excess,
        [
            Arcs.of(readers.topic, readers.topics + readers.kind, UNLIMITED),
            Arcs.of(node[member], of_topic, held, cost=1),
            Arcs.of(of_class[holders], node[holders], UNLIMITED),
            Arcs.of(node[holders], sink[holders], (high - counted)[holders], (counted - low)[holders]),
            Arcs.of(of_class[without], sink[without], (high - counted)[without]),
        ],
    )
    network.flow()
    if network.excess.any():
        return None
    used = network.used()
    rows = len(readers.kind)
    return Kept(member, of_topic, held - used[rows : rows + len(pairs)], used[:rows])
