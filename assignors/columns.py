"""Sorting rows that are several integer columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sort_rows(
    high: NDArray[np.integer], middle: NDArray[np.integer], low: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The rows (high, middle, low) in ascending order, as three columns of non-negative numbers.

    One sort of packed 64-bit integers is ten times as fast as a sort by three keys; numbers too large to pack
    are replaced by their ranks first.
    """
    if len(high) == 0:
        empty = np.empty(0, np.int64)
        return empty, empty, empty
    middles, lows = int(middle.max()) + 1, int(low.max()) + 1
    if (int(high.max()) + 1) * middles * lows >= 2**63:
        values, ranks = np.unique(low, return_inverse=True)
        high_, middle_, low_ = sort_rows(high, middle, ranks.reshape(-1))
        return high_, middle_, values[low_].astype(np.int64)
    key = high.astype(np.int64)
    key *= middles
    key += middle
    key *= lows
    key += low
    key.sort()
    rest = key // lows
    key -= rest * lows
    first = rest // middles
    rest -= first * middles
    return first, rest, key
