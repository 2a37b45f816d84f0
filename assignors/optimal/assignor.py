"""The assignors whose answers are provably best."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from assignors.assignment import Assignment
from assignors.columns import group_rows
from assignors.group import StickyUserData
from assignors.interface import RebalanceProtocol
from assignors.optimal.deciding import decide
from assignors.optimal.reading import Memory, read_group
from assignors.partition_list import PartitionList
from assignors.protocol import (
    decode_cooperative_user_data,
    decode_sticky_user_data,
    encode_sticky_user_data,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.group import Group, Member
    from assignors.optimal.reading import Reading


class OptimalAssignor:
    """The best loads there are, with the fewest moves, whatever members subscribe to; racks are ignored.

    Members remember in user data, in the form of "sticky"; what cannot be read counts as nothing. The answer
    depends neither on the order of members or topics nor on earlier answers of this leader.
    """

    name: ClassVar[str] = "optimal"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.EAGER})

    def assign(self, group: Group) -> Assignment:
        """Who gets what: every partition that somebody subscribes to has an owner."""
        reading = read_group(group, _remembered(group.members))
        return _assignment(group, reading, decide(reading))

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """What "sticky" sends: nothing before the first assignment."""
        return encode_sticky_user_data(owned, generation) if generation >= 0 else None


class CooperativeOptimalAssignor:
    """As "optimal", but a partition waits a round before it moves, so that its old owner can give it up.

    What waits is in the assignment's `transferring`; members that lose partitions rejoin at once (KIP-429).
    In the second round nothing moves any more.
    """

    name: ClassVar[str] = "cooperative-optimal"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset(RebalanceProtocol)

    def assign(self, group: Group) -> Assignment:
        """Who gets what in this round.

        A partition is held back if a member that does not get it says it has it. Only the member whose claim
        counts, because it is of the latest generation, need not wait for one with an earlier claim.
        """
        reading = read_group(group, _owned(group.members))
        owner = decide(reading)
        member, partition = reading.claims
        gets = owner[partition]
        waits = np.zeros(len(owner), np.bool_)
        waits[partition[(gets != member) & (gets != reading.holder[partition])]] = True
        return _assignment(group, reading, owner, waits)


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


def _assignment(
    group: Group, reading: Reading, owner: NDArray[np.intp], waits: NDArray[np.bool_] | None = None
) -> Assignment:
    """The answer; partitions that wait are held back."""
    member = reading.members[owner].astype(np.int32)
    topic = reading.topic_of.astype(np.int32)
    number = (np.arange(len(owner)) - reading.starts[topic]).astype(np.int32)
    transferring = None
    if waits is not None and waits.any():
        transferring = PartitionList(reading.topics, topic[waits], number[waits]), member[waits]
        member, topic, number = (column[~waits] for column in (member, topic, number))
    order, offsets = group_rows(member, len(group.members))
    return Assignment(
        members=tuple(member.id for member in group.members),
        topics=reading.topics,
        counts=reading.counts,
        offsets=offsets,
        topic=topic[order],
        partition=number[order],
        transferring=transferring,
    )
