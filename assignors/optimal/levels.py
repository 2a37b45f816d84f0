"""Finds the best loads: the greatest load is as small as can be, then the second greatest, and so on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.optimal.network import UNLIMITED, Arcs, Network
from assignors.optimal.reading import ClassTopics
from partitioning.kit.columns import sums


class Levels(NamedTuple):
    """Divides a group into parts by its best loads.

    A class ("kind" in these names) is an index into `readers.members`.

    Attributes:
        of_kind: the greatest load of the members of each class. Each of them has this many partitions or one
            less.
        readers: the topics that each class may get. These are topics of the class's own part.
        part_of_kind: the part of each class.
        part_of_topic: the part of each topic. The topic's partitions go to members of that part only.
        complete: True for a part in which every class reads every topic; bool of shape (parts,).
    """

    of_kind: NDArray[np.int64]
    readers: ClassTopics
    part_of_kind: NDArray[np.intp]
    part_of_topic: NDArray[np.intp]
    complete: NDArray[np.bool_]


def find_levels(size: NDArray[np.int64], readers: ClassTopics) -> Levels:
    """Return the levels of the best loads.

    The first parts are the connected pieces of the group: topics are in one part if a member reads both, or
    if a chain of members and topics connects them. Let `mean` be the number of a part's partitions divided by
    the number of its members, rounded up. A flow answers two questions: do the partitions fill `mean - 1`
    places of each member, and do all partitions find room in `mean` places of each member? If both answers
    are yes, `mean` is the part's level.

    If one answer is no, the part is split. Its high side consists of the topics whose partitions cannot reach
    the free room, and of all members that read one of these topics. In a best answer those members get
    nothing from the low side, so each side is examined as a part of its own. One flow serves all parts at
    once; each turn of the loop splits a part in at most two and renumbers all parts.

    Args:
        size: the partitions of each topic, of shape (topics,).
        readers: the topics that each class reads; some of these may have no partitions.
    """
    topics, classes = readers.topics, len(readers.members)
    real = size[readers.topic] > 0
    kind, topic = readers.kind[real], readers.topic[real]
    # `part` has the part of each topic, then of each class. Part 0 is for topics without partitions or
    # readers, and for classes that read no topic with partitions; it is never open.
    part = np.zeros(topics + classes, np.intp)
    own = _connected_parts(kind, topic, topics, classes)
    part[topic] = part[topics + kind] = own[topic] + 1
    level = np.zeros(classes, np.int64)
    open_parts = np.arange(own.max(initial=-1) + 2) > 0
    while open_parts.any():
        parts = len(open_parts)
        of_topic, of_kind = part[:topics], part[topics:]
        amount = sums(of_topic, size, parts)
        members = sums(of_kind, readers.members, parts)
        # `mean` is rounded up. A part without members divides by 1, only to avoid a division by 0.
        mean = -(-amount // np.maximum(members, 1))
        complete = _complete(kind, of_topic[size > 0], of_kind, parts)
        looked_at = open_parts & ~complete
        rows = looked_at[of_kind[kind]]
        room = np.where(looked_at[of_kind], (mean[of_kind] - 1) * readers.members, 0)
        network = Network(
            np.concatenate([np.where(looked_at[of_topic], size, 0), -room]),
            [Arcs.of(topic[rows], topics + kind[rows], UNLIMITED)],
        )
        # First each member has room for `mean - 1` partitions. `low` is True for the topics from which some
        # free room can still be reached.
        low = network.flow()[:topics]
        whole = sums(of_topic, low, parts) == 0
        # Then, in parts without free room, each member gets room for one more partition. The flow so far
        # stays.
        network.excess[topics:] -= np.where((looked_at & whole)[of_kind], readers.members, 0)
        fits = network.flow()[:topics]
        over = sums(of_topic, network.excess[:topics], parts) > 0
        done = open_parts & (complete | (whole & ~over))
        level = np.where(done[of_kind], mean[of_kind], level)

        splits = open_parts & ~done
        high = splits[of_topic] & ~np.where(whole[of_topic], fits, low)
        reads_high = np.zeros(classes, np.bool_)
        reads_high[kind[high[topic]]] = True
        # The low side of part p has the number 2 p and its high side 2 p + 1. `unique` then renumbers the
        # sides that exist, from 0 on.
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
    """Return the number of each topic's connected piece, intp of shape (topics,), counted from 0.

    Args:
        kind: a class in each row.
        topic: in the same row, a topic that the class reads.
        topics: the number of topics.
        classes: the number of classes.
    """
    least = np.arange(topics)  # for each topic, the lowest topic that is known to be connected with it
    while True:
        of_kind = np.full(classes, topics)
        np.minimum.at(of_kind, kind, least[topic])
        before = least.copy()
        np.minimum.at(least, topic, of_kind[kind])
        # `before` has the topic to which each topic pointed so far. That topic gets the lower number, too, so
        # all other topics that point to it follow in the next step.
        np.minimum.at(least, before, least)
        least = least[least]
        if (least == before).all():
            return np.unique(least, return_inverse=True)[1]


def _complete(
    kind: NDArray[np.intp], of_topic: NDArray[np.intp], of_kind: NDArray[np.intp], parts: int
) -> NDArray[np.bool_]:
    """Return whether each part is complete (all of its classes read all of its topics), of shape (parts,).

    Args:
        kind: the class of each row; a row is a class beside a topic that it reads, both of one part.
        of_topic: the part of each topic that has partitions.
        of_kind: the part of each class.
        parts: the number of parts.
    """
    possible = np.bincount(of_topic, minlength=parts) * np.bincount(of_kind, minlength=parts)
    complete: NDArray[np.bool_] = np.bincount(of_kind[kind], minlength=parts) == possible
    return complete
