"""The order of one Java `HashMap` that is only filled, by arithmetic."""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from math import factorial, prod
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partitioning.errors import TreeBinError
from partitioning.java.hash_codes import Rank, spread, string_hashes, utf16_key
from partitioning.java.hash_map import HashTable
from partitioning.java.sizes import DEFAULT_LENGTH, SHORTEST_WITH_TREES, TREEIFY, table_length, threshold

# Ways to order keys with the same hash that are tried; where there are more, some always lead elsewhere.
_MOST_RANKINGS = 5040


class Growth(NamedTuple):
    """How a map's table grew.

    Attributes:
        starts: the first key that met each length of the table.
        lengths: those lengths; the last one may have met no key.
        trees: bins that may have become trees, by length.
    """

    starts: list[int]
    lengths: list[int]
    trees: dict[int, NDArray[np.uint32]]

    def tree_rows(self, spread: NDArray[np.uint32]) -> Iterator[NDArray[np.intp]]:
        """The keys of each bin that may have become a tree, those included that came after it was split."""
        visited = np.zeros(len(spread), np.bool_)
        for length, bins in self.trees.items():
            bucket = spread & np.uint32(length - 1)
            rows = np.flatnonzero(np.isin(bucket, bins) & ~visited)
            visited[rows] = True
            rows = rows[np.argsort(bucket[rows], kind="stable")]
            yield from np.split(rows, np.flatnonzero(np.diff(bucket[rows])) + 1)


class Tree(NamedTuple):
    """The keys of a bin that became a tree, also if it was split later.

    `rows` are their positions among all keys of the map, in the order they were put; `spread` is
    `HashMap.hash` of their hash codes, signed; `insert` is as in `hash_map_order`.
    """

    rows: list[int]
    spread: list[int]
    growth: Growth
    insert: Literal["tail", "head"]

    def order(self, ranks: Sequence[Rank]) -> list[int]:
        """The rows as the map gives them, where `ranks` order keys with the same hash."""
        starts, lengths, _ = self.growth
        hash_of = dict(zip(self.rows, self.spread, strict=True)).__getitem__
        rank_of = dict(zip(self.rows, ranks, strict=True)).__getitem__
        table = _Excerpt(lengths[0], hash_of, rank_of)
        put = table.add if self.insert == "tail" else table.add_first
        stage = 0
        for row in self.rows:
            while stage + 1 < len(starts) and starts[stage + 1] <= row:
                stage += 1
            table.grow_to(lengths[stage])
            put(row)
        table.grow_to(lengths[-1])
        return list(table)

    def order_without_ranks(self) -> list[int]:
        """The order where Java cannot compare the keys; TreeBinError if their identity hashes decide it."""
        tied = self._tied()
        order = self.order([(row,) for row in self.rows])
        few = prod(factorial(len(group)) for group in tied) <= _MOST_RANKINGS
        if few and all(self.order(ranks) == order for ranks in self._rankings(tied)):
            return order
        length = self.growth.lengths[-1]
        raise TreeBinError(
            f"{len(self.rows)} keys meet in bin {self.spread[0] & (length - 1)} of a Java HashMap with "
            f"{length} bins, a red-black tree, and {max(map(len, tied))} of them have one hash: Java orders "
            "by System.identityHashCode there, which no two runs of a JVM have alike; change the names"
        )

    def _tied(self) -> list[list[int]]:
        """Which keys have the same hash as others."""
        groups: dict[int, list[int]] = {}
        for position, code in enumerate(self.spread):
            groups.setdefault(code, []).append(position)
        return [group for group in groups.values() if len(group) > 1]

    def _rankings(self, tied: list[list[int]]) -> Iterator[list[tuple[int]]]:
        """All ways in which keys with the same hash can be ordered."""
        for chosen in product(*(permutations(range(len(group))) for group in tied)):
            ranks = [(0,)] * len(self.rows)
            for group, places in zip(tied, chosen, strict=True):
                for position, place in zip(group, places, strict=True):
                    ranks[position] = (place,)
            yield ranks


class _Excerpt(HashTable[int]):
    """Some bins of a map: the keys that fall into others are left out, and it grows when told."""

    def grow_to(self, length: int) -> None:
        """The map's table now has this length."""
        while self._length < length:
            self._double()

    def _outgrown(self) -> None:
        """Whether the whole map has, keys of other bins decide too."""


def hash_map_order(
    hashes: ArrayLike,
    *,
    capacity: int = DEFAULT_LENGTH,
    insert: Literal["tail", "head"] = "tail",
    called_again: bool = False,
    keys: Sequence[str] | NDArray[np.int64] | None = None,
) -> NDArray[np.intp]:
    """In which order a `HashMap` iterates over keys that were put one after the other.

    `hashes` are the `hashCode` of distinct keys in the order they were put; an integer's is its value.
    `capacity` is the argument of `new HashMap(capacity)`; 16 is what `new HashMap()` has. `insert` is "tail"
    for `put`, `putIfAbsent`, `HashSet.add`, `toMap` and `toSet`, "head" for `computeIfAbsent`, `compute`,
    `merge` and `groupingBy`. `called_again`: with "head", a call for a key that was there followed the last
    new one, which doubles a table that is too full before it puts. `keys` are the keys where Java can compare
    them: strings, or int64 of shape (n, k) with rows that compare as they do.

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
                tree_order = tree.order_without_ranks()
            else:
                own = (keys[row] for row in tree.rows)
                tree_order = tree.order(
                    [(utf16_key(key),) if isinstance(key, str) else tuple(key.tolist()) for key in own]
                )
            order[np.sort(place[rows])] = tree_order
    return order


def sized_map_order(hashes: NDArray[np.int32], length: int) -> tuple[NDArray[np.intp], bool]:
    """The order of a map that was made long enough, and whether so crowded that Java's may be another.

    `hashes` are the `spread` hash codes, in the order the keys were put; `length` is that of its table.
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
