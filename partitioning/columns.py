"""Rows that are several integer columns: sorted, and picked by ranges."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def sort_rows(
    high: NDArray[np.integer], middle: NDArray[np.integer], low: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The rows (high, middle, low) in ascending order, as three columns."""
    if len(high) == 0:
        empty = np.empty(0, np.int64)
        return empty, empty, empty
    (first, firsts), (second, seconds), (third, thirds) = _span(high), _span(middle), _span(low)
    key = _packed((high, middle, low), (first, second, third), (firsts, seconds, thirds))
    if key is None:
        order = np.lexsort((low, middle, high))
        return high[order].astype(np.int64), middle[order].astype(np.int64), low[order].astype(np.int64)
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
    bits = len(high).bit_length()
    spans = (int(high.max(initial=0)) + 1, int(low.max(initial=0)) + 1, 1 << bits)
    key = _packed((high, low, np.arange(len(high))), (0, 0, 0), spans)
    if key is None:
        return np.lexsort([low, high])
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
    columns: Sequence[NDArray[np.integer]], lowest: Sequence[int], spans: Sequence[int]
) -> NDArray[np.int64] | None:
    """Each row as one integer that compares as it does, or None where the numbers are too far apart for that.

    A sort of these is ten times as fast as one by several keys.

    Args:
        columns: the columns, the most significant one first.
        lowest: the lowest number of each column, or one below.
        spans: how many numbers there are from there up to the highest.
    """
    if prod(spans) >= 2**63:
        return None
    key = columns[0].astype(np.int64)
    key -= lowest[0]
    for column, low, span in zip(columns[1:], lowest[1:], spans[1:], strict=True):
        key *= span
        key += column
        if low:
            key -= low
    return key


def _span(column: NDArray[np.integer]) -> tuple[int, int]:
    """The lowest number and how many there are up to the highest."""
    low = int(column.min())
    return low, int(column.max()) - low + 1
