"""The first part of general sticky assignment: members keep what they own, and the rest is handed out."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.filling import lightest, rounds

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from assignors.columnar.numbering import IdRank, Numbering, PartitionId
    from assignors.columnar.racks import Racks
    from assignors.columnar.sticky.claims import Claims
    from assignors.columnar.sticky.readers import Readers

    # Topics, in the order they are looked at, and some of their partitions.
    Batches: TypeAlias = dict[int, PartitionId]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Every partition in somebody's hands, one row each.

    Attributes:
        rank: who has it; the rows of a member are in its list order.
        id: the partition.
        kept: how many rows at the start are kept ones, the others are handed out.
        unassigned: what was handed out.
        revokes: whether somebody lost a partition that it owns.
    """

    rank: IdRank
    id: PartitionId
    kept: int
    unassigned: Batches
    revokes: bool


def distribute(numbering: Numbering, claims: Claims, racks: Racks | None, readers: Readers) -> Distribution:
    """Members keep what they own; the rest goes to the subscriber with the fewest, near ones first."""
    stays = numbering.subscribed[numbering.subscriptions.of_member[claims.member], claims.topic]
    if racks is not None:
        stays &= ~racks.mismatch(claims.member, claims.id)
    rank, ids = numbering.id_rank[claims.member[stays]], claims.id[stays]
    is_kept = np.zeros(numbering.total, np.bool_)
    is_kept[ids] = True
    starts = numbering.starts.tolist()
    unassigned = {
        topic: np.flatnonzero(~is_kept[starts[topic] : starts[topic + 1]]) + starts[topic]
        for topic in readers.order
    }

    size = np.bincount(rank, minlength=len(numbering.members))
    batches = unassigned
    ranks, given = [rank], [ids]
    if racks is not None:
        rack_of = racks.member[numbering.by_id]
        near, near_ids, batches = _hand_out_nearby(unassigned, readers, racks, rack_of, size)
        ranks.append(near)
        given.append(near_ids)
    for audience, topics in groupby(batches, key=readers.of_topic.__getitem__):
        partitions = np.concatenate([batches[topic] for topic in topics])
        ranks.append(fill(size, readers.members[audience], len(partitions)))
        given.append(partitions)
    return Distribution(
        rank=np.concatenate(ranks),
        id=np.concatenate(given),
        kept=len(ids),
        unassigned=unassigned,
        revokes=not stays.all(),
    )


def fill(size: NDArray[np.int64], members: IdRank, partitions: int) -> IdRank:
    """Gives partitions one by one to the member with the fewest, the lowest rank first.

    Args:
        size: how many partitions each member has; brought up to date.
        members: who takes part, ascending.
        partitions: how many there are to give.

    Returns:
        The receivers in turn.
    """
    have = size[members]
    order = np.argsort(have, kind="stable")
    in_rounds = [
        np.tile(np.sort(order[:reached]), times) for reached, times in rounds(have[order], partitions)
    ]
    receivers: IdRank = members[np.concatenate([order[:0], *in_rounds])[:partitions]]
    size += np.bincount(receivers, minlength=len(size))
    return receivers


def _hand_out_nearby(
    batches: Batches,
    readers: Readers,
    racks: Racks,
    rack_of: NDArray[np.int32],
    size: NDArray[np.int64],
) -> tuple[IdRank, PartitionId, Batches]:
    """Gives partitions to members near them or without a rack.

    Returns:
        The receivers, the partitions they get, and those left; `size` is brought up to date.
    """
    members = len(size)
    sizes = size.tolist()
    near = [[-1, *np.flatnonzero(row).tolist()] for row in racks.inside]
    heaps: dict[tuple[int, int], list[int]] = {}
    for audience, each in enumerate(readers.members):
        for rack in np.unique(rack_of[each]).tolist():
            heaps[audience, rack] = (size[each] * members + each)[rack_of[each] == rack].tolist()
            heapify(heaps[audience, rack])
    receivers, given = [], []
    rest: Batches = {}
    for topic, partitions in batches.items():
        audience = readers.of_topic[topic]
        far = []
        for partition, pattern in zip(partitions.tolist(), racks.pattern[partitions].tolist(), strict=True):
            choice = [heaps[audience, rack] for rack in near[pattern] if (audience, rack) in heaps]
            if not choice:
                far.append(partition)
                continue
            nearest = [member for heap in choice if (member := lightest(heap, sizes)) is not None]
            receiver = min(nearest, key=lambda member: (sizes[member], member))
            receivers.append(receiver)
            given.append(partition)
            sizes[receiver] += 1
        rest[topic] = np.array(far, np.int64)
    size[:] = sizes
    return np.array(receivers, np.int64), np.array(given, np.int64), rest
