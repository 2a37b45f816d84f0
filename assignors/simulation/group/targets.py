"""What a coordinator's own assignor makes of a consumer group (KIP-848)."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from assignors.columns import bounds
from assignors.group import Group, Member
from assignors.instances import make_many
from assignors.partition_list import PartitionColumns, PartitionList
from partitioning.columns import ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from assignors.assignment import Assignment
    from assignors.group import Topic
    from assignors.simulation.group.consumer_group import ConsumerGroup
    from assignors.simulation.group.decisions import Decisions


class Targets:
    """Asks the assignor, and keeps what it answered as the coordinator's log has it, member by member.

    Args:
        decisions: what has been decided already.
        strategy: gives the assignor's name.
        topics: gives the topics the cluster has now.
        first: the number of each topic's first partition, in the order of `names`, and the number of all.
        names: topic names.
        describe: gives a member's id, instance id and rack, by its number.

    Attributes:
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
        self.position = np.zeros(int(first[-1]), np.int32)
        self._decisions = decisions
        self._decision = decisions.start
        self._strategy = strategy
        self._topics = topics
        self._first = first
        self._names = tuple(names)
        self._row = {name: row for row, name in enumerate(names)}
        self._describe = describe
        self._members: dict[int, Member] = {}
        self._slot: dict[int, int] = {}  # where each member's target is in the columns that follow
        self._listed = np.empty(0, np.int64)
        self._starts = self._sizes = np.empty(0, np.int64)

    def __call__(self, group: ConsumerGroup) -> NDArray[np.int64]:
        """The owner of every partition, -1 for nobody."""
        change = self._update(group)
        slots = np.fromiter(map(self._slot.get, self._members, repeat(-1)), np.int64, len(self._members))
        # The last element serves slot -1, that of a newcomer.
        starts, sizes = np.append(self._starts, 0)[slots], np.append(self._sizes, 0)[slots]
        topics = self._topics()
        first_time = self._decision is self._decisions.start
        self._decision = self._decisions.decide(
            self._decision,
            (change, tuple((topic.name, topic.partitions) for topic in topics)),
            self._strategy(),
            lambda: Group(topics, self._told(starts, sizes)),
            new_leader=first_time,
        )
        assert self._decision.assignment is not None
        return self._write(self._decision.assignment, starts, sizes, group.target)

    def _update(self, group: ConsumerGroup) -> tuple[object, ...]:
        """Look again at the members that are not what they were; gives all that is new about them."""
        news: list[object] = []
        slots = dict(self._slot)
        for number in sorted(group.changed):
            member = group.members.get(number)
            known = self._members.get(number)
            if known is not None and (member is None or self._began_anew(number, group)):
                news.append(self._members.pop(number).id)
                self._slot.pop(number, None)
                known = None
            if member is None:
                continue
            if known is None:
                before = member.replaces
                while before is not None and before.number not in slots:
                    before = before.replaces
                if before is not None:  # it takes the target, in the order in which it was written down
                    self._slot[number] = slots[before.number]
                    news.append(self._describe(before.number).id)
            topics = tuple(group.topics_of(member.topics))
            if known is None or known.topics != topics:
                self._members[number] = replace(known or self._describe(number), topics=topics)
                news.append((self._members[number].id, topics))
            member.replaces = None
        return tuple(news)

    def _began_anew(self, number: int, group: ConsumerGroup) -> bool:
        """Whether a member has left and joined again meanwhile, so that its target is gone."""
        slot = self._slot.get(number)
        return slot is not None and len(group.targets[number]) != self._sizes[slot]

    def _told(self, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[Member]:
        """The members as the assignor is told of them."""
        rows = self._listed[ranges(starts, sizes)]
        topic = np.searchsorted(self._first, rows, side="right") - 1
        columns = PartitionColumns(
            self._names, topic.astype(np.int32), (rows - self._first[topic]).astype(np.int32)
        )
        members = list(self._members.values())
        return make_many(
            Member,
            len(members),
            **{name: map(attrgetter(name), members) for name in ("id", "topics", "instance_id", "rack")},
            owned=PartitionList.parts(columns, bounds(sizes).tolist()),
            generation=repeat(None),
            user_data=repeat(None),
        )

    def _write(
        self,
        assignment: Assignment,
        starts: NDArray[np.int64],
        sizes: NDArray[np.int64],
        before: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Write the new targets down; one that is the same set as before is not written again."""
        ids, names, member, topic, partition = assignment.to_arrays()
        expected = tuple(map(attrgetter("id"), self._members.values()))
        numbers = np.array(list(self._members), np.int64)
        if ids != expected:  # a strategy that is not ours may list the members in its own order
            place = {name: row for row, name in enumerate(expected)}
            order = [place[each] for each in ids]
            numbers, starts, sizes = numbers[order], starts[order], sizes[order]
        given = self._first[[self._row[name] for name in names]][topic] + partition if len(topic) else topic
        owner = np.full(len(self.position), -1, np.int64)
        owner[given] = numbers[member]
        different = owner != before
        touched = np.isin(numbers, np.concatenate([owner[different], before[different]]))
        new_sizes = np.bincount(member, minlength=len(ids))
        new_starts = bounds(new_sizes)[:-1] + len(self._listed)
        starts, sizes = np.where(touched, new_starts, starts), np.where(touched, new_sizes, sizes)
        self._listed = np.concatenate([self._listed, given])[ranges(starts, sizes)]
        self._slot = dict(zip(numbers.tolist(), range(len(numbers)), strict=True))
        self._sizes, self._starts = sizes, bounds(sizes)[:-1]
        self.position[self._listed] = np.arange(len(self._listed)) - np.repeat(self._starts, sizes)
        return owner
