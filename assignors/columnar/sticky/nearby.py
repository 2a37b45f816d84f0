"""Round robin among the members near a partition, the first pass of rack-aware assignment (KIP-881)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.columnar.numbering import PartitionId
    from assignors.columnar.racks import Racks
    from assignors.columnar.sticky.seats import Seats


def assign_nearby(
    free: PartitionId, seats: Seats, racks: Racks
) -> tuple[NDArray[np.int32], PartitionId, PartitionId]:
    """Gives partitions to members in a rack of theirs as far as seats last; `seats` is brought up to date.

    Each partition goes to the next member below its share after the last one served, going round; else to the
    first of those that may get an extra.

    Returns:
        The receivers, the partitions they get, and the partitions left for anybody.
    """
    circle = _Circle([int(racks.member[member]) for member in seats.under])
    queues = _Queues([int(rack) for rack in racks.member], seats.exact)
    near = [[int(rack) for rack in np.flatnonzero(row)] for row in racks.inside]
    size = seats.size.tolist()
    receivers: list[int] = []
    given: list[int] = []
    rest: list[int] = []
    cursor = 0
    for partition, pattern in zip(free.tolist(), racks.pattern[free].tolist(), strict=True):
        place = circle.seek(near[pattern], cursor)
        if place is not None:
            member = seats.under[place]
            size[member] += 1
            cursor = place + 1
            if size[member] == seats.least:
                circle.remove(place)
                if seats.extras:
                    queues.append(member)
        else:
            first = queues.pop(near[pattern]) if seats.extras else None
            if first is None:
                rest.append(partition)
                continue
            member = first
            size[member] += 1
            seats.extras -= 1
        receivers.append(member)
        given.append(partition)
    seats.size = np.array(size, np.int64)
    seats.under = [member for member in seats.under if size[member] < seats.least]
    seats.exact = queues.members() if seats.extras else []
    return np.array(receivers, np.int32), np.array(given, np.int64), np.array(rest, np.int64)


class _Circle:
    """Members in a circle, with the next one of each rack found in almost constant time.

    For each rack, `next[place]` leads towards the first place from there on that has the rack and still takes
    part; paths are shortened as they are followed.
    """

    def __init__(self, racks: list[int]) -> None:
        self._racks = racks
        self._next: dict[int, list[int]] = {}
        for rack in set(racks) - {-1}:
            following = len(racks)
            places = [following] * (len(racks) + 1)
            for place in range(len(racks) - 1, -1, -1):
                if racks[place] == rack:
                    following = place
                places[place] = following
            self._next[rack] = places

    def seek(self, racks: list[int], cursor: int) -> int | None:
        """The first place from the cursor on, going round, with one of the racks; None if there is none."""
        end = len(self._racks)
        for start in (cursor, 0):
            best = end
            for rack in racks:
                if rack in self._next:
                    best = min(best, self._follow(self._next[rack], start))
            if best < end:
                return best
        return None

    def remove(self, place: int) -> None:
        """Takes the member at this place out."""
        self._next[self._racks[place]][place] = place + 1

    @staticmethod
    def _follow(places: list[int], place: int) -> int:
        root = place
        while places[root] != root:
            root = places[root]
        while places[place] != root:
            places[place], place = root, places[place]
        return root


class _Queues:
    """Members in one queue, of which the first in one of some racks is found without a search."""

    def __init__(self, racks: list[int], members: list[int]) -> None:
        self._racks = racks
        self._position: dict[int, int] = {}
        self._next = 0
        self._by_rack: dict[int, deque[int]] = {}
        for member in members:
            self.append(member)

    def append(self, member: int) -> None:
        self._position[member] = self._next
        self._next += 1
        self._by_rack.setdefault(self._racks[member], deque()).append(member)

    def pop(self, racks: list[int]) -> int | None:
        heads = [self._by_rack[rack] for rack in racks if self._by_rack.get(rack)]
        if not heads:
            return None
        member = min(heads, key=lambda head: self._position[head[0]]).popleft()
        del self._position[member]
        return member

    def members(self) -> list[int]:
        return list(self._position)
