"""How many partitions members have, and who in an audience has the fewest."""

from __future__ import annotations

from collections import Counter
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from assignors.sticky.audiences import Audiences


class Load:
    """The sizes of members, which are ranks, with a heap of members for each audience.

    A heap's key is size * members + rank. Keys lag behind while sizes grow and are repaired when they come to
    the top; a size that shrinks gets a new key.

    Attributes:
        size: how many partitions each member has.
        least: the smallest size of those that take part.
        most: the largest size of those that take part.
    """

    def __init__(self, size: list[int], audiences: Audiences) -> None:
        self.size = size
        self._takes_part = [True] * len(size)
        self._audiences = audiences
        self._heaps = [self.heap(members) for members in audiences.members]
        self.retire(())

    def takes_part(self, member: int) -> bool:
        """Whether the member can still give or get partitions."""
        return self._takes_part[member]

    def key(self, member: int) -> int:
        """Sorts members by size, then id."""
        return self.size[member] * len(self.size) + member

    def heap(self, members: Iterable[int]) -> list[int]:
        """A heap of these members, for `top`; it serves while sizes only grow."""
        count = len(self.size)
        heap = [self.size[member] * count + member for member in members]
        heapify(heap)
        return heap

    def top(self, heap: list[int]) -> int | None:
        """Who of a heap has the fewest partitions, the lowest id first; None where nobody takes part."""
        size, count = self.size, len(self.size)
        while heap:
            key = heap[0]
            member = key % count
            if not self._takes_part[member]:
                heappop(heap)
                continue
            now = size[member] * count + member
            if now == key:
                return member
            heapreplace(heap, now)
        return None

    def lightest(self, audience: int) -> int | None:
        """Who in the audience has the fewest partitions, the lowest id first; None where nobody takes part."""
        return self.top(self._heaps[audience])

    def serve(self, audience: int, partitions: int) -> list[int]:
        """Gives as many partitions to the audience, each to the lightest member then; the receivers in turn."""
        heap, count = self._heaps[audience], len(self.size)
        receivers = []
        for _ in range(partitions):
            member = self.top(heap)
            if member is None:
                break
            self.size[member] += 1
            heapreplace(heap, heap[0] + count)
            receivers.append(member)
        return receivers

    def move(self, source: int, destination: int) -> None:
        """One partition goes from one member to another."""
        self._resize(destination, 1)
        self._resize(source, -1)
        key = self.size[source] * len(self.size) + source
        for audience in self._audiences.of_subscription[self._audiences.subscription[source]]:
            heappush(self._heaps[audience], key)

    def retire(self, members: Collection[int]) -> None:
        """These members take no part any more; from here on `least` and `most` are kept."""
        for member in members:
            self._takes_part[member] = False
        self._members_of_size = Counter(self._taking_part())
        self.least = min(self._members_of_size, default=0)
        self.most = max(self._members_of_size, default=0)

    def imbalance(self) -> int:
        """Sum of the differences of all pairs that take part, as the JVM's 32-bit integer has it."""
        total = 0
        before = 0
        for position, size in enumerate(sorted(self._taking_part())):
            total += size * position - before
            before += size
        return (total + 2**31) % 2**32 - 2**31

    def _taking_part(self) -> list[int]:
        return [size for size, part in zip(self.size, self._takes_part, strict=True) if part]

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
