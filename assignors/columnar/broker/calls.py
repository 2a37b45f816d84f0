"""Members whose maps are built call by call.

They lose some partitions while they get others, or have a set of partition numbers that is crowded: with more
than eight in one of its bins, such as 0, 16, 32 and so on.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from partitioning.java import HashMap, HashSet

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from uuid import UUID

    from assignors.columnar.broker.changes import Changes
    from assignors.columnar.broker.numbering import BrokerNumbering
    from assignors.columnar.broker.slots import Slots
    from assignors.columnar.broker.targets import Targets

    Call = tuple[int, int, bool]
    """A topic, a number, and whether that partition comes or goes."""


def called_targets(
    members: Collection[int], numbering: BrokerNumbering, targets: Targets, changes: Changes
) -> dict[int, list[tuple[int, list[int]]]]:
    """The topics of each member in the order of its map, each with its partition numbers in theirs."""
    old = targets.slots
    crowded: dict[int, set[int]] = defaultdict(set)
    for slot in targets.crowded.tolist():
        crowded[int(old.member[slot])].add(int(old.topic[slot]))
    gone: dict[int, list[Call]] = {member: [] for member in members}
    slots = np.searchsorted(old.starts, changes.gone, side="right") - 1
    for slot, row in zip(slots.tolist(), changes.gone.tolist(), strict=True):
        member = int(old.member[slot])
        if member in gone:
            gone[member].append((int(old.topic[slot]), int(old.partition[row]), False))
    calls = {member: _going_and_coming(member, old, changes) + gone[member] for member in members}
    for topic, partition, source, destination in changes.moves:
        number = partition - int(numbering.starts[topic])
        for member, comes in ((source, False), (destination, True)):
            if member in changes.mixed:
                calls[member].append((topic, number, comes))
    return {
        member: _after(calls[member], numbering, _slots_of(member, old), crowded[member], changes)
        for member in members
    }


def _after(
    calls: Iterable[Call],
    numbering: BrokerNumbering,
    had: dict[int, list[int]],
    crowded: Collection[int],
    changes: Changes,
) -> list[tuple[int, list[int]]]:
    """What a member that had these partitions of topics, some of them crowded, has after the calls."""
    ids = numbering.uuids
    topic_of = {ids[topic]: topic for topic in had}
    # Only sets that are changed or crowded have to be built: a copy of another one has its order.
    target: HashMap[UUID, list[int] | HashSet[int]] = HashMap(
        {ids[topic]: HashSet(numbers) if topic in crowded else numbers for topic, numbers in had.items()},
        capacity=len(had),
    )
    for topic, number, comes in calls:
        key = ids[topic]
        if comes:
            topic_of[key] = topic
            numbers = target.compute_if_absent(key, partial(HashSet, capacity=int(changes.capacity[topic])))
        elif key in target:
            numbers = target[key]
        else:
            continue
        if isinstance(numbers, list):
            numbers = target[key] = HashSet(numbers)
        if comes:
            numbers.add(number)
        else:
            numbers.discard(number)
            if not numbers:
                del target[key]
    return [(topic_of[key], list(numbers)) for key, numbers in target.items()]


def _going_and_coming(member: int, old: Slots, changes: Changes) -> list[Call]:
    """What goes and then what comes, all moves apart but those to members that only get."""
    mine = slice(*np.searchsorted(old.member, [member, member + 1]).tolist())
    calls = [
        (topic, number, False)
        for topic, start, size, staying in zip(
            old.topic[mine].tolist(),
            old.starts[mine].tolist(),
            old.sizes[mine].tolist(),
            changes.staying[mine].tolist(),
            strict=True,
        )
        for number in old.partition[start + staying : start + size].tolist()
    ]
    given = changes.given
    mine = slice(*np.searchsorted(given.member, [member, member + 1]).tolist())
    return calls + [
        (topic, number, True)
        for topic, start, size in zip(
            given.topic[mine].tolist(), given.starts[mine].tolist(), given.sizes[mine].tolist(), strict=True
        )
        for number in given.partition[start : start + size].tolist()
    ]


def _slots_of(member: int, slots: Slots) -> dict[int, list[int]]:
    """A member's partition numbers of each topic, in the order of its maps; slots are grouped by member."""
    mine = slice(*np.searchsorted(slots.member, [member, member + 1]).tolist())
    return {
        topic: slots.partition[start : start + size].tolist()
        for topic, start, size in zip(
            slots.topic[mine].tolist(), slots.starts[mine].tolist(), slots.sizes[mine].tolist(), strict=True
        )
    }
