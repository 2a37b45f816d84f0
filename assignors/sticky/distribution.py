"""The first part of general sticky assignment: members keep what they own, and the rest is handed out."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from assignors.columns import join

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from assignors.sticky.audiences import Audiences
    from assignors.sticky.catalogue import Catalogue
    from assignors.sticky.ownership import Ownership
    from assignors.sticky.racks import Racks

    # Topics, in the order they are looked at, and some of their partitions.
    Batches: TypeAlias = dict[int, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Every partition in somebody's hands, one row each; members are ranks.

    Attributes:
        member: who has it; the rows of a member are in its list order.
        id: the partition; ~p stands for a partition p that the member has twice.
        kept: how many rows at the start are kept ones, the others are handed out.
        unassigned: what was handed out.
        ghosts: partitions that were handed out although somebody kept them, with who did.
        has_phantoms: whether somebody keeps a partition that does not exist.
        revokes: whether somebody lost a partition that it owns.
    """

    member: NDArray[np.int64]
    id: NDArray[np.int64]
    kept: int
    unassigned: Batches
    ghosts: dict[int, int]
    has_phantoms: bool
    revokes: bool


def distribute(
    catalogue: Catalogue, owned: Ownership, racks: Racks | None, audiences: Audiences
) -> Distribution:
    """Members keep what they own; the rest goes to the subscriber with the fewest, near ones first."""
    stays = _stays(owned, racks, audiences)
    valid = np.ones(len(stays), np.bool_) if owned.valid is None else owned.valid
    revokes = bool((valid & ~stays).any())
    stays &= valid
    member, ids = audiences.rank[owned.member[stays]], owned.id[stays]
    keeper = np.full(catalogue.total + len(owned.phantoms[0]), -1)
    keeper[ids] = member
    unassigned = _unassigned(catalogue, owned, audiences, keeper >= 0)

    size = np.bincount(member, minlength=len(audiences.rank))
    batches = unassigned
    members, given = [], []
    if racks is not None:
        near_rank = racks.member[np.array(catalogue.by_id)]
        near, near_ids, batches = _hand_out_nearby(unassigned, audiences, racks, near_rank, size)
        members.append(near)
        given.append(near_ids)
    for audience, topics in groupby(batches, key=audiences.of_topic.__getitem__):
        partitions = np.concatenate([batches[topic] for topic in topics])
        members.append(fill(size, audiences.members[audience], len(partitions)))
        given.append(partitions)
    receiver, given_ids = np.concatenate([member[:0], *members]), np.concatenate([ids[:0], *given])
    again = keeper[given_ids]
    ghosts = dict(zip(given_ids[again >= 0].tolist(), again[again >= 0].tolist(), strict=True))
    return Distribution(
        join(member, receiver),
        join(ids, np.where(again == receiver, ~given_ids, given_ids)),
        len(ids),
        unassigned,
        ghosts,
        bool((keeper[catalogue.total :] >= 0).any()),
        revokes,
    )


def fill(size: NDArray[np.int64], members: NDArray[np.int64], partitions: int) -> NDArray[np.int64]:
    """Gives partitions one by one to the member with the fewest, the lowest rank first.

    Args:
        size: how many partitions each member has; brought up to date.
        members: who takes part, ascending.
        partitions: how many there are to give.

    Returns:
        The receivers in turn.
    """
    have = size[members]
    levels = np.unique(have)
    rounds = np.append(np.diff(levels), partitions)
    blocks = [members[:0]]
    left = partitions
    for level, most in zip(levels.tolist(), rounds.tolist(), strict=True):
        if left <= 0:
            break
        lowest = members[have <= level]
        blocks.append(np.tile(lowest, min(most, -(-left // len(lowest)))))
        left -= len(blocks[-1])
    receivers = np.concatenate(blocks)[:partitions]
    size += np.bincount(receivers, minlength=len(size))
    return receivers


def _stays(owned: Ownership, racks: Racks | None, audiences: Audiences) -> NDArray[np.bool_]:
    """Which claims are for topics that the member subscribes to and, with racks, for partitions near it."""
    subscription = np.array(audiences.subscription)[audiences.rank[owned.member]]
    subscribed: NDArray[np.bool_] = audiences.subscribed[subscription, owned.topic]
    return subscribed if racks is None else subscribed & ~racks.mismatch(owned.member, owned.id)


def _unassigned(
    catalogue: Catalogue, owned: Ownership, audiences: Audiences, kept: NDArray[np.bool_]
) -> Batches:
    """Partitions that nobody keeps, those of the topics with the fewest potential members first.

    Quirk: the JVM walks all partitions and the kept ones side by side, so at the first kept partition that
    does not exist it stops recognising kept ones, and takes all that follow for free.
    """
    topics, numbers = (column[kept[catalogue.total :]] for column in owned.phantoms)
    before, after = set(topics[numbers < 0].tolist()), set(topics[numbers >= 0].tolist())
    starts = catalogue.starts.tolist()
    recognising = True
    batches: Batches = {}
    for topic in audiences.order:
        start, end = starts[topic], starts[topic + 1]
        recognising = recognising and topic not in before
        free = np.flatnonzero(~kept[start:end]) if recognising else np.arange(end - start)
        batches[topic] = free + start
        recognising = recognising and topic not in after
    return batches


def _hand_out_nearby(
    batches: Batches,
    audiences: Audiences,
    racks: Racks,
    rack_of: NDArray[np.int32],
    size: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], Batches]:
    """Gives partitions to members near them or without a rack.

    Returns:
        The receivers, the partitions they get, and those left; `size` is brought up to date.
    """
    members = len(size)
    sizes = size.tolist()
    near = [[-1, *np.flatnonzero(row).tolist()] for row in racks.inside]
    heaps: dict[tuple[int, int], list[int]] = {}
    for audience, each in enumerate(audiences.members):
        for rack in np.unique(rack_of[each]).tolist():
            heaps[audience, rack] = (size[each] * members + each)[rack_of[each] == rack].tolist()
            heapify(heaps[audience, rack])
    receivers, given = [], []
    rest: Batches = {}
    for topic, partitions in batches.items():
        audience = audiences.of_topic[topic]
        far = []
        for partition, pattern in zip(partitions.tolist(), racks.pattern[partitions].tolist(), strict=True):
            choice = [heaps[audience, rack] for rack in near[pattern] if (audience, rack) in heaps]
            if not choice:
                far.append(partition)
                continue
            key = min(_repaired(heap, sizes) for heap in choice)
            receivers.append(key % members)
            given.append(partition)
            sizes[key % members] += 1
        rest[topic] = np.array(far, np.int64)
    size[:] = sizes
    return np.array(receivers, np.int64), np.array(given, np.int64), rest


def _repaired(heap: list[int], sizes: list[int]) -> int:
    """The lowest key of a heap of size * members + rank, whose keys may lag behind growing sizes."""
    while True:
        member = heap[0] % len(sizes)
        key = sizes[member] * len(sizes) + member
        if heap[0] == key:
            return key
        heapreplace(heap, key)
