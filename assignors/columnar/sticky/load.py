"""How many partitions members have while they move, and who in an audience has the fewest."""

from __future__ import annotations

from collections import Counter
from heapq import heapify, heappush
from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.filling import lightest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.columnar.sticky.readers import Readers


class Load:
    """The sizes of members, which are ranks, with a heap of members for each audience.

    A heap's key is size * members + rank. Keys lag behind while sizes grow and are repaired when they come to
    the top; a size that shrinks gets a new key.

    Args:
        size: how many partitions each member has.
        takes_part: which members give or get partitions.
        readers: who subscribes to what.

    Attributes:
        size: the same, brought up to date.
        takes_part: the same as a list.
        least: the smallest size of those that take part.
        most: the largest size of those that take part.
    """

    def __init__(self, size: NDArray[np.int64], takes_part: NDArray[np.bool_], readers: Readers) -> None:
        self.size: list[int] = size.tolist()
        self.takes_part: list[bool] = takes_part.tolist()
        self._readers = readers
        keys = size * len(size) + np.arange(len(size))
        self._heaps: list[list[int]] = [
            keys[members[takes_part[members]]].tolist() for members in readers.members
        ]
        for heap in self._heaps:
            heapify(heap)
        self._members_of_size = Counter(size[takes_part].tolist())
        self.least = min(self._members_of_size, default=0)
        self.most = max(self._members_of_size, default=0)

    def lightest(self, audience: int) -> int | None:
        """Who in the audience has the fewest partitions, the lowest rank first; None if nobody takes part."""
        return lightest(self._heaps[audience], self.size)

    def move(self, source: int, destination: int) -> None:
        """One partition goes from one member to another."""
        self._resize(destination, 1)
        self._resize(source, -1)
        key = self.size[source] * len(self.size) + source
        for audience in self._readers.of_subscription[self._readers.subscription[source]]:
            heappush(self._heaps[audience], key)

    def imbalance(self) -> int:
        """Sum of the differences of all pairs that take part, as the JVM's 32-bit integer has it."""
        total = 0
        before = 0
        sizes = sorted(size for size, part in zip(self.size, self.takes_part, strict=True) if part)
        for position, size in enumerate(sizes):
            total += size * position - before
            before += size
        return (total + 2**31) % 2**32 - 2**31

    def _resize(self, member: int, change: int) -> None:
        before = self.size[member]
        after = self.size[member] = before + change
        members = self._members_of_size
        members[before] -= 1
        members[after] += 1
        if after > self.most or (before == self.most and not members[before]):
            self.most = after
        if after < self.least or (before == self.least and not members[before]):
            self.least = after
