"""What a coordinator's own assignor makes of a consumer group (KIP-848)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assignors.group import Group
from assignors.registry import get_assignor
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from assignors.assignment import Assignment
    from assignors.group import Member, Topic
    from assignors.partition_list import PartitionList
    from assignors.simulation.group.consumer_group import ConsumerGroup


class Targets:
    """Asks the assignor, and keeps what it answered by member.

    Args:
        assignor: its name.
        topics: gives the topics the cluster has now.
        first: the number of partition 0 of each topic, rising.
        describe: gives a member's id, instance id and rack, by its number.
    """

    def __init__(
        self,
        assignor: str,
        topics: Callable[[], Sequence[Topic]],
        first: Mapping[str, int],
        describe: Callable[[int], Member],
    ) -> None:
        self._assignor = get_assignor(assignor)
        self._topics = topics
        self._first = first
        self._describe = describe
        self._members: dict[int, Member] = {}
        self._targets: dict[int, frozenset[int]] = {}
        self.assignment: Assignment | None = None
        self.numbers: dict[str, int] = {}

    def __call__(self, group: ConsumerGroup) -> NDArray[np.int64]:
        """The owner of every partition, -1 for nobody."""
        self._update(group)
        members = self._members
        self.assignment = self._assignor.assign(Group(self._topics(), list(members.values())))
        self.numbers = {about.id: number for number, about in members.items()}
        ids, topics, member, topic, partition = self.assignment.to_arrays()
        numbers = np.array([self.numbers[each] for each in ids], np.int64)
        first = np.array([self._first[name] for name in topics], np.int64)
        owner = np.full(group.partitions, -1, np.int64)
        owner[first[topic] + partition] = numbers[member]
        return owner

    def _update(self, group: ConsumerGroup) -> None:
        """Look again at the members that are not what they were."""
        for number in group.changed - group.members.keys():
            self._members.pop(number, None)
            self._targets.pop(number, None)
        for number in group.members.keys() & group.changed:
            about = self._members.get(number) or self._describe(number)
            target = group.targets[number]
            if target != self._targets.get(number):
                self._targets[number] = target
                about = replace(about, owned=self._given(about.id, target))
            self._members[number] = replace(about, topics=tuple(group.topics_of(group.members[number])))

    def _given(self, member: str, target: frozenset[int]) -> Sequence[TopicPartition] | PartitionList:
        """A member's target in the order it was assigned; that of a static member's successor by number."""
        if not target:
            return ()
        if self.assignment is not None and member in self.assignment:
            return self.assignment[member]
        names, first = list(self._first), list(self._first.values())
        topic = [bisect_right(first, partition) - 1 for partition in sorted(target)]
        return [
            TopicPartition(names[row], each - first[row])
            for row, each in zip(topic, sorted(target), strict=True)
        ]
