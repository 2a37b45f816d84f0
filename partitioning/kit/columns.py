"""Rows that are several integer columns: sorted, grouped, joined, and picked by ranges.

Columns are one-dimensional integer arrays; a row is the same place in several of them. "Runs" are neighbours
with equal numbers. Sorts are stable unless something else is said. Numbers of 16 bits and rows packed into
one 64-bit integer are sorted several times as fast as rows with several keys, so most functions look for one
of these forms first.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

FEW = 1_000
"""So few rows are sorted by several keys in less time than it takes to pack them into one."""


def join_columns(first: NDArray[T], second: NDArray[T]) -> NDArray[T]:
    """Join columns one after the other, without a copy if one is empty."""
    if not len(first):
        return second
    return np.concatenate([first, second]) if len(second) else first


def bounds(sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where runs of these sizes begin, one after the other, and last where they end."""
    edges = np.zeros(len(sizes) + 1, np.int64)
    sizes.cumsum(out=edges[1:])
    return edges


def run_starts(column: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return where runs of equal numbers begin."""
    begins = np.empty(len(column), np.bool_)
    begins[:1] = True
    np.not_equal(column[1:], column[:-1], out=begins[1:])
    return begins.nonzero()[0]


def run_sizes(starts: NDArray[np.integer], stop: int) -> NDArray[np.intp]:
    """Return how long runs are that begin here, the last of which ends at `stop`."""
    sizes = np.empty(len(starts), np.intp)
    np.subtract(starts[1:], starts[:-1], out=sizes[:-1])
    sizes[-1:] = stop - starts[-1:]
    return sizes


def runs_of(column: NDArray[np.integer]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where runs of equal numbers begin, and how long they are."""
    starts = run_starts(column)
    return starts, run_sizes(starts, len(column))


def locate(column: NDArray[T], values: NDArray[T]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return where each value is, or would be, in an ascending column, and whether it is there."""
    # A value above all others has the place after the last one, which must not be read.
    at = column.searchsorted(values)
    present = at < len(column)
    present[present] = column[at[present]] == values[present]
    return at, present


def ranks(column: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the position of each row in its run of equal numbers."""
    starts, sizes = runs_of(column)
    return np.arange(len(column)) - starts.repeat(sizes)


def inverse(order: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the place of each row in an order that has every row once."""
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    return place


def group_rows(member: NDArray[np.integer], members: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the rows grouped by member, and where each starts: member m has rows `starts[m]:starts[m + 1]`.

    Rows keep their order inside a member.
    """
    starts = bounds(np.bincount(member, minlength=members))
    if members <= 1 << 16:
        member = member.astype(np.uint16)  # NumPy sorts these by radix
    return member.argsort(kind="stable"), starts


def sort_rows(
    high: NDArray[np.integer], middle: NDArray[np.integer], low: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows (high, middle, low) in ascending order, as three columns."""
    columns, key = (high, middle, low), None
    if len(high) > FEW:
        lowest = [int(column.min()) for column in columns]
        highest = [int(column.max()) for column in columns]
        widths = [(most - least).bit_length() for most, least in zip(highest, lowest, strict=True)]
        key = _pack(columns, lowest, widths)
    if key is None:
        order = np.lexsort((low, middle, high))
        return high[order].astype(np.int64), middle[order].astype(np.int64), low[order].astype(np.int64)
    key.sort(kind="stable")  # merges runs: grouped rows take a tenth of the time
    last = key & ((1 << widths[2]) - 1)
    key >>= widths[2]
    second = key & ((1 << widths[1]) - 1)
    key >>= widths[1]
    key += lowest[0]
    second += lowest[1]
    last += lowest[2]
    return key, second, last


def sort_positions(high: NDArray[np.integer], low: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return positions of the rows (high, low) in ascending order; ties stay as they are.

    Numbers are 0 or more.
    """
    bits = len(high).bit_length()
    widths = (int(high.max(initial=0)).bit_length(), int(low.max(initial=0)).bit_length())
    # The position is packed below the numbers: keys are all different, so any sort is stable.
    key = _pack((high, low), (0, 0), widths, spare=bits)
    if key is None:
        return np.lexsort((low, high))
    key <<= bits
    key |= np.arange(len(key))
    key.sort()
    key &= (1 << bits) - 1
    return key


def range_numbers(starts: NDArray[np.integer], sizes: NDArray[np.integer]) -> NDArray[Any]:
    """Return the numbers of ranges, `sizes` from `starts`, one after the other, in the arguments' type."""
    # Counting on from 0, each row lacks its range's start minus the number of rows before the range.
    ends = sizes.cumsum(dtype=sizes.dtype)
    shifts: NDArray[Any] = (starts - ends + sizes).repeat(sizes)
    shifts += np.arange(len(shifts), dtype=shifts.dtype)
    return shifts


def _pack(
    columns: Sequence[NDArray[np.integer]], lowest: Sequence[int], widths: Sequence[int], *, spare: int = 0
) -> NDArray[np.int64] | None:
    """Return each row as one integer that compares as it does, or None if it would need more than 63 bits.

    A sort of these is ten times as fast as one by several keys. Columns are the most significant one first;
    `lowest` is taken off each, and its rest needs so many bits (`widths`); the caller needs `spare` more.
    """
    # The 64th bit is the sign: a key that used it would compare as negative.
    if sum(widths) + spare > 63:
        return None
    key = columns[0].astype(np.int64)
    if lowest[0]:
        key -= lowest[0]
    for column, least, width in zip(columns[1:], lowest[1:], widths[1:], strict=True):
        key <<= width
        key += column
        if least:
            key -= least
    return key


def sums(group: NDArray[np.integer[Any]], amount: NDArray[Any], groups: int) -> NDArray[np.int64]:
    """Return the sum of each group; exact, because amounts of partitions are far below 2**53."""
    return np.bincount(group, amount, groups).astype(np.int64)


def sorted_by(key: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rows in the order of their keys, 0 or more; ties stay as they are."""
    return in_order(np.arange(len(key)), key)


def in_order(rows: NDArray[np.intp], key: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return these rows in the order of their keys, 0 or more; ties stay as they are."""
    if not len(key) or key.min() == (largest := key.max()):
        return rows
    small = largest < 1 << 16  # NumPy sorts 16 bits by radix
    return rows[(key.astype(np.uint16) if small else key).argsort(kind="stable")]


def group_by_keys(
    rows: NDArray[np.intp], *keys: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Group and sort rows by all keys (the least significant one first); return rows, first rows and sizes.

    The rows are ascending; keys are of all rows there are.
    """
    begins = np.zeros(len(rows), np.bool_)
    begins[:1] = True
    for key in keys:
        rows = in_order(rows, key[rows])
    for key in keys:
        ordered = key[rows]
        begins[1:] |= ordered[1:] != ordered[:-1]
    starts = begins.nonzero()[0]
    return rows, starts, run_sizes(starts, len(rows))


def distinct(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the different ones of some numbers, in order.

    `np.unique` hashes them first, which takes longer.
    """
    ordered = np.sort(numbers)
    return ordered[run_starts(ordered)]


def first_of_each(
    group: NDArray[np.intp],
    quota: NDArray[np.int64],
    rank: NDArray[np.intp] | None = None,
    *,
    levels: int = 1,
) -> NDArray[np.bool_]:
    """Of the rows of each group as many as its quota says, the lowest of `levels` ranks first.

    Ties go to the lowest row.

    Args:
        group: group of each row, shape (n,).
        quota: how many rows each group may have, by group.
        rank: rank of each row, 0 .. levels - 1; None: all are equal.
        levels: how many ranks there are.

    Returns:
        bool of shape (n,): whether a row is among those of its group.
    """
    # Groups with no more rows than their quota need no order.
    chosen: NDArray[np.bool_] = (np.bincount(group, minlength=len(quota)) <= quota)[group]
    if chosen.all():
        return chosen
    rows = (~chosen).nonzero()[0]
    order = in_order(rows, group[rows] if rank is None else group[rows] * levels + rank[rows])
    chosen[order[ranks(group[order]) < quota[group[order]]]] = True
    return chosen
