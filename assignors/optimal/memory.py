"""What members say they had."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from assignors.group import StickyUserData
from assignors.optimal.reading import Memory
from assignors.partition_list import as_lists
from assignors.protocol import decode_cooperative_user_data, decode_sticky_user_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignors.group import Member


def remembered(members: Sequence[Member]) -> Memory:
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


def owned(members: Sequence[Member]) -> Memory:
    """What the members of a cooperative group own.

    The generation is in the subscription (KIP-792), or else in the user data, where it was before.
    """
    generations = []
    for member in members:
        generation = member.generation
        if (generation is None or generation < 0) and member.user_data is not None:
            generation = decode_cooperative_user_data(bytes(member.user_data))
        generations.append(-1 if generation is None else generation)
    return Memory(as_lists(member.owned for member in members), generations)


def owned_or_remembered(members: Sequence[Member]) -> Memory:
    """What the members own, or where none owns anything what they remember."""
    memory = owned(members)
    return memory if any(map(len, memory.partitions)) else remembered(members)
