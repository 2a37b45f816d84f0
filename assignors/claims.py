"""Whose claim counts where members claim the same partition (KIP-792)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def rightful_members(
    member: NDArray[np.integer],
    partition: NDArray[np.integer],
    generation: NDArray[np.integer],
    partitions: int,
) -> NDArray[np.intp]:
    """The member whose claim counts for each partition, -1 where none does.

    Claims of the latest generation count, and none where that has two.

    Args:
        member: who claims, one claim a row.
        partition: what.
        generation: in which generation the member got it.
        partitions: how many partitions there are.
    """
    holder = np.full(partitions, -1, np.intp)
    if np.bincount(partition, minlength=1).max() > 1:
        latest = np.full(partitions, -1, np.int64)
        np.maximum.at(latest, partition, generation)
        counts = generation == latest[partition]
        member, partition = member[counts], partition[counts]
        alone = np.bincount(partition, minlength=partitions)[partition] == 1
        member, partition = member[alone], partition[alone]
    holder[partition] = member
    return holder
