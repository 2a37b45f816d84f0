"""What the sticky strategies read and decide, as columns: claims and outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.numbering import OddGroup
from assignors.group import Assignment
from assignors.partition_list import PartitionList, as_lists, join_lists
from partitioning.kit.columns import group_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.columnar.numbering import JoinPosition, Numbering, PartitionId, TopicRow
    from partitioning.topic_partition import TopicPartition


NO_GENERATION = -1


@dataclass(frozen=True, slots=True)
class Memory:
    """What members claim, as their assignor reads it from the subscriptions; generation None: not said."""

    partitions: list[Sequence[TopicPartition]]
    generation: list[int | None]


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a group, one row each: members in JoinGroup order, claims in the order they are reported.

    Claims of topics that nobody subscribes to are left out; no partition is claimed twice. `generation` is
    that of each member; `highest` is the highest that the leader has seen, this rebalance included.
    """

    member: JoinPosition
    topic: TopicRow
    number: NDArray[np.int32]
    id: PartitionId
    generation: list[int | None]
    highest: int


def read_claims(numbering: Numbering, memory: Memory, highest: int) -> Claims:
    """The claims of a group; OddGroup where a claimed partition does not exist or is claimed twice."""
    lists = as_lists(memory.partitions)
    columns, sizes = join_lists(lists)
    member = np.repeat(np.arange(len(lists), dtype=np.int32), sizes)
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
    if np.bincount(ids, minlength=1).max() > 1:
        raise OddGroup
    generations = [generation for generation in memory.generation if generation is not None]
    return Claims(
        member=member,
        topic=topic,
        number=number,
        id=ids,
        generation=memory.generation,
        highest=max([highest, *generations]),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """Who gets what, one row a partition; the rows of a member are in its list order.

    Attributes:
        member: index of the member of each row.
        topic: topic of each row.
        number: partition number of each row.
        transferring: rows that another member has to give up first, or None where there are none.
    """

    member: JoinPosition
    topic: TopicRow
    number: NDArray[np.integer]
    transferring: NDArray[np.bool_] | None

    def assignment(self, numbering: Numbering, *, hold_back: bool) -> Assignment:
        """The assignment; with `hold_back`, partitions that are transferring wait for the next round."""
        member, topic, number = self.member, self.topic, self.number
        transferring = None
        if hold_back and self.transferring is not None:
            held, stay = self.transferring, ~self.transferring
            transferring = (
                PartitionList(numbering.topics, topic[held].astype(np.int32), number[held].astype(np.int32)),
                member[held].astype(np.int32),
            )
            member, topic, number = member[stay], topic[stay], number[stay]
        order, offsets = group_rows(member, len(numbering.members))
        return Assignment(
            members=numbering.ids,
            topics=numbering.topics,
            counts=numbering.counts,
            offsets=offsets,
            topic=topic[order].astype(np.int32, copy=False),
            partition=number[order].astype(np.int32, copy=False),
            transferring=transferring,
        )
