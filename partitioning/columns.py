"""Rows that are several integer columns: sorted, and picked by ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FEW = 1_000
"""So few rows are sorted by several keys in less time than it takes to pack them into one."""


def sort_rows(
    high: NDArray[np.integer], middle: NDArray[np.integer], low: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The rows (high, middle, low) in ascending order, as three columns."""
    if len(high) == 0:
        empty = np.empty(0, np.int64)
        return empty, empty, empty
    if len(high) <= FEW:
        order = np.lexsort((low, middle, high))
        return high[order].astype(np.int64), middle[order].astype(np.int64), low[order].astype(np.int64)
    columns = (high, middle, low)
    lowest = [int(column.min()) for column in columns]
    widths = [(int(column.max()) - least).bit_length() for column, least in zip(columns, lowest, strict=True)]
    key = _packed(columns, lowest, widths)
    if key is None:
        order = np.lexsort((low, middle, high))
        return high[order].astype(np.int64), middle[order].astype(np.int64), low[order].astype(np.int64)
    key.sort()
    last = key & ((1 << widths[2]) - 1)
    key >>= widths[2]
    second = key & ((1 << widths[1]) - 1)
    key >>= widths[1]
    key += lowest[0]
    second += lowest[1]
    last += lowest[2]
    return key, second, last


def sort_positions(high: NDArray[np.integer], low: NDArray[np.integer]) -> NDArray[np.intp]:
    """Positions of the rows (high, low) in ascending order; ties stay as they are. Numbers are 0 or more."""
    bits = len(high).bit_length()
    widths = (int(high.max(initial=0)).bit_length(), int(low.max(initial=0)).bit_length())
    key = _packed((high, low), (0, 0), widths, spare=bits)
    if key is None:
        return np.lexsort((low, high))
    key <<= bits
    key |= np.arange(len(key))
    key.sort()
    key &= (1 << bits) - 1
    return key


def ranges(starts: NDArray[np.integer], sizes: NDArray[np.integer]) -> NDArray[Any]:
    """The numbers of ranges, one after the other, in the type of both arguments.

    Args:
        starts: where each range begins.
        sizes: how many numbers each has.
    """
    ends = np.cumsum(sizes, dtype=sizes.dtype)
    shifts: NDArray[Any] = np.repeat(starts - ends + sizes, sizes)
    shifts += np.arange(len(shifts), dtype=shifts.dtype)
    return shifts


def _packed(
    columns: Sequence[NDArray[np.integer]], lowest: Sequence[int], widths: Sequence[int], *, spare: int = 0
) -> NDArray[np.int64] | None:
    """Each row as one integer that compares as it does, or None where it would need more than 63 bits.

    A sort of these is ten times as fast as one by several keys.

    Args:
        columns: the columns, the most significant one first.
        lowest: what to take off each column.
        widths: how many bits the rest of each column needs.
        spare: how many more bits the caller needs.
    """
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
