"""Which members are near which partitions (KIP-881)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignors.errors import InvalidGroupError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from assignors.group import Topic
    from assignors.sticky.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Racks:
    """Racks of members and replicas, where they matter.

    The distinct sets of racks that partitions have are patterns; the last pattern is the empty one.

    Attributes:
        member: rack of each member, -1 where it has none, int32 of shape (members,).
        pattern: pattern of each partition id, int32 of shape (partitions,).
        inside: whether a pattern has a rack, bool of shape (patterns, racks).
    """

    member: NDArray[np.int32]
    pattern: NDArray[np.int32]
    inside: NDArray[np.bool_]

    @classmethod
    def of(cls, topics: Sequence[Topic], catalogue: Catalogue) -> Racks | None:
        """The racks of a group, or None where they decide nothing.

        They do where some member has a rack that some replica has too, unless all partitions have replicas in
        all racks.
        """
        names: dict[str, int] = {}
        member = [names.setdefault(each.rack, len(names)) if each.rack else -1 for each in catalogue.members]
        if not names:
            return None
        racks = {topic.name: topic.racks for topic in topics if topic.racks is not None}
        patterns: dict[frozenset[str], int] = {}
        pattern = np.empty(catalogue.total, np.int32)
        for topic, name in enumerate(catalogue.topics):
            start, end = catalogue.starts[topic : topic + 2].tolist()
            pattern[start:end] = list(_patterns(name, racks.get(name, ((),) * (end - start)), patterns))
        everywhere = frozenset[str]().union(*patterns)
        if everywhere.isdisjoint(names) or all(racks == everywhere for racks in patterns):
            return None
        inside = np.zeros((len(patterns) + 1, len(names)), np.bool_)
        for racks_, row in patterns.items():
            inside[row, [names[rack] for rack in racks_ if rack in names]] = True
        return cls(np.array(member, np.int32), pattern, inside)

    def mismatch(self, members: NDArray[np.int32], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Where a member has a rack and the partition, paired with it, no replica there."""
        rack = self.member[members]
        pattern = np.full(len(ids), len(self.inside) - 1, np.int32)
        known = ids < len(self.pattern)
        pattern[known] = self.pattern[ids[known]]
        return (rack >= 0) & ~self.inside[pattern, rack]

    def is_near(self, member: int, partition: int) -> bool:
        """Whether a member has a rack and the partition a replica there."""
        return bool(self.member[member] >= 0 and self.inside[self.pattern[partition], self.member[member]])

    def by_choice(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The partitions in ascending order of how many members are near them; ties stay as they are."""
        members = np.bincount(self.member[self.member >= 0], minlength=self.inside.shape[1])
        near = self.inside @ members
        return ids[np.argsort(near[self.pattern[ids]], kind="stable")]


def _patterns(
    topic: str, racks: Sequence[Collection[str]], patterns: dict[frozenset[str], int]
) -> Iterator[int]:
    """The pattern of each partition; new ones are added to `patterns`."""
    seen: dict[Collection[str], int] = {}
    for partition, names in enumerate(racks):
        if isinstance(names, str):
            raise InvalidGroupError(
                f"the racks of {topic}-{partition} are the text {names!r}; give a collection of rack names"
            )
        key = names if type(names) is tuple or type(names) is frozenset else frozenset(names)
        code = seen.get(key)
        if code is None:
            known = frozenset(name for name in key if name is not None)
            code = seen[key] = patterns.setdefault(known, len(patterns))
        yield code
