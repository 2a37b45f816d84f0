"""What the coordinator's records say the members are to consume."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.broker.slots import Slots
from assignors.partition_list import NOTHING, PartitionList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.columnar.broker.topic_ids import TopicTable
    from assignors.group import Member
    from assignors.partition_list import PartitionColumns


def recorded_lists(members: Sequence[Member]) -> list[PartitionList]:
    """What each member owns, in the order in which it was assigned: that of the coordinator's record."""
    owned = [member.owned for member in members]
    lists = [
        each if type(each) is PartitionList else PartitionList.of(each) if each else NOTHING for each in owned
    ]
    return [each if each.assigned is None else each.assigned for each in lists]


def read_records(
    recorded: PartitionColumns, sizes: NDArray[np.intp], table: TopicTable
) -> tuple[Slots, NDArray[np.bool_], bool]:
    """What the records say, given what members own in the order in which their records list it.

    Args:
        recorded: what members own, one after the other.
        sizes: how many partitions each owns.
        table: the topics.

    Returns:
        What each member has, in that order; which partition ids of the topic table some member has; and
        whether a partition is listed twice or does not exist, as in no group that a broker made.
    """
    slots = _listed(recorded, sizes, table)
    taken = np.zeros(int(table.counts.sum()), np.bool_)
    ids = slots.per_row(table.starts[slots.topic])
    ids += slots.partition
    # Below 0 is beyond all counts.
    exists = slots.partition.view(np.uint32) < slots.per_row(table.counts.astype(np.uint32)[slots.topic])
    taken[ids if exists.all() else ids[exists]] = True
    return slots, taken, bool(np.count_nonzero(taken) < len(slots.partition))


def _listed(recorded: PartitionColumns, sizes: NDArray[np.intp], table: TopicTable) -> Slots:
    """The slots of members, in the order in which the columns list them."""
    member = np.flatnonzero(sizes)
    if len(member) == 0:
        none = np.empty(0, np.intp)
        return Slots(none, none, none, none, np.empty(0, np.int32))
    code = recorded.topics
    firsts = (np.cumsum(sizes) - sizes)[member]
    changes = np.empty(len(code), np.bool_)
    np.not_equal(code[1:], code[:-1], out=changes[1:])
    changes[firsts] = True
    starts = np.flatnonzero(changes)
    slots = np.diff(np.searchsorted(starts, firsts), append=len(starts))
    topic = np.array([table.index[name] for name in recorded.names], np.intp)[code[starts]]
    return Slots(
        np.repeat(member, slots), topic, starts, np.diff(starts, append=len(code)), recorded.partitions
    ).merged()
