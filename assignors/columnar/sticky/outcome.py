"""What the sticky algorithms decide, before it is an `Assignment`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignors.assignment import Assignment
from assignors.columns import group_rows
from assignors.partition_list import PartitionList

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.columnar.numbering import JoinPosition, Numbering, TopicRow


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
