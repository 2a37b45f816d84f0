"""The target assignment the coordinator has, in the order its maps give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.broker.records import read_records
from assignors.columnar.odd_group import rows_of
from assignors.columns import run_sizes, run_starts
from partitioning.java import HashSet
from partitioning.java.hash_codes import spread
from partitioning.java.many_maps import iteration_order
from partitioning.java.sizes import DEFAULT_LENGTH, grown_lengths, hash_set_lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.columnar.broker.numbering import BrokerNumbering
    from assignors.columnar.broker.slots import Slots
    from assignors.partition_list import PartitionColumns


@dataclass(frozen=True, slots=True)
class Targets:
    """What the members have been told to consume.

    Attributes:
        slots: one for each member and topic: members as the coordinator visits them, a member's topics as its
            HashMap gives them, and a slot's rows as its HashSet does.
        taken: which partition ids some member has.
        crowded: slots with a HashSet that has more than eight numbers in a bin or has grown for that, so that
            a copy of it, or what is left of one, can have another order; ascending.
        unsettled: those of them of which a copy has.
    """

    slots: Slots
    taken: NDArray[np.bool_]
    crowded: NDArray[np.intp]
    unsettled: NDArray[np.intp]

    @classmethod
    def of(cls, recorded: PartitionColumns, sizes: NDArray[np.intp], numbering: BrokerNumbering) -> Targets:
        """The targets of members, who are in the order in which the coordinator visits them.

        Args:
            recorded: what they own, one after the other, each in the order in which its record lists it.
            sizes: how many partitions each owns.
            numbering: the topics.

        Raises:
            OddGroup: no broker made these targets, or some member's map of topics is crowded.
        """
        slots, taken = read_records(recorded, sizes, numbering)
        none = np.empty(0, np.intp)
        if len(slots.sizes) == 0:
            return cls(slots=slots, taken=taken, crowded=none, unsettled=none)
        by_topic = _topic_order(slots, numbering)
        if by_topic is not None:
            slots = slots.in_order(by_topic)
        numbers, crowded, unsettled = _in_number_order(slots)
        return cls(slots._replace(partition=numbers), taken, crowded, unsettled)


def _in_number_order(slots: Slots) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.intp]]:
    """The numbers of slots as their HashSets give them, and of `Targets` the slots `crowded` and `unsettled`.

    Args:
        slots: a slot's numbers are in the order of its record, in which they were put into its set.
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
        in_set = list(HashSet(slots.partition[rows].tolist()))
        numbers[rows] = in_set
        if list(HashSet(in_set)) != in_set:
            unsettled.append(slot)
    return numbers, order.crowded, np.array(unsettled, np.intp)


def _topic_order(slots: Slots, numbering: BrokerNumbering) -> NDArray[np.intp] | None:
    """The order of the slots in their members' maps of topics; None where they are in order."""
    first = run_starts(slots.member)
    if len(first) == len(slots.member):
        return None
    topics = run_sizes(first, len(slots.member))
    shortest = np.full(len(first), DEFAULT_LENGTH)
    hashes = numbering.spread_hashes[slots.topic]
    return rows_of(iteration_order(first, topics, hashes, shortest, grown_lengths(shortest, topics)))
