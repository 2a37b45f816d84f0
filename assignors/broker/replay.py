"""Members whose maps have to be built call by call to know their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partitioning.java import HashSet

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from assignors.broker.changes import Changes
    from assignors.broker.slots import Slots
    from assignors.broker.targets import Targets
    from assignors.broker.topic_ids import TopicTable

    Call = tuple[int, int, bool]
    """A topic, a number, and whether that partition comes or goes."""


def replayed(
    members: Collection[int], table: TopicTable, targets: Targets, changes: Changes
) -> dict[int, dict[int, list[int]]]:
    """The partitions of each topic these members have in the end."""
    old = targets.slots
    calls = {member: _going_and_coming(member, old, changes) for member in members}
    for topic, partition, source, destination in changes.moves:
        number = partition - int(table.starts[topic])
        for member, comes in ((source, False), (destination, True)):
            if member in changes.mixed:
                calls[member].append((topic, number, comes))
    return {
        member: _Maps(member, table, targets, changes.capacity).after(calls[member]) for member in members
    }


class _Maps:
    """A member's map of topics and sets of partitions, copied from those of its old target.

    Only sets that are changed have to be built; a copy of another one has its order, unless it is crowded.
    """

    def __init__(self, member: int, table: TopicTable, targets: Targets, capacity: NDArray[np.intp]) -> None:
        self._capacity = capacity
        self._numbers = {
            topic: targets.slots.partition[start : start + size].tolist()
            for topic, start, size, _ in _slots_of(member, targets.slots, targets.slots.sizes)
        }
        self._sets: dict[int, HashSet[int]] = {}
        self._topics = table.hash_map(len(self._numbers))
        for topic in list(self._numbers):
            self._topics.add(topic)
            if member in targets.unusual:
                self._set(topic)

    def after(self, calls: Iterable[Call]) -> dict[int, list[int]]:
        """The partitions of each topic after these calls."""
        for topic, number, comes in calls:
            if comes:
                self._topics.compute_if_absent(topic)
                self._set(topic).add(number)
            elif topic in self._topics:
                self._set(topic).discard(number)
                if not len(self._sets[topic]):
                    self._topics.remove(topic)
                    del self._sets[topic]
        return {
            topic: list(self._sets[topic]) if topic in self._sets else self._numbers[topic]
            for topic in self._topics
        }

    def _set(self, topic: int) -> HashSet[int]:
        """A topic's set, copied where it was there before."""
        if topic not in self._sets:
            numbers = self._numbers.pop(topic, None)
            if numbers is None:
                self._sets[topic] = HashSet(capacity=int(self._capacity[topic]))
            else:
                self._sets[topic] = HashSet(numbers)
        return self._sets[topic]


def _going_and_coming(member: int, old: Slots, changes: Changes) -> list[Call]:
    """What goes and then what comes, moves of mixed members apart."""
    calls = [
        (topic, number, False)
        for topic, start, size, staying in _slots_of(member, old, changes.staying)
        for number in old.partition[start + staying : start + size].tolist()
    ]
    slots = np.searchsorted(old.starts, changes.gone, side="right") - 1
    mine = old.member[slots] == member
    calls += [
        (topic, number, False)
        for topic, number in zip(
            old.topic[slots[mine]].tolist(), old.partition[changes.gone[mine]].tolist(), strict=True
        )
    ]
    calls += [
        (topic, number, True)
        for topic, start, size, _ in _slots_of(member, changes.given, changes.given.sizes)
        for number in changes.given.partition[start : start + size].tolist()
    ]
    return calls


def _slots_of(member: int, slots: Slots, values: NDArray[np.intp]) -> list[tuple[int, int, int, int]]:
    """Topic, start, size and a value of a member's slots; slots are grouped by member."""
    mine = slice(*np.searchsorted(slots.member, [member, member + 1]).tolist())
    columns = (slots.topic, slots.starts, slots.sizes, values)
    return list(zip(*(column[mine].tolist() for column in columns), strict=True))
