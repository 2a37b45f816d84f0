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
        crowded: slots whose HashSet may have grown early, or made a tree, so that a copy of it can have
            another order; ascending.
    """

    slots: Slots
    taken: NDArray[np.bool_]
    crowded: NDArray[np.intp]

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
        if len(slots.sizes) == 0:
            return cls(slots=slots, taken=taken, crowded=np.empty(0, np.intp))
        by_topic = _topic_order(slots, numbering)
        if by_topic is not None:
            slots = slots.in_order(by_topic)
        lengths = hash_set_lengths(slots.sizes)
        by_number = iteration_order(slots.starts, slots.sizes, spread(slots.partition), lengths, lengths)
        if by_number.rows is not None:
            in_order = slots.partition[by_number.rows]
        elif len(by_number.crowded):
            in_order = slots.partition.copy()
        else:
            in_order = slots.partition
        for slot in by_number.crowded.tolist():
            rows = slice(int(slots.starts[slot]), int(slots.starts[slot] + slots.sizes[slot]))
            in_order[rows] = list(HashSet(slots.partition[rows].tolist()))
        return cls(slots=slots._replace(partition=in_order), taken=taken, crowded=by_number.crowded)


def _topic_order(slots: Slots, numbering: BrokerNumbering) -> NDArray[np.intp] | None:
    """The order of the slots in their members' maps of topics; None where they are in order."""
    first = run_starts(slots.member)
    if len(first) == len(slots.member):
        return None
    topics = run_sizes(first, len(slots.member))
    shortest = np.full(len(first), DEFAULT_LENGTH)
    hashes = numbering.spread_hashes[slots.topic]
    return rows_of(iteration_order(first, topics, hashes, shortest, grown_lengths(shortest, topics)))
