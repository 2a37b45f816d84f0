"""What the coordinator's records say the members are to consume."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.broker.slots import Slots
from assignors.columnar.odd_group import OddGroup
from assignors.columns import run_sizes
from assignors.partition_list import as_lists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.columnar.broker.numbering import BrokerNumbering
    from assignors.group import Member
    from assignors.partition_list import PartitionColumns, PartitionList


def recorded_lists(members: Sequence[Member]) -> list[PartitionList]:
    """What each member owns, in the order in which it was assigned: that of the coordinator's record."""
    return [each.as_assigned for each in as_lists(member.owned for member in members)]


def read_records(
    recorded: PartitionColumns, sizes: NDArray[np.intp], numbering: BrokerNumbering
) -> tuple[Slots, NDArray[np.bool_]]:
    """What the records say, given what members own in the order in which their records list it.

    Args:
        recorded: what members own, one after the other.
        sizes: how many partitions each owns.
        numbering: the topics.

    Returns:
        What each member has, in that order; and which partition ids some member has.

    Raises:
        OddGroup: a partition is listed twice or does not exist, as in no group that a broker made.
    """
    slots = _listed(recorded, sizes, numbering)
    taken = np.zeros(numbering.total, np.bool_)
    counts = slots.per_row(numbering.counts.astype(np.uint32)[slots.topic])
    ids = slots.per_row(numbering.starts[slots.topic])
    ids += slots.partition
    # Read as unsigned, a negative number is beyond all counts.
    exists = slots.partition.view(np.uint32) < counts
    everything = bool(exists.all())
    if not everything and (counts[~exists] > 0).any():
        raise OddGroup
    listed = ids if everything else ids[exists]
    taken[listed] = True
    if np.count_nonzero(taken) < len(listed):
        raise OddGroup
    return slots, taken


def _listed(recorded: PartitionColumns, sizes: NDArray[np.intp], numbering: BrokerNumbering) -> Slots:
    """The slots of members, in the order in which the columns list them."""
    member = np.flatnonzero(sizes)
    if len(member) == 0:
        none = np.empty(0, np.intp)
        return Slots(member=none, topic=none, starts=none, sizes=none, partition=np.empty(0, np.int32))
    code = recorded.topics
    firsts = (np.cumsum(sizes) - sizes)[member]
    changes = np.empty(len(code), np.bool_)
    np.not_equal(code[1:], code[:-1], out=changes[1:])
    changes[firsts] = True
    starts = changes.nonzero()[0]
    slots = run_sizes(starts.searchsorted(firsts), len(starts))
    topic = np.array([numbering.index[name] for name in recorded.names], np.intp)[code[starts]]
    return Slots(
        member=np.repeat(member, slots),
        topic=topic,
        starts=starts,
        sizes=run_sizes(starts, len(code)),
        partition=recorded.partitions,
    ).merged()
