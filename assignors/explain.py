"""Why the owner of a partition has it, or why nobody has it yet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.sticky.cooperative import recall_owned
from assignors.columnar.sticky.catalogue import Catalogue
from assignors.columnar.sticky.claims import NO_GENERATION, Memory, ownership
from assignors.columnar.racks import Racks
from assignors.columnar.sticky.user_data import recall_user_data
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignors.assignment import Assignment
    from assignors.group import Group

_MEMORY: dict[str, Callable[[Catalogue], Memory]] = {
    "sticky": recall_user_data,
    "cooperative-sticky": recall_owned,
}


class Reason(Enum):
    """Why a partition is where it is."""

    KEPT = "kept"
    """Its owner had it before."""
    QUOTA = "quota"
    """It was free, and its owner had too few."""
    RACK = "rack"
    """Its owner is in a rack where it has a replica, and nobody else who had it is."""
    BALANCE = "moved for balance"
    """The member that had it had too many."""
    SUBSCRIPTION = "no longer subscribed"
    """The member that had it no longer subscribes to its topic."""
    CONTESTED = "contested"
    """Several members claimed it in the same generation, so none of them could keep it."""
    HELD_BACK = "held back for cooperation"
    """The member that had it has to give it up first; then its new owner gets it (KIP-429)."""
    NOBODY = "no subscriber"
    """No member subscribes to its topic, or it does not exist."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a partition is where it is; its text says it in a sentence.

    Attributes:
        partition: which partition.
        reason: why.
        owner: who has it now, or will have it in the next round if it is held back; None for nobody.
        previous: who had it before, as the assignor sees it; None for nobody.
        size: how many partitions the owner has in this assignment.
        share: the numbers of partitions that are a fair share; None where subscriptions differ, so that there
            is no such share.
    """

    partition: TopicPartition
    reason: Reason
    owner: str | None
    previous: str | None
    size: int
    share: tuple[int, ...] | None

    def __str__(self) -> str:
        partition, owner = str(self.partition), repr(self.owner)
        previous = "everybody who claims it" if self.previous is None else repr(self.previous)
        sentence = {
            Reason.KEPT: f"{partition} stays with {owner}",
            Reason.QUOTA: f"{partition} was free, and {owner} had too few",
            Reason.RACK: f"{partition} goes to {owner}, which is in a rack where it has a replica",
            Reason.BALANCE: f"{partition} goes from {previous}, which had too many, to {owner}",
            Reason.SUBSCRIPTION: f"{partition} goes from {previous}, which no longer subscribes, to {owner}",
            Reason.CONTESTED: f"{partition} goes to {owner}, because several members claimed it at once",
            Reason.HELD_BACK: f"{partition} waits for {previous} to give it up, then {owner} gets it",
            Reason.NOBODY: f"nobody subscribes to {partition}, or it does not exist",
        }[self.reason]
        if self.owner is None:
            return sentence
        share = "" if self.share is None else f" of a share of {' or '.join(map(str, self.share))}"
        return f"{sentence} ({owner} has {self.size}{share})"


def explain(
    group: Group, assignment: Assignment, partition: TopicPartition | tuple[str, int], *, assignor: str
) -> Explanation:
    """Why a partition is where it is; to ask about many partitions use an `Explainer`."""
    return Explainer(group, assignment, assignor=assignor).explain(partition)


class Explainer:
    """Explains one assignment.

    Args:
        group: the group it was made for.
        assignment: what the assignor gave.
        assignor: its name, which tells what members remember; one that is not sticky takes all partitions for
            free.
    """

    def __init__(self, group: Group, assignment: Assignment, *, assignor: str) -> None:
        self._assignment = assignment
        self._catalogue = catalogue = Catalogue.of(group)
        owned = ownership(catalogue, _MEMORY.get(assignor, _recall_nothing)(catalogue), NO_GENERATION)
        self._contested = owned.contested
        self._racks = Racks.of(group.topics, catalogue)
        self._row = {member.id: row for row, member in enumerate(group.members)}
        self._had = np.full(catalogue.total, -1)
        valid = owned.id < catalogue.total
        if owned.valid is not None:
            valid &= owned.valid
        self._had[owned.id[valid]] = owned.member[valid]
        self._share: tuple[int, ...] | None = None
        if catalogue.all_equal and catalogue.members:
            least, extras = divmod(catalogue.total, len(catalogue.members))
            self._share = (least, least + 1) if extras else (least,)

    def explain(self, partition: TopicPartition | tuple[str, int]) -> Explanation:
        """Why a partition is where it is."""
        partition = TopicPartition(*partition)
        owner = self._assignment.transferring.get(partition) or self._assignment.owner_of(partition)
        topic = self._catalogue.index.get(partition.topic)
        if owner is None or topic is None or not 0 <= partition.partition < self._catalogue.counts[topic]:
            return Explanation(partition, Reason.NOBODY, None, None, 0, None)
        had = int(self._had[self._catalogue.starts[topic] + partition.partition])
        previous = None if had < 0 else self._catalogue.ids[had]
        reason = self._reason(partition, owner, previous)
        return Explanation(partition, reason, owner, previous, len(self._assignment[owner]), self._share)

    def _reason(self, partition: TopicPartition, owner: str, previous: str | None) -> Reason:
        if partition in self._assignment.transferring:
            return Reason.HELD_BACK
        if previous == owner:
            return Reason.KEPT
        identity = int(self._catalogue.starts[self._catalogue.index[partition.topic]]) + partition.partition
        if identity in self._contested:
            return Reason.CONTESTED
        if (
            previous is not None
            and partition.topic not in self._catalogue.members[self._row[previous]].topics
        ):
            return Reason.SUBSCRIPTION
        if self._is_near(owner, identity) and not (
            previous is not None and self._is_near(previous, identity)
        ):
            return Reason.RACK
        return Reason.QUOTA if previous is None else Reason.BALANCE

    def _is_near(self, member: str, identity: int) -> bool:
        return self._racks is not None and self._racks.is_near(self._row[member], identity)


def _recall_nothing(catalogue: Catalogue) -> Memory:
    members = len(catalogue.members)
    return Memory([()] * members, [None] * members)
