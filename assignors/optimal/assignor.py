"""Offers the assignors whose answers are provably best, "optimal" and "cooperative-optimal"."""

from abc import ABC, abstractmethod
from operator import attrgetter
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment, Certificate
from assignors.columnar.numbering import OwnerRows
from assignors.columnar.sticky_structures import recall_owned, recall_user_data
from assignors.group import Group
from assignors.interface import CooperativeMemory, EagerMemory, Reason, Recorder
from assignors.optimal.deciding import Task
from assignors.optimal.racks import find_kinds
from assignors.optimal.reading import NumberedGroup, number_group
from partitioning.errors import InvalidConfigError
from partitioning.topic_partition import TopicPartition


class OwnerDecision(NamedTuple):
    """Holds the owner of each partition, and the partitions that cannot move yet.

    `owner` and `waits` have shape (partitions,), in the order of flat indices.

    Attributes:
        reading: the group in numbers. A member is an index into `reading.members`.
        owner: the member that gets each partition; -1 for none.
        waits: True for a partition that another member has to give up first.
        certificate: how near the answer is to the best one by weight; None if the assignor counts partitions
            and does not weigh them, because its answer is then the best one.
    """

    reading: NumberedGroup
    owner: NDArray[np.intp]
    waits: NDArray[np.bool_]
    certificate: Certificate | None = None

    def assignment(self, group: Group) -> Assignment:
        """Return the decision as an `Assignment`; partitions that wait are in its `transferring`."""
        reading = self.reading
        ids = tuple(map(attrgetter("id"), group.members))
        rows = OwnerRows(reading.members[self.owner], *self._topics_and_numbers(), self.waits)
        return rows.assignment(ids, reading.topics, reading.counts, self.certificate)

    def tell(self, group: Group, record: Recorder) -> None:
        """Record the reasons for each partition's owner.

        The claims that were rejected come first. Then comes what happened to each partition.
        """
        reading = self.reading
        ids = [group.members[row].id for row in reading.members.tolist()]
        partitions = [
            TopicPartition(reading.topics[topic], number)
            for topic, number in zip(*(number.tolist() for number in self._topics_and_numbers()), strict=True)
        ]
        # Only claims that compete with others are recorded here. A single claim is recorded in the second
        # loop.
        contested = np.bincount(reading.claims.partition, minlength=len(partitions)) > 1
        for member, row in zip(*(column.tolist() for column in reading.claims), strict=True):
            rightful = reading.rightful[row]
            if contested[row] and rightful != member:
                outdated = rightful >= 0
                record(partitions[row], Reason.OUTDATED if outdated else Reason.CONTESTED, ids[member])
        # If there is a certificate, weights decided and not counts. Then other reasons are recorded.
        counted = self.certificate is None
        lost, got = (Reason.GIVEN_UP, Reason.BEST) if counted else (Reason.RELIEVED, Reason.LIGHT)
        for row, (rightful, holder, owner) in enumerate(
            zip(reading.rightful.tolist(), reading.holder.tolist(), self.owner.tolist(), strict=True)
        ):
            if rightful == owner:
                record(partitions[row], Reason.KEPT, ids[owner])
                continue
            if rightful >= 0:
                record(partitions[row], lost if holder >= 0 else Reason.UNSUBSCRIBED, ids[rightful])
            record(partitions[row], got, ids[owner])
            if self.waits[row]:
                record(partitions[row], Reason.HELD_BACK, ids[owner])

    def _topics_and_numbers(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return each partition's topic and its number in the topic, two int32 of shape (partitions,)."""
        topic = self.reading.topic_of
        number = np.arange(len(topic)) - self.reading.starts[topic]
        return topic.astype(np.int32), number.astype(np.int32)


def find_held_back(reading: NumberedGroup, owner: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return whether each partition has to wait, bool of shape (partitions,).

    A partition waits if a member claims it and another member gets it. One receiver need not wait: the member
    whose claim counts (`NumberedGroup.rightful`), because the other claims are outdated.
    """
    member, partition = reading.claims
    # `lost` has a partition once for each member that claims it and does not get it. Repeats do no harm.
    lost = partition[owner[partition] != member]
    waits = np.zeros(len(owner), np.bool_)
    waits[lost[owner[lost] != reading.rightful[lost]]] = True
    return waits


class Deciding(ABC):
    """Base of the assignors that decide in arrays: a subclass returns an `OwnerDecision`."""

    def assign(self, group: Group) -> Assignment:
        """Return the group's assignment: each partition with a subscriber is owned or transferring."""
        return self._decide(group).assignment(group)

    def assign_recorded(self, group: Group, record: Recorder) -> Assignment:
        """Return the answer of `assign`, and record the reasons for it with `record`."""
        decision = self._decide(group)
        decision.tell(group, record)
        return decision.assignment(group)

    @abstractmethod
    def _decide(self, group: Group) -> OwnerDecision:
        """Return the owner of each partition, and the partitions that wait."""


class _Optimal(Deciding):
    """Base of both assignors, with their settings and the decision of owners.

    A subclass adds only the rebalance protocol.

    Args:
        spread: True spreads each topic over members as evenly as the fewest moves allow. This is exact up to
            20,000 pairs of a member and a topic that it subscribes to. Topics are spread roughly if there are
            more pairs, if racks matter, or if `spread` is False. "before-moves" spreads each topic as evenly
            as the best loads allow, even if more partitions move.
        racks: "after-moves" chooses, of the answers with the fewest moves, one with the fewest partitions
            that have no replica in their member's rack. "before-moves" makes these partitions fewest, even if
            more partitions move. "ignore" ignores racks.

    Raises:
        InvalidConfigError: `spread` or `racks` has another value.
    """

    def __init__(
        self,
        *,
        spread: bool | Literal["before-moves"] = True,
        racks: Literal["after-moves", "before-moves", "ignore"] = "after-moves",
    ) -> None:
        # Settings may come from a file, in which a wrong word would otherwise count as True.
        if spread not in {True, False, "before-moves"}:
            raise InvalidConfigError(f"spread is {spread!r}; give True, False or 'before-moves'")
        if racks not in {"after-moves", "before-moves", "ignore"}:
            raise InvalidConfigError(f"racks is {racks!r}; give 'after-moves', 'before-moves' or 'ignore'")
        self._spread = spread
        self._racks = racks

    def _owners(self, group: Group, reading: NumberedGroup) -> NDArray[np.intp]:
        """Return the owner of each partition, intp of shape (partitions,); -1 for none.

        Args:
            group: the group, for the racks of members and replicas.
            reading: the same group in numbers; owners are indices into `reading.members`.
        """
        near = None if self._racks == "ignore" else find_kinds(group, reading)
        first = self._racks == "before-moves"
        return Task(reading, spread=self._spread, near=near, near_first=first).decide()


class OptimalAssignor(EagerMemory, _Optimal):
    """An eager assignor whose loads are the best possible, and whose moves are the fewest for these loads.

    This holds whatever the members subscribe to. Members report their previous partitions in the user data of
    "sticky"; user data that cannot be read counts as no partitions. The answer depends neither on the order
    of members or topics nor on earlier answers of this leader.
    """

    name: ClassVar[str] = "optimal"

    def _decide(self, group: Group) -> OwnerDecision:
        """Return a decision in which no partition waits: eager members revoke all before they join."""
        reading = number_group(group, recall_user_data(group.members))
        owner = self._owners(group, reading)
        return OwnerDecision(reading, owner, np.zeros(len(owner), np.bool_))


class CooperativeOptimalAssignor(CooperativeMemory, _Optimal):
    """The cooperative form of "optimal": a partition that moves is unassigned for one rebalance (KIP-429).

    In the first rebalance its old owner revokes the partition, which is in the assignment's `transferring`.
    Members that lose partitions rejoin at once, and the second rebalance gives the partition to its new
    owner. No further partition moves in that second rebalance.

    A partition is held back if a member reports it and another member gets it. There is one exception: the
    member with the claim of the latest generation gets the partition at once, whoever else still reports it.
    """

    name: ClassVar[str] = "cooperative-optimal"

    def _decide(self, group: Group) -> OwnerDecision:
        """Return a decision in which a partition waits if another member has to revoke it first."""
        reading = number_group(group, recall_owned(group.members))
        owner = self._owners(group, reading)
        return OwnerDecision(reading, owner, find_held_back(reading, owner))
