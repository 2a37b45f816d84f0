"""Assigns as "uniform" does, the broker's default (KIP-848), where all members subscribe to the same topics.

Other groups are left to the rule, and so are sets of partition numbers that are so crowded that arithmetic
cannot tell their order: both are seldom large enough for the rule to be slow. A member is its place in the
order in which the coordinator visits members (`Visit`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.numbering import (
    BrokerNumbering,
    JoinPosition,
    OddGroup,
    Subscriptions,
    TopicRow,
    members_by_hash,
)
from assignors.columnar.uniform_structures import Changes, Slots, Targets, recall_targets
from assignors.group import Assignment, Carried, Group
from partitioning.java.hash_codes import spread
from partitioning.java.hash_map import DEFAULT_LENGTH, grown_lengths, hash_set_lengths, table_lengths
from partitioning.java.many_maps import crowded_maps, iteration_order, map_order
from partitioning.kit.columns import bounds, join_columns, range_numbers, run_starts


def assign_uniform(group: Group) -> Assignment:
    """Return the assignment, each member's list in the order of the broker's maps.

    Raises:
        OddGroup: members subscribe to different topics, or the order of some map is not known.
    """
    if not group.members:
        return Assignment.of({})
    members = Carried.of(group.members)
    ids = members.column("id")
    joined = members_by_hash(ids, members.hashes)
    subscriptions = Subscriptions.of(members, joined.tolist())
    if not subscriptions.are_equal:
        raise OddGroup
    recorded, sizes = recall_targets(members, joined)
    numbering = BrokerNumbering.of_cluster(group.topics, members, subscriptions, set(recorded.names))
    targets = Targets.of(recorded, sizes, numbering)
    changes = assign_homogeneous(numbering, numbering.in_id_order(subscriptions.lists[0]), targets)
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
    ends = np.cumsum(sizes)
    first = np.searchsorted(slots.member, np.arange(members + 1))
    so_far = bounds(sizes)[first]
    has = so_far[1:] - so_far[:-1]
    # The rule walks members and counts extras down; a running sum gives all members' shares at once.
    quota, extra = divmod(int(numbering.counts[topics].sum()), members)
    quotas = quota + _takes_extra(has > quota, extra)
    lacks = np.maximum(quotas - has, 0)

    # Rows of a member that come before a slot, counted from the member's first slot.
    before = ends - sizes
    before -= before[first[slots.member]]
    staying = np.clip(quotas[slots.member] - before, 0, sizes)  # what comes last in a member's map goes
    free = _unassigned_runs(topics, numbering, targets.assigned)
    revoked = _revoked_runs(slots, staying, sizes)
    copied = lacks > 0
    copied[slots.member[staying < slots.sizes]] = True
    return Changes(
        staying=staying,
        copied=copied,
        received=_hand_out(free, revoked, lacks),
    )


def _takes_extra(above: NDArray[np.bool_], extra: int) -> NDArray[np.bool_]:
    """Return which members get one of the `extra` partitions over the quota.

    There are fewer of these than members.

    Members that have more already keep one while extras last; the last members take the extras that are left.
    """
    left = extra - (np.cumsum(above) - above)
    takes = above & (left > 0)
    # Members from here to the end are no more than the extras left: each of them must take one.
    due = np.flatnonzero(np.arange(len(above), 0, -1) <= left)
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
    ids = np.flatnonzero(~assigned)
    topic = np.searchsorted(numbering.starts[1:], ids, side="right")
    order = np.argsort(place[topic], kind="stable")
    order = order[place[topic[order]] < len(topics)]
    counts = np.bincount(place[topic[order]], minlength=len(topics))
    numbers = (ids - numbering.starts[topic])[order].astype(np.int32)
    return _Runs(topic=topics, sizes=counts, partition=numbers)


def _revoked_runs(slots: Slots, staying: NDArray[np.intp], sizes: NDArray[np.intp]) -> _Runs:
    """Return the partitions of subscribed topics that members give up."""
    losing = np.flatnonzero(staying < sizes)
    lost = (sizes - staying)[losing]
    numbers = slots.partition[range_numbers((slots.starts + staying)[losing], lost)]
    return _Runs(topic=slots.topic[losing], sizes=lost, partition=numbers)


def _hand_out(free: _Runs, revoked: _Runs, lacks: NDArray[np.intp]) -> Slots:
    """Return the slots that members get, free partitions first, until each has the number that it lacks.

    Members and runs are laid side by side on one line of partitions; each cut between two members or two runs
    begins a slot.
    """
    partition = join_columns(free.partition, revoked.partition)
    ends = np.cumsum(lacks)
    run_ends = np.cumsum(np.concatenate([free.sizes, revoked.sizes]))
    cuts = np.sort(np.concatenate([np.zeros(1, np.intp), ends, run_ends]))
    cuts = cuts[run_starts(cuts)]
    cuts = cuts[cuts <= len(partition)]
    starts = cuts[:-1]
    topic = np.concatenate([free.topic, revoked.topic])[np.searchsorted(run_ends, starts, side="right")]
    member = np.searchsorted(ends, starts, side="right")
    return Slots(member, topic, starts, np.diff(cuts), partition)


def assign_targets(
    ids: tuple[str, ...], joined: JoinPosition, numbering: BrokerNumbering, targets: Targets, changes: Changes
) -> Assignment:
    """Return the new target assignment; `joined` is the join position of each member of the numbering."""
    slots = _slots_in_map_order(joined, numbering, targets.slots, changes)
    sizes = np.bincount(joined[slots.member], weights=slots.sizes, minlength=len(joined)).astype(np.int64)
    return Assignment(
        members=ids,
        topics=numbering.topics,
        counts=numbering.counts,
        offsets=bounds(sizes),
        topic=slots.per_row(slots.topic.astype(np.int32)),
        partition=slots.partition,
        subscribed=numbering.has_subscriber,
    )


def _slots_in_map_order(
    joined: JoinPosition, numbering: BrokerNumbering, old: Slots, changes: Changes
) -> Slots:
    """Return what stays and what was given, in map order, members as they joined the group.

    Args:
        joined: join position of each member, members in the order of the coordinator's map.
        numbering: of the group.
        old: what members had; a member's slots are in the order of its map of topics.
        changes: what stays, and what members get.

    Raises:
        OddGroup: some map or set is so crowded that its order may be another.
    """
    kept, received = _staying_slots(old, changes), changes.received.merge_repeated()
    extended, by = _common_slots(kept, received, len(joined), len(numbering.topics))
    new = np.delete(np.arange(len(received.sizes)), by)
    lengths = _map_lengths(len(joined), old, kept, received, new, changes.received)
    looked_at = np.flatnonzero(changes.copied[old.member])
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
    first[: len(new)] = DEFAULT_LENGTH
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
    _order_filled(slots, np.flatnonzero(filled[order]), first[order])
    return slots


def _staying_slots(slots: Slots, changes: Changes) -> Slots:
    """Return the slots with the rows that stay."""
    sizes = changes.staying
    alive = np.flatnonzero(sizes)
    return Slots(slots.member[alive], slots.topic[alive], slots.starts[alive], sizes[alive], slots.partition)


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
    return np.append(np.flatnonzero(member[1:] != member[:-1]), len(member) - 1)


def _order_filled(slots: Slots, filled: NDArray[np.intp], first: NDArray[np.int64]) -> None:
    """Sort the rows of the `filled` slots, which are in the order they were added, as their sets have them.

    `first` is the length of a slot's table before it got something.

    Raises:
        OddGroup: a set is so crowded that its order may be another.
    """
    if len(filled) == 0:
        return
    sizes = slots.sizes[filled]
    rows = slice(None) if len(filled) == len(slots.sizes) else range_numbers(slots.starts[filled], sizes)
    numbers = slots.partition[rows]
    last = grown_lengths(first[filled], sizes)
    order = iteration_order(np.cumsum(sizes) - sizes, sizes, spread(numbers), first[filled], last)
    if len(order.crowded):
        raise OddGroup
    if order.rows is not None:
        slots.partition[rows] = numbers[order.rows]
