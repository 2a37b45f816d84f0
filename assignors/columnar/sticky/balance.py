"""Whether moving a partition can still make a general sticky assignment more balanced.

An assignment is balanced when sizes differ by at most one, or nobody below its maximum subscribes to a
partition of somebody with at least two more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.columnar.numbering import Numbering
    from assignors.columnar.sticky.load import Load
    from assignors.columnar.sticky.readers import Readers


class Balance:
    """Answers the questions that reassignment asks again and again, as the JVM does.

    It counts who owns how many partitions of each audience's topics.

    The last counter-example is kept: while it holds, the assignment is not balanced.
    """

    def __init__(
        self, numbering: Numbering, readers: Readers, load: Load, owner: list[int], full: list[int]
    ) -> None:
        self._readers = readers
        self._load = load
        self._full = full
        audience_of = np.repeat(readers.of_topic, numbering.counts)
        self._owners = _owners(audience_of, owner, len(readers.members), len(full))
        self._counter_example: tuple[int, int, int] | None = None
        self._searched = 0

    def is_balanced(self) -> bool:
        """Whether no move would help."""
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
        """The most partitions an owner may have so that no other subscriber of the topic has two less."""
        lightest = self._load.lightest(self._readers.of_topic[topic])
        return self._load.most if lightest is None else self._load.size[lightest] + 1

    def moved(self, topic: int, source: int, destination: int) -> None:
        """A partition of the topic changed hands; sizes are up to date."""
        owners = self._owners[self._readers.of_topic[topic]]
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
            for member in self._readers.members[audience].tolist()
            if self._load.takes_part[member] and size[member] != full[member]
        )
        return min(takers, key=lambda member: (size[member], member), default=None)


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
