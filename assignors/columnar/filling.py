"""Partitions that go, one by one, to those with the fewest."""

from collections.abc import Sequence
from heapq import heapreplace

import numpy as np
from numpy.typing import NDArray

from partitioning.kit.columns import run_starts


def rounds(sizes: NDArray[np.integer], partitions: int) -> list[tuple[int, int]]:
    """In which rounds so many partitions go to the members with the fewest, one member after the other.

    Everybody up to a level gets one a round, until they have as many as members of the next level. `sizes` is
    ascending. Each tuple has how many of the members take part, and for how many rounds; the last round may
    be cut short.
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
        most = -(-left // reached)
        taking_part.append((reached, most if following is None else min(following - level, most)))
        left -= reached * taking_part[-1][1]
    return taking_part


def turns(need: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return whose turn it is, as often as each needs.

    All that still need some take turns, round after round.
    """
    parts = [np.empty(0, np.intp)]
    done = 0
    goals = np.sort(need)
    for goal in goals[run_starts(goals)].tolist():
        parts.append(np.tile(np.flatnonzero(need > done), goal - done))
        done = goal
    return np.concatenate(parts)


def lightest(heap: list[int], size: Sequence[int]) -> int | None:
    """Return the member with the fewest partitions, the lowest number first; None if the heap is empty.

    The heap's keys are `size * members + member`. Keys behind sizes that grew are repaired here.
    """
    while heap:
        member = heap[0] % len(size)
        key = size[member] * len(size) + member
        if heap[0] == key:
            return member
        heapreplace(heap, key)
    return None
