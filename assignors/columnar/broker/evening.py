"""How partitions move from members with most to members with least, where subscriptions differ."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.columnar.broker.turns import TopicTurns

_MOST_SWEEPS = 16


class Move(NamedTuple):
    """A partition that changes hands; members are positions.

    Attributes:
        topic: its topic.
        id: its id.
        source: who loses it.
        destination: who gets it.
    """

    topic: int
    id: int
    source: int
    destination: int


def even_out(topics: TopicTurns, owner: NDArray[np.intp], sizes: list[int]) -> list[Move]:
    """Moves partitions, sweep after sweep over the topics, until nothing moves.

    Args:
        topics: the topics.
        owner: member that has each partition id; this and `sizes` are brought up to date.
        sizes: how many partitions each member has.
    """
    members: dict[int, list[int]] = {}
    shared = [number for number, each in enumerate(topics.audience) if len(topics.members[each]) > 1]
    even: set[int] = set()
    moves: list[Move] = []
    last = -1
    for _ in range(_MOST_SWEEPS):
        for number in shared:
            if number == last:
                return moves
            made: list[Move] = []
            audience = topics.audience[number]
            if audience not in even:
                if audience not in members:
                    members[audience] = topics.members[audience].tolist()
                having = [sizes[member] for member in members[audience]]
                if max(having) - min(having) <= 1:
                    even.add(audience)
                else:
                    balancer = _Balancer(members[audience], sizes)
                    made = _even_out_topic(topics, number, balancer, owner, sizes)
                    moves += made
            if made:
                even.clear()
            if made or last < 0:
                last = number
    return moves


def _even_out_topic(
    topics: TopicTurns, number: int, balancer: _Balancer, owner: NDArray[np.intp], sizes: list[int]
) -> list[Move]:
    """The same for one topic; a member gives up what it had of it to begin with, the highest number first."""
    topic, start = int(topics.row[number]), int(topics.start[number])
    owners = owner[start : start + int(topics.count[number])]
    order = np.argsort(owners, kind="stable")
    ids, sorted_owners = (order + start).tolist(), owners[order].tolist()
    ends: dict[int, int] = {}
    moves: list[Move] = []
    while not balancer.is_balanced():
        source = balancer.next_most()
        while source is not None and not _has_left(source, ends, sorted_owners):
            balancer.exclude_most()
            source = balancer.next_most()
        if source is None:
            break
        ends[source] -= 1
        partition = ids[ends[source]]
        destination = balancer.next_least()
        if balancer.is_balanced():
            break
        holder = int(owner[partition])
        owner[partition] = destination
        sizes[holder] -= 1
        sizes[destination] += 1
        moves.append(Move(topic=topic, id=partition, source=holder, destination=destination))
    return moves


def _has_left(member: int, ends: dict[int, int], sorted_owners: Sequence[int]) -> bool:
    """Whether the member still has one of the partitions it owned to begin with; notes where they end."""
    end = ends.setdefault(member, bisect_right(sorted_owners, member))
    return end > 0 and sorted_owners[end - 1] == member


class _Balancer:
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
