"""A diff in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Summary:
    """A diff in numbers; each can be checked by its name.

    Attributes:
        members_before: members before, idle ones too.
        members_after: members after.
        members_joined: members only after.
        members_left: members only before.
        idle_before: members without a partition before.
        idle_after: members without a partition after.
        partitions: partitions that either side knows.
        kept: partitions with the same owner.
        moved: partitions with another owner.
        moved_pct: moved partitions in percent of all.
        assigned: partitions that gained an owner.
        unassigned: partitions that lost their owner.
        added: partitions the topics have grown by.
        removed: partitions the topics no longer have.
        conflicts: partitions with two owners.
        unowned: partitions that nobody has after.
        needed_moves: the fewest moves to the same balance: the loads of after, whichever member has which. A
            lower bound: subscriptions can force more.
        avoidable_moves: moved - needed_moves.
        spread_before: most partitions of a member minus fewest, before.
        spread_after: the same after.
        stickiness: kept partitions as a share of those with an owner on both sides; 1 where there are none.
        lag_moved: records waiting in moved partitions, which a cold owner will read; None where unknown.
    """

    members_before: int
    members_after: int
    members_joined: int
    members_left: int
    idle_before: int
    idle_after: int
    partitions: int
    kept: int
    moved: int
    moved_pct: float
    assigned: int
    unassigned: int
    added: int
    removed: int
    conflicts: int
    unowned: int
    needed_moves: int | None
    avoidable_moves: int | None
    spread_before: int
    spread_after: int
    stickiness: float
    lag_moved: int | None
    needed_moves_exact: bool = True


def needed_moves(kept_at_most: NDArray[np.int64], loads: NDArray[np.int64], movable: int) -> int:
    """The fewest moves that lead to these loads, whoever carries which.

    Most is kept where the member that had most gets the largest load, and so on down.

    Args:
        kept_at_most: for every member after, how many of the movable partitions it had before.
        loads: for every member after, how many partitions it has.
        movable: partitions with an owner on both sides.
    """
    return max(0, movable - int(np.minimum(np.sort(kept_at_most), np.sort(loads)).sum()))
