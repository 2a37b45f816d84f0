"""In which racks members and replicas are, and which members are near which partitions (KIP-881)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.numbering import JoinPosition, Numbering, PartitionId
from assignors.group import Carried, Topic


@dataclass(frozen=True, slots=True)
class Racks:
    """Racks of members and replicas, where they matter; a pattern is a set of racks that some partition has.

    Attributes:
        member: rack of each member, -1 where it has none, int32 of shape (members,).
        pattern: pattern of each partition id, int32 of shape (partitions,).
        inside: whether a pattern has a rack, bool of shape (patterns, racks).
    """

    member: NDArray[np.int32]
    pattern: NDArray[np.int32]
    inside: NDArray[np.bool_]

    @classmethod
    def of(cls, topics: Mapping[str, Topic], numbering: Numbering) -> Racks | None:
        """The racks of a group with these topics, or None where they decide nothing.

        Racks decide where some member's rack has a replica, unless all partitions have replicas in all racks.
        """
        names: dict[str, int] = {}
        racks = Carried.of(numbering.members).column("rack")
        if not any(racks):
            return None
        member = [names.setdefault(rack, len(names)) if rack else -1 for rack in racks]
        patterns: dict[frozenset[str], int] = {}
        pattern = np.empty(numbering.total, np.int32)
        starts = numbering.starts.tolist()
        for name, start, end in zip(numbering.topics, starts, starts[1:], strict=False):
            pattern[start:end] = replica_patterns(topics[name], patterns)
        everywhere = frozenset[str]().union(*patterns)
        if everywhere.isdisjoint(names) or all(racks == everywhere for racks in patterns):
            return None
        inside = np.zeros((len(patterns), len(names)), np.bool_)
        for racks_, row in patterns.items():
            inside[row, [names[rack] for rack in racks_ if rack in names]] = True
        return cls(member=np.array(member, np.int32), pattern=pattern, inside=inside)

    def mismatch(self, members: JoinPosition, ids: PartitionId) -> NDArray[np.bool_]:
        """Where a member has a rack and the partition, paired with it, no replica there."""
        rack = self.member[members]
        return (rack >= 0) & ~self.inside[self.pattern[ids], rack]

    def by_choice(self, ids: PartitionId) -> PartitionId:
        """The partitions in ascending order of how many members are near them; ties stay as they are."""
        members = np.bincount(self.member[self.member >= 0], minlength=self.inside.shape[1])
        near = self.inside @ members
        return ids[np.argsort(near[self.pattern[ids]], kind="stable")]


def replica_patterns(topic: Topic, patterns: dict[frozenset[str], int]) -> list[int]:
    """The pattern of each partition, numbered by `patterns`, which new ones are added to."""
    if topic.racks is None:
        return [patterns.setdefault(frozenset(), len(patterns))] * topic.partitions
    pattern_of: dict[Collection[str], int] = {}
    numbers = []
    for names in topic.racks:
        key = names if type(names) is tuple or type(names) is frozenset else frozenset(names)
        code = pattern_of.get(key)
        if code is None:
            racks = frozenset(name for name in key if name is not None)
            code = pattern_of[key] = patterns.setdefault(racks, len(patterns))
        numbers.append(code)
    return numbers
