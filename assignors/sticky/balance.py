"""Whether moving a partition can still make a general sticky assignment more balanced.

An assignment is balanced when sizes differ by at most one, or nobody below its maximum subscribes to a partition
of somebody with at least two more.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np

from assignors.errors import AssignorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from assignors.sticky.audiences import Audiences
    from assignors.sticky.catalogue import Catalogue
    from assignors.sticky.load import Load


class Balance(Protocol):
    """The questions the reassignment asks again and again; both kinds give the JVM's answers."""

    def is_balanced(self) -> bool:
        """Whether no move would help."""
        ...

    def has_lighter(self, partition: int, topic: int, owner: int) -> bool:
        """Whether some subscriber of the topic has at least two partitions less than the partition's owner."""
        ...

    def moved(self, topic: int, source: int, destination: int) -> None:
        """A partition of the topic changed hands; sizes are up to date."""
        ...


class IndexedBalance:
    """Answers from counts of who owns how many partitions of each audience's topics.

    The last counter-example is kept: while it holds, the assignment is not balanced.
    """

    def __init__(
        self, load: Load, audiences: Audiences, audience_of: NDArray[np.int64], owner: list[int], full: list[int]
    ) -> None:
        self._load = load
        self._audiences = audiences
        self._full = full
        self._owners = _owners(audience_of, owner, len(audiences.members), len(full))
        self._counter_example: tuple[int, int, int] | None = None
        self._searched = 0

    def is_balanced(self) -> bool:
        load = self._load
        if load.most - load.least <= 1:
            return True
        if self._counter_example is not None:
            member, audience, other = self._counter_example
            if (
                load.size[member] + 1 < load.size[other]
                and other in self._owners[audience]
                and load.size[member] != self._full[member]
            ):
                return False
        self._counter_example = self._search()
        return self._counter_example is None

    def has_lighter(self, partition: int, topic: int, owner: int) -> bool:  # noqa: ARG002 - all of a topic are alike
        lightest = self._load.lightest(self._audiences.of_topic[topic])
        return lightest is not None and self._load.size[lightest] + 1 < self._load.size[owner]

    def moved(self, topic: int, source: int, destination: int) -> None:
        owners = self._owners[self._audiences.of_topic[topic]]
        owners[destination] = owners.get(destination, 0) + 1
        owners[source] -= 1
        if not owners[source]:
            del owners[source]

    def _search(self) -> tuple[int, int, int] | None:
        """A member, an audience it is in, and somebody it could take a partition of that audience from."""
        size = self._load.size
        for _ in self._owners:
            audience = self._searched
            member = self._taker(audience)
            if member is not None and size[member] + 1 < self._load.most:
                for other in self._owners[audience]:
                    if size[member] + 1 < size[other]:
                        return member, audience, other
            self._searched = (audience + 1) % len(self._owners)
        return None

    def _taker(self, audience: int) -> int | None:
        """Who in the audience has the fewest partitions and may have more."""
        lightest = self._load.lightest(audience)
        if lightest is None or self._load.size[lightest] != self._full[lightest]:
            return lightest
        # It has as many as it can have. That is all of the audience's, or else some that are not its own to have.
        if self._owners[audience].keys() == {lightest}:
            return None
        size, full = self._load.size, self._full
        takers = (
            member
            for member in self._audiences.members[audience]
            if self._load.takes_part(member) and size[member] != full[member]
        )
        return min(takers, key=lambda member: (size[member], member), default=None)


class LiteralBalance:
    """Answers from the members' lists, as the JVM does it, for groups where partitions are assigned twice.

    That happens after somebody kept a partition that does not exist. Each answer costs as much as there are
    partitions, unless the last counter-example holds.

    Args:
        catalogue: topics and members.
        load: sizes.
        audiences: who subscribes to what.
        owner: who got a partition last.
        ghosts: members that kept a partition which was then assigned again.
        full: the most partitions each member can have.
        is_near: whether a member has a rack where a partition has a replica.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        load: Load,
        audiences: Audiences,
        owner: list[int],
        ghosts: dict[int, int],
        full: list[int],
        is_near: Callable[[int, int], bool],
    ) -> None:
        self._catalogue = catalogue
        self._starts = catalogue.starts.tolist()
        self._load = load
        self._audiences = audiences
        self._owner = owner
        self._ghosts = ghosts
        self._full = full
        self._is_near = is_near
        ranks = audiences.rank[np.array(catalogue.by_hash)].tolist()
        self._turn = {rank: turn for turn, rank in enumerate(ranks)}
        self._counter_example: tuple[int, int] | None = None

    def is_balanced(self) -> bool:
        load = self._load
        if load.most - load.least <= 1:
            return True
        if self._counter_example is None or not self._holds(*self._counter_example):
            self._counter_example = self._search()
        return self._counter_example is None

    def has_lighter(self, partition: int, topic: int, owner: int) -> bool:
        members = self._audiences.members[self._audiences.of_topic[topic]]
        members = sorted(members, key=self._turn.__getitem__)
        size = self._load.size
        for member in chain(self._nearby(partition, owner, members), members):
            if not self._load.takes_part(member):
                name = self._catalogue.topics[topic]
                raise AssignorError(
                    f"a member subscribed to {name!r} can take no part in balancing it, because it claims partitions "
                    "that do not exist; drop those claims, as a consumer does that was restarted",
                    jvm_exception="NullPointerException",
                )
            if size[member] + 1 < size[owner]:
                return True
        return False

    def moved(self, topic: int, source: int, destination: int) -> None:
        """Lists and owners are looked at when needed."""

    def _nearby(self, partition: int, owner: int, members: list[int]) -> list[int]:
        """The members near a partition, where its owner is near it."""
        if not self._is_near(owner, partition):
            return []
        return [member for member in members if self._is_near(member, partition)]

    def _search(self) -> tuple[int, int] | None:
        size = self._load.size
        members = [member for member in range(len(size)) if self._load.takes_part(member)]
        for member in sorted(members, key=lambda member: (size[member], member)):
            topics = self._audiences.topics[self._audiences.subscription[member]]
            for partition in chain.from_iterable(
                range(self._starts[topic], self._starts[topic + 1]) for topic in topics
            ):
                if self._holds(member, partition):
                    return member, partition
        return None

    def _holds(self, member: int, partition: int) -> bool:
        """Whether the member could take the partition from somebody with at least two more."""
        size = self._load.size
        if size[member] == self._full[member] or self._owner[partition] == member:
            return False
        ghost = self._ghosts.get(partition)
        if ghost == member:
            return False
        other = self._owner[partition]
        if ghost is not None and self._turn[ghost] > self._turn[other]:
            other = ghost
        return size[member] + 1 < size[other]


def _owners(
    audience_of: NDArray[np.int64], owner: list[int], audiences: int, members: int
) -> list[dict[int, int]]:
    """How many partitions of each audience's topics a member owns."""
    pairs, counts = np.unique(audience_of * members + np.array(owner), return_counts=True)
    owners: list[dict[int, int]] = [{} for _ in range(audiences)]
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        audience, member = divmod(pair, members)
        owners[audience][member] = count
    return owners
