"""Rows that are in groups: summed, sorted, and picked inside each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sums(group: NDArray[np.integer[Any]], amount: NDArray[Any], groups: int) -> NDArray[np.int64]:
    """The sum of each group; exact, because amounts of partitions are far below 2**53."""
    return np.bincount(group, amount, groups).astype(np.int64)


def sorted_by(key: NDArray[np.intp]) -> NDArray[np.intp]:
    """The rows in the order of their keys, 0 or more; ties stay as they are."""
    small = key.max(initial=0) < 1 << 16
    return (key.astype(np.uint16) if small else key).argsort(kind="stable")  # NumPy sorts 16 bits by radix


def runs(group: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where runs of equal numbers begin, and how long they are."""
    starts = np.flatnonzero(np.append(True, group[1:] != group[:-1])[: len(group)])
    return starts, np.append(starts[1:], len(group))[: len(starts)] - starts


def ranks(group: NDArray[np.intp]) -> NDArray[np.intp]:
    """The position of each row among those of its group; the rows of a group are next to each other."""
    return np.arange(len(group)) - np.repeat(*runs(group))


def first_of_each(
    group: NDArray[np.intp],
    quota: NDArray[np.int64],
    rank: NDArray[np.intp] | None = None,
    *,
    levels: int = 1,
) -> NDArray[np.bool_]:
    """Of the rows of each group as many as its quota says.

    Args:
        group: the group of each row.
        quota: how many rows of each group.
        rank: rows with a lower one come first; None where all are alike.
        levels: how many different ranks there are, from 0.
    """
    chosen = (np.bincount(group, minlength=len(quota)) <= quota)[group]
    rows = np.flatnonzero(~chosen)
    order = rows[sorted_by(group[rows] if rank is None else group[rows] * levels + rank[rows])]
    chosen[order[ranks(group[order]) < quota[group[order]]]] = True
    return chosen
