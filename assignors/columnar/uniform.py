"""Assigns as "uniform" does, the broker's default (KIP-848).

This file decides groups whose members all subscribe to the same topics (KAFKA-18688), and
`uniform_heterogeneous` decides the others. A member is its place in the order in which the coordinator visits
members (`Visit`).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment
from assignors.columnar.numbering import (
    BrokerNumbering,
    JoinPosition,
    OddGroup,
    Subscriptions,
    TopicRow,
    Visit,
    members_by_hash,
)
from assignors.columnar.uniform_heterogeneous import assign_heterogeneous
from assignors.columnar.uniform_structures import Changes, OldTargets, Slots, recall_targets
from assignors.group import CarriedMembers, Group
from partitioning.java import HashMap, HashSet
from partitioning.java.hash_codes import spread
from partitioning.java.hash_map import DEFAULT_LENGTH, grown_lengths, hash_set_lengths, table_lengths
from partitioning.java.many_maps import crowded_maps, iteration_order, map_order
from partitioning.kit.columns import bounds, join_columns, range_numbers, run_starts

Call = tuple[int, int, bool]
"""One change of a member's target: (topic, partition number, True to add it or False to remove it)."""


def assign_uniform(group: Group) -> Assignment:
    """Return the assignment of "uniform", with each member's list in the order of the broker's maps."""
    if not group.members:
        return Assignment.of({})
    members = CarriedMembers.of(group.members)
    ids = members.column("id")
    joined = members_by_hash(ids, members.hashes)
    subscriptions = Subscriptions.of(members, joined.tolist())
    recorded, sizes = recall_targets(members, joined)
    numbering = BrokerNumbering.of_cluster(group.topics, members, subscriptions, set(recorded.names))
    targets = OldTargets.of(recorded, sizes, numbering)
    if subscriptions.are_equal:
        changes = assign_homogeneous(numbering, numbering.in_id_order(subscriptions.lists[0]), targets)
    else:
        changes = assign_heterogeneous(numbering, targets)
    return assign_targets(ids, joined, numbering, targets, changes)


class _Runs(NamedTuple):
    """Lists partitions in runs. A run is several neighbouring rows whose partitions are of one topic.

    Attributes:
        topic: the topic of each run.
        sizes: how many rows each run has.
        partition: the partition number of each row; the rows of the first run come first, then the second's.
    """

    topic: TopicRow
    sizes: NDArray[np.intp]
    partition: NDArray[np.int32]


def assign_homogeneous(numbering: BrokerNumbering, topics: TopicRow, targets: OldTargets) -> Changes:
    """Return the changes by which each member keeps up to its quota and gets the partitions that it lacks.

    Args:
        numbering: the numbering of the group.
        topics: the subscribed topics, in the order of the coordinator's set of topic ids. Free partitions are
            given out in this order.
        targets: the last target assignment.
    """
    slots = targets.slots
    members = len(numbering.members)
    subscribed = np.zeros(len(numbering.topics), np.bool_)
    subscribed[topics] = True
    sizes = np.where(subscribed[slots.topic], slots.sizes, 0)
    ends = sizes.cumsum()
    first = slots.member.searchsorted(np.arange(members + 1))
    so_far = bounds(sizes)[first]
    has = so_far[1:] - so_far[:-1]
    # The rule visits members one by one and counts extras down. A running sum does this for all at once.
    quota, extra = divmod(int(numbering.counts[topics].sum()), members)
    quotas = quota + _takes_extra(has > quota, extra)
    lacks = np.maximum(quotas - has, 0)

    # `before` says how many rows of the same member come before each slot.
    before = ends - sizes
    before -= before[first[slots.member]]
    # The last rows of a member's map are revoked. `np.clip` would do the same, but takes more than twice as
    # long in a small group.
    staying = np.minimum(np.maximum(quotas[slots.member] - before, 0), sizes)
    free = _unassigned_runs(topics, numbering, targets.assigned)
    revoked = _revoked_runs(slots, staying, sizes)
    copied = lacks > 0
    copied[slots.member[staying < slots.sizes]] = True
    return Changes(
        staying=staying,
        gone=np.empty(0, np.intp),
        copied=copied,
        received=_hand_out(free, revoked, lacks),
        capacity=np.full(len(numbering.topics), DEFAULT_LENGTH),
    )


