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
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from assignors.broker.topic_ids import TopicTable
    from assignors.group import Member

_SHORTEST_MAP = 16
_NOTHING = PartitionList.of(())
_T = TypeVar("_T", bound=np.generic)


class Slots(NamedTuple):
    """Partitions in slots; a slot is what one member has of one topic.

    Attributes:
        member: member of each slot, a position in the order in which the coordinator visits the members.
        topic: topic of each slot, a row of the topic table.
        starts: first row of each slot.
        sizes: rows of each slot, 1 or more.
        partition: partition number of each row.
    """

    member: NDArray[np.intp]
    topic: NDArray[np.intp]
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]
    partition: NDArray[np.int32]

    def per_row(self, values: NDArray[_T]) -> NDArray[_T]:
        """A value a slot as one a row, slot after slot."""
        return np.repeat(values, self.sizes)

    def in_order(self, order: NDArray[np.intp]) -> Slots:
        """The same slots one after the other in another order."""
        starts, sizes = self.starts[order], self.sizes[order]
        partition = self.partition[ranges(starts, sizes)]
        return Slots(self.member[order], self.topic[order], np.cumsum(sizes) - sizes, sizes, partition)

    def merged(self) -> Slots:
        """The same with one slot for each member and topic, in the order in which they first occur."""
        keys = self.member * (int(self.topic.max(initial=0)) + 1) + self.topic
        in_order = np.sort(keys)
        if (in_order[1:] != in_order[:-1]).all():
            return self
        _, first, slot = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        sizes = np.bincount(slot, weights=self.sizes).astype(np.intp)[order]
        rows = self.in_order(np.argsort(first[slot], kind="stable")).partition
        first = first[order]
        return Slots(self.member[first], self.topic[first], np.cumsum(sizes) - sizes, sizes, rows)


@dataclass(frozen=True, slots=True)
class Targets:
    """What the members have been told to consume.

    Attributes:
        slots: one for each member and topic: members as the coordinator visits them, a member's topics as its
            HashMap gives them, and a slot's rows as its HashSet does.
        taken: whether some member has a partition; one entry for each partition id of the topic table.
        shared: whether several members may have the same partition, as in no group that a broker made.
        unusual: members with tables so crowded that they have to be built call by call.
    """

    slots: Slots
    taken: NDArray[np.bool_]
    shared: bool
    unusual: frozenset[int]

    @classmethod
    def of(cls, members: Sequence[Member], owned: Sequence[PartitionList], table: TopicTable) -> Targets:
        """The targets of these members, who are in the order in which the coordinator visits them.

        Args:
            members: the members.
            owned: what each owns.
            table: the topics.
        """
        listed = _listed(owned, table)
        taken = np.zeros(int(table.counts.sum()), np.bool_)
        ids = listed.per_row(table.starts[listed.topic])
        ids += listed.partition
        outside = (listed.partition < 0) | (listed.partition >= listed.per_row(table.counts[listed.topic]))
        if outside.any():
            ids = ids[~outside]
        taken[ids] = True
        shared = bool(np.count_nonzero(taken) < len(listed.partition))
        slots, tied, unusual = _in_map_order(listed, table, repeats=shared)

        # A member that Group.next carried on owns partitions in the order in which consumers report them; the
        # order in which they were assigned, which is that of the coordinator's record, is in its user data.
        recorded = _recorded(members, owned, tied)
        if recorded:
            whose = np.array(list(recorded))
            lists = _listed(list(recorded.values()), table)
            lists = lists._replace(member=whose[lists.member])
            lists = _where_same(lists, _of_members(listed, whose), len(table.names))
            better, _, also_unusual = _in_map_order(lists, table, repeats=shared)
            slots, unusual = _with_order_of(slots, better), unusual | also_unusual
        return cls(slots, taken, shared, unusual)


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


def owned_lists(members: Sequence[Member]) -> list[PartitionList]:
    """What each member owns."""
    owned = [member.owned for member in members]
    return [
        each if type(each) is PartitionList else PartitionList.of(each) if each else _NOTHING
        for each in owned
    ]


def targeted_topics(owned: Sequence[PartitionList]) -> set[str]:
    """Names of the topics in the members' targets, and perhaps others."""
    return set[str]().union(*(names for names, _ in groupby([each.names for each in owned])))


