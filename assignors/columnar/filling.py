"""Gives partitions, one by one, to the members that have the fewest."""

from collections.abc import Sequence
from heapq import heapreplace

import numpy as np
from numpy.typing import NDArray

from partitioning.kit.columns import run_starts


def rounds(sizes: NDArray[np.integer], partitions: int) -> list[tuple[int, int]]:
    """Return the rounds in which members with the fewest partitions get more, one a member and round.

    The members with the fewest take part until they have as many as the next ones, which then take part too.

    Args:
        sizes: partitions of each member so far, ascending; not empty.
        partitions: how many partitions are given out.

    Returns:
        (how many members from the front take part, for how many rounds), in order. The last round may be more
        than is left: the caller cuts it short.
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
        # Rounds that hand out everything that is left, rounded up: more rounds would be cut off by the caller
        # anyway.
        most = -(-left // reached)
        taking_part.append((reached, most if following is None else min(following - level, most)))
        left -= reached * taking_part[-1][1]
    return taking_part


def turns(need: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the members that get the next partitions, each as often as it needs: `sum(need)` indices.

    In each round every member that still needs a partition gets one, in ascending order of its index in
    `need`, whose numbers are 0 or more.
    """
    parts = [np.empty(0, np.intp)]
    done = 0
    goals = np.sort(need)
    for goal in goals[run_starts(goals)].tolist():
        # Between two distinct needs the same members take part in every round, so the rounds are one repeated
        # block.
        parts.append(np.tile(np.flatnonzero(need > done), goal - done))
        done = goal
    return np.concatenate(parts)


def lightest(heap: list[int], size: Sequence[int]) -> int | None:
    """Return the member with the fewest partitions, the lowest number first; None if the heap is empty.

    A key of the heap is `size * members + member`. A size that grows leaves its key as it is; the key is
    renewed here, when it comes to the top. A size that shrinks needs a new key at once, from the caller: its
    old key would hide it.
    """
    while heap:
        member = heap[0] % len(size)
        key = size[member] * len(size) + member
        if heap[0] == key:
            return member
        heapreplace(heap, key)
    return None
