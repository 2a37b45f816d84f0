"""How long the table of a Java `HashMap` is: every rule of capacity, threshold and length.

Names say which constructor a capacity comes from. A capacity is a constructor's argument; the length of the
table it leads to is a power of two. Functions with a plural in their name take one number a map.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Size = TypeVar("Size", int, NDArray[np.integer])

DEFAULT_LENGTH = 16
"""The table of `new HashMap()` and `new HashSet()`."""

TREEIFY = 8
"""How many keys a bin may hold before it becomes a tree: `HashMap.TREEIFY_THRESHOLD`."""

UNTREEIFY = 6
"""What is left of a tree when its table grows is a list up to this size: `HashMap.UNTREEIFY_THRESHOLD`."""

SHORTEST_WITH_TREES = 64
"""A shorter table grows where it would need a tree: `HashMap.MIN_TREEIFY_CAPACITY`."""

_LENGTHS = np.array([1 << max(capacity - 1, 0).bit_length() for capacity in range(1 << 12)])


def table_length(capacity: int) -> int:
    """Length of the table of `new HashMap(capacity)`: `HashMap.tableSizeFor`."""
    return 1 << max(capacity - 1, 0).bit_length()


def table_lengths(capacities: NDArray[np.integer]) -> NDArray[np.int64]:
    """`table_length` of each."""
    if capacities.max(initial=0) < len(_LENGTHS):
        tabulated: NDArray[np.int64] = _LENGTHS[capacities]
        return tabulated
    lengths: NDArray[np.int64] = np.ones_like(capacities, np.int64)
    lengths <<= np.frexp(np.maximum(capacities, 1) - 0.5)[1]
    return lengths


def threshold(length: int) -> int:
    """How many keys a table may hold before it grows: three quarters of its length."""
    return length * 3 // 4


def grown_lengths(lengths: NDArray[np.int64], sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Lengths of tables that were so long to begin with, once there have been `sizes` keys in them."""
    return np.maximum(lengths, table_lengths((4 * sizes + 2) // 3))


def hash_map_capacity(size: Size) -> Size:
    """The capacity `new HashMap(map)` starts with, and `new HashMap((int) (size / 0.75f + 1))`.

    That of a copy is as in Java 8 to 18. Java 19 and newer differ at 3, 6, 12, 24, ... entries only
    (JDK-8281631).
    """
    return size * 4 // 3 + 1


def hash_set_capacity(size: int) -> int:
    """The capacity `new HashSet(collection)` starts with.

    That of Java 8 to 18. Java 19 and newer differ at 12, 24, 48, ... elements only (JDK-8284780).
    """
    return max(hash_map_capacity(size), DEFAULT_LENGTH)


def hash_set_lengths(sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Length of the table of `new HashSet(collection)`, for collections of these sizes."""
    return np.maximum(table_lengths(hash_map_capacity(sizes)), DEFAULT_LENGTH)
