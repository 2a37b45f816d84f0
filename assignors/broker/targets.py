"""The target assignment the coordinator has, in the order its maps give it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from assignors.broker.hash_table import HashTable, number_set
from assignors.broker.tables import copy_length, grown, iteration_order, ranges, spread
from assignors.group import StickyUserData
from assignors.partition_list import PartitionList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.broker.topic_ids import TopicTable
    from assignors.group import Member

_SHORTEST_MAP = 16
_T = TypeVar("_T", bound=np.generic)


class Rows(NamedTuple):
    """Partitions of members, one row each, member after member.

    Attributes:
        member: whose it is, a position in the order in which the coordinator visits the members.
        topic: its topic, a row of the topic table.
        partition: its number.
    """

    member: NDArray[np.intp]
    topic: NDArray[np.intp]
    partition: NDArray[np.int32]


class Slots(NamedTuple):
    """Rows in slots; a slot is what one member has of one topic.

    Attributes:
        member: member of each slot.
        topic: topic of each slot.
        starts: first row of each slot.
        sizes: rows of each slot.
        partition: partition number of each row.
    """

    member: NDArray[np.intp]
    topic: NDArray[np.intp]
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]
    partition: NDArray[np.int32]

    def per_row(self, values: NDArray[_T]) -> NDArray[_T]:
        """A value a slot as one a row."""
        return np.repeat(values, self.sizes)

    def in_order(self, order: NDArray[np.intp]) -> Slots:
        """The same slots one after the other in another order."""
        starts, sizes = self.starts[order], self.sizes[order]
        partition = self.partition[ranges(starts, sizes)]
        return Slots(self.member[order], self.topic[order], np.cumsum(sizes) - sizes, sizes, partition)


@dataclass(frozen=True, slots=True)
class Targets:
    """What the members have been told to consume.

    Attributes:
        slots: one for each member and topic: members as the coordinator visits them, a member's topics as its
            HashMap gives them, and a slot's rows as its HashSet does.
        taken: whether some member has a partition; one entry for each partition id of the topic table.
        unusual: members with tables so crowded that they have to be built call by call.
    """

    slots: Slots
    taken: NDArray[np.bool_]
    unusual: frozenset[int]

    @classmethod
    def of(cls, members: Sequence[Member], table: TopicTable) -> Targets:
        """The targets of these members, who are in the order in which the coordinator visits them."""
        rows = _recorded(members, table)
        taken = np.zeros(int(table.counts.sum()), np.bool_)
        inside = _inside(rows, table)
        taken[(table.starts[rows.topic] + rows.partition)[inside]] = True
        slots = slots_of(rows)
        lengths = copy_length(slots.sizes)
        if np.count_nonzero(taken) < len(inside):
            slots = _without_repeats(slots)
        slots, unusual = _in_map_order(slots, lengths, table)
        return cls(slots, taken, unusual)


def targeted_topics(members: Sequence[Member]) -> set[str]:
    """Names of the topics in the members' targets, and perhaps others."""
    lists = {
        id(member.owned.names): member.owned.names
        for member in members
        if isinstance(member.owned, PartitionList) and len(member.owned)
    }
    names = set[str]().union(*lists.values())
    for member in members:
        if not isinstance(member.owned, PartitionList):
            names.update(topic for topic, _ in member.owned)
    return names


def slots_of(rows: Rows) -> Slots:
    """The slots of rows, in the order in which their first rows occur."""
    member, topic, partition = rows
    starts = np.flatnonzero((np.diff(member, prepend=-1) != 0) | (np.diff(topic, prepend=-1) != 0))
    sizes = np.diff(starts, append=len(partition))
    keys = member[starts] * (int(topic.max(initial=0)) + 1) + topic[starts]
    if len(np.unique(keys)) < len(keys):
        _, first, slot = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(np.repeat(first[slot.reshape(-1)], sizes), kind="stable")
        return slots_of(Rows(member[order], topic[order], partition[order]))
    return Slots(member[starts], topic[starts], starts, sizes, partition)


def _recorded(members: Sequence[Member], table: TopicTable) -> Rows:
    """The rows of the members' targets, as the coordinator's records list them.

    A member that `Group.next` carried on owns its partitions in the order in which consumers report them; the
    order in which they were assigned is in its user data.
    """
    owned = [PartitionList.of(member.owned) for member in members]
    assigned = [
        member.user_data.partitions
        if isinstance(member.user_data, StickyUserData) and len(member.user_data.partitions) == len(each)
        else each
        for member, each in zip(members, owned, strict=True)
    ]
    rows = _rows(assigned, table)
    if all(one is other for one, other in zip(assigned, owned, strict=True)):
        return rows
    if _same_partitions(rows, _rows(owned, table), table):
        return rows
    lists = [
        one if sorted(one) == sorted(other) else other for one, other in zip(assigned, owned, strict=True)
    ]
    return _rows(lists, table)


