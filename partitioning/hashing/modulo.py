"""Turns signed 32-bit hashes into partitions by one of three sign rules, for one key and for columns.

The rules differ for hashes with the top bit set, which is every second key: two clients with the same hash
and different sign rules disagree on about half of all keys.
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from partitioning.hashing.words import CHUNK_ROWS

SignRule: TypeAlias = Literal["mask", "unsigned", "absolute"]
"""The rule by which a negative hash leads to a partition.

"mask" clears the sign bit of the hash, "unsigned" reads the hash as unsigned, and "absolute" drops the sign
of the signed remainder.
"""


_MASK = np.uint32(0x7FFFFFFF)


def partition_of(hash_value: int, num_partitions: int, sign: SignRule) -> int:
    """Return the partition, 0 to `num_partitions` - 1, of one hash."""
    if sign == "absolute":
        return abs(hash_value) % num_partitions
    return (hash_value & (0x7FFFFFFF if sign == "mask" else 0xFFFFFFFF)) % num_partitions


def partitions_of(hashes: NDArray[np.int32], num_partitions: int, sign: SignRule) -> NDArray[np.int32]:
    """Return the partition of each hash: int32 of shape (n,), the same shape as that of `hashes`.

    The hashes are handled in chunks, so that no other array is as long as the result.
    """
    out = np.empty(len(hashes), np.uint32)
    count = np.uint32(num_partitions)
    for first in range(0, len(hashes), CHUNK_ROWS):
        block, quotient = hashes[first : first + CHUNK_ROWS], out[first : first + CHUNK_ROWS]
        # The remainder of Go and C has the sign of the hash. Without this sign it is the remainder of the
        # absolute value. `np.abs` leaves -(2**31) as it is, which is its absolute value if read as unsigned.
        dividend = (np.abs(block) if sign == "absolute" else block).view(np.uint32)
        if sign == "mask":
            dividend = dividend & _MASK
        # NumPy divides by a constant with multiplications, but takes remainders one division at a time.
        np.floor_divide(dividend, count, out=quotient)
        np.multiply(quotient, count, out=quotient)
        np.subtract(dividend, quotient, out=quotient)
    return out.view(np.int32)
