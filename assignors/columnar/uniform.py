"""Assigns as "uniform" does, the broker's default (KIP-848).

This file has groups whose members all subscribe to the same topics (KAFKA-18688), `uniform_heterogeneous` the
others. A member is its place in the order in which the coordinator visits members (`Visit`).
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
from assignors.columnar.uniform_structures import Changes, Slots, Targets, recall_targets
from assignors.group import Carried, Group
from partitioning.java import HashMap, HashSet
from partitioning.java.hash_codes import spread
from partitioning.java.hash_map import DEFAULT_LENGTH, grown_lengths, hash_set_lengths, table_lengths
from partitioning.java.many_maps import crowded_maps, iteration_order, map_order
from partitioning.kit.columns import bounds, join_columns, range_numbers, run_starts

Call = tuple[int, int, bool]
"""(topic, partition number, True if the partition comes, False if it goes)."""


def assign_uniform(group: Group) -> Assignment:
    """Return the assignment, each member's list in the order of the broker's maps."""
    if not group.members:
        return Assignment.of({})
    members = Carried.of(group.members)
    ids = members.column("id")
    joined = members_by_hash(ids, members.hashes)
    subscriptions = Subscriptions.of(members, joined.tolist())
    recorded, sizes = recall_targets(members, joined)
    numbering = BrokerNumbering.of_cluster(group.topics, members, subscriptions, set(recorded.names))
    targets = Targets.of(recorded, sizes, numbering)
    if subscriptions.are_equal:
        changes = assign_homogeneous(numbering, numbering.in_id_order(subscriptions.lists[0]), targets)
    else:
        changes = assign_heterogeneous(numbering, targets)
    return assign_targets(ids, joined, numbering, targets, changes)


class _Runs(NamedTuple):
    """Lists partitions in runs: each run is `sizes` rows of `partition`, numbers of one topic, in order."""

    topic: TopicRow
    sizes: NDArray[np.intp]
    partition: NDArray[np.int32]


def assign_homogeneous(numbering: BrokerNumbering, topics: TopicRow, targets: Targets) -> Changes:
    """Let each member keep partitions up to its quota and get what it lacks, in the order of `topics`.

    Args:
        numbering: of the group.
        topics: the subscribed topics in the order of the coordinator's set of ids.
        targets: what members have now.
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
    # The rule walks members and counts extras down; a running sum gives all members' shares at once.
    quota, extra = divmod(int(numbering.counts[topics].sum()), members)
    quotas = quota + _takes_extra(has > quota, extra)
    lacks = np.maximum(quotas - has, 0)

    # Rows of a member that come before a slot, counted from the member's first slot.
    before = ends - sizes
    before -= before[first[slots.member]]
    # What comes last in a member's map goes. `np.clip` takes more than twice as long in a small group.
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
    """Return which members get one of the `extra` partitions over the quota.

    There are fewer of these than members.

    Members that have more already keep one while extras last; the last members take the extras that are left.
    """
    left = extra - (above.cumsum() - above)
    takes = above & (left > 0)
    # Members from here to the end are no more than the extras left: each of them must take one.
    due = (np.arange(len(above), 0, -1) <= left).nonzero()[0]
    if len(due):
        takes[due[0] :] = True
    return takes


def _unassigned_runs(topics: TopicRow, numbering: BrokerNumbering, assigned: NDArray[np.bool_]) -> _Runs:
    """Return the partitions that are in no target, in the order of `topics`, numbers ascending."""
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
    """Return the partitions of subscribed topics that members give up."""
    losing = (staying < sizes).nonzero()[0]
    lost = (sizes - staying)[losing]
    numbers = slots.partition[range_numbers((slots.starts + staying)[losing], lost)]
    return _Runs(topic=slots.topic[losing], sizes=lost, partition=numbers)


def _hand_out(free: _Runs, revoked: _Runs, lacks: NDArray[np.intp]) -> Slots:
    """Return the slots that members get, free partitions first, until each has the number that it lacks.

    Members and runs are laid side by side on one line of partitions; each cut between two members or two runs
    begins a slot.
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
    ids: tuple[str, ...], joined: JoinPosition, numbering: BrokerNumbering, targets: Targets, changes: Changes
) -> Assignment:
    """Return the new target assignment; `joined` is the join position of each member of the numbering."""
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
    """Return what stays and what was given, in map order, members as they joined the group.

    Args:
        joined: join position of each member, members in the order of the coordinator's map.
        numbering: of the group.
        old: what members had; a member's slots are in the order of its map of topics.
        changes: what stays, and what members get.

    Returns:
        The slots, and the members with a set that got something and is so crowded that its order may be
        another.
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
    # Java may have made trees in a map of topics; the rule builds the real map.
    if len(crowded):
        raise OddGroup

    # New topics go to the head of their bins, the last one first; what is kept follows.
    member = np.concatenate([received.member[new[::-1]], kept.member])
    topic = np.concatenate([received.topic[new[::-1]], kept.topic])
    # In a table of length 1 all entries are in one bin, in order: so maps that were not copied stay as they
    # are.
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
    """Return the slots with the rows that stay."""
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
    """Return the positions in both of the slots with the same member and topic.

    Args:
        one: slots, each pair of a member and a topic at most once.
        other: likewise.
        members: how many members there are.
        topics: how many topics there are.

    Returns:
        Positions in `one` and in `other`, both of the same length, pair by pair.
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
    """Return each member's map length if it was copied, then asked for the topic of each row it was given.

    Asking makes the map grow before it adds what is missing, so that the topic which is new to the last call
    does not count. `new` are slots of `received` whose topics are new to their members; `calls` are the
    received slots in the order of the calls.
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
    """Return the last row of each run of equal members."""
    return np.append((member[1:] != member[:-1]).nonzero()[0], len(member) - 1)


def _order_filled(slots: Slots, filled: NDArray[np.intp], first: NDArray[np.int64]) -> NDArray[np.intp]:
    """Sort the rows of the `filled` slots, which are in the order they were added, as their sets have them.

    `first` is the length of a slot's table before it got something. Returns the slots whose order may be
    another, since their sets are crowded.
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
    """Return the slots with some members' replaced by the topics and partition numbers given for them."""
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
    members: Collection[int], numbering: BrokerNumbering, targets: Targets, changes: Changes
) -> dict[int, list[tuple[int, list[int]]]]:
    """Return the topics of each member in the order of its map, each with its partition numbers in theirs."""
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
    """Return the topics and numbers that a member has after the calls, given those it had, in map order."""
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
    """Return the calls of one member without its later moves: partitions that go, then those that come."""
    staying = changes.staying[_rows_of(member, old)].tolist()
    going = zip(_slots_of(member, old), staying, strict=True)
    coming = _slots_of(member, changes.received)
    return [
        *((topic, number, False) for (topic, numbers), stay in going for number in numbers[stay:]),
        *((topic, number, True) for topic, numbers in coming for number in numbers),
    ]


def _slots_of(member: int, slots: Slots) -> list[tuple[int, list[int]]]:
    """Return the topic of each of a member's slots with its partition numbers, in order."""
    mine = _rows_of(member, slots)
    topics, starts, sizes = (column[mine].tolist() for column in (slots.topic, slots.starts, slots.sizes))
    return [
        (topic, slots.partition[start : start + size].tolist())
        for topic, start, size in zip(topics, starts, sizes, strict=True)
    ]


def _rows_of(member: int, slots: Slots) -> slice:
    """Return the slice of a member's slots; slots are grouped by member, ascending."""
    return slice(*slots.member.searchsorted([member, member + 1]).tolist())