def _rows(lists: Sequence[PartitionList], table: TopicTable) -> Rows:
    sizes = [len(each) for each in lists]
    topics = [np.empty(0, np.intp)]
    for _, same in groupby((each for each in lists if len(each)), key=lambda each: id(each.names)):
        run = list(same)
        lookup = np.array([table.index[name] for name in run[0].names], np.intp)
        topics.append(lookup[np.concatenate([each.topics for each in run])])
    partitions = [np.empty(0, np.int32), *(each.partitions for each in lists if len(each))]
    return Rows(np.repeat(np.arange(len(lists)), sizes), np.concatenate(topics), np.concatenate(partitions))


def _inside(rows: Rows, table: TopicTable) -> NDArray[np.bool_]:
    """Which rows are partitions that exist."""
    return (rows.partition >= 0) & (rows.partition < table.counts[rows.topic])


def _same_partitions(one: Rows, other: Rows, table: TopicTable) -> bool:
    """Whether two columns of the same length give every member the same existing partitions, none twice."""
    if not (_inside(one, table).all() and _inside(other, table).all()):
        return False
    owner = np.full(int(table.counts.sum()), -1, np.intp)
    owner[table.starts[one.topic] + one.partition] = one.member
    return np.count_nonzero(owner >= 0) == len(one.partition) and np.array_equal(
        owner[table.starts[other.topic] + other.partition], other.member
    )


def _without_repeats(slots: Slots) -> Slots:
    """The slots without the partitions they list a second time."""
    pairs = np.stack([slots.per_row(np.arange(len(slots.sizes))), slots.partition.astype(np.intp)])
    _, first = np.unique(pairs, axis=1, return_index=True)
    rows = np.sort(first)
    sizes = np.bincount(pairs[0, rows], minlength=len(slots.sizes))
    return slots._replace(starts=np.cumsum(sizes) - sizes, sizes=sizes, partition=slots.partition[rows])


def _in_map_order(
    slots: Slots, lengths: NDArray[np.int64], table: TopicTable
) -> tuple[Slots, frozenset[int]]:
    """The slots as maps give them back that got them in the order given, and members with crowded maps.

    Args:
        slots: the slots, as records list them.
        lengths: length of each slot's table.
        table: the topics.
    """
    if len(slots.sizes) == 0:
        return slots, frozenset()
    first = np.flatnonzero(np.diff(slots.member, prepend=-1))
    topics = np.diff(first, append=len(slots.member))
    shortest = np.full(len(first), _SHORTEST_MAP)
    by_topic = iteration_order(
        first, topics, spread(table.hashes)[slots.topic], shortest, grown(shortest, topics)
    )
    ordered, ordered_lengths = slots, lengths
    if by_topic.rows is not None:
        ordered, ordered_lengths = slots.in_order(by_topic.rows), lengths[by_topic.rows]
    by_number = iteration_order(
        ordered.starts, ordered.sizes, spread(ordered.partition), ordered_lengths, ordered_lengths
    )
    if by_number.rows is not None:
        ordered = ordered._replace(partition=ordered.partition[by_number.rows])
    unusual = frozenset(
        [
            *slots.member[first[by_topic.crowded]].tolist(),
            *ordered.member[by_number.crowded].tolist(),
            *ordered.member[ordered_lengths != copy_length(ordered.sizes)].tolist(),
        ]
    )
    for member in unusual:
        _put_call_by_call(member, slots, lengths, ordered, table)
    return ordered, unusual


def _put_call_by_call(
    member: int, slots: Slots, lengths: NDArray[np.int64], ordered: Slots, table: TopicTable
) -> None:
    """Puts one member's slots into `ordered` as its maps, built call by call, give them back."""
    mine = np.flatnonzero(slots.member == member)
    sets = {
        topic: number_set(slots.partition[start : start + size].tolist(), length)
        for topic, start, size, length in zip(
            slots.topic[mine].tolist(),
            slots.starts[mine].tolist(),
            slots.sizes[mine].tolist(),
            lengths[mine].tolist(),
            strict=True,
        )
    }
    topics = HashTable(_SHORTEST_MAP)
    for topic in sets:
        topics.add(topic, *table.hashed(topic))
    start = int(ordered.starts[mine[0]])
    for slot, topic in zip(mine.tolist(), topics, strict=True):
        size = len(sets[topic])
        ordered.topic[slot], ordered.starts[slot], ordered.sizes[slot] = topic, start, size
        ordered.partition[start : start + size] = list(sets[topic])
        start += size
