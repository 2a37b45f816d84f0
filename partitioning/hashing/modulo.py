"""A signed 32-bit hash becomes a partition by one of three sign rules, each a scalar and a columnar twin.

The rules differ for hashes with the top bit set, which is every second key: two clients with the same hash
and different sign rules disagree on about half of all keys.
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

SignRule: TypeAlias = Literal["mask", "unsigned", "absolute"]
"""Clear the sign bit; read the hash as unsigned; or drop the sign of the signed remainder."""


def partition_of(hash_value: int, num_partitions: int, sign: SignRule) -> int:
    """Return the partition, 0 to `num_partitions` - 1, of one hash."""
    if sign == "absolute":
        return abs(hash_value) % num_partitions
    return (hash_value & (0x7FFFFFFF if sign == "mask" else 0xFFFFFFFF)) % num_partitions


def partitions_of(hashes: NDArray[np.int32], num_partitions: int, sign: SignRule) -> NDArray[np.int32]:
    """Return the partition of each hash: int32 of the same shape."""
    if sign == "absolute":
        # Go's and C's remainder has the sign of the hash; without its sign it is the remainder of the
        # absolute value.
        dividend = np.abs(hashes).view(np.uint32)  # -(2**31) stays as it is, which is right as unsigned
    elif sign == "mask":
        dividend = hashes.view(np.uint32) & np.uint32(0x7FFFFFFF)
    else:
        dividend = hashes.view(np.uint32)
    # NumPy divides by a constant with multiplications, but takes remainders one division at a time.
    quotient = dividend // np.uint32(num_partitions)
    quotient *= np.uint32(num_partitions)
    np.subtract(dividend, quotient, out=quotient)
    return quotient.view(np.int32)
