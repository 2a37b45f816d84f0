"""The second part of general sticky assignment: partitions move while that makes it more balanced."""

from __future__ import annotations

from itertools import chain, count, pairwise
from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.odd_group import OddGroup
from assignors.columnar.sticky.balance import Balance
from assignors.columnar.sticky.claims import NO_GENERATION
from assignors.columnar.sticky.load import Load
from assignors.columnar.sticky.movements import Movements
from assignors.columns import group_rows

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from assignors.columnar.numbering import IdRank, Numbering, PartitionId
    from assignors.columnar.sticky.claims import Claims
    from assignors.columnar.sticky.distribution import Distribution
    from assignors.columnar.sticky.readers import Readers

_USUAL_LAPS = 8  # more than that are suspicious


class Reassignment:
    """Who has what while partitions move; members are ranks.

    Args:
        numbering: topics and members.
        claims: who owned what.
        readers: who subscribes to what.
        distribution: who has what so far.
    """

    def __init__(
        self, numbering: Numbering, claims: Claims, readers: Readers, distribution: Distribution
    ) -> None:
        self._readers = readers
        rank, ids = distribution.rank, distribution.id
        members = len(numbering.members)
        owner = np.empty(numbering.total, np.int64)
        owner[ids] = rank
        self._owner: list[int] = owner.tolist()
        rows, starts = group_rows(rank, members)
        grouped, bounds = ids[rows].tolist(), starts.tolist()
        self._lists: list[dict[int, None]] = [
            dict.fromkeys(grouped[start:end]) for start, end in pairwise(bounds)
        ]
        size = np.diff(starts)
        full = _full(numbering, readers)
        shared = np.array(readers.potential)[numbering.topic_of[ids]] >= 2
        takes_part = (size < full) | (np.bincount(rank[shared], minlength=members) > 0)
        self._load = Load(size, takes_part, readers)
        self._previous = _previous_owners(numbering, claims)
        self._movements = Movements(numbering)
        self._balance = Balance(numbering, readers, self._load, self._owner, full.tolist())

    def imbalance(self) -> int:
        """How far the assignment is from even sizes, as the JVM counts it."""
        return self._load.imbalance()

    def rows(self) -> tuple[IdRank, PartitionId]:
        """Members and partitions as they are now, rows as in `Distribution`."""
        sizes = [len(partitions) for partitions in self._lists]
        ids = np.fromiter(chain.from_iterable(self._lists), np.int64, sum(sizes))
        return np.repeat(np.arange(len(sizes)), sizes), ids

    def run(self, batches: Iterable[tuple[int, Sequence[int]]]) -> bool:
        """Goes over partitions again and again until none moves; whether any did.

        Quirk: moves of one partition in place of another can go round in a circle, which the JVM follows for
        ever. A state that comes back gives it away.

        Raises:
            OddGroup: it never ends, or it meets a former owner that takes no part.
        """
        batches = list(batches)
        moved = False
        states: set[Hashable] = set()
        for lap in count():
            if not self._lap(batches):
                break
            moved = True
            if lap < _USUAL_LAPS:
                continue
            state = tuple(self._owner), self._movements.state()
            if state in states:
                raise OddGroup
            states.add(state)
        return moved

    def _lap(self, batches: Iterable[tuple[int, Sequence[int]]]) -> bool:
        """Goes over partitions once, or until the assignment is balanced; whether any moved."""
        balance, load, owner, previous = self._balance, self._load, self._owner, self._previous
        size = load.size
        if balance.is_balanced():
            return False
        moved = False
        for topic, partitions in batches:
            limit = balance.limit(topic)
            for partition in partitions:
                if size[owner[partition]] <= limit and partition not in previous:
                    continue
                if self._goes_back(partition):
                    destination = previous[partition]
                elif size[owner[partition]] > limit:
                    lightest = load.lightest(self._readers.of_topic[topic])
                    assert lightest is not None
                    destination = lightest
                else:
                    continue
                self._move(partition, topic, destination)
                moved = True
                if balance.is_balanced():
                    return True
                limit = balance.limit(topic)
        return moved

    def _goes_back(self, partition: int) -> bool:
        """Whether the partition had an owner before that has at least two partitions less than its owner now.

        Quirk: the previous owner need not subscribe to the topic any more.
        """
        previous = self._previous.get(partition)
        if previous is None:
            return False
        if not self._load.takes_part[previous]:
            raise OddGroup  # the JVM fails
        return self._load.size[previous] + 1 < self._load.size[self._owner[partition]]

    def _move(self, partition: int, topic: int, destination: int) -> None:
        instead = self._movements.instead_of(partition, topic, self._owner[partition], destination)
        source = self._owner[instead]
        self._movements.record(instead, topic, source, destination)
        del self._lists[source][instead]
        self._lists[destination][instead] = None
        self._owner[instead] = destination
        self._load.move(source, destination)
        self._balance.moved(topic, source, destination)


def _full(numbering: Numbering, readers: Readers) -> NDArray[np.int64]:
    """The most partitions each member can have."""
    full = [int(numbering.counts[topics].sum()) for topics in readers.topics]
    return np.array(full)[readers.subscription]


def _previous_owners(numbering: Numbering, claims: Claims) -> dict[int, int]:
    """Who claims each partition from a generation before the highest."""
    generation = [NO_GENERATION if each is None else each for each in claims.generation]
    late = np.array([each < claims.highest for each in generation])
    rows = np.flatnonzero(late[claims.member])
    ranks = numbering.id_rank[claims.member[rows]]
    return dict(zip(claims.id[rows].tolist(), ranks.tolist(), strict=True))
