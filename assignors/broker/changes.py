"""From what a broker assignor changed to the new target assignment, in the order its maps give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignors.assignment import Assignment
from assignors.broker.hash_table import TREEIFY, HashTable, number_set, spread_number
from assignors.broker.tables import (
    copy_length,
    crowded_while_growing,
    grown,
    iteration_order,
    ranges,
    sort_positions,
    spread,
    table_length,
)
from assignors.broker.targets import Rows, Slots, slots_of
from partitioning.java import hash_set_capacity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from assignors.broker.targets import Targets
    from assignors.broker.topic_ids import TopicTable


@dataclass(frozen=True, slots=True)
class Move:
    """A partition that changes hands once more after everything was given out; members are positions."""

    topic: int
    partition: int
    source: int
    destination: int


@dataclass(frozen=True, slots=True)
class Changes:
    """How the new target assignment comes about.

    Attributes:
        kept: which rows of the old targets stay.
        copied: members whose maps were copied before they were changed.
        given: what members get, in the order they get it.
        capacity: capacity of a new set for each topic.
        moves: what happens afterwards, in order.
    """

    kept: NDArray[np.bool_]
    copied: NDArray[np.bool_]
    given: Rows
    capacity: NDArray[np.intp]
    moves: Sequence[Move] = ()


def assign_targets(
    names: Sequence[str],
    place: NDArray[np.intp],
    table: TopicTable,
    subscribed: NDArray[np.bool_],
    targets: Targets,
    changes: Changes,
) -> Assignment:
    """The new target assignment.

    Args:
        names: member ids in group order.
        place: for each member, in the order in which the coordinator visits them, its position in the group.
        table: the topics.
        subscribed: which of them have a subscriber.
        targets: the old targets.
        changes: what becomes of them.
    """
    slots, unusual = _joined(place, table, targets.slots, changes)
    unusual |= {member for member in targets.unusual if changes.copied[member]}
    unusual |= {member for move in changes.moves for member in (move.source, move.destination)}
    if unusual:
        slots = _replaced(slots, place, _replayed(unusual, table, targets.slots, changes))
    sizes = np.bincount(place[slots.member], weights=slots.sizes, minlength=len(names)).astype(np.int64)
    return Assignment(
        tuple(names),
        tuple(table.names),
        table.counts,
        np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        slots.per_row(slots.topic).astype(np.int32),
        slots.partition,
        subscribed=subscribed,
    )


def _joined(
    place: NDArray[np.intp], table: TopicTable, old: Slots, changes: Changes
) -> tuple[Slots, set[int]]:
    """What was kept and what was given, in map order by place in the group, and members with crowded maps."""
    kept, given = _kept(old, changes.kept), slots_of(changes.given)
    extension = np.full(len(kept.sizes), -1)
    new = np.arange(len(given.sizes))
    if len(kept.sizes) and len(given.sizes):
        _, grows, by = np.intersect1d(
            kept.member * len(table.names) + kept.topic,
            given.member * len(table.names) + given.topic,
            assume_unique=True,
            return_indices=True,
        )
        extension[grows] = by
        new = np.delete(new, by)

    # New topics go to the head of their bins, the last one first; what is kept follows.
    member = np.concatenate([given.member[new][::-1], kept.member])
    topic = np.concatenate([given.topic[new][::-1], kept.topic])
    lengths = _map_lengths(len(place), old, kept, given, new, changes.given)
    bucket = np.where(changes.copied[member], spread(table.hashes)[topic] & (lengths[member] - 1), 0)
    order = sort_positions(place[member], bucket)

    pool = np.concatenate([kept.partition, given.partition])
    given_starts = given.starts + len(kept.partition)
    extended = extension >= 0
    none = np.zeros(len(new), np.intp)
    starts = np.concatenate([given_starts[new][::-1], kept.starts])
    sizes = np.concatenate([given.sizes[new][::-1], kept.sizes])
    more_starts, more_sizes = np.zeros((2, len(kept.sizes)), np.intp)
    more_starts[extended] = given_starts[extension[extended]]
    more_sizes[extended] = given.sizes[extension[extended]]
    more_starts = np.concatenate([none, more_starts])
    more_sizes = np.concatenate([none, more_sizes])
    parts = [
        np.stack(pair, axis=1)[order].reshape(-1) for pair in ((starts, more_starts), (sizes, more_sizes))
    ]
    total = (sizes + more_sizes)[order]
    slots = Slots(member[order], topic[order], np.cumsum(total) - total, total, pool[ranges(*parts)])

    is_new = np.arange(len(member)) < len(new)
    first = np.where(is_new, table_length(changes.capacity[topic]), copy_length(sizes))
    filled = is_new | np.concatenate([none > 0, extended])
    crowded = _order_filled(slots, np.flatnonzero(filled[order]), first[order])
    crowded.update(_crowded_maps(table, old, given, new, lengths, changes.copied))
    return slots, crowded


def _kept(slots: Slots, kept: NDArray[np.bool_]) -> Slots:
    """The slots without the rows that go."""
    if kept.all():
        return slots
    sizes = np.add.reduceat(kept.astype(np.intp), slots.starts)
    alive = sizes > 0
    sizes = sizes[alive]
    return Slots(
        slots.member[alive], slots.topic[alive], np.cumsum(sizes) - sizes, sizes, slots.partition[kept]
    )


def _map_lengths(
    members: int, old: Slots, kept: Slots, given: Slots, new: NDArray[np.intp], rows: Rows
) -> NDArray[np.int64]:
    """Length of each member's map if it was copied, and then asked for the topic of each row it was given.

    Asking makes the map grow before it adds what is missing, so that the topic which is new to the last call
    does not count.
    """
    topics = np.bincount(old.member, minlength=members)
    lengths = grown(table_length(topics), topics)
    entries = np.bincount(kept.member, minlength=members)
    entries += np.bincount(given.member[new], minlength=members)
    last_slot = np.flatnonzero(np.diff(given.member, append=-1))
    last_row = np.flatnonzero(np.diff(rows.member, append=-1))
    is_new = np.zeros(len(given.sizes), np.bool_)
    is_new[new] = True
    last_is_new = (given.topic[last_slot] == rows.topic[last_row]) & (given.sizes[last_slot] == 1)
    last_is_new &= is_new[last_slot]
    asked = given.member[last_slot]
    lengths[asked] = grown(lengths[asked], entries[asked] - last_is_new)
    return lengths


def _order_filled(slots: Slots, filled: NDArray[np.intp], first: NDArray[np.int64]) -> set[int]:
    """Puts the rows of the slots that got something into the order of their sets; members with crowded ones.

    Args:
        slots: the slots; their rows are in the order they were added.
        filled: the slots that got something.
        first: length of each slot's table before it got something.
    """
    if len(filled) == 0:
        return set()
    sizes = slots.sizes[filled]
    rows = ranges(slots.starts[filled], sizes)
    numbers = slots.partition[rows]
    result = iteration_order(
        np.cumsum(sizes) - sizes, sizes, spread(numbers), first[filled], grown(first[filled], sizes)
    )
    if result.rows is not None:
        slots.partition[rows] = numbers[result.rows]
    return set(slots.member[filled[result.crowded]].tolist())


def _crowded_maps(
    table: TopicTable,
    old: Slots,
    given: Slots,
    new: NDArray[np.intp],
    lengths: NDArray[np.int64],
    copied: NDArray[np.bool_],
) -> set[int]:
    """Members in whose maps of topics some bin may have become a tree."""
    member = np.concatenate([old.member, given.member[new]])
    entries = np.bincount(member, minlength=len(copied))
    members = np.flatnonzero(copied & (entries >= TREEIFY))
    if len(members) == 0:
        return set()
    order = np.argsort(member, kind="stable")
    topic = np.concatenate([old.topic, given.topic[new]])[order]
    crowded = crowded_while_growing(
        (np.cumsum(entries) - entries)[members],
        entries[members],
        spread(table.hashes)[topic],
        np.full(len(members), TREEIFY),
        lengths[members] * 2,
        TREEIFY - 1,
    )
    return set(members[crowded].tolist())


def _replaced(slots: Slots, place: NDArray[np.intp], replays: Mapping[int, Mapping[int, list[int]]]) -> Slots:
    """The slots with those of some members replaced by the partitions of each topic given for them."""
    others = np.flatnonzero(~np.isin(slots.member, list(replays)))
    member = [member for member, topics in replays.items() for _ in topics]
    lists = [numbers for topics in replays.values() for numbers in topics.values()]
    sizes = np.array([len(numbers) for numbers in lists], np.intp)
    every = Slots(
        np.concatenate([slots.member[others], np.array(member, np.intp)]),
        np.concatenate(
            [
                slots.topic[others],
                np.array([topic for topics in replays.values() for topic in topics], np.intp),
            ]
        ),
        np.concatenate([slots.starts[others], len(slots.partition) + np.cumsum(sizes) - sizes]),
        np.concatenate([slots.sizes[others], sizes]),
        np.concatenate(
            [slots.partition, np.array([number for numbers in lists for number in numbers], np.int32)]
        ),
    )
    return every.in_order(np.argsort(place[every.member], kind="stable"))


def _replayed(
    members: Collection[int], table: TopicTable, old: Slots, changes: Changes
) -> dict[int, dict[int, list[int]]]:
    """The partitions of each topic these members have in the end, from their maps built call by call."""
    calls: dict[int, list[tuple[int, int, bool]]] = {member: [] for member in members}
    given = np.isin(changes.given.member, list(members))
    for member, topic, partition in zip(*(column[given].tolist() for column in changes.given), strict=True):
        calls[member].append((topic, partition, True))
    for move in changes.moves:
        calls[move.source].append((move.topic, move.partition, False))
        calls[move.destination].append((move.topic, move.partition, True))
    return {member: _replay(member, calls[member], table, old, changes) for member in members}


def _replay(
    member: int, calls: Iterable[tuple[int, int, bool]], table: TopicTable, old: Slots, changes: Changes
) -> dict[int, list[int]]:
    slots = np.flatnonzero(old.member == member).tolist()
    topics = HashTable(len(slots))
    sets: dict[int, HashTable] = {}
    for slot in slots:
        topic, start, size = int(old.topic[slot]), int(old.starts[slot]), int(old.sizes[slot])
        sets[topic] = number_set(old.partition[start : start + size].tolist(), hash_set_capacity(size))
        topics.add(topic, *table.hashed(topic))
    gone = [
        (int(old.topic[slot]), number, False)
        for slot in slots
        for row, number in enumerate(
            old.partition[old.starts[slot] : old.starts[slot] + old.sizes[slot]].tolist(), old.starts[slot]
        )
        if not changes.kept[row]
    ]
    for topic, number, comes in [*gone, *calls]:
        if comes:
            topics.compute_if_absent(topic, *table.hashed(topic))
            if topic not in sets:
                sets[topic] = HashTable(int(changes.capacity[topic]))
            sets[topic].add(number, spread_number(number), (number,))
        elif topic in sets:
            sets[topic].remove(number)
            if not len(sets[topic]):
                topics.remove(topic)
                del sets[topic]
    return {topic: list(sets[topic]) for topic in topics}
