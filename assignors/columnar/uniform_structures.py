"""Holds the target assignment of a coordinator, as its records say, and the calls that change it.

The order inside the coordinator's maps decides which partitions a member keeps, so slots and rows are held in
that order: members as the coordinator visits them, topics as a member's HashMap gives them, partition numbers
as the topic's HashSet does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.numbering import BrokerNumbering, JoinPosition, OddGroup, TopicRow, Visit
from assignors.group import Carried
from assignors.partition_list import PartitionColumns, as_lists, join_lists
from partitioning.java import HashSet
from partitioning.java.hash_codes import spread
from partitioning.java.hash_map import DEFAULT_LENGTH, grown_lengths, hash_set_lengths
from partitioning.java.many_maps import iteration_order
from partitioning.kit.columns import bounds, range_numbers, run_sizes, run_starts

_T = TypeVar("_T", bound=np.generic)


class Slots(NamedTuple):
    """Lists slots, the pairs of a member and a topic of which it has partitions; slots are grouped by member.

    Attributes:
        member: the member of each slot, ascending, unless a method says otherwise.
        topic: the topic of each slot.
        starts: the first row of each slot in `partition`.
        sizes: how many rows each slot has. Rows that belong to no slot may lie between slots.
        partition: the partition number of each row.
    """

    member: Visit
    topic: TopicRow
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]
    partition: NDArray[np.int32]

    def per_row(self, values: NDArray[_T]) -> NDArray[_T]:
        """Return the value of each row's slot, given a value for each slot; rows slot after slot."""
        return values.repeat(self.sizes)

    @classmethod
    def of(
        cls, member: Visit, topic: TopicRow, sizes: NDArray[np.intp], partition: NDArray[np.int32]
    ) -> Slots:
        """Return slots of these sizes, whose rows follow each other without gaps."""
        return cls(member, topic, sizes.cumsum() - sizes, sizes, partition)

    def in_order(self, order: NDArray[np.intp]) -> Slots:
        """Return these slots in another order (indices of slots), with their rows copied without gaps.

        Args:
            order: indices of slots, each at most once.
        """
        sizes = self.sizes[order]
        partition = self.partition[range_numbers(self.starts[order], sizes)]
        return Slots.of(self.member[order], self.topic[order], sizes, partition)

    def merge_repeated(self) -> Slots:
        """Return the same rows with one slot for each member and topic, in the order of their first rows.

        A member can get partitions of a topic in several turns. Rows keep their order inside a slot.
        """
        # One number for each (member, topic) pair.
        keys = self.member * (int(self.topic.max(initial=0)) + 1) + self.topic
        # Ascending keys show without a sort that nothing is repeated.
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
class Targets:
    """Holds the partitions of each member in the last target assignment.

    Attributes:
        slots: one for each member and topic: members as the coordinator visits them, a member's topics as its
            HashMap gives them, and a slot's rows as its HashSet does.
        assigned: which partition ids some member has.
        crowded: slots with a HashSet that has more than eight numbers in a bin or has grown for that, so that
            a copy of it, or what is left of one, can have another order; ascending.
        unsettled: the crowded slots of which a copy has another order.
    """

    slots: Slots
    assigned: NDArray[np.bool_]
    crowded: NDArray[np.intp]
    unsettled: NDArray[np.intp]

    @classmethod
    def of(
        cls, recorded: PartitionColumns, sizes: NDArray[np.integer], numbering: BrokerNumbering
    ) -> Targets:
        """Return the targets of members that own `sizes` partitions each, in the coordinator's order.

        A member's partitions are `recorded` in the order of its record. Raises OddGroup if no broker made
        these targets, or some member's map of topics is crowded.
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
    """Return slots' numbers in HashSet order, and the slots `crowded` and `unsettled` of `Targets`.

    A slot's numbers are given in the order of its record, in which they were put into its set. Raises
    OddGroup if a crowded set lists a number twice.
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
    """Return the order of the slots in their members' maps of topics; None if they are in order."""
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


def recall_targets(members: Carried, order: JoinPosition) -> tuple[PartitionColumns, NDArray[np.integer]]:
    """Return what members own, one after the other in this order, and how many partitions each.

    A member's are in the order in which they were assigned: that of the coordinator's record.
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
    """Return what each member has in the order of its record, and which partition ids some member has.

    Raises OddGroup if a partition is listed twice or does not exist, as in no group that a broker made.
    """
    slots = _slots_of_records(recorded, sizes, numbering)
    assigned = np.zeros(numbering.total, np.bool_)
    counts = slots.per_row(numbering.counts.astype(np.uint32)[slots.topic])
    ids = slots.per_row(numbering.starts[slots.topic])
    ids += slots.partition
    # Read as unsigned, a negative number is beyond all counts.
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
    """Return the slots of members, in the order in which the columns list them."""
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
    """Tells that a partition changes its member.

    Attributes:
        topic: the topic, as in `Numbering.topics`.
        id: the partition id.
        source: the member that gives the partition up, in the coordinator's order.
        destination: the member that gets the partition, in the same order.
    """

    topic: int
    id: int
    source: int
    destination: int


@dataclass(frozen=True, slots=True)
class Changes:
    """Lists the calls that turn the last target assignment into the new one.

    A member without any call keeps its map as it is. Rows and slots are those of the old `Targets`.

    Attributes:
        staying: how many rows of each old slot stay; these are the first rows of the slot.
        gone: rows among the staying ones that go later, in the order in which they go.
        copied: True for members whose maps were copied before they were changed; bool of shape (members,).
        received: what members get, grouped by member and in the order in which they get it. A member may have
            several slots of a topic.
        capacity: the capacity that a new HashSet of each topic's partitions is made with.
        mixed: members that lose some partitions while they get others.
        moves: what happens to partitions after they were given out, in order.
    """

    staying: NDArray[np.intp]
    gone: NDArray[np.intp]
    copied: NDArray[np.bool_]
    received: Slots
    capacity: NDArray[np.intp]
    mixed: frozenset[int] = frozenset()
    moves: Sequence[Move] = ()
