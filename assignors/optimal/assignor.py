"""The assignors whose answers are provably best."""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from assignors.group import StickyUserData
from assignors.interface import RebalanceProtocol
from assignors.optimal.deciding import decide
from assignors.optimal.decision import Decision
from assignors.optimal.reading import Memory, read_group
from assignors.partition_list import PartitionList
from assignors.protocol import decode_cooperative_user_data, decode_sticky_user_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignors.assignment import Assignment
    from assignors.group import Group, Member
    from assignors.reasons import Recorder


class _Optimal(ABC):
    """What both assignors share."""

    def assign(self, group: Group) -> Assignment:
        """Who gets what: every partition that somebody subscribes to has an owner, or one it waits for."""
        return self._decide(group).assignment(group)

    def assign_recorded(self, group: Group, record: Recorder) -> Assignment:
        """As `assign`, telling each step."""
        decision = self._decide(group)
        decision.tell(group, record)
        return decision.assignment(group)

    @abstractmethod
    def _decide(self, group: Group) -> Decision:
        """Who gets what, and what waits."""


class OptimalAssignor(_Optimal):
    """The best loads there are, with the fewest moves, whatever members subscribe to; racks are ignored.

    Members remember in user data, in the form of "sticky"; what cannot be read counts as nothing. The answer
    depends neither on the order of members or topics nor on earlier answers of this leader.
    """

    name: ClassVar[str] = "optimal"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.EAGER})

    def _decide(self, group: Group) -> Decision:
        reading = read_group(group, _remembered(group.members))
        owner = decide(reading)
        return Decision(reading, owner, np.zeros(len(owner), np.bool_))


class CooperativeOptimalAssignor(_Optimal):
    """As "optimal", but a partition waits a round before it moves, so that its old owner can give it up.

    What waits is in the assignment's `transferring`; members that lose partitions rejoin at once (KIP-429).
    In the second round nothing moves any more.

    A partition is held back if a member that does not get it says it has it. Only the member whose claim
    counts, because it is of the latest generation, need not wait for one with an earlier claim.
    """

    name: ClassVar[str] = "cooperative-optimal"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset(RebalanceProtocol)

    def _decide(self, group: Group) -> Decision:
        reading = read_group(group, _owned(group.members))
        owner = decide(reading)
        member, partition = reading.claims
        gets = owner[partition]
        waits = np.zeros(len(owner), np.bool_)
        waits[partition[(gets != member) & (gets != reading.rightful[partition])]] = True
        return Decision(reading, owner, waits)


def _remembered(members: Sequence[Member]) -> Memory:
    """What the members of an eager group remember."""
    partitions, generations = [], []
    for data in map(attrgetter("user_data"), members):
        if isinstance(data, StickyUserData):
            had, generation = data.partitions, data.generation
        else:
            had, generation = decode_sticky_user_data(data or b"")
        partitions.append(had)
        generations.append(-1 if generation is None else generation)
    return Memory(partitions, generations)


def _owned(members: Sequence[Member]) -> Memory:
    """What the members of a cooperative group own.

    The generation is in the subscription (KIP-792), or else in the user data, where it was before.
    """
    generations = []
    for member in members:
        generation = member.generation
        if (generation is None or generation < 0) and member.user_data is not None:
            generation = decode_cooperative_user_data(bytes(member.user_data))
        generations.append(-1 if generation is None else generation)
    return Memory([PartitionList.of(member.owned) for member in members], generations)
