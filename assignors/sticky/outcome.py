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

    from assignors.sticky.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Outcome:
    """Who gets what, one row a partition; the rows of a member are in its list order.

    Attributes:
        member: index of the member of each row.
        topic: topic of each row.
        partition: partition number of each row.
        transferring: rows that another member has to give up first, or None where there are none.
    """

    member: NDArray[np.integer]
    topic: NDArray[np.integer]
    partition: NDArray[np.integer]
    transferring: NDArray[np.bool_] | None

    def assignment(self, catalogue: Catalogue, *, hold_back: bool) -> Assignment:
        """The assignment; with `hold_back`, partitions that are transferring wait for the next round."""
        member, topic, partition = self.member, self.topic, self.partition
        transferring = None
        if hold_back and self.transferring is not None:
            held, stay = self.transferring, ~self.transferring
            transferring = (
                PartitionList(
                    catalogue.topics, topic[held].astype(np.int32), partition[held].astype(np.int32)
                ),
                member[held].astype(np.int32),
            )
            member, topic, partition = member[stay], topic[stay], partition[stay]
        order, starts = group_rows(member, len(catalogue.ids))
        return Assignment(
            catalogue.ids,
            catalogue.topics,
            catalogue.counts,
            starts,
            topic[order].astype(np.int32, copy=False),
            partition[order].astype(np.int32, copy=False),
            transferring=transferring,
        )
