"""Gives partitions, one by one, to the member that has the fewest."""

from collections.abc import Sequence
from heapq import heapreplace

import numpy as np
from numpy.typing import NDArray

from partitioning.kit.columns import run_starts


def rounds(sizes: NDArray[np.integer], partitions: int) -> list[tuple[int, int]]:
    """Return the rounds in which the members with the fewest partitions get one more partition each.

    At first only the members with the fewest partitions take part. When they have as many as the members with
    the next higher number, these take part, too, and so on.

    Args:
        sizes: how many partitions each member has so far, ascending; not empty.
        partitions: how many partitions are given out.

    Returns:
        Pairs of the number of members that take part, counted from the front, and the number of such rounds.
        The pairs are in order. The last rounds may hand out more partitions than there are; the caller drops
        the surplus.
    """
    starts = np.concatenate([np.zeros(1, np.intp), np.flatnonzero(np.diff(sizes)) + 1])
    levels = sizes[starts].tolist()
    taking_part = []
    left = partitions
    for reached, level, following in zip(
        [*starts[1:].tolist(), len(sizes)], levels, [*levels[1:], None], strict=True
    ):
        if left <= 0:
            break
        # `most` rounds, rounded up, hand out all partitions that are left, so no more rounds are needed.
        most = -(-left // reached)
        taking_part.append((reached, most if following is None else min(following - level, most)))
        left -= reached * taking_part[-1][1]
    return taking_part


def turns(need: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the members that get the next partitions, in order: indices of `need`, of shape (sum(need),).

    In each round every member that still needs a partition gets one, in ascending order of its index.

    Args:
        need: how many partitions each member needs, 0 or more.
    """
    parts = [np.empty(0, np.intp)]
    done = 0
    goals = np.sort(need)
    for goal in goals[run_starts(goals)].tolist():
        # Between two neighbouring needs the same members take part in every round, so one block is repeated.
        parts.append(np.tile(np.flatnonzero(need > done), goal - done))
        done = goal
    return np.concatenate(parts)


def lightest(heap: list[int], size: Sequence[int]) -> int | None:
    """Return the member with the fewest partitions, the lowest number first; None if the heap is empty.

    If a member's size grows, its key in the heap stays as it is; this function renews the key when it comes
    to the top. If a size shrinks, the caller must push a new key at once: under the old, greater key the
    member would be found too late.

    Args:
        heap: keys `size * members + member` as a heap; changed if keys are renewed.
        size: how many partitions each member has now.
    """
    while heap:
        member = heap[0] % len(size)
        key = size[member] * len(size) + member
        if heap[0] == key:
            return member
        heapreplace(heap, key)
    return None
