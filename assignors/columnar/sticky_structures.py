"""Holds the columns that sticky strategies read: what members remember, and what they claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.numbering import JoinPosition, Numbering, OddGroup, PartitionId, TopicRow
from assignors.group import Carried, Member, StickyUserData
from assignors.partition_list import PartitionColumns, PartitionList, as_lists, join_lists
from assignors.protocol import decode_cooperative_user_data, decode_sticky_user_data
from partitioning.kit.columns import join_columns


class ReportedPartitions(NamedTuple):
    """Lists the partitions that members say they had, as they say it: nothing is checked yet.

    Attributes:
        partitions: the partitions of the first member, then of the second, in JoinGroup order.
        sizes: how many of these rows each member has.
        generation: the generation of each member's claim, -1 if the member does not say.
    """

    partitions: PartitionColumns
    sizes: NDArray[np.integer]
    generation: list[int]


def recall_user_data(members: Sequence[Member]) -> ReportedPartitions:
    """Return what the members of an eager group remember in user data, in JoinGroup order.

    User data that cannot be decoded counts as none: no partitions, generation -1.
    """
    carried = Carried.of(members)
    # `Group.next` has not been called: every member is new to this group, and says itself what it had.
    if carried.generation is None:  # they remember nothing
        carried = Carried.of([*members])
    partitions, generations = [PartitionList(*carried.received)], [carried.generation or 0] * carried.staying
    for data in map(attrgetter("user_data"), carried.who[carried.staying :]):
        if isinstance(data, StickyUserData):
            had, generation = data.partitions, data.generation
        else:
            had, generation = decode_sticky_user_data(data or b"")
        partitions.append(had)
        generations.append(-1 if generation is None else generation)
    joined, sizes = join_lists(partitions)
    return ReportedPartitions(joined, join_columns(carried.sizes, sizes[1:]), generations)


def recall_owned(members: Sequence[Member], *, in_order: bool = True) -> ReportedPartitions:
    """Return what the members of a cooperative group own, `in_order` as they report it, else in any.

    The generation is in the subscription (KIP-792), or else in the user data, where it was before.
    """
    carried = Carried.of(members)
    generations = [-1 if carried.generation is None else carried.generation] * carried.staying
    joining = carried.who[carried.staying :]
    for member in joining:
        generation = member.generation
        if (generation is None or generation < 0) and member.user_data is not None:
            generation = decode_cooperative_user_data(bytes(member.user_data))
        generations.append(-1 if generation is None else generation)
    owned = PartitionList(*(carried.owned if in_order else carried.received))
    joined, sizes = join_lists([owned, *as_lists(member.owned for member in joining)])
    return ReportedPartitions(joined, join_columns(carried.sizes, sizes[1:]), generations)


@dataclass(frozen=True, slots=True)
class Claims:
    """Lists the claims of a group, one a row: members in JoinGroup order, claims in the order of the report.

    Claims of topics that no member subscribes to are left out; no partition is claimed twice.

    Attributes:
        member: the member of each claim.
        topic: the topic of each claim.
        number: the partition number of each claim, which exists.
        id: the same as a partition id.
        generation: the generation of each member (not of each claim), -1 if it does not say.
        highest: the highest generation that the leader has seen, this rebalance included.
    """

    member: JoinPosition
    topic: TopicRow
    number: NDArray[np.int32]
    id: PartitionId
    generation: list[int]
    highest: int


def read_claims(numbering: Numbering, memory: ReportedPartitions, highest: int) -> Claims:
    """Return the claims of a group, given what its members remember.

    Raises:
        OddGroup: a claimed partition of a subscribed topic does not exist, or is claimed twice.
    """
    columns, sizes = memory.partitions, memory.sizes
    member = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    # -1: a topic without a subscriber, or that is gone. Such claims count for nothing.
    topic = np.array([numbering.index.get(name, -1) for name in columns.names], np.int32)[columns.topics]
    number = columns.partitions
    exists = topic >= 0
    if not exists.all():
        topic, number, member = topic[exists], number[exists], member[exists]
    ids = numbering.starts[topic]
    ids += number
    # Read as unsigned, a negative number is beyond all counts.
    if len(ids) and (number.view(np.uint32) >= numbering.counts.astype(np.uint32)[topic]).any():
        raise OddGroup
    claimed = np.zeros(numbering.total, np.bool_)
    claimed[ids] = True
    # Fewer marks than claims: some partition was claimed twice, and generations have to decide (the rule
    # does).
    if np.count_nonzero(claimed) < len(ids):
        raise OddGroup
    return Claims(
        member=member,
        topic=topic,
        number=number,
        id=ids,
        generation=memory.generation,
        highest=max([highest, *memory.generation]),
    )
