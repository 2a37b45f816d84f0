"""Rows that are in groups: summed, sorted, and picked inside each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from partitioning.kit.columns import ranks, run_sizes, run_starts


def sums(group: NDArray[np.integer[Any]], amount: NDArray[Any], groups: int) -> NDArray[np.int64]:
    """The sum of each group; exact, because amounts of partitions are far below 2**53."""
    return np.bincount(group, amount, groups).astype(np.int64)


def sorted_by(key: NDArray[np.intp]) -> NDArray[np.intp]:
    """The rows in the order of their keys, 0 or more; ties stay as they are."""
    return in_order(np.arange(len(key)), key)


def in_order(rows: NDArray[np.intp], key: NDArray[np.intp]) -> NDArray[np.intp]:
    """These rows in the order of their keys, 0 or more; ties stay as they are."""
    if not len(key) or key.min() == (largest := key.max()):
        return rows
    small = largest < 1 << 16  # NumPy sorts 16 bits by radix
    return rows[(key.astype(np.uint16) if small else key).argsort(kind="stable")]


def groups(
    rows: NDArray[np.intp], *keys: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Rows grouped and sorted by all keys (the least significant one first), where groups begin, and sizes.

    The rows are ascending; keys are of all rows there are.
    """
    begins = np.zeros(len(rows), np.bool_)
    begins[:1] = True
    for key in keys:
        rows = in_order(rows, key[rows])
    for key in keys:
        ordered = key[rows]
        begins[1:] |= ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(begins)
    return rows, starts, run_sizes(starts, len(rows))


def distinct(numbers: NDArray[Any]) -> NDArray[Any]:
    """The different ones of some numbers, in order; `np.unique` hashes them first, which takes longer."""
    ordered = np.sort(numbers)
    return ordered[run_starts(ordered)]


def first_of_each(
    group: NDArray[np.intp],
    quota: NDArray[np.int64],
    rank: NDArray[np.intp] | None = None,
    *,
    levels: int = 1,
) -> NDArray[np.bool_]:
    """Of the rows of each group as many as its quota says, the lowest of `levels` ranks first."""
    chosen: NDArray[np.bool_] = (np.bincount(group, minlength=len(quota)) <= quota)[group]
    if chosen.all():
        return chosen
    rows = np.flatnonzero(~chosen)
    order = in_order(rows, group[rows] if rank is None else group[rows] * levels + rank[rows])
    chosen[order[ranks(group[order]) < quota[group[order]]]] = True
    return chosen
