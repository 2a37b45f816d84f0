"""Who gets the partitions nobody has, where subscriptions differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.filling import rounds
from partitioning.columns import ranges

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from assignors.columnar.broker.turns import TopicTurns
    from assignors.columnar.numbering import PartitionId, Visit


def hand_out(
    topics: TopicTurns, owner: NDArray[np.intp], sizes: NDArray[np.intp]
) -> tuple[Visit, PartitionId]:
    """Gives free partitions to the members with least, topic after topic.

    Args:
        topics: the topics.
        owner: member that has each partition id, -1 for none; this and `sizes` are brought up to date.
        sizes: how many partitions each member has.

    Returns:
        Members and the ids of the partitions they got, in order.
    """
    ids = ranges(topics.start, topics.count)
    is_free = owner[ids] < 0
    ends = np.cumsum(np.append(0, is_free))[np.append(0, np.cumsum(topics.count))]
    free, firsts = np.diff(ends), ends[:-1]
    ids = ids[is_free]
    getting = np.empty(len(ids), np.intp)
    for turn in _turns(topics, free.tolist(), sizes):
        rows = ranges(firsts[turn], free[turn])
        members = topics.members[topics.audience[turn[0]]]
        if len(turn) == 1:
            getting[rows] = fill_up(members, sizes[members], len(rows))
        else:
            ahead = int(np.argmax(sizes[members] == sizes[members].min()))
            getting[rows] = members[(ahead + np.arange(len(rows))) % len(members)]
        sizes += np.bincount(getting[rows], minlength=len(sizes))
    owner[ids] = getting
    return getting, ids


def fill_up(members: Visit, sizes: NDArray[np.intp], partitions: int) -> Visit:
    """The members that get so many partitions, one after the other, each time one of those with least.

    Args:
        members: subscribers, ascending.
        sizes: how many partitions each has.
        partitions: how many are given out.
    """
    order = np.argsort(sizes, kind="stable")
    in_rounds = [
        np.tile(members[order[:reached]], times) for reached, times in rounds(sizes[order], partitions)
    ]
    return np.concatenate(in_rounds)[:partitions]


def _turns(topics: TopicTurns, free: Sequence[int], sizes: NDArray[np.intp]) -> Iterator[list[int]]:
    """The topics with free partitions, in turns that are given out one after the other.

    Where subscribers have equal numbers of partitions, or the first ones one more, the next go to them in a
    circle. It goes on from topic to topic as long as they have no other topics and no topic passes the end of
    the circle unless it began there; so these topics are one turn.

    Args:
        topics: the topics.
        free: free partitions of each.
        sizes: how many partitions each member has; as each turn is given out, they follow.
    """
    circles: dict[int, tuple[int | None, list[int]]] = {}
    for number, (audience, count) in enumerate(zip(topics.audience, free, strict=True)):
        if not count:
            continue
        members = topics.members[audience]
        if audience not in circles:
            circles[audience] = (_seat(sizes[members]) if topics.alone[audience] else None, [])
        seat, turn = circles[audience]
        if seat is not None and (seat == 0 or seat + count <= len(members)):
            turn.append(number)
            circles[audience] = ((seat + count) % len(members), turn)
            continue
        del circles[audience]
        if turn:
            yield turn
        yield [number]
    for _, turn in circles.values():
        if turn:
            yield turn


def _seat(sizes: NDArray[np.intp]) -> int | None:
    """How many members at the front have one more than the others; None where it is not like that."""
    if sizes[0] - sizes[-1] > 1 or (np.diff(sizes) > 0).any():
        return None
    return int(np.count_nonzero(sizes > sizes[-1]))