def _takes_extra(above: NDArray[np.bool_], extra: int) -> NDArray[np.bool_]:
    """Return whether each member gets one of the `extra` partitions beyond the quota.

    In the order of members, each member that has more than the quota keeps an extra, as long as there are
    extras. If extras would be left over, the last members get one each.

    Args:
        above: True for members that have more than the quota.
        extra: how many extras there are, fewer than members.
    """
    left = extra - (above.cumsum() - above)
    takes = above & (left > 0)
    # From `due[0]` on there are not more members than extras left, so each of these members takes one.
    due = (np.arange(len(above), 0, -1) <= left).nonzero()[0]
    if len(due):
        takes[due[0] :] = True
    return takes


def _unassigned_runs(topics: TopicRow, numbering: BrokerNumbering, assigned: NDArray[np.bool_]) -> _Runs:
    """Return the partitions that are in no target, in the order of `topics`, then by ascending number.

    Args:
        topics: the subscribed topics.
        numbering: the numbering of the group.
        assigned: True for each partition id that is in some member's target.
    """
    if not assigned.any():
        counts = numbering.counts[topics]
        numbers = range_numbers(np.zeros(len(topics), np.int32), counts.astype(np.int32))
        return _Runs(topic=topics, sizes=counts, partition=numbers)
    place = np.full(len(numbering.topics), len(topics))
    place[topics] = np.arange(len(topics))
    ids = (~assigned).nonzero()[0]
    topic = numbering.starts[1:].searchsorted(ids, side="right")
    order = place[topic].argsort(kind="stable")
    order = order[place[topic[order]] < len(topics)]
    counts = np.bincount(place[topic[order]], minlength=len(topics))
    numbers = (ids - numbering.starts[topic])[order].astype(np.int32)
    return _Runs(topic=topics, sizes=counts, partition=numbers)


def _revoked_runs(slots: Slots, staying: NDArray[np.intp], sizes: NDArray[np.intp]) -> _Runs:
    """Return the partitions of subscribed topics that members give up.

    Args:
        slots: the slots of the last target assignment.
        staying: how many rows of each slot stay; these are its first rows.
        sizes: how many rows each slot has, but 0 if its topic has no subscriber.
    """
    losing = (staying < sizes).nonzero()[0]
    lost = (sizes - staying)[losing]
    numbers = slots.partition[range_numbers((slots.starts + staying)[losing], lost)]
    return _Runs(topic=slots.topic[losing], sizes=lost, partition=numbers)


def _hand_out(free: _Runs, revoked: _Runs, lacks: NDArray[np.intp]) -> Slots:
    """Return the slots that members get: first free partitions, then revoked ones.

    All partitions form one line, in the order of runs. Members take their parts of it one after the other, so
    a slot begins wherever a new member or a new run begins.

    Args:
        free: the partitions that are in no target.
        revoked: the partitions that members give up.
        lacks: how many partitions each member gets.
    """
    partition = join_columns(free.partition, revoked.partition)
    ends = lacks.cumsum()
    run_ends = np.concatenate([free.sizes, revoked.sizes]).cumsum()
    cuts = np.sort(np.concatenate([np.zeros(1, np.intp), ends, run_ends]))
    cuts = cuts[run_starts(cuts)]
    cuts = cuts[cuts <= len(partition)]
    starts = cuts[:-1]
    topic = np.concatenate([free.topic, revoked.topic])[run_ends.searchsorted(starts, side="right")]
    member = ends.searchsorted(starts, side="right")
    return Slots(member, topic, starts, np.diff(cuts), partition)


