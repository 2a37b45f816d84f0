"""The order of those bins of a Java HashMap that are red-black trees, or were."""

from __future__ import annotations

from itertools import permutations, product
from math import factorial, prod
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from partitioning.errors import TreeBinError
from partitioning.java.hash_map import HashTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from partitioning.java.hash_codes import Rank

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

    Attributes:
        rows: their positions among all keys of the map, in the order they were put.
        spread: `HashMap.hash` of their hash codes, signed.
        growth: how the map's table grew.
        insert: as in `hash_map_order`.
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
        put = table.add if self.insert == "tail" else table.compute_if_absent
        stage = 0
        for row in self.rows:
            while stage + 1 < len(starts) and starts[stage + 1] <= row:
                stage += 1
            table.grow_to(lengths[stage])
            put(row)
        table.grow_to(lengths[-1])
        return list(table)

    def order_without_ranks(self, apart: Sequence[int] | None, *, sure: bool) -> list[int]:
        """The same where Java cannot compare the keys, if their identity hashes make no difference.

        Args:
            apart: as in `hash_map_order`.
            sure: as in `hash_map_order`.

        Raises:
            TreeBinError: they do.
        """
        tied = self._tied()
        order = self.order([(row,) for row in self.rows])
        if not tied or not self._has_neighbours(apart):
            return order
        requested = _requested_order(order, apart)
        few = sure and prod(factorial(len(group)) for group in tied) <= _MOST_RANKINGS
        if few and all(
            _requested_order(self.order(ranks), apart) == requested for ranks in self._rankings(tied)
        ):
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
        for position, spread in enumerate(self.spread):
            groups.setdefault(spread, []).append(position)
        return [group for group in groups.values() if len(group) > 1]

    def _rankings(self, tied: list[list[int]]) -> Iterator[list[tuple[int]]]:
        """All ways in which keys with the same hash can be ordered."""
        for chosen in product(*(permutations(range(len(group))) for group in tied)):
            ranks = [(0,)] * len(self.rows)
            for group, places in zip(tied, chosen, strict=True):
                for position, place in zip(group, places, strict=True):
                    ranks[position] = (place,)
            yield ranks

    def _has_neighbours(self, apart: Sequence[int] | None) -> bool:
        """Whether keys share a bin in the end whose order is asked for."""
        if apart is None:
            return True
        mask = self.growth.lengths[-1] - 1
        places = {(code & mask, apart[row]) for row, code in zip(self.rows, self.spread, strict=True)}
        return len(places) < len(self.rows)


class _Excerpt(HashTable[int]):
    """Some bins of a map: the keys that fall into others are left out, and it grows when told."""

    def grow_to(self, length: int) -> None:
        """The map's table now has this length."""
        while self._length < length:
            self._double()

    def _outgrown(self) -> None:
        """Whether the whole map has, keys of other bins decide too."""


def _requested_order(order: list[int], apart: Sequence[int] | None) -> list[int]:
    """What of an order is asked for."""
    return order if apart is None else sorted(order, key=apart.__getitem__)
