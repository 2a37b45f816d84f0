"""Which of a topic's subscribers gets the next partition, and which gives one up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def fill_up(members: NDArray[np.intp], sizes: NDArray[np.intp], partitions: int) -> NDArray[np.intp]:
    """The members that get so many partitions, one after the other, each time one of those with least.

    Args:
        members: subscribers, ascending.
        sizes: how many partitions each has.
        partitions: how many are given out.
    """
    order = np.argsort(sizes, kind="stable")
    levels, first = np.unique(sizes[order], return_index=True)
    turns = []
    left = partitions
    # Everybody up to a level gets one a round, until they have as many as those of the next level.
    for reached, level, following in zip(
        [*first[1:].tolist(), len(members)], levels.tolist(), [*levels[1:].tolist(), None], strict=True
    ):
        most = -(-left // reached)
        rounds = most if following is None else min(following - level, most)
        turns.append(np.tile(members[order[:reached]], rounds)[:left])
        left -= len(turns[-1])
        if not left:
            break
    return np.concatenate(turns)


class Balancer:
    """A topic's subscribers by how many partitions they have, while partitions move from most to least.

    Both ends are worked through in rounds: of the members with least each gets one, then those of the next
    level join in; and so at the other end. `sizes` may change meanwhile, as the partitions move.

    Args:
        members: subscribers, ascending.
        sizes: how many partitions each member of the group has.
    """

    def __init__(self, members: Sequence[int], sizes: Sequence[int]) -> None:
        self._members = sorted(members, key=sizes.__getitem__)
        self._sizes = sizes
        self._least_end = self._next_least = 0
        self._least = sizes[self._members[0]] - 1
        self._most_start = self._most_end = len(members)
        self._next_most = len(members) - 1
        self._most = sizes[self._members[-1]] + 1

    def is_balanced(self) -> bool:
        """Whether what both ends have reached differs by one at most."""
        return self._most - self._least <= 1

    def next_least(self) -> int:
        """The next member to get a partition."""
        members, sizes = self._members, self._sizes
        if self._next_least >= self._least_end:
            self._least += 1
            while self._least_end < len(members) and sizes[members[self._least_end]] == self._least:
                self._least_end += 1
            self._next_least = 0
        self._next_least += 1
        return members[self._next_least - 1]

    def next_most(self) -> int | None:
        """The next member to give one up; None where all have been excluded."""
        members, sizes = self._members, self._sizes
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most = sizes[members[self._most_start - 1]]
            else:
                self._most -= 1
            while self._most_start > 0 and sizes[members[self._most_start - 1]] == self._most:
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return None
        self._next_most -= 1
        return members[self._next_most + 1]

    def exclude_most(self) -> None:
        """Leaves out the member that `next_most` just gave."""
        members = self._members
        self._most_end -= 1
        here, last = self._next_most + 1, self._most_end
        members[here], members[last] = members[last], members[here]
