"""What a coordinator's own assignor makes of a consumer group (KIP-848)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assignors.group import Group
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from assignors.assignment import Assignment
    from assignors.group import Member, Topic
    from assignors.partition_list import PartitionList
    from assignors.simulation.group.consumer_group import ConsumerGroup
    from assignors.simulation.group.decisions import Decisions


class Targets:
    """Asks the assignor, and keeps what it answered.

    Args:
        decisions: what has been decided already.
        strategy: gives the assignor's name.
        topics: gives the topics the cluster has now.
        first: the number of each topic's first partition, in the order of `names`, and the number of all.
        names: topic names.
        describe: gives a member's id, instance id and rack, by its number.

    Attributes:
        assignment: the last answer; None before the first.
        position: the place of each partition in its owner's list.
    """

    def __init__(
        self,
        decisions: Decisions,
        strategy: Callable[[], str],
        topics: Callable[[], Sequence[Topic]],
        first: NDArray[np.int64],
        names: Sequence[str],
        describe: Callable[[int], Member],
    ) -> None:
        self.assignment: Assignment | None = None
        self.position = np.zeros(int(first[-1]), np.int32)
        self._decisions = decisions
        self._decision = decisions.start
        self._strategy = strategy
        self._topics = topics
        self._first = first
        self._names = names
        self._rows = {name: row for row, name in enumerate(names)}
        self._describe = describe
        self._members: dict[int, Member] = {}
        self._targets: dict[int, frozenset[int]] = {}

    def __call__(self, group: ConsumerGroup) -> NDArray[np.int64]:
        """The owner of every partition, -1 for nobody."""
        change = self._update(group)
        topics = self._topics()
        self._decision = self._decisions.decide(
            self._decision,
            (change, tuple((topic.name, topic.partitions) for topic in topics)),
            self._strategy(),
            lambda: Group(topics, list(self._members.values())),
            new_leader=self.assignment is None,
        )
        self.assignment = self._decision.assignment
        assert self.assignment is not None
        return self._owners(self.assignment)

    def _owners(self, assignment: Assignment) -> NDArray[np.int64]:
        number_of = {about.id: number for number, about in self._members.items()}
        ids, names, member, topic, partition = assignment.to_arrays()
        numbers = np.array([number_of[each] for each in ids], np.int64)
        starts = self._first[[self._rows[name] for name in names]]
        rows = starts[topic] + partition if len(topic) else np.empty(0, np.int64)
        owner = np.full(len(self.position), -1, np.int64)
        owner[rows] = numbers[member]
        first_of = np.searchsorted(member, np.arange(len(ids)))
        self.position[rows] = np.arange(len(rows)) - first_of[member]
        return owner

    def _update(self, group: ConsumerGroup) -> tuple[object, ...]:
        """Look again at the members that are not what they were; gives all that is new about them."""
        gone = [number for number in self._members if number not in group.members]
        left = tuple(self._members.pop(number).id for number in gone)
        for number in gone:
            del self._targets[number]
        news: list[object] = [left]
        for number in sorted(group.members.keys() & group.changed):
            known = self._members.get(number)
            about = known or self._describe(number)
            target = group.targets[number]
            if target != self._targets.get(number):
                self._targets[number] = target
                about = replace(about, owned=self._given(about.id, target))
            topics = tuple(group.topics_of(group.members[number].topics))
            self._members[number] = replace(about, topics=topics)
            if known is None or known.topics != topics:
                news.append((about.id, topics, None if known else target))
        return tuple(news)

    def _given(self, member: str, target: frozenset[int]) -> Sequence[TopicPartition] | PartitionList:
        """A member's target in the order it was assigned; that of a static member's successor by number."""
        if not target:
            return ()
        if self.assignment is not None and member in self.assignment:
            return self.assignment[member]
        starts = self._first.tolist()
        rows = [(bisect_right(starts, partition) - 1, partition) for partition in sorted(target)]
        return [TopicPartition(self._names[row], partition - starts[row]) for row, partition in rows]
