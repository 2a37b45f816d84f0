"""The order of one Java `HashMap` that is only filled, by arithmetic."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partitioning.java.hash_codes import Rank, spread, string_hashes, utf16_key
from partitioning.java.hash_map import HashTable
from partitioning.java.sizes import DEFAULT_LENGTH, TREEIFY, table_length, threshold


def hash_map_order(
    hashes: ArrayLike,
    *,
    capacity: int = DEFAULT_LENGTH,
    keys: Sequence[str] | NDArray[np.int64] | None = None,
) -> NDArray[np.intp]:
    """In which order a `HashMap` or `HashSet` iterates over keys that were put one after the other.

    `hashes` are the `hashCode` of distinct keys in the order they were put; an integer's is its value.
    `capacity` is the argument of `new HashMap(capacity)`; 16 is what `new HashMap()` has. `keys` are the keys
    where Java can compare them: strings, or int64 of shape (n, k) with rows that compare as they do.

    Returns:
        intp array of shape (n,): positions in `hashes`, in iteration order.

    Raises:
        TreeBinError: keys that Java cannot compare have one hash and share a bin that is a red-black tree, so
            that the order can depend on their `System.identityHashCode`, which every run of a JVM has anew.
    """
    signed = np.asarray(hashes, dtype=np.int32)
    if len(signed) < 2:
        return np.arange(len(signed))
    mixed = spread(signed)
    length = table_length(capacity)
    while True:
        most = threshold(length)
        # The key that passes the threshold still meets this table.
        buckets = mixed[: most + 1] & np.int32(length - 1)
        if len(buckets) > TREEIFY and np.bincount(buckets).max() > TREEIFY:
            return _order_with_trees(mixed, capacity, keys)
        if len(buckets) <= most:
            break
        length *= 2
    if length <= 1 << 16:
        buckets = buckets.astype(np.uint16)  # NumPy sorts these by radix
    return buckets.argsort(kind="stable")


def _order_with_trees(
    mixed: NDArray[np.int32], capacity: int, keys: Sequence[str] | NDArray[np.int64] | None
) -> NDArray[np.intp]:
    """The order where a bin is so crowded that the table grows for it or has a tree: key by key."""

    def rank_of(row: int) -> Rank:
        key = () if keys is None else keys[row]
        return (utf16_key(key),) if isinstance(key, str) else tuple(map(int, key))

    table: HashTable[int] = HashTable(capacity, mixed.tolist().__getitem__, rank_of)
    for row in range(len(mixed)):
        table.add(row)
    return np.fromiter(table, np.intp, len(mixed))


def hash_map_keys(keys: Sequence[str]) -> list[str]:
    """Distinct strings in the iteration order of a `HashMap` or `HashSet` they were put into one by one."""
    order = hash_map_order(string_hashes(keys), keys=keys)
    return [keys[i] for i in order.tolist()]
