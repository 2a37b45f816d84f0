"""Sticky assignment where all members subscribe to the same topics.

Members keep what they own up to their fair share; what is left goes round robin to those below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignors.columns import join
from assignors.errors import AssignorError
from assignors.sticky.nearby import assign_nearby
from assignors.sticky.outcome import Outcome
from assignors.sticky.seats import Seats
from partitioning.columns import sort_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.sticky.catalogue import Catalogue
    from assignors.sticky.ownership import Ownership
    from assignors.sticky.racks import Racks


@dataclass(frozen=True, slots=True)
class _Kept:
    """Claims that are granted, rows by member, and who lost the others.

    Attributes:
        member: whose row it is.
        topic: topic of each row.
        partition: partition number of each row.
        losers: who lost which partition.
    """

    member: NDArray[np.int64]
    topic: NDArray[np.int64]
    partition: NDArray[np.int64]
    losers: _Losers


class _Losers:
    """Which member lost a partition, kept only once somebody lost one."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._member: NDArray[np.int64] | None = None

    def add(
        self, member: NDArray[np.integer], topic: NDArray[np.integer], partition: NDArray[np.integer]
    ) -> None:
        exists = (partition >= 0) & (partition < self._catalogue.counts[topic])
        if not exists.any():
            return
        if self._member is None:
            self._member = np.full(self._catalogue.total, -1, np.int64)
        self._member[self._catalogue.starts[topic[exists]] + partition[exists]] = member[exists]

    def lost_to(self, member: NDArray[np.integer], ids: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Which of these partitions another member lost to the one they are paired with."""
        if self._member is None:
            return None
        loser = self._member[ids]
        lost: NDArray[np.bool_] = (loser >= 0) & (loser != member)
        return lost


def assign_constrained(catalogue: Catalogue, owned: Ownership, racks: Racks | None) -> Outcome:
    """Assigns the partitions of members that all subscribe to the same topics.

    Raises:
        AssignorError: the group has no members (ArithmeticException), or members claim partitions that no
            longer exist, so that their shares do not add up (IllegalStateException).
    """
    if not catalogue.members:
        raise AssignorError(
            "the group has no members, so nobody can get its partitions; give it at least one",
            jvm_exception="ArithmeticException",
        )
    kept, seats = _keep(catalogue, owned, racks)
    ids = _free(catalogue, kept)
    near = np.empty(0, np.int32)
    if racks is not None:
        near, near_ids, rest = assign_nearby(racks.by_choice(ids), seats, racks)
        ids = np.concatenate([near_ids, rest])
    receivers, needed = seats.round_robin()
    if not needed <= len(ids) - len(near) <= len(receivers):
        raise _misfit(catalogue, kept)
    member = join(near, receivers[: len(ids) - len(near)])
    transferring = kept.losers.lost_to(member, ids)
    if owned.contested:
        contested = np.isin(ids, list(owned.contested))
        transferring = contested if transferring is None else transferring | contested
    if transferring is not None:
        transferring = join(np.zeros(len(kept.member), np.bool_), transferring)
    everything = racks is None and len(ids) == catalogue.total  # then ids count up: no need to look them up
    return Outcome(
        join(kept.member, member),
        join(kept.topic, catalogue.topic_of if everything else catalogue.topic_of[ids]),
        join(kept.partition, catalogue.number_of if everything else catalogue.number_of[ids]),
        transferring,
    )


def _keep(catalogue: Catalogue, owned: Ownership, racks: Racks | None) -> tuple[_Kept, Seats]:
    """Grants members their claims, by partition and then topic (KAFKA-16277), up to their share.

    A member that claims more than the least share keeps one more, while there are extras; members take turns
    in the order of Java's HashMap.
    """
    members = len(catalogue.members)
    losers = _Losers(catalogue)
    granted = owned.valid
    if racks is not None:
        far = racks.mismatch(owned.member, owned.id)
        far = far if granted is None else far & granted
        losers.add(owned.member[far], owned.topic[far], owned.partition[far])
        granted = ~far if granted is None else granted & ~far
    if owned.contested:
        undisputed = ~np.isin(owned.id, list(owned.contested))
        granted = undisputed if granted is None else granted & undisputed
    rows = slice(None) if granted is None else granted
    member, partition, topic = sort_rows(owned.member[rows], owned.partition[rows], owned.topic[rows])

    have = np.bincount(member, minlength=members)
    least, extras = divmod(catalogue.total, members)
    quota = np.where(have < least, have, least)
    extra = np.flatnonzero(have > least) if extras else np.empty(0, np.intp)
    if len(extra) > extras:
        extra = catalogue.by_owner_hash[have[catalogue.by_owner_hash] > least][:extras]
    quota[extra] += 1
    if (have > quota).any():
        starts = np.cumsum(have) - have
        kept = np.arange(len(member)) < (starts + quota)[member]
        losers.add(member[~kept], topic[~kept], partition[~kept])
        member, topic, partition = member[kept], topic[kept], partition[kept]

    by_id = np.array(catalogue.by_id)
    under = by_id[have[by_id] < least]
    exact = by_id[quota[by_id] == least] if len(extra) < extras else by_id[:0]
    seats = Seats(least, extras - len(extra), quota, under.tolist(), exact.tolist())
    return _Kept(member, topic, partition, losers), seats


def _free(catalogue: Catalogue, kept: _Kept) -> NDArray[np.int64]:
    """Ids of the partitions that nobody keeps, in ascending order.

    Quirk: the JVM walks all partitions and the kept ones side by side, so at the first kept partition that
    does not exist it stops recognising kept ones, and takes all that follow for free.
    """
    taken = np.zeros(catalogue.total, np.bool_)
    exists = (kept.partition >= 0) & (kept.partition < catalogue.counts[kept.topic])
    if exists.all():
        taken[catalogue.starts[kept.topic] + kept.partition] = True
        return np.flatnonzero(~taken)
    taken[catalogue.starts[kept.topic[exists]] + kept.partition[exists]] = True
    topic, partition = kept.topic[~exists], kept.partition[~exists]
    taken[catalogue.starts[topic + (partition > 0)].min() :] = False
    return np.flatnonzero(~taken)


def _misfit(catalogue: Catalogue, kept: _Kept) -> AssignorError:
    outside = (kept.partition < 0) | (kept.partition >= catalogue.counts[kept.topic])
    member, topic, partition = (
        int(column[outside][0]) for column in (kept.member, kept.topic, kept.partition)
    )
    name = catalogue.topics[topic]
    return AssignorError(
        f"member {catalogue.members[member].id!r} claims {name}-{partition}, but topic {name!r} has "
        f"{catalogue.counts[topic]} partitions, so the members' shares do not add up; "
        "drop the claim, as a consumer does that was restarted",
        jvm_exception="IllegalStateException",
    )
