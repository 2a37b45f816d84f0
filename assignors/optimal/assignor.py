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
from assignors.optimal.reading import NumberedGroup, read_group
from partitioning.errors import InvalidConfigError
from partitioning.topic_partition import TopicPartition


class OwnerDecision(NamedTuple):
    """Holds the answer for each partition, by flat index.

    Attributes:
        reading: the group in numbers; members below are numbers of it.
        owner: the member that gets each partition, none -1.
        waits: True for a partition that another member has to give up first.
        certificate: how near to the best the answer is; None if it is the best.
    """

    reading: NumberedGroup
    owner: NDArray[np.intp]
    waits: NDArray[np.bool_]
    certificate: Certificate | None = None

    def assignment(self, group: Group) -> Assignment:
        """Return the answer; partitions that wait are held back."""
        reading = self.reading
        ids = tuple(map(attrgetter("id"), group.members))
        rows = OwnerRows(reading.members[self.owner], *self._topics_and_numbers(), self.waits)
        return rows.assignment(ids, reading.topics, reading.counts, self.certificate)

    def tell(self, group: Group, record: Recorder) -> None:
        """Tell a recorder why each partition goes where it goes: claims that do not count, then owners."""
        reading = self.reading
        ids = [group.members[row].id for row in reading.members.tolist()]
        partitions = [
            TopicPartition(reading.topics[topic], number)
            for topic, number in zip(*(number.tolist() for number in self._topics_and_numbers()), strict=True)
        ]
        # A single claim is told below, by what became of the partition.
        contested = np.bincount(reading.claims.partition, minlength=len(partitions)) > 1
        for member, row in zip(*(column.tolist() for column in reading.claims), strict=True):
            rightful = reading.rightful[row]
            if contested[row] and rightful != member:
                outdated = rightful >= 0
                record(partitions[row], Reason.OUTDATED if outdated else Reason.CONTESTED, ids[member])
        # With a certificate weights decided, not counts, which is told in words of its own.
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
        """Return the topic of each partition and its number in the topic, as int32."""
        topic = self.reading.topic_of
        number = np.arange(len(topic)) - self.reading.starts[topic]
        return topic.astype(np.int32), number.astype(np.int32)


def find_held_back(reading: NumberedGroup, owner: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return whether each partition has to wait: a member claims it that does not get it.

    Only the member whose claim counts need not wait for others to give it up.
    """
    member, partition = reading.claims
    # A partition is here once for each member that claims it in vain, which does no harm below.
    lost = partition[owner[partition] != member]
    waits = np.zeros(len(owner), np.bool_)
    waits[lost[owner[lost] != reading.rightful[lost]]] = True
    return waits


class Deciding(ABC):
    """An assignor whose answers are made of a `OwnerDecision`."""

    def assign(self, group: Group) -> Assignment:
        """Decide who gets what: every partition with a subscriber has an owner, or waits for its next one."""
        return self._decide(group).assignment(group)

    def assign_recorded(self, group: Group, record: Recorder) -> Assignment:
        """Return the answer of `assign`, and tell `record` each step."""
        decision = self._decide(group)
        decision.tell(group, record)
        return decision.assignment(group)

    @abstractmethod
    def _decide(self, group: Group) -> OwnerDecision:
        """Return the owner of each partition, and the partitions that wait."""


class _Optimal(Deciding):
    """Shares between both assignors everything but the protocol.

    Args:
        spread: whether topics are spread over members as evenly as can be, up to 20,000 pairs of a member and
            a topic it subscribes to; without it, beyond, and where racks matter, they are spread roughly.
            "before-moves": as evenly as can be with the best loads, at the price of moves.
        racks: whether the fewest partitions are far from their member's rack "after-moves", among answers
            with the fewest moves, or "before-moves", at the price of moves; "ignore": racks do not matter.

    Raises:
        InvalidConfigError: `spread` or `racks` is something else.
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
        """Return the owner of each partition, as a number of the reading."""
        near = None if self._racks == "ignore" else find_kinds(group, reading)
        first = self._racks == "before-moves"
        return Task(reading, spread=self._spread, near=near, near_first=first).decide()


class OptimalAssignor(EagerMemory, _Optimal):
    """The best loads there are, with the fewest moves, whatever members subscribe to.

    Members remember in user data, in the form of "sticky"; what cannot be read counts as nothing. The answer
    depends neither on the order of members or topics nor on earlier answers of this leader.
    """

    name: ClassVar[str] = "optimal"

    def _decide(self, group: Group) -> OwnerDecision:
        """Return a decision in which nothing waits: an eager group gives up everything first."""
        reading = read_group(group, recall_user_data(group.members))
        owner = self._owners(group, reading)
        return OwnerDecision(reading, owner, np.zeros(len(owner), np.bool_))


class CooperativeOptimalAssignor(CooperativeMemory, _Optimal):
    """As "optimal", but a partition waits a round before it moves, so that its old owner can give it up.

    What waits is in the assignment's `transferring`; members that lose partitions rejoin at once (KIP-429).
    In the second round nothing moves any more.

    A partition is held back if a member that does not get it says it has it. Only the member whose claim
    counts, because it is of the latest generation, need not wait for one with an earlier claim.
    """

    name: ClassVar[str] = "cooperative-optimal"

    def _decide(self, group: Group) -> OwnerDecision:
        """Return a decision in which partitions wait that another member has to give up."""
        reading = read_group(group, recall_owned(group.members))
        owner = self._owners(group, reading)
        return OwnerDecision(reading, owner, find_held_back(reading, owner))
