"""Rows that are several integer columns: sorted, and picked by ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sort_rows(
    high: NDArray[np.integer], middle: NDArray[np.integer], low: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The rows (high, middle, low) in ascending order, as three columns.

    One sort of packed 64-bit integers is ten times as fast as a sort by three keys, which is left for numbers
    too far apart to be packed.
    """
    if len(high) == 0:
        empty = np.empty(0, np.int64)
        return empty, empty, empty
    first, firsts = _span(high)
    second, seconds = _span(middle)
    third, thirds = _span(low)
    if firsts * seconds * thirds >= 2**63:
        order = np.lexsort((low, middle, high))
        return high[order].astype(np.int64), middle[order].astype(np.int64), low[order].astype(np.int64)
    key = high.astype(np.int64)
    key -= first
    key *= seconds
    key += middle
    key -= second
    key *= thirds
    key += low
    key -= third
    key.sort()
    rest = key // thirds
    key -= rest * thirds
    top = rest // seconds
    rest -= top * seconds
    key += third
    rest += second
    top += first
    return top, rest, key


def sort_positions(high: NDArray[np.integer], low: NDArray[np.integer]) -> NDArray[np.intp]:
    """Positions of the rows (high, low) in ascending order; ties stay as they are. Numbers are 0 or more."""
    lows = int(low.max(initial=0)) + 1
    bits = len(high).bit_length()
    if (int(high.max(initial=0)) + 1) * lows << bits >= 1 << 63:
        return np.lexsort([low, high])
    key = high.astype(np.int64)
    key *= lows
    key += low
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


def _span(column: NDArray[np.integer]) -> tuple[int, int]:
    """The lowest number and how many there are up to the highest."""
    low = int(column.min())
    return low, int(column.max()) - low + 1