def assign_targets(
    ids: tuple[str, ...],
    joined: JoinPosition,
    numbering: BrokerNumbering,
    targets: OldTargets,
    changes: Changes,
) -> Assignment:
    """Return the new target assignment.

    Args:
        ids: the member ids, by join position.
        joined: the join position of each member.
        numbering: the numbering of the group.
        targets: the last target assignment.
        changes: the changes that lead to the new one.
    """
    slots, crowded = _slots_in_map_order(joined, numbering, targets.slots, changes)
    were_crowded = targets.slots.member[targets.crowded]
    called = {*changes.mixed, *crowded.tolist(), *were_crowded[changes.copied[were_crowded]].tolist()}
    unsettled = targets.slots.member[targets.unsettled]
    as_before = joined[unsettled[~changes.copied[unsettled]]]
    if called:
        slots = _replace_members(slots, joined, called_targets(called, numbering, targets, changes))
    sizes = np.bincount(joined[slots.member], weights=slots.sizes, minlength=len(joined)).astype(np.int64)
    return Assignment(
        members=ids,
        topics=numbering.topics,
        counts=numbering.counts,
        offsets=bounds(sizes),
        topic=slots.per_row(slots.topic.astype(np.int32)),
        partition=slots.partition,
        subscribed=numbering.has_subscriber,
        keeps_record=frozenset(ids[place] for place in as_before.tolist()),
    )


def _slots_in_map_order(
    joined: JoinPosition, numbering: BrokerNumbering, old: Slots, changes: Changes
) -> tuple[Slots, Visit]:
    """Return the slots of the new targets: members in the order in which they joined, topics in map order.

    Args:
        joined: the join position of each member.
        numbering: the numbering of the group.
        old: the slots of the last targets; a member's slots are in the order of its map of topics.
        changes: the changes that lead to the new targets.

    Returns:
        The slots; and the members with a HashSet that got partitions and is so crowded that arithmetic cannot
        tell its order.
    """
    kept, received = _staying_slots(old, changes), changes.received.merge_repeated()
    extended, by = _common_slots(kept, received, len(joined), len(numbering.topics))
    new = np.delete(np.arange(len(received.sizes)), by)
    lengths = _map_lengths(len(joined), old, kept, received, new, changes.received)
    looked_at = changes.copied[old.member].nonzero()[0]
    crowded = crowded_maps(
        join_columns(old.member[looked_at], received.member[new]),
        numbering.spread_hashes[join_columns(old.topic[looked_at], received.topic[new])],
        lengths,
    )
    # Java may have made tree bins in a map of topics. Only the rule builds the map itself, so it must decide.
    if len(crowded):
        raise OddGroup

    # A new topic goes to the head of its bin, so new topics come first, the latest of them at the front.
    member = np.concatenate([received.member[new[::-1]], kept.member])
    topic = np.concatenate([received.topic[new[::-1]], kept.topic])
    # A map that was not copied keeps its order. A table of length 1 has one bin with all entries in their
    # order, so a length of 1 stands for "as it is".
    lengths = np.where(changes.copied, lengths, 1)
    order = map_order(joined[member], numbering.spread_hashes[topic], lengths[member])

    pool = join_columns(kept.partition, received.partition)
    given_starts = received.starts + len(kept.partition)
    starts = np.concatenate([given_starts[new[::-1]], kept.starts])
    sizes = np.concatenate([received.sizes[new[::-1]], kept.sizes])
    row_starts, row_sizes = starts[order], sizes[order]
    first = np.zeros(len(member), np.int64)
    first[: len(new)] = table_lengths(changes.capacity[topic[: len(new)]])
    filled = np.arange(len(member)) < len(new)
    if len(by):
        more_starts, more_sizes = np.zeros((2, len(member)), np.intp)
        more_starts[len(new) + extended] = given_starts[by]
        more_sizes[len(new) + extended] = received.sizes[by]
        first[len(new) + extended] = hash_set_lengths(kept.sizes[extended])
        filled[len(new) + extended] = True
        row_starts = np.stack([row_starts, more_starts[order]], axis=1).reshape(-1)
        row_sizes = np.stack([row_sizes, more_sizes[order]], axis=1).reshape(-1)
        sizes = sizes + more_sizes
    sizes = sizes[order]
    slots = Slots.of(member[order], topic[order], sizes, pool[range_numbers(row_starts, row_sizes)])
    crowded = _order_filled(slots, filled[order].nonzero()[0], first[order])
    return slots, slots.member[crowded]


