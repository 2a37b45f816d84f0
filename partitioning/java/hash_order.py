"""The order of one Java `HashMap` that is only filled, by arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from partitioning.java.crowded_bins import Growth, Tree
from partitioning.java.hash_codes import spread
from partitioning.java.sizes import DEFAULT_LENGTH, SHORTEST_WITH_TREES, TREEIFY, table_length, threshold
from partitioning.java.strings import string_hashes, utf16_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from partitioning.java.hash_codes import Rank


def hash_map_order(
    hashes: ArrayLike,
    *,
    capacity: int = DEFAULT_LENGTH,
    insert: Literal["tail", "head"] = "tail",
    called_again: bool = False,
    keys: Sequence[str] | NDArray[np.int64] | None = None,
    apart: Sequence[int] | None = None,
    sure: bool = True,
) -> NDArray[np.intp]:
    """In which order a `HashMap` iterates over keys that were put one after the other.

    Args:
        hashes: `hashCode` of each key, in the order the keys were put; the keys are distinct. The hash of an
            integer is its value.
        capacity: argument of `new HashMap(capacity)`; 16 is what `new HashMap()` has.
        insert: "tail" for `put`, `putIfAbsent`, `HashSet.add`, `toMap` and `toSet`; "head" for
            `computeIfAbsent`, `compute`, `merge` and `groupingBy`.
        called_again: with "head", whether a call for a key that was there followed the last new one: it
            doubles a table that is too full, which a call does before it puts.
        keys: the keys where Java can compare them: strings, or int64 of shape (n, k) with rows that compare
            as they do.
        apart: a number for each key, where only the order among keys with the same number is asked for.
        sure: whether the keys were put in exactly this order.

    Returns:
        intp array of shape (n,): positions in `hashes`, in iteration order.

    Raises:
        TreeBinError: keys that Java cannot compare have one hash and share a bin that is a red-black tree,
            and the order depends on their `System.identityHashCode`, which every run of a JVM has anew.
    """
    signed = np.asarray(hashes, dtype=np.int32)
    if len(signed) < 2:
        return np.arange(len(signed))
    mixed = spread(signed).view(np.uint32)
    growth = _growth(mixed, capacity, insert, called_again=called_again)
    length = growth.lengths[-1]
    buckets = mixed & np.uint32(length - 1)
    if length <= 1 << 16:
        buckets = buckets.astype(np.uint16)  # NumPy sorts these by radix
    if insert == "head":
        order = len(buckets) - 1 - buckets[::-1].argsort(kind="stable")
    else:
        order = buckets.argsort(kind="stable")
    if growth.trees:
        place = np.argsort(order)
        for rows in growth.tree_rows(mixed):
            tree = Tree(rows.tolist(), mixed.view(np.int32)[rows].tolist(), growth, insert)
            if keys is None:
                tree_order = tree.order_without_ranks(apart, sure=sure)
            else:
                tree_order = tree.order([_rank(keys[row]) for row in tree.rows])
            order[np.sort(place[rows])] = tree_order
    return order


def sized_map_order(hashes: NDArray[np.int32], length: int) -> tuple[NDArray[np.intp], bool]:
    """The order of a map that was made long enough, and whether so crowded that Java's may be another.

    Args:
        hashes: `spread` of each key's hash code, in the order the keys were put.
        length: length of its table.
    """
    buckets = hashes & (length - 1)
    return np.argsort(buckets, kind="stable"), int(np.bincount(buckets).max(initial=0)) > TREEIFY


def hash_map_keys(keys: Sequence[str], *, capacity: int = DEFAULT_LENGTH) -> list[str]:
    """Distinct strings in the iteration order of a `HashMap` or `HashSet` they were put into one by one."""
    order = hash_map_order(string_hashes(keys), capacity=capacity, keys=keys)
    return [keys[i] for i in order.tolist()]


def _growth(
    mixed: NDArray[np.uint32], capacity: int, insert: Literal["tail", "head"], *, called_again: bool
) -> Growth:
    """How the table grows while the keys are put, and which of its bins may become trees."""
    growth = Growth([], [], {})
    length = table_length(capacity)
    # `put` looks at a bin after it appended, `computeIfAbsent` before it prepends.
    most = TREEIFY if insert == "tail" else TREEIFY - 1
    put = 0
    while True:
        growth.starts.append(put)
        growth.lengths.append(length)
        most_keys = threshold(length)
        stop = min(len(mixed), most_keys + 1)  # the key that passes the threshold still meets this table
        if stop > most:
            buckets = mixed[:stop] & np.uint32(length - 1)
            crowded = np.bincount(buckets, minlength=length)[buckets[put:]] > most
            if crowded.any():
                if length < SHORTEST_WITH_TREES:
                    put = _first_crowding(buckets, put, most) + 1
                    length *= 2
                    continue
                growth.trees[length] = np.unique(buckets[put:][crowded])
        put = stop
        if put == len(mixed) and (put <= most_keys or (insert == "head" and not called_again)):
            return growth
        length *= 2


def _first_crowding(buckets: NDArray[np.uint32], start: int, most: int) -> int:
    """Position of the first key from `start` on that is more than the `most`-th of its bin."""
    for position in range(start, len(buckets)):
        if np.count_nonzero(buckets[: position + 1] == buckets[position]) > most:
            return position
    raise AssertionError("called only where a bin is crowded")


def _rank(key: str | NDArray[np.int64]) -> Rank:
    return (utf16_key(key),) if isinstance(key, str) else tuple(key.tolist())
