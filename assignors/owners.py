"""From the owner of every partition to an assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.assignment import Assignment
from assignors.columns import group_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.group import Member


def assignment_by_owner(
    members: Sequence[Member], topics: Sequence[str], counts: NDArray[np.int64], owner: NDArray[np.intp]
) -> Assignment:
    """The assignment in which every list has the topics in the order given, partitions ascending.

    Args:
        members: the group's members.
        topics: names of the topics.
        counts: partitions of each topic.
        owner: position of the member that gets each partition, topic after topic.
    """
    rows, offsets = group_rows(owner, len(members))
    topic = np.repeat(np.arange(len(topics), dtype=np.int32), counts)
    starts = np.cumsum(counts) - counts
    partition = (np.arange(len(owner)) - np.repeat(starts, counts)).astype(np.int32)
    names = tuple(member.id for member in members)
    return Assignment(names, tuple(topics), counts, offsets, topic[rows], partition[rows])
