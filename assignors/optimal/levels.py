"""Finds the best loads: the greatest load is as small as can be, then the second greatest, and so on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.optimal.network import UNLIMITED, Arcs, Network
from assignors.optimal.reading import ClassTopics
from partitioning.kit.columns import sums


class Levels(NamedTuple):
    """Divides a group into parts by its best loads.

    Attributes:
        of_kind: the load of the members of each class: this many partitions, or one less.
        readers: the topics that each class may get: those of its own part.
        part_of_kind: the part of each class.
        part_of_topic: the part of each topic; its partitions go to readers of that part only.
        complete: True for a part whose classes all read all of its topics; bool of shape (parts,).
    """

    of_kind: NDArray[np.int64]
    readers: ClassTopics
    part_of_kind: NDArray[np.intp]
    part_of_topic: NDArray[np.intp]
    complete: NDArray[np.bool_]


def find_levels(size: NDArray[np.int64], readers: ClassTopics) -> Levels:
    """Return the levels of the best loads.

    Topics that no reader connects, directly or through other topics, are in different parts from the start. A
    part of the group whose members would have `mean` partitions each, rounded up, is on that level if a
    flow finds room for all of them, and if `mean - 1` a member leaves none of its topics without too many.
    Where that does not hold, the topics that have too many and their readers get nothing else: the best loads
    of both sides are independent of each other, and each is looked at again. All parts are in one flow.

    Each turn splits a part in two at most, and numbers all parts anew.

    Args:
        size: the partitions of each topic.
        readers: the classes; topics without partitions may be among theirs.
    """
    topics, classes = readers.topics, len(readers.members)
    real = size[readers.topic] > 0
    kind, topic = readers.kind[real], readers.topic[real]
    part = np.zeros(topics + classes, np.intp)  # of topics, then of classes; part 0 has neither
    own = _connected_parts(kind, topic, topics, classes)
    part[topic] = part[topics + kind] = own[topic] + 1
    level = np.zeros(classes, np.int64)
    open_parts = np.arange(own.max(initial=-1) + 2) > 0
    while open_parts.any():
        parts = len(open_parts)
        of_topic, of_kind = part[:topics], part[topics:]
        amount = sums(of_topic, size, parts)
        members = sums(of_kind, readers.members, parts)
        # Rounded up; 1 as divisor only avoids the division by 0 in a part without members.
        mean = -(-amount // np.maximum(members, 1))
        complete = _complete(kind, of_topic[size > 0], of_kind, parts)
        looked_at = open_parts & ~complete
        rows = looked_at[of_kind[kind]]
        room = np.where(looked_at[of_kind], (mean[of_kind] - 1) * readers.members, 0)
        network = Network(
            np.concatenate([np.where(looked_at[of_topic], size, 0), -room]),
            [Arcs.of(topic[rows], topics + kind[rows], UNLIMITED)],
        )
        # With room for `mean - 1` a member: `low` are the topics from which some of it is still in reach.
        low = network.flow()[:topics]
        whole = sums(of_topic, low, parts) == 0
        # Then one more for each member of the parts that have used up all that room; what flowed stays.
        network.excess[topics:] -= np.where((looked_at & whole)[of_kind], readers.members, 0)
        fits = network.flow()[:topics]
        over = sums(of_topic, network.excess[:topics], parts) > 0
        done = open_parts & (complete | (whole & ~over))
        level = np.where(done[of_kind], mean[of_kind], level)

        splits = open_parts & ~done
        high = splits[of_topic] & ~np.where(whole[of_topic], fits, low)
        reads_high = np.zeros(classes, np.bool_)
        reads_high[kind[high[topic]]] = True
        # Two numbers a part, its low side and its high one, and `unique` numbers those that exist from 0 on.
        sides, part = np.unique(part * 2 + np.concatenate([high, reads_high]), return_inverse=True)
        open_parts = splits[sides // 2]
        stays = part[topic] == part[topics + kind]
        kind, topic = kind[stays], topic[stays]
    of_topic, of_kind = part[:topics], part[topics:]
    complete = _complete(kind, of_topic[size > 0], of_kind, len(open_parts))
    return Levels(level, readers._replace(kind=kind, topic=topic), of_kind, of_topic, complete)


def _connected_parts(
    kind: NDArray[np.intp], topic: NDArray[np.intp], topics: int, classes: int
) -> NDArray[np.intp]:
    """Return a number for each topic, the same for topics that readers connect, counted from 0.

    Args:
        kind: a class in each row.
        topic: a topic that it reads.
        topics: how many there are.
        classes: how many there are.
    """
    least = np.arange(topics)  # a topic that is connected with each
    while True:
        of_kind = np.full(classes, topics)
        np.minimum.at(of_kind, kind, least[topic])
        before = least.copy()
        np.minimum.at(least, topic, of_kind[kind])
        np.minimum.at(least, before, least)  # all that were known to be connected go along
        least = least[least]
        if (least == before).all():
            return np.unique(least, return_inverse=True)[1]


def _complete(
    kind: NDArray[np.intp], of_topic: NDArray[np.intp], of_kind: NDArray[np.intp], parts: int
) -> NDArray[np.bool_]:
    """Return whether each part is complete: all of its classes read all of its topics."""
    possible = np.bincount(of_topic, minlength=parts) * np.bincount(of_kind, minlength=parts)
    complete: NDArray[np.bool_] = np.bincount(of_kind[kind], minlength=parts) == possible
    return complete
