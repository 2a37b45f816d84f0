"""The new target assignment, in the order the maps of a broker assignor give it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.assignment import Assignment
from assignors.broker.replay import replayed
from assignors.broker.slots import Slots
from assignors.columns import join
from partitioning.columns import ranges
from partitioning.java.hash_codes import spread
from partitioning.java.many_maps import crowded_maps, iteration_order, map_order
from partitioning.java.sizes import grown_lengths, hash_set_lengths, table_lengths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from assignors.broker.changes import Changes
    from assignors.broker.targets import Targets
    from assignors.broker.topic_ids import TopicTable


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
    unusual |= changes.mixed
    if targets.shared:
        unusual.update(changes.given.member.tolist())  # who may be given what it has
    if unusual:
        slots = _replaced(slots, place, replayed(unusual, table, targets, changes))
    sizes = np.bincount(place[slots.member], weights=slots.sizes, minlength=len(names)).astype(np.int64)
    return Assignment(
        tuple(names),
        tuple(table.names),
        table.counts,
        np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        slots.per_row(slots.topic.astype(np.int32)),
        slots.partition,
        subscribed=subscribed,
    )


def _joined(
    place: NDArray[np.intp], table: TopicTable, old: Slots, changes: Changes
) -> tuple[Slots, set[int]]:
    """What stays and what was given, in map order by place in the group, and members with crowded maps."""
    kept, given = _kept(old, changes), changes.given.merged()
    extended, by = _common(kept, given, len(place), len(table.names))
    new = np.delete(np.arange(len(given.sizes)), by)
    lengths = _map_lengths(len(place), old, kept, given, new, changes.given)

    # New topics go to the head of their bins, the last one first; what is kept follows.
    member = np.concatenate([given.member[new[::-1]], kept.member])
    topic = np.concatenate([given.topic[new[::-1]], kept.topic])
    order = map_order(
        place[member], spread(table.hashes)[topic], np.where(changes.copied, lengths, 1)[member]
    )

    pool = join(kept.partition, given.partition)
    given_starts = given.starts + len(kept.partition)
    starts = np.concatenate([given_starts[new[::-1]], kept.starts])
    sizes = np.concatenate([given.sizes[new[::-1]], kept.sizes])
    row_starts, row_sizes = starts[order], sizes[order]
    first = np.zeros(len(member), np.int64)
    first[: len(new)] = table_lengths(changes.capacity[topic[: len(new)]])
    filled = np.arange(len(member)) < len(new)
    if len(by):
        more_starts, more_sizes = np.zeros((2, len(member)), np.intp)
        more_starts[len(new) + extended] = given_starts[by]
        more_sizes[len(new) + extended] = given.sizes[by]
        first[len(new) + extended] = hash_set_lengths(kept.sizes[extended])
        filled[len(new) + extended] = True
        row_starts = np.stack([row_starts, more_starts[order]], axis=1).reshape(-1)
        row_sizes = np.stack([row_sizes, more_sizes[order]], axis=1).reshape(-1)
        sizes = sizes + more_sizes
    sizes = sizes[order]
    partition = pool[ranges(row_starts, row_sizes)]
    slots = Slots(member[order], topic[order], np.cumsum(sizes) - sizes, sizes, partition)
    crowded = _order_filled(slots, np.flatnonzero(filled[order]), first[order])
    return slots, crowded | _crowded_maps(table, old, given, new, lengths, changes.copied)


def _kept(slots: Slots, changes: Changes) -> Slots:
    """The slots with the rows that stay."""
    starts, sizes, partition = slots.starts, changes.staying, slots.partition
    if len(changes.gone):
        rows = ranges(starts, sizes)
        is_gone = np.zeros(len(partition), np.bool_)
        is_gone[changes.gone] = True
        partition = partition[rows[~is_gone[rows]]]
        slot = np.searchsorted(starts, changes.gone, side="right") - 1
        sizes = sizes - np.bincount(slot, minlength=len(sizes))
        starts = np.cumsum(sizes) - sizes
    alive = np.flatnonzero(sizes)
    return Slots(slots.member[alive], slots.topic[alive], starts[alive], sizes[alive], partition)


def _common(one: Slots, other: Slots, members: int, topics: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The positions in both of the slots with the same member and topic."""
    in_other = np.zeros(members, np.bool_)
    in_other[other.member] = True
    near = np.flatnonzero(in_other[one.member])
    if len(near) == 0:
        return near, near
    _, here, there = np.intersect1d(
        one.member[near] * topics + one.topic[near],
        other.member * topics + other.topic,
        assume_unique=True,
        return_indices=True,
    )
    return near[here], there


def _map_lengths(
    members: int, old: Slots, kept: Slots, given: Slots, new: NDArray[np.intp], calls: Slots
) -> NDArray[np.int64]:
    """Length of each member's map if it was copied, and then asked for the topic of each row it was given.

    Asking makes the map grow before it adds what is missing, so that the topic which is new to the last call
    does not count.

    Args:
        members: how many members there are.
        old: what they had; the maps are copied with it.
        kept: what stays of it.
        given: what they get.
        new: the slots of `given` whose topics are new to their members.
        calls: what they get, in the order of the calls.
    """
    topics = np.bincount(old.member, minlength=members)
    lengths = grown_lengths(table_lengths(topics), topics)
    if len(given.sizes):
        entries = np.bincount(kept.member, minlength=members)
        entries += np.bincount(given.member[new], minlength=members)
        is_new = np.zeros(len(given.sizes), np.bool_)
        is_new[new] = True
        last, last_call = _last_of_each(given.member), _last_of_each(calls.member)
        last_is_new = is_new[last] & (given.sizes[last] == 1) & (given.topic[last] == calls.topic[last_call])
        asked = given.member[last]
        lengths[asked] = grown_lengths(lengths[asked], entries[asked] - last_is_new)
    return lengths


def _last_of_each(member: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.append(np.flatnonzero(member[1:] != member[:-1]), len(member) - 1)


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
    rows = slice(None) if len(filled) == len(slots.sizes) else ranges(slots.starts[filled], sizes)
    numbers = slots.partition[rows]
    result = iteration_order(
        np.cumsum(sizes) - sizes, sizes, spread(numbers), first[filled], grown_lengths(first[filled], sizes)
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
    """Members whose maps of topics were so crowded that their order may be another one."""
    looked_at = np.flatnonzero(copied[old.member])
    member = join(old.member[looked_at], given.member[new])
    topic = join(old.topic[looked_at], given.topic[new])
    return set(crowded_maps(member, spread(table.hashes)[topic], lengths).tolist())


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
