"""Reads a coordinator's target assignment from its records, and describes the changes that are made to it.

The iteration order of the coordinator's maps decides which partitions a member keeps. So slots and rows have
that order: members as the coordinator visits them, then topics in the order of a member's HashMap, then
partition numbers in the order of the topic's HashSet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.numbering import BrokerNumbering, JoinPosition, OddGroup, TopicRow, Visit
from assignors.group import CarriedMembers
from assignors.partition_list import PartitionColumns, as_lists, join_lists
from partitioning.java import HashSet
from partitioning.java.hash_codes import spread
from partitioning.java.hash_map import DEFAULT_LENGTH, grown_lengths, hash_set_lengths
from partitioning.java.many_maps import iteration_order
from partitioning.kit.columns import bounds, range_numbers, run_sizes, run_starts

_T = TypeVar("_T", bound=np.generic)


class Slots(NamedTuple):
    """Lists slots. A slot is a pair of a member and a topic of which the member has partitions.

    Attributes:
        member: the member of each slot, ascending, unless a method says otherwise.
        topic: the topic of each slot.
        starts: the first row of each slot in `partition`.
        sizes: how many rows each slot has: it has rows `starts[i]` to `starts[i] + sizes[i]`. Rows that
            belong to no slot may lie between those of two slots.
        partition: the partition number of each row.
    """

    member: Visit
    topic: TopicRow
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]
    partition: NDArray[np.int32]

    def per_row(self, values: NDArray[_T]) -> NDArray[_T]:
        """Return each slot's value once for each row of the slot, slot after slot.

        Args:
            values: a value for each slot.
        """
        return values.repeat(self.sizes)

    @classmethod
    def of(
        cls, member: Visit, topic: TopicRow, sizes: NDArray[np.intp], partition: NDArray[np.int32]
    ) -> Slots:
        """Return slots of these sizes, whose rows follow each other without gaps."""
        return cls(member, topic, sizes.cumsum() - sizes, sizes, partition)

    def in_order(self, order: NDArray[np.intp]) -> Slots:
        """Return these slots in another order, with their rows copied without gaps.

        Args:
            order: indices of slots, each at most once.
        """
        sizes = self.sizes[order]
        partition = self.partition[range_numbers(self.starts[order], sizes)]
        return Slots.of(self.member[order], self.topic[order], sizes, partition)

    def merge_repeated(self) -> Slots:
        """Return the same rows with only one slot for each pair of a member and a topic.

        Slots are in the order of each pair's first slot, and rows keep their order inside a slot. Repeated
        pairs occur because a member can get partitions of a topic several times.
        """
        # `keys` has one number for each (member, topic) pair.
        keys = self.member * (int(self.topic.max(initial=0)) + 1) + self.topic
        # If the keys ascend, no pair is repeated. This check needs no sort.
        if (keys[1:] > keys[:-1]).all():
            return self
        in_order = np.sort(keys)
        if (in_order[1:] != in_order[:-1]).all():
            return self
        _, first, slot = np.unique(keys, return_index=True, return_inverse=True)
        order = first.argsort()
        sizes = np.bincount(slot, weights=self.sizes).astype(np.intp)[order]
        rows = self.in_order(first[slot].argsort(kind="stable")).partition
        first = first[order]
        return Slots.of(self.member[first], self.topic[first], sizes, rows)


@dataclass(frozen=True, slots=True)
class OldTargets:
    """Holds the partitions of each member in the last target assignment.

    Attributes:
        slots: one slot for each pair of a member and a topic. Members are in the order in which the
            coordinator visits them, a member's topics in the order of its HashMap, and a slot's rows in the
            order of its HashSet.
        assigned: True for each partition id that some member has.
        crowded: the slots, ascending, whose HashSet has more than eight numbers in a bin, or has grown
            because of that. A copy of such a set, or a set after removals, can have another order.
        unsettled: the crowded slots for which a copy of the set does have another order.
    """

    slots: Slots
    assigned: NDArray[np.bool_]
    crowded: NDArray[np.intp]
    unsettled: NDArray[np.intp]

    @classmethod
    def of(
        cls, recorded: PartitionColumns, sizes: NDArray[np.integer], numbering: BrokerNumbering
    ) -> OldTargets:
        """Return the targets of members, given their records.

        Args:
            recorded: the partitions of the members, member by member, each in the order of its record.
            sizes: how many partitions each member has; members in the order of the coordinator's visits.
            numbering: the numbering of the group.

        Raises:
            OddGroup: no broker can have made these targets, or a member's map of topics is crowded.
        """
        slots, assigned = read_records(recorded, sizes, numbering)
        none = np.empty(0, np.intp)
        if len(slots.sizes) == 0:
            return cls(slots=slots, assigned=assigned, crowded=none, unsettled=none)
        by_topic = _topic_order(slots, numbering)
        if by_topic is not None:
            slots = slots.in_order(by_topic)
        numbers, crowded, unsettled = _in_number_order(slots)
        return cls(slots._replace(partition=numbers), assigned, crowded, unsettled)


def _in_number_order(slots: Slots) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.intp]]:
    """Return the slots' partition numbers in HashSet order, and `crowded` and `unsettled` of `OldTargets`.

    Args:
        slots: the slots, with numbers in the order of the record, in which they were added to the sets.

    Raises:
        OddGroup: a crowded set lists a number twice.
    """
    lengths = hash_set_lengths(slots.sizes)
    order = iteration_order(slots.starts, slots.sizes, spread(slots.partition), lengths, lengths)
    numbers = slots.partition if order.rows is None else slots.partition[order.rows]
    if len(order.crowded) == 0:
        return numbers, order.crowded, order.crowded
    numbers = numbers.copy()
    unsettled = []
    for slot in order.crowded.tolist():
        rows = slice(int(slots.starts[slot]), int(slots.starts[slot] + slots.sizes[slot]))
        in_set = _set_order(tuple(slots.partition[rows].tolist()))
        if len(in_set) != slots.sizes[slot]:
            raise OddGroup  # a partition of a topic that is gone is listed twice
        numbers[rows] = in_set
        if _set_order(in_set) != in_set:
            unsettled.append(slot)
    return numbers, order.crowded, np.array(unsettled, np.intp)


@lru_cache(maxsize=1 << 12)
def _set_order(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(HashSet(numbers))


def _topic_order(slots: Slots, numbering: BrokerNumbering) -> NDArray[np.intp] | None:
    """Return indices of the slots in the order of the members' maps of topics; None if they are in order.

    Raises OddGroup if a member's map of topics is crowded.
    """
    first = run_starts(slots.member)
    if len(first) == len(slots.member):
        return None
    topics = run_sizes(first, len(slots.member))
    shortest = np.full(len(first), DEFAULT_LENGTH)
    hashes = numbering.spread_hashes[slots.topic]
    order = iteration_order(first, topics, hashes, shortest, grown_lengths(shortest, topics))
    if len(order.crowded):
        raise OddGroup
    return order.rows


def recall_targets(
    members: CarriedMembers, order: JoinPosition
) -> tuple[PartitionColumns, NDArray[np.integer]]:
    """Return the partitions of the members, member by member, and how many each member has.

    A member's partitions are in the order in which they were assigned, which is that of the coordinator's
    record.

    Args:
        members: the members, in the order in which they joined.
        order: the join positions, in the order in which the result lists the members.
    """
    recorded, sizes = members.received, members.sizes
    if members.generation is not None:
        owned = as_lists([member.owned for member in members])
        recorded, sizes = join_lists([partitions.as_assigned for partitions in owned])
    rows = range_numbers(bounds(sizes)[order], sizes[order])
    return PartitionColumns(recorded.names, recorded.topics[rows], recorded.partitions[rows]), sizes[order]


def read_records(
    recorded: PartitionColumns, sizes: NDArray[np.integer], numbering: BrokerNumbering
) -> tuple[Slots, NDArray[np.bool_]]:
    """Return the slots of the members in the order of the records, and whether each partition id is assigned.

    Raises OddGroup if a partition is listed twice or does not exist. No broker makes such records.
    """
    slots = _slots_of_records(recorded, sizes, numbering)
    assigned = np.zeros(numbering.total, np.bool_)
    counts = slots.per_row(numbering.counts.astype(np.uint32)[slots.topic])
    ids = slots.per_row(numbering.starts[slots.topic])
    ids += slots.partition
    # Read as unsigned, a negative number is greater than every count, so one comparison finds it, too.
    exists = slots.partition.view(np.uint32) < counts
    everything = bool(exists.all())
    if not everything and (counts[~exists] > 0).any():
        raise OddGroup
    listed = ids if everything else ids[exists]
    assigned[listed] = True
    if np.count_nonzero(assigned) < len(listed):
        raise OddGroup
    return slots, assigned


def _slots_of_records(
    recorded: PartitionColumns, sizes: NDArray[np.integer], numbering: BrokerNumbering
) -> Slots:
    """Return the slots of the members, in the order in which the columns list them."""
    member = sizes.nonzero()[0]
    if len(member) == 0:
        none = np.empty(0, np.intp)
        return Slots.of(none, none, none, np.empty(0, np.int32))
    code = recorded.topics
    firsts = (sizes.cumsum() - sizes)[member]
    changes = np.empty(len(code), np.bool_)
    np.not_equal(code[1:], code[:-1], out=changes[1:])
    # A slot also begins with a new member, even if the topic is that of the row before.
    changes[firsts] = True
    starts = changes.nonzero()[0]
    slots = run_sizes(starts.searchsorted(firsts), len(starts))
    topic = np.array([numbering.index[name] for name in recorded.names], np.intp)[code[starts]]
    sizes_of_slots = run_sizes(starts, len(code))
    return Slots(member.repeat(slots), topic, starts, sizes_of_slots, recorded.partitions).merge_repeated()


class Move(NamedTuple):
    """Describes the move of a partition from one member to another.

    Attributes:
        topic: the topic, as in `Numbering.topics`.
        id: the partition id.
        source: the member that loses the partition, by visit.
        destination: the member that gets the partition, by visit.
    """

    topic: int
    id: int
    source: int
    destination: int


@dataclass(frozen=True, slots=True)
class Changes:
    """Lists the changes that turn the last target assignment into the new one.

    A member without changes keeps its map as it is. Rows and slots are those of `OldTargets`.

    Attributes:
        staying: how many rows of each old slot stay at first; these are the first rows of the slot.
        gone: the rows that stay at first and move away later, in the order of these moves. Rows of `mixed`
            members are left out.
        copied: True for members whose maps are copied before they are changed; bool of shape (members,).
        received: the partitions that members get, sorted by member, then in the order in which they come. A
            member may have several slots of one topic.
        capacity: for each topic, the capacity with which a new HashSet of its partitions is made.
        mixed: the members that get partitions and also lose some by moves. Their moves are in `moves` only,
            neither in `gone` nor in `received`.
        moves: the moves after free partitions were given out, in order.
    """

    staying: NDArray[np.intp]
    gone: NDArray[np.intp]
    copied: NDArray[np.bool_]
    received: Slots
    capacity: NDArray[np.intp]
    mixed: frozenset[int] = frozenset()
    moves: Sequence[Move] = ()
