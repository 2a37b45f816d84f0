"""Sticky assignment where all members subscribe to the same topics.

Members keep what they own up to their fair share; what is left goes round robin to those below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.sticky.nearby import assign_nearby
from assignors.columnar.sticky.outcome import Outcome
from assignors.columnar.sticky.seats import Seats
from assignors.columns import join
from partitioning.columns import sort_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.columnar.numbering import JoinPosition, Numbering, PartitionId, TopicRow
    from assignors.columnar.racks import Racks
    from assignors.columnar.sticky.claims import Claims


@dataclass(frozen=True, slots=True)
class _Kept:
    """Claims that are granted, rows by member, and who lost the others.

    Attributes:
        member: whose row it is.
        topic: topic of each row.
        number: partition number of each row.
        losers: who lost which partition.
    """

    member: JoinPosition
    topic: TopicRow
    number: NDArray[np.int64]
    losers: _Losers


class _Losers:
    """Which member lost a partition, kept only once somebody lost one."""

    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._member: NDArray[np.int64] | None = None

    def add(self, member: JoinPosition, topic: TopicRow, number: NDArray[np.integer]) -> None:
        if not len(member):
            return
        if self._member is None:
            self._member = np.full(self._numbering.total, -1, np.int64)
        self._member[self._numbering.starts[topic] + number] = member

    def lost_to(self, member: NDArray[np.integer], ids: PartitionId) -> NDArray[np.bool_] | None:
        """Which of these partitions another member lost to the one they are paired with."""
        if self._member is None:
            return None
        loser = self._member[ids]
        lost: NDArray[np.bool_] = (loser >= 0) & (loser != member)
        return lost


def assign_constrained(numbering: Numbering, claims: Claims, racks: Racks | None) -> Outcome:
    """Assigns the partitions of members that all subscribe to the same topics."""
    kept, seats = _keep(numbering, claims, racks)
    taken = np.zeros(numbering.total, np.bool_)
    taken[numbering.starts[kept.topic] + kept.number] = True
    ids = np.flatnonzero(~taken)
    near = np.empty(0, np.int32)
    if racks is not None:
        near, near_ids, rest = assign_nearby(racks.by_choice(ids), seats, racks)
        ids = np.concatenate([near_ids, rest])
    member = join(near, seats.round_robin()[: len(ids) - len(near)])
    transferring = kept.losers.lost_to(member, ids)
    if transferring is not None:
        transferring = join(np.zeros(len(kept.member), np.bool_), transferring)
    everything = racks is None and len(ids) == numbering.total  # then ids count up: no need to look them up
    return Outcome(
        member=join(kept.member, member),
        topic=join(kept.topic, numbering.topic_of if everything else numbering.topic_of[ids]),
        number=join(kept.number, numbering.number_of if everything else numbering.number_of[ids]),
        transferring=transferring,
    )


def _keep(numbering: Numbering, claims: Claims, racks: Racks | None) -> tuple[_Kept, Seats]:
    """Grants members their claims, by partition and then topic (KAFKA-16277), up to their share.

    A member that claims more than the least share keeps one more, while there are extras; members take turns
    in the order of Java's HashMap.
    """
    members = len(numbering.members)
    losers = _Losers(numbering)
    claimant, numbers, topics = claims.member, claims.number, claims.topic
    if racks is not None:
        far = racks.mismatch(claimant, claims.id)
        losers.add(claimant[far], topics[far], numbers[far])
        claimant, numbers, topics = claimant[~far], numbers[~far], topics[~far]
    member, number, topic = sort_rows(claimant, numbers, topics)

    have = np.bincount(member, minlength=members)
    least, extras = divmod(numbering.total, members)
    quota = np.where(have < least, have, least)
    extra: JoinPosition = np.flatnonzero(have > least) if extras else np.empty(0, np.intp)
    if len(extra) > extras:
        extra = numbering.by_owner_hash[have[numbering.by_owner_hash] > least][:extras]
    quota[extra] += 1
    if (have > quota).any():
        starts = np.cumsum(have) - have
        kept = np.arange(len(member)) < (starts + quota)[member]
        losers.add(member[~kept], topic[~kept], number[~kept])
        member, topic, number = member[kept], topic[kept], number[kept]

    by_id = numbering.by_id
    under = by_id[have[by_id] < least]
    exact = by_id[quota[by_id] == least] if len(extra) < extras else by_id[:0]
    seats = Seats(
        least=least, extras=extras - len(extra), size=quota, under=under.tolist(), exact=exact.tolist()
    )
    return _Kept(member=member, topic=topic, number=number, losers=losers), seats
