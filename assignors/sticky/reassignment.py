"""The second part of general sticky assignment: partitions move while that makes it more balanced."""

from __future__ import annotations

from itertools import chain, count, pairwise
from typing import TYPE_CHECKING

import numpy as np

from assignors.columns import group_rows
from assignors.errors import AssignorError
from assignors.sticky.balance import Balance, IndexedBalance, LiteralBalance
from assignors.sticky.load import Load
from assignors.sticky.movements import Movements
from assignors.sticky.ownership import NO_GENERATION

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from assignors.sticky.audiences import Audiences
    from assignors.sticky.catalogue import Catalogue
    from assignors.sticky.distribution import Distribution
    from assignors.sticky.ownership import Ownership
    from assignors.sticky.racks import Racks

_USUAL_LAPS = 8  # more than that are suspicious


class Reassignment:
    """Who has what while partitions move; members are ranks.

    Args:
        catalogue: topics and members.
        owned: claims.
        racks: racks, or None where they decide nothing.
        audiences: who subscribes to what.
        distribution: who has what so far.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        owned: Ownership,
        racks: Racks | None,
        audiences: Audiences,
        distribution: Distribution,
    ) -> None:
        self._catalogue = catalogue
        self._audiences = audiences
        member, ids = distribution.member, np.maximum(distribution.id, ~distribution.id)
        owner = np.empty(catalogue.total + len(owned.phantoms[0]), np.int64)
        owner[ids] = member  # the last one of those that have it
        self._owner: list[int] = owner[: catalogue.total].tolist()
        rows, starts = group_rows(member, len(audiences.rank))
        grouped, bounds = distribution.id[rows].tolist(), starts.tolist()
        self._lists: list[dict[int, None]] = [
            dict.fromkeys(grouped[start:end]) for start, end in pairwise(bounds)
        ]
        size = np.diff(starts)
        full = _full(catalogue, audiences)
        shared = np.array(audiences.potential)[np.append(catalogue.topic_of, owned.phantoms[0])[ids]] >= 2
        takes_part = (size < full) | (np.bincount(member[shared], minlength=len(size)) > 0)
        self._load = Load(size, takes_part, audiences)
        self._previous = _previous_owners(catalogue, owned, audiences)
        self._movements = Movements(catalogue)
        self._balance: Balance
        if distribution.has_phantoms:
            self._balance = LiteralBalance(
                catalogue, racks, audiences, self._load, self._owner, distribution.ghosts, full.tolist()
            )
        else:
            self._balance = IndexedBalance(catalogue, audiences, self._load, self._owner, full.tolist())

    def imbalance(self) -> int:
        """How far the assignment is from even sizes, as the JVM counts it."""
        return self._load.imbalance()

    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Members and partitions as they are now, rows as in `Distribution`."""
        sizes = [len(partitions) for partitions in self._lists]
        ids = np.fromiter(chain.from_iterable(self._lists), np.int64, sum(sizes))
        return np.repeat(np.arange(len(sizes)), sizes), ids

    def run(self, batches: Iterable[tuple[int, Sequence[int]]]) -> bool:
        """Goes over partitions again and again until none moves; whether any did.

        Quirk: moves of one partition in place of another can go round in a circle, which the JVM follows for
        ever. A state that comes back gives it away.

        Raises:
            AssignorError: it never ends, or the JVM fails.
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
                raise AssignorError(
                    "balancing never ends: the same partitions go round in a circle, and a JVM leader hangs "
                    "here; let members subscribe to the same topics, or use another assignor"
                )
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
                if self._goes_back(partition, topic):
                    destination = previous[partition]
                elif balance.has_lighter(partition, topic, owner[partition]):
                    lightest = load.lightest(self._audiences.of_topic[topic])
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

    def _goes_back(self, partition: int, topic: int) -> bool:
        """Whether the partition had an owner before that has at least two partitions less than its owner now.

        Quirk: the previous owner need not subscribe to the topic any more.
        """
        previous = self._previous.get(partition)
        if previous is None:
            return False
        if not self._load.takes_part[previous]:
            member = self._catalogue.members[self._catalogue.by_id[previous]].id
            name = f"{self._catalogue.topics[topic]}-{self._catalogue.number_of[partition]}"
            raise AssignorError(
                f"member {member!r} claims {name} from an earlier generation but can take no part in "
                "balancing; drop that claim",
                jvm_exception="NullPointerException",
            )
        return self._load.size[previous] + 1 < self._load.size[self._owner[partition]]

    def _move(self, partition: int, topic: int, destination: int) -> None:
        instead = self._movements.instead_of(partition, topic, self._owner[partition], destination)
        source = self._owner[instead]
        self._movements.record(instead, topic, source, destination)
        given = self._lists[source]
        twice = ~instead in given
        del given[next(each for each in given if each in {instead, ~instead}) if twice else instead]
        taken = self._lists[destination]
        taken[~instead if instead in taken else instead] = None
        self._owner[instead] = destination
        self._load.move(source, destination)
        self._balance.moved(topic, source, destination)


def _full(catalogue: Catalogue, audiences: Audiences) -> NDArray[np.int64]:
    """The most partitions each member can have, as the JVM counts: a topic named twice counts twice."""
    full = [
        catalogue.total if len(topics) == len(catalogue.topics) else int(catalogue.counts[topics].sum())
        for topics in audiences.topics
    ]
    return np.array(full)[audiences.subscription]


def _previous_owners(catalogue: Catalogue, owned: Ownership, audiences: Audiences) -> dict[int, int]:
    """Who claims each partition from the latest generation before the highest."""
    generation = [NO_GENERATION if each is None else each for each in owned.generation]
    late = np.array([each < owned.highest for each in generation])
    rows = np.flatnonzero(late[owned.member] & (owned.id < catalogue.total))
    if not len(rows):
        return {}
    rows = rows[np.argsort(catalogue.turn[owned.member[rows]], kind="stable")]
    latest: dict[int, tuple[int, int]] = {}
    for partition, member in zip(owned.id[rows].tolist(), owned.member[rows].tolist(), strict=True):
        known = latest.get(partition)
        if known is None or generation[member] > known[0]:
            latest[partition] = generation[member], int(audiences.rank[member])
    return {partition: member for partition, (_, member) in latest.items()}
