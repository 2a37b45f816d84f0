"""Whether moving a partition can still make a general sticky assignment more balanced.

An assignment is balanced when sizes differ by at most one, or nobody below its maximum subscribes to a
partition of somebody with at least two more.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np

from assignors.errors import AssignorError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.sticky.audiences import Audiences
    from assignors.sticky.catalogue import Catalogue
    from assignors.sticky.load import Load
    from assignors.sticky.racks import Racks


class Balance(Protocol):
    """The questions that reassignment asks again and again; both kinds give the JVM's answers."""

    def is_balanced(self) -> bool:
        """Whether no move would help."""
        ...

    def limit(self, topic: int) -> int:
        """Owners of so many partitions or fewer need not be asked about this topic's."""
        ...

    def has_lighter(self, partition: int, topic: int, owner: int) -> bool:
        """Whether some subscriber of the topic has at least two partitions less than the owner."""
        ...

    def moved(self, topic: int, source: int, destination: int) -> None:
        """A partition of the topic changed hands; sizes are up to date."""
        ...


class IndexedBalance(Balance):
    """Answers from counts of who owns how many partitions of each audience's topics.

    The last counter-example is kept: while it holds, the assignment is not balanced.
    """

    def __init__(
        self, catalogue: Catalogue, audiences: Audiences, load: Load, owner: list[int], full: list[int]
    ) -> None:
        self._audiences = audiences
        self._load = load
        self._full = full
        audience_of = np.repeat(audiences.of_topic, catalogue.counts)
        self._owners = _owners(audience_of, owner, len(audiences.members), len(full))
        self._counter_example: tuple[int, int, int] | None = None
        self._searched = 0

    def is_balanced(self) -> bool:
        """See `Balance`."""
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

    def limit(self, topic: int) -> int:
        """See `Balance`."""
        lightest = self._load.lightest(self._audiences.of_topic[topic])
        return self._load.most if lightest is None else self._load.size[lightest] + 1

    def has_lighter(self, partition: int, topic: int, owner: int) -> bool:  # noqa: ARG002 - a topic's are alike
        """See `Balance`."""
        return self._load.size[owner] > self.limit(topic)

    def moved(self, topic: int, source: int, destination: int) -> None:
        """See `Balance`."""
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
        # It has as many as it can have: all of the audience's, unless it has some it does not subscribe to.
        if self._owners[audience].keys() == {lightest}:
            return None
        size, full = self._load.size, self._full
        takers = (
            member
            for member in self._audiences.members[audience].tolist()
            if self._load.takes_part[member] and size[member] != full[member]
        )
        return min(takers, key=lambda member: (size[member], member), default=None)


class LiteralBalance(Balance):
    """Answers as the JVM finds them, for groups where partitions are assigned twice.

    That happens after somebody kept a partition that does not exist. An answer can cost as much as there are
    partitions, unless the last counter-example holds.

    Args:
        catalogue: topics and members.
        racks: racks, or None where they decide nothing.
        audiences: who subscribes to what.
        load: sizes.
        owner: who got a partition last.
        ghosts: members that kept a partition which was then assigned again.
        full: the most partitions each member can have.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        racks: Racks | None,
        audiences: Audiences,
        load: Load,
        owner: list[int],
        ghosts: dict[int, int],
        full: list[int],
    ) -> None:
        self._catalogue = catalogue
        self._racks = racks
        self._audiences = audiences
        self._load = load
        self._owner = owner
        self._ghosts = ghosts
        self._full = full
        self._turn: list[int] = catalogue.turn[catalogue.by_id].tolist()
        settled = {row for row, part in zip(catalogue.by_id, load.takes_part, strict=True) if not part}
        turns = catalogue.owner_turns(settled)
        self._owner_turn = {member: turns[row] for member, row in enumerate(catalogue.by_id) if row in turns}
        self._counter_example: tuple[int, int] | None = None

    def is_balanced(self) -> bool:
        """See `Balance`."""
        load = self._load
        if load.most - load.least <= 1:
            return True
        if self._counter_example is None or not self._holds(*self._counter_example):
            self._counter_example = self._search()
        return self._counter_example is None

    def limit(self, topic: int) -> int:  # noqa: ARG002 - asking can fail, so it has to be asked
        """See `Balance`."""
        return -1

    def has_lighter(self, partition: int, topic: int, owner: int) -> bool:
        """See `Balance`."""
        members = self._audiences.members[self._audiences.of_topic[topic]].tolist()
        members.sort(key=self._turn.__getitem__)
        size = self._load.size
        for member in chain(self._nearby(partition, owner, members), members):
            if not self._load.takes_part[member]:
                name = self._catalogue.topics[topic]
                culprit = self._catalogue.members[self._catalogue.by_id[member]].id
                raise AssignorError(
                    f"member {culprit!r} subscribes to {name!r} but takes no part in balancing it, because "
                    "it claims partitions that do not exist; drop those claims",
                    jvm_exception="NullPointerException",
                )
            if size[member] + 1 < size[owner]:
                return True
        return False

    def moved(self, topic: int, source: int, destination: int) -> None:
        """See `Balance`."""

    def _nearby(self, partition: int, owner: int, members: list[int]) -> list[int]:
        """The members near a partition, where its owner is near it."""
        if self._racks is None:
            return []
        rows, is_near = self._catalogue.by_id, self._racks.is_near
        if not is_near(rows[owner], partition):
            return []
        return [member for member in members if is_near(rows[member], partition)]

    def _search(self) -> tuple[int, int] | None:
        size, starts = self._load.size, self._catalogue.starts.tolist()
        members = [member for member, part in enumerate(self._load.takes_part) if part]
        for member in sorted(members, key=lambda member: (size[member], member)):
            for topic in self._audiences.topics[self._audiences.subscription[member]]:
                for partition in range(starts[topic], starts[topic + 1]):
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
        if ghost is not None and self._owner_turn.get(ghost, -1) > self._owner_turn.get(other, -1):
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
