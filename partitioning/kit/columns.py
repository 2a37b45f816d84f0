"""Sorts, groups, joins and selects rows of integer columns.

Columns are one-dimensional integer arrays, and a row is the same index in several of them. A run is a series
of neighbouring rows with equal numbers. Sorts are stable unless a docstring says otherwise. 16-bit numbers,
and rows packed into one 64-bit integer, are sorted several times as fast as rows with several keys. So most
functions use one of these forms if they can.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

FEW = 1_000
"""Up to this many rows, sorting by several keys takes less time than packing them into one key."""


def join_columns(first: NDArray[T], second: NDArray[T]) -> NDArray[T]:
    """Join columns one after the other, without a copy if one is empty."""
    if not len(first):
        return second
    return np.concatenate([first, second]) if len(second) else first


def bounds(sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the start of each run if runs of these sizes follow each other, and the end of the last run.

    The result is int64 of shape (n + 1,).
    """
    edges = np.zeros(len(sizes) + 1, np.int64)
    sizes.cumsum(out=edges[1:])
    return edges


def run_starts(column: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the index of the first row of each run of equal numbers."""
    begins = np.empty(len(column), np.bool_)
    begins[:1] = True
    np.not_equal(column[1:], column[:-1], out=begins[1:])
    return begins.nonzero()[0]


def run_sizes(starts: NDArray[np.integer], stop: int) -> NDArray[np.intp]:
    """Return the length of each run, given their starts and the end `stop` of the last run."""
    sizes = np.empty(len(starts), np.intp)
    np.subtract(starts[1:], starts[:-1], out=sizes[:-1])
    sizes[-1:] = stop - starts[-1:]
    return sizes


def runs_of(column: NDArray[np.integer]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the start and the length of each run of equal numbers."""
    starts = run_starts(column)
    return starts, run_sizes(starts, len(column))


def locate(column: NDArray[T], values: NDArray[T]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the index of each value in an ascending column, and whether the column has the value.

    If it does not, the index is the place where the value would be inserted.
    """
    # A value above all others gets the index after that of the last row, and there is no row to read there.
    at = column.searchsorted(values)
    present = at < len(column)
    present[present] = column[at[present]] == values[present]
    return at, present


def ranks(column: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the position of each row in its run of equal numbers."""
    starts, sizes = runs_of(column)
    return np.arange(len(column)) - starts.repeat(sizes)


def inverse(order: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the place of each row in an order, given as a permutation of the rows."""
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    return place


def group_rows(member: NDArray[np.integer], members: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the indices of the rows sorted by member, and the start of each member's rows.

    In the sorted order, member m has `starts[m]:starts[m + 1]`. Rows of one member keep their order.
    """
    starts = bounds(np.bincount(member, minlength=members))
    if members <= 1 << 16:
        member = member.astype(np.uint16)  # NumPy sorts 16-bit integers by radix
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
    # A stable sort merges runs, so rows that are grouped already take a tenth of the time.
    key.sort(kind="stable")
    last = key & ((1 << widths[2]) - 1)
    key >>= widths[2]
    second = key & ((1 << widths[1]) - 1)
    key >>= widths[1]
    key += lowest[0]
    second += lowest[1]
    last += lowest[2]
    return key, second, last


def sort_positions(high: NDArray[np.integer], low: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the indices of the rows (high, low) in ascending order; ties stay in order.

    Both columns have numbers of 0 or more.
    """
    bits = len(high).bit_length()
    widths = (int(high.max(initial=0)).bit_length(), int(low.max(initial=0)).bit_length())
    # The index is packed below the numbers. So all keys are different, and any kind of sort is stable.
    key = _pack((high, low), (0, 0), widths, spare=bits)
    if key is None:
        return np.lexsort((low, high))
    key <<= bits
    key |= np.arange(len(key))
    key.sort()
    key &= (1 << bits) - 1
    return key


def range_numbers(starts: NDArray[np.integer], sizes: NDArray[np.integer]) -> NDArray[Any]:
    """Return the numbers of all ranges, one range after the other, in the arguments' type.

    Range i has `sizes[i]` numbers, from `starts[i]` on.
    """
    # A row's number is its own index, plus the start of its range, minus the number of rows before the range.
    ends = sizes.cumsum(dtype=sizes.dtype)
    shifts: NDArray[Any] = (starts - ends + sizes).repeat(sizes)
    shifts += np.arange(len(shifts), dtype=shifts.dtype)
    return shifts


def _pack(
    columns: Sequence[NDArray[np.integer]], lowest: Sequence[int], widths: Sequence[int], *, spare: int = 0
) -> NDArray[np.int64] | None:
    """Return each row as one integer with the order of the rows; None if that needs more than 63 bits.

    Sorting these integers is ten times as fast as sorting by several keys.

    Args:
        columns: the columns, the most significant one first.
        lowest: the lowest number of each column, which is subtracted.
        widths: how many bits each column needs after that.
        spare: how many further bits the caller will shift into the integer.
    """
    # The 64th bit is the sign: a key with this bit would be negative.
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
    """Return the sum of `amount` in each group, int64 of shape (groups,).

    `np.bincount` adds floats, but the sums are exact as long as they are below 2**53.
    """
    return np.bincount(group, amount, groups).astype(np.int64)


def sorted_by(key: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the indices of the rows, sorted by their keys. Keys are 0 or more; equal keys stay in order."""
    return in_order(np.arange(len(key)), key)


def in_order(rows: NDArray[np.intp], key: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return these rows, sorted by their keys. Keys are 0 or more; rows with equal keys stay in order."""
    if not len(key) or key.min() == (largest := key.max()):
        return rows
    small = largest < 1 << 16  # NumPy sorts 16-bit integers by radix
    return rows[(key.astype(np.uint16) if small else key).argsort(kind="stable")]


def group_by_keys(
    rows: NDArray[np.intp], *keys: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Sort rows by several keys, and group those that are equal in all keys.

    Args:
        rows: indices of rows, ascending.
        keys: the keys, the least significant one first. Each has a value for every row that exists.

    Returns:
        The sorted rows; for each group, the place of its first row among these; and the size of each group.
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
    """Return each of these numbers once, in ascending order.

    This is faster than `np.unique`, which hashes the numbers first.
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
    """Choose as many rows of each group as its quota allows, those with the lowest ranks first.

    Of rows with equal ranks the lowest index comes first.

    Args:
        group: the group of each row, shape (n,).
        quota: how many rows of each group are chosen at most, shape (groups,).
        rank: the rank of each row, 0 .. levels - 1; None: all are equal.
        levels: the number of ranks.

    Returns:
        bool of shape (n,): True for the chosen rows.
    """
    # Groups with no more rows than their quota need no sort.
    chosen: NDArray[np.bool_] = (np.bincount(group, minlength=len(quota)) <= quota)[group]
    if chosen.all():
        return chosen
    rows = (~chosen).nonzero()[0]
    order = in_order(rows, group[rows] if rank is None else group[rows] * levels + rank[rows])
    chosen[order[ranks(group[order]) < quota[group[order]]]] = True
    return chosen