def _staying_slots(slots: Slots, changes: Changes) -> Slots:
    """Return the old slots with only the rows that stay; slots without rows are left out."""
    starts, sizes, partition = slots.starts, changes.staying, slots.partition
    if len(changes.gone):
        rows = range_numbers(starts, sizes)
        is_gone = np.zeros(len(partition), np.bool_)
        is_gone[changes.gone] = True
        partition = partition[rows[~is_gone[rows]]]
        slot = starts.searchsorted(changes.gone, side="right") - 1
        sizes = sizes - np.bincount(slot, minlength=len(sizes))
        starts = sizes.cumsum() - sizes
    alive = sizes.nonzero()[0]
    return Slots(slots.member[alive], slots.topic[alive], starts[alive], sizes[alive], partition)


def _common_slots(
    one: Slots, other: Slots, members: int, topics: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where `one` and `other` have slots with the same member and topic.

    Args:
        one: slots, with each pair of a member and a topic at most once.
        other: slots, with each pair of a member and a topic at most once.
        members: the number of members.
        topics: the number of topics.

    Returns:
        Indices of slots in `one`, and indices of the same pairs' slots in `other`, both of the same length.
    """
    in_other = np.zeros(members, np.bool_)
    in_other[other.member] = True
    near = in_other[one.member].nonzero()[0]
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
    members: int, old: Slots, kept: Slots, received: Slots, new: NDArray[np.intp], calls: Slots
) -> NDArray[np.int64]:
    """Return the table length of each member's map of topics, if the map was copied and then got partitions.

    Java calls `computeIfAbsent` for each partition that a member gets. A full map grows at the start of such
    a call, before the topic is added. So a topic that the very last call adds does not make the map grow.

    Args:
        members: the number of members.
        old: the slots of the last targets.
        kept: the slots that stay.
        received: the slots that members get, one for each pair of a member and a topic.
        new: indices of `received` whose topics are new to their members.
        calls: the slots that members get, in the order of the calls; a pair may occur several times.
    """
    topics = np.bincount(old.member, minlength=members)
    lengths = grown_lengths(table_lengths(topics), topics)
    if len(received.sizes):
        entries = np.bincount(kept.member, minlength=members)
        entries += np.bincount(received.member[new], minlength=members)
        is_new = np.zeros(len(received.sizes), np.bool_)
        is_new[new] = True
        last, last_call = _last_of_each(received.member), _last_of_each(calls.member)
        last_is_new = (
            is_new[last] & (received.sizes[last] == 1) & (received.topic[last] == calls.topic[last_call])
        )
        last_member = received.member[last]
        lengths[last_member] = grown_lengths(lengths[last_member], entries[last_member] - last_is_new)
    return lengths


def _last_of_each(member: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the index of the last row of each run of equal members."""
    return np.append((member[1:] != member[:-1]).nonzero()[0], len(member) - 1)


def _order_filled(slots: Slots, filled: NDArray[np.intp], first: NDArray[np.int64]) -> NDArray[np.intp]:
    """Sort the partition numbers of the `filled` slots in place, into the order of their HashSets.

    Args:
        slots: all slots; the numbers of a filled slot are in the order in which they were added.
        filled: indices of the slots that got partitions.
        first: the table length of each slot's HashSet before it got partitions.

    Returns:
        Indices of the filled slots whose sets are so crowded that their order may be another one.
    """
    if len(filled) == 0:
        return filled
    sizes = slots.sizes[filled]
    rows = slice(None) if len(filled) == len(slots.sizes) else range_numbers(slots.starts[filled], sizes)
    numbers = slots.partition[rows]
    last = grown_lengths(first[filled], sizes)
    order = iteration_order(sizes.cumsum() - sizes, sizes, spread(numbers), first[filled], last)
    if order.rows is not None:
        slots.partition[rows] = numbers[order.rows]
    return filled[order.crowded]


def _replace_members(
    slots: Slots, joined: JoinPosition, targets: Mapping[int, Sequence[tuple[int, Sequence[int]]]]
) -> Slots:
    """Return the slots, with those of the members in `targets` replaced.

    Args:
        slots: the slots of all members.
        joined: the join position of each member.
        targets: by member, its topics in order, each with its partition numbers in order.
    """
    stays = np.ones(len(joined), np.bool_)
    stays[list(targets)] = False
    others = stays[slots.member].nonzero()[0]
    rows = [(member, topic, numbers) for member, topics in targets.items() for topic, numbers in topics]
    member, topic, sizes = (
        np.array([(member, topic, len(numbers)) for member, topic, numbers in rows], np.intp).reshape(-1, 3).T
    )
    every = Slots(
        member=np.concatenate([slots.member[others], member]),
        topic=np.concatenate([slots.topic[others], topic]),
        starts=np.concatenate([slots.starts[others], len(slots.partition) + sizes.cumsum() - sizes]),
        sizes=np.concatenate([slots.sizes[others], sizes]),
        partition=np.concatenate([slots.partition, *(np.array(numbers, np.int32) for *_, numbers in rows)]),
    )
    return every.in_order(joined[every.member].argsort(kind="stable"))


def called_targets(
    members: Collection[int], numbering: BrokerNumbering, targets: OldTargets, changes: Changes
) -> dict[int, list[tuple[int, list[int]]]]:
    """Return the new targets of some members by making all calls on HashMaps and HashSets, as Java does.

    Args:
        members: the members for whose maps and sets arithmetic cannot tell the order.
        numbering: the numbering of the group.
        targets: the last target assignment.
        changes: the changes that lead to the new one.

    Returns:
        By member, its topics in the order of its map, each with its partition numbers in the order of its
        set.
    """
    old = targets.slots
    crowded: dict[int, set[int]] = defaultdict(set)
    for slot in targets.crowded.tolist():
        crowded[int(old.member[slot])].add(int(old.topic[slot]))
    gone: dict[int, list[Call]] = {member: [] for member in members}
    slots = old.starts.searchsorted(changes.gone, side="right") - 1
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
        member: _after(calls[member], numbering, dict(_slots_of(member, old)), crowded[member], changes)
        for member in members
    }


