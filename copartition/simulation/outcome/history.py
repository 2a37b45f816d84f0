"""Keep the rebalances of a run, each as its difference to the one before.

As a rule a rebalance changes few partitions. So a run stores differences, and an assignment is built only
when it is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment
from assignors.partition_list import PartitionList
from copartition.simulation.group.memberships import Memberships
from copartition.simulation.inputs.events import Consumer
from copartition.simulation.ledger import Partitions
from partitioning.kit.columns import bounds, ranks
from partitioning.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class Rebalance:
    """One rebalance, from the event that started it to the assignment that ended it.

    Attributes:
        generation: the generation that it made.
        started_ms: when the coordinator began to wait for the members.
        completed_ms: when all members had the new assignment.
        causes: the reasons for it, in the order of time. "partitions revoked" is the follow-up of a
            cooperative rebalance.
        moved: the number of partitions that went from one consumer to another.
        history: the run's assignments, of which this is one.
        step: the index of this assignment in `history`.
    """

    generation: int
    started_ms: float
    completed_ms: float
    causes: tuple[str, ...]
    moved: int
    history: "History" = field(repr=False, compare=False)
    step: int = field(repr=False)

    @property
    def assignment(self) -> Assignment:
        """The assignment after this rebalance, by member id.

        It is rebuilt from the run's changes on each access. That is cheap if rebalances are read in order.
        """
        return self.history.assignment(self.step)

    @property
    def consumers(self) -> dict[str, Consumer]:
        """The consumer that each member id belongs to."""
        return self.history.consumers(self.step)


class AssignmentDelta(NamedTuple):
    """The difference that one assignment makes, as columns of equal length.

    `partitions` are flat indexes, ascending. `owner` is the member that now has each partition, -1 for none.
    `position` is the index of each partition in its owner's list. A run keeps all changes, so the columns use
    two bytes a number if the numbers fit.
    """

    partitions: NDArray[np.integer]
    owner: NDArray[np.integer]
    position: NDArray[np.integer]

    @classmethod
    def between(
        cls,
        old_owner: NDArray[np.int32],
        old_position: NDArray[np.int32],
        owner: NDArray[np.int32],
        position: NDArray[np.int32],
    ) -> "AssignmentDelta":
        """Return the difference between the assignment of all partitions before and now.

        All four columns have an element for each partition, by flat index.
        """
        rows = ((owner != old_owner) | (position != old_position)).nonzero()[0]
        # Rows and positions are less than the number of partitions, so they fit if that number does. Owners
        # are numbers of memberships, which may be larger.
        fits = max(len(owner), int(owner.max(initial=0))) < 1 << 15
        kind = np.int16 if fits else np.int32
        return cls(rows.astype(kind), owner[rows].astype(kind), position[rows].astype(kind))


class HistoryStep(NamedTuple):
    """The assignment that a rebalance decided, as its difference to the one before."""

    members: NDArray[np.int32]  # the memberships that the group had then, in their order
    change: AssignmentDelta  # its difference to the assignment before
    counts: tuple[int, ...]  # the number of partitions of each topic, as its assignor knew it
    subscribed: frozenset[str]  # topics to which a member subscribes
    transferring: Mapping[TopicPartition, str]  # partition held back -> the member id that will get it


class History:
    """Every assignment that a group had, stored as differences.

    `_owner` and `_position` have the assignment after step `_at`, by flat index. A later step is reached by
    applying the differences in between, an earlier one by starting from the beginning.
    """

    def __init__(self, partitions: Partitions, memberships: Memberships) -> None:
        self.start: Rebalance | None = None  # the group at time 0; None if it was empty
        self.rebalances: list[Rebalance] = []  # the rebalances that are complete, in order
        self._topics = partitions.topics
        self._first = partitions.first
        self._number = {name: number for number, name in enumerate(partitions.topics)}
        # The last consumer of each partition so far; -1: none.
        self._last_consumer = np.full(partitions.total, -1, np.int32)
        self._memberships = memberships
        self._steps: list[HistoryStep] = []
        self._at = -1  # the step that `_owner` and `_position` show
        self._owner = self._position = np.empty(0, np.int32)

    def record(self, step: HistoryStep) -> int:
        """Store the assignment of a rebalance; return the number of its step."""
        if self._steps and self._steps[-1].counts == step.counts:
            step = step._replace(counts=self._steps[-1].counts)  # equal tuples are stored once
        self._steps.append(step)
        return len(self._steps) - 1

    def goes_on(self, change: AssignmentDelta) -> None:
        """Store a change that no rebalance made, so that later differences start from its result."""
        counts = self._steps[-1].counts if self._steps else ()
        self._steps.append(HistoryStep(np.empty(0, np.int32), change, counts, frozenset(), {}))

    def places(
        self, assignment: Assignment, members: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the member of each partition, -1 for none, and the partition's index in that member's list.

        Both have shape (partitions,). `members` are the memberships of the assignment, most often in its
        order.
        """
        ids, topics, member, topic, partition = assignment.to_arrays()
        owner = np.full(int(self._first[-1]), -1, np.int32)
        position = np.zeros(len(owner), np.int32)
        if len(member):
            rows = self._first[[self._number[name] for name in topics]][topic]
            rows += partition
            # Most assignors answer in the order in which they got the members; otherwise find the members by
            # their ids.
            if tuple(map(self._memberships.ids.__getitem__, members.tolist())) != ids:
                members = np.array([self._memberships.serials[id_] for id_ in ids], np.int32)
            owner[rows] = members[member]
            position[rows] = ranks(member)
        return owner, position

    def count_moves(self, change: AssignmentDelta) -> int:
        """Return how many of a change's partitions go from one consumer to another.

        A partition that had no owner for a while is compared with the last consumer that had it.
        """
        owned = change.owner >= 0
        partitions = change.partitions[owned]
        consumer = self._memberships.consumer[change.owner[owned]]
        # Compare consumers, not members: a consumer that comes back under another member id has moved
        # nothing.
        last = self._last_consumer[partitions]
        self._last_consumer[partitions] = consumer
        return int(np.count_nonzero((last >= 0) & (last != consumer)))

    def consumers(self, step: int) -> dict[str, Consumer]:
        """Return the consumer of each member id of a step, in the order of its members."""
        ids, consumers = self._memberships.ids, self._memberships.consumers
        return {ids[serial]: consumers[serial] for serial in self._steps[step].members.tolist()}

    def assignment(self, step: int) -> Assignment:
        """Return the assignment after a step."""
        self._seek(step)
        members, _, counts, subscribed, transferring = self._steps[step]
        ids = tuple(self._memberships.ids[serial] for serial in members.tolist())
        row_of = np.full(len(self._memberships) + 1, -1, np.int64)
        row_of[members] = np.arange(len(members))
        member = row_of[self._owner]
        owned = np.flatnonzero(member >= 0)
        owned = owned[np.lexsort((self._position[owned], member[owned]))]
        topic = np.searchsorted(self._first, owned, side="right") - 1
        there = np.flatnonzero(counts)  # topics that exist
        rank = np.zeros(len(counts), np.int32)
        rank[there] = np.arange(len(there))
        place = {name: number for number, name in enumerate(ids)}
        return Assignment(
            ids,
            tuple(self._topics[number] for number in there.tolist()),
            np.array(counts, np.int64)[there],
            bounds(np.bincount(member[owned], minlength=len(ids))),
            rank[topic],
            (owned - self._first[topic]).astype(np.int32),
            transferring=(
                PartitionList.of(transferring),
                np.array([place[receiver] for receiver in transferring.values()], np.int32),
            ),
            subscribed=np.array([self._topics[number] in subscribed for number in there.tolist()], np.bool_),
        )

    def _seek(self, step: int) -> None:
        """Bring `_owner` and `_position` to the assignment after a step."""
        # Differences lead forward only, so an earlier step is reached from the beginning.
        if self._at < 0 or step < self._at:
            total = int(self._first[-1])
            self._owner, self._position = np.full(total, -1, np.int32), np.zeros(total, np.int32)
            self._at = -1
        for step_before in self._steps[self._at + 1 : step + 1]:
            self._owner[step_before.change.partitions] = step_before.change.owner
            self._position[step_before.change.partitions] = step_before.change.position
        self._at = step
