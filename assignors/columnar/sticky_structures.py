"""Reads the columns that sticky strategies decide on: the members' previous partitions and their claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.numbering import JoinPosition, Numbering, OddGroup, PartitionId, TopicRow
from assignors.group import CarriedMembers, Member, StickyUserData
from assignors.partition_list import PartitionColumns, PartitionList, as_lists, join_lists
from assignors.protocol import decode_cooperative_user_data, decode_sticky_user_data
from partitioning.kit.columns import join_columns


class ReportedPartitions(NamedTuple):
    """Lists the partitions that members report as theirs, as they report them: nothing is checked yet.

    Attributes:
        partitions: the partitions of the first member, then those of the second, and so on, in the order in
            which members joined.
        sizes: how many of these rows each member has.
        generation: the generation that each member reports; -1 if it reports none.
    """

    partitions: PartitionColumns
    sizes: NDArray[np.integer]
    generation: list[int]


def recall_user_data(members: Sequence[Member]) -> ReportedPartitions:
    """Return the partitions in the user data of an eager group's members, in the order in which they joined.

    User data that cannot be decoded counts as none: no partitions, generation -1.
    """
    carried = CarriedMembers.of(members)
    # Members without a generation are members whose targets a coordinator keeps (KIP-848). They send no user
    # data, so each of them is read as a member that joins.
    if carried.generation is None:
        carried = CarriedMembers.of([*members])
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
    """Return the partitions that the members of a cooperative group own, and their generations.

    The generation is read from the subscription (KIP-792). If the subscription has none, the generation is
    read from the user data, where clients before KIP-792 put it.

    Args:
        members: the members, in the order in which they joined.
        in_order: True if a member's partitions must be in the order of its report; False allows any order.
    """
    carried = CarriedMembers.of(members)
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
    """Lists the claims of a group, one a row: by join position, then in the order of the member's report.

    Claims on topics that no member subscribes to are left out. No partition is claimed twice, and each
    claimed partition exists.

    Attributes:
        member: the member of each claim.
        topic: the topic of each claim.
        number: the partition number of each claim.
        id: the partition id of each claim.
        generation: the generation of each member (not of each claim); -1 if the member reports none.
        highest: the highest generation that the leader knows, those of this rebalance included.
    """

    member: JoinPosition
    topic: TopicRow
    number: NDArray[np.int32]
    id: PartitionId
    generation: list[int]
    highest: int


def read_claims(numbering: Numbering, memory: ReportedPartitions, highest: int) -> Claims:
    """Return the claims of a group.

    Args:
        numbering: the numbering of the group.
        memory: the partitions that the members report.
        highest: the highest generation that the leader knew before; -1 for none.

    Raises:
        OddGroup: a claimed partition of a subscribed topic does not exist, or is claimed twice.
    """
    columns, sizes = memory.partitions, memory.sizes
    member = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    # A topic that is deleted or has no subscriber becomes -1. Claims on it do not count.
    topic = np.array([numbering.index.get(name, -1) for name in columns.names], np.int32)[columns.topics]
    number = columns.partitions
    exists = topic >= 0
    if not exists.all():
        topic, number, member = topic[exists], number[exists], member[exists]
    ids = numbering.starts[topic]
    ids += number
    # Read as unsigned, a negative number is greater than every count, so one comparison finds it, too.
    if len(ids) and (number.view(np.uint32) >= numbering.counts.astype(np.uint32)[topic]).any():
        raise OddGroup
    claimed = np.zeros(numbering.total, np.bool_)
    claimed[ids] = True
    # With fewer marks than claims, a partition is claimed twice. Then generations decide, which only the rule
    # implements.
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