def _after(
    calls: Iterable[Call],
    numbering: BrokerNumbering,
    had: dict[int, list[int]],
    crowded: Collection[int],
    changes: Changes,
) -> list[tuple[int, list[int]]]:
    """Return a member's topics after the calls, in map order, each with its partition numbers in set order.

    Args:
        calls: the changes, in the order in which they are made.
        numbering: the numbering of the group.
        had: the topics that the member had, in map order, with their partition numbers in set order.
        crowded: the topics whose sets are crowded.
        changes: all changes of the group, for the capacity of new sets.
    """
    ids = numbering.uuids
    topic_of = {ids[topic]: topic for topic in had}
    # Only sets that are changed or crowded are built. A copy of any other set keeps its order.
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
    """Return the calls of one member before any moves: first the partitions that go, then those that come."""
    staying = changes.staying[_rows_of(member, old)].tolist()
    going = zip(_slots_of(member, old), staying, strict=True)
    coming = _slots_of(member, changes.received)
    return [
        *((topic, number, False) for (topic, numbers), stay in going for number in numbers[stay:]),
        *((topic, number, True) for topic, numbers in coming for number in numbers),
    ]


def _slots_of(member: int, slots: Slots) -> list[tuple[int, list[int]]]:
    """Return (topic, partition numbers) for each slot of a member, in order."""
    mine = _rows_of(member, slots)
    topics, starts, sizes = (column[mine].tolist() for column in (slots.topic, slots.starts, slots.sizes))
    return [
        (topic, slots.partition[start : start + size].tolist())
        for topic, start, size in zip(topics, starts, sizes, strict=True)
    ]


def _rows_of(member: int, slots: Slots) -> slice:
    """Return the slice of a member's slots; `slots` must be sorted by member."""
    return slice(*slots.member.searchsorted([member, member + 1]).tolist())
