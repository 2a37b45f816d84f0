"""The target assignment the coordinator has, in the order its maps give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignors.broker.records import read_records
from partitioning.java import HashSet
from partitioning.java.hash_codes import spread
from partitioning.java.many_maps import Order, iteration_order
from partitioning.java.sizes import DEFAULT_LENGTH, grown_lengths, hash_set_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.broker.slots import Slots
    from assignors.broker.topic_ids import TopicTable
    from assignors.group import Member
    from assignors.partition_list import PartitionColumns


@dataclass(frozen=True, slots=True)
class Targets:
    """What the members have been told to consume.

    Attributes:
        slots: one for each member and topic: members as the coordinator visits them, a member's topics as its
            HashMap gives them, and a slot's rows as its HashSet does.
        taken: which partition ids of the topic table some member has.
        shared: whether several members may have the same partition, as in no group that a broker made.
        unusual: members with tables so crowded that they have to be built call by call.
    """

    slots: Slots
    taken: NDArray[np.bool_]
    shared: bool
    unusual: frozenset[int]

    @classmethod
    def of(cls, recorded: PartitionColumns, sizes: NDArray[np.intp], table: TopicTable) -> Targets:
        """The targets of members, who are in the order in which the coordinator visits them.

        Args:
            recorded: what they own, one after the other, each in the order in which its record lists it.
            sizes: how many partitions each owns.
            table: the topics.
        """
        slots, taken, shared = read_records(recorded, sizes, table)
        if len(slots.sizes) == 0:
            return cls(slots, taken, shared, frozenset())
        lengths = hash_set_lengths(slots.sizes)
        if shared:
            slots = _without_repeats(slots)
        by_topic = _topic_order(slots, table)
        ordered, ordered_lengths = slots, lengths
        if by_topic.rows is not None:
            ordered, ordered_lengths = slots.in_order(by_topic.rows), lengths[by_topic.rows]
        by_number = iteration_order(
            ordered.starts, ordered.sizes, spread(ordered.partition), ordered_lengths, ordered_lengths
        )
        if by_number.rows is not None:
            ordered = ordered._replace(partition=ordered.partition[by_number.rows])
        unusual = {*by_topic.crowded.tolist(), *ordered.member[by_number.crowded].tolist()}
        if shared:
            unusual.update(ordered.member[ordered_lengths != hash_set_lengths(ordered.sizes)].tolist())
        if unusual:
            ordered = _copied(ordered)
            for member in unusual:
                _put_call_by_call(member, slots, lengths, ordered, table)
        return cls(ordered, taken, shared, frozenset(unusual))


def _topic_order(slots: Slots, table: TopicTable) -> Order:
    """The order of the slots in their members' maps of topics; crowded are members."""
    first = np.flatnonzero(np.diff(slots.member, prepend=-1))
    topics = np.diff(first, append=len(slots.member))
    shortest = np.full(len(first), DEFAULT_LENGTH)
    order = iteration_order(
        first, topics, spread(table.hashes)[slots.topic], shortest, grown_lengths(shortest, topics)
    )
    return Order(order.rows, slots.member[first[order.crowded]])


def fault_in(
    slots: Slots, looked_at: NDArray[np.bool_], members: Sequence[Member], table: TopicTable
) -> str | None:
    """What these slots have that no group a broker made has, in words: a partition too many or one twice."""
    ids = slots.per_row(table.starts[slots.topic]) + slots.partition
    counts = slots.per_row(table.counts[slots.topic])
    rows = np.flatnonzero(slots.per_row(looked_at))
    outside = rows[(slots.partition[rows] < 0) | (slots.partition[rows] >= counts[rows])]
    if len(outside):
        topic, owner = _row(slots, int(outside[0]), members, table)
        count = counts[outside[0]]
        return f"{topic}, which member {owner!r} owns, does not exist (the topic has {count} partitions)"
    _, first, times = np.unique(ids[rows], return_index=True, return_counts=True)
    if (times == 1).all():
        return None
    row = rows[first[np.argmax(times > 1)]]
    partition, owner = _row(slots, int(row), members, table)
    _, other = _row(slots, int(rows[np.flatnonzero(ids[rows] == ids[row])[1]]), members, table)
    return f"members {owner!r} and {other!r} both own {partition}"


def _row(slots: Slots, row: int, members: Sequence[Member], table: TopicTable) -> tuple[str, str]:
    """The partition of a row, and whose it is."""
    slot = int(np.searchsorted(slots.starts, row, side="right")) - 1
    return f"{table.names[slots.topic[slot]]}-{slots.partition[row]}", members[slots.member[slot]].id


def _without_repeats(slots: Slots) -> Slots:
    """The slots without the partitions they list a second time."""
    pairs = np.stack([slots.per_row(np.arange(len(slots.sizes))), slots.partition.astype(np.intp)])
    _, first = np.unique(pairs, axis=1, return_index=True)
    rows = np.sort(first)
    sizes = np.bincount(pairs[0, rows], minlength=len(slots.sizes))
    return slots._replace(starts=np.cumsum(sizes) - sizes, sizes=sizes, partition=slots.partition[rows])


def _copied(slots: Slots) -> Slots:
    """The slots in arrays of their own, apart from their members."""
    return slots._replace(
        topic=slots.topic.copy(),
        starts=slots.starts.copy(),
        sizes=slots.sizes.copy(),
        partition=slots.partition.copy(),
    )


def _put_call_by_call(
    member: int, slots: Slots, lengths: NDArray[np.int64], ordered: Slots, table: TopicTable
) -> None:
    """Puts one member's slots into `ordered` as its maps, built call by call, give them back."""
    mine = np.flatnonzero(slots.member == member)
    sets = {
        topic: HashSet(slots.partition[start : start + size].tolist(), capacity=length)
        for topic, start, size, length in zip(
            slots.topic[mine].tolist(),
            slots.starts[mine].tolist(),
            slots.sizes[mine].tolist(),
            lengths[mine].tolist(),
            strict=True,
        )
    }
    topics = table.hash_map(DEFAULT_LENGTH)
    for topic in sets:
        topics.add(topic)
    start = int(ordered.starts[mine[0]])
    for slot, topic in zip(mine.tolist(), topics, strict=True):
        size = len(sets[topic])
        ordered.topic[slot], ordered.starts[slot], ordered.sizes[slot] = topic, start, size
        ordered.partition[start : start + size] = list(sets[topic])
        start += size