def _listed(lists: Sequence[PartitionList], table: TopicTable) -> Slots:
    """The slots of lists, in the order in which they list them."""
    lengths = np.array([len(each.topics) for each in lists], np.intp)
    member = np.flatnonzero(lengths)
    if len(member) == 0:
        none = np.empty(0, np.intp)
        return Slots(none, none, none, none, np.empty(0, np.int32))
    filled = [each for each in lists if len(each.topics)] if len(member) < len(lists) else lists
    firsts = np.cumsum(lengths[member]) - lengths[member]
    code = np.concatenate([each.topics for each in filled])
    changes = np.empty(len(code), np.bool_)
    np.not_equal(code[1:], code[:-1], out=changes[1:])
    changes[firsts] = True
    starts = np.flatnonzero(changes)
    code = code[starts]
    topic = np.empty(len(starts), np.intp)
    done = 0
    for names, same in groupby([each.names for each in filled]):
        until = done + len(list(same))
        upto = np.searchsorted(starts, [firsts[done], firsts[until] if until < len(firsts) else len(changes)])
        run = slice(*upto.tolist())
        topic[run] = np.array([table.index[name] for name in names], np.intp)[code[run]]
        done = until
    sizes = np.diff(starts, append=len(changes))
    slot_member = member[np.searchsorted(firsts, starts, side="right") - 1]
    partition = np.concatenate([each.partitions for each in filled])
    return Slots(slot_member, topic, starts, sizes, partition).merged()


def _recorded(
    members: Sequence[Member], owned: Sequence[PartitionList], some: Iterable[int]
) -> dict[int, PartitionList]:
    """What some of the members were assigned, where it may be what they own."""
    recorded = {}
    for member in some:
        data = members[member].user_data
        if type(data) is StickyUserData and len(data.partitions) == len(owned[member]):
            recorded[member] = data.partitions
    return recorded


def _of_members(slots: Slots, members: NDArray[np.intp]) -> Slots:
    """The slots of these members."""
    return slots.in_order(np.flatnonzero(np.isin(slots.member, members)))


def _where_same(one: Slots, other: Slots, topics: int) -> Slots:
    """The slots of the members who have the same partitions in the other; each has as many in both."""
    keys = []
    for slots in (one, other):
        key = slots.per_row((slots.member * topics + slots.topic) << 32)
        key += slots.partition.view(np.uint32)
        key.sort()
        keys.append(key)
    different = np.unique((keys[0][keys[0] != keys[1]] >> 32) // topics)
    return one if len(different) == 0 else _of_members(one, np.setdiff1d(one.member, different))


def _with_order_of(slots: Slots, better: Slots) -> Slots:
    """The slots with those of some members in the order they have in `better`."""
    mine = np.flatnonzero(np.isin(slots.member, better.member))
    slots.partition[ranges(slots.starts[mine], slots.sizes[mine])] = better.partition
    slots.topic[mine], slots.sizes[mine] = better.topic, better.sizes
    return slots._replace(starts=np.cumsum(slots.sizes) - slots.sizes)


def _without_repeats(slots: Slots) -> Slots:
    """The slots without the partitions they list a second time."""
    pairs = np.stack([slots.per_row(np.arange(len(slots.sizes))), slots.partition.astype(np.intp)])
    _, first = np.unique(pairs, axis=1, return_index=True)
    rows = np.sort(first)
    sizes = np.bincount(pairs[0, rows], minlength=len(slots.sizes))
    return slots._replace(starts=np.cumsum(sizes) - sizes, sizes=sizes, partition=slots.partition[rows])


def _in_map_order(
    slots: Slots, table: TopicTable, *, repeats: bool
) -> tuple[Slots, list[int], frozenset[int]]:
    """The slots as maps give them back that got them in the order given.

    Args:
        slots: the slots, as records list them.
        table: the topics.
        repeats: whether slots may list a partition twice.

    Returns:
        The slots, the members for whom the order given mattered, and those with crowded maps.
    """
    if len(slots.sizes) == 0:
        return slots, [], frozenset()
    lengths = copy_length(slots.sizes)
    if repeats:
        slots = _without_repeats(slots)
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
    unusual = {
        *slots.member[first[by_topic.crowded]].tolist(),
        *ordered.member[by_number.crowded].tolist(),
    }
    if repeats:
        unusual.update(ordered.member[ordered_lengths != copy_length(ordered.sizes)].tolist())
    if unusual:
        ordered = ordered._replace(
            topic=ordered.topic.copy(),
            starts=ordered.starts.copy(),
            sizes=ordered.sizes.copy(),
            partition=ordered.partition.copy(),
        )
    for member in unusual:
        _put_call_by_call(member, slots, lengths, ordered, table)
    tied = {*slots.member[first[by_topic.tied]].tolist(), *ordered.member[by_number.tied].tolist()}
    return ordered, sorted(tied | unusual), frozenset(unusual)


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
