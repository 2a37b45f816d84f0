"""Java's `String.hashCode`, over UTF-16 code units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def hash_units(units: NDArray[np.uint16], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """`String.hashCode` of many strings, given as UTF-16 code units.

    Args:
        units: code units of all strings, one after the other.
        offsets: where each string begins, and where the last one ends; n + 1 entries.

    Returns:
        int32 array of n hashes.
    """
    # hashCode is the sum of unit * 31**(units that follow), modulo 2**32: one running sum serves all strings.
    ends = np.repeat(offsets[1:], np.diff(offsets))
    following = ends - 1 - np.arange(len(units))
    powers = np.empty(int(following.max(initial=0)) + 1, dtype=np.uint32)
    powers[0] = 1
    powers[1:] = 31
    np.multiply.accumulate(powers, out=powers)
    sums = np.zeros(len(units) + 1, dtype=np.uint32)
    np.cumsum(units * powers[following], dtype=np.uint32, out=sums[1:])
    return (sums[offsets[1:]] - sums[offsets[:-1]]).view(np.int32)
