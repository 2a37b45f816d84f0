"""A Java HashMap call by call, where arithmetic cannot tell its order: with crowded bins or removals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partitioning.java_maps.tree_bin import Node, TreeBin

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from numpy.typing import NDArray

    from partitioning.java_maps.tree_bin import Rank

TREEIFY = 8
UNTREEIFY = 6
SHORTEST_WITH_TREES = 64


class HashTable:
    """A `HashMap` or `HashSet` whose keys are integers that stand for something, or for themselves.

    Args:
        capacity: argument of `new HashMap(capacity)`.
    """

    def __init__(self, capacity: int = 16) -> None:
        self._length = 1 << max(capacity - 1, 0).bit_length()
        self._bins: dict[int, list[Node] | TreeBin] = {}
        self._nodes: dict[int, Node] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, key: object) -> bool:
        return key in self._nodes

    def __iter__(self) -> Iterator[int]:
        """The keys in the order Java gives them."""
        for index in sorted(self._bins):
            for node in self._bins[index]:
                yield node.key

    def add(self, key: int, spread: int, rank: Rank) -> None:
        """`HashMap.put` or `HashSet.add`.

        Args:
            key: the key.
            spread: its hash as `HashMap` uses it, `h ^ (h >>> 16)`, signed.
            rank: orders keys with the same hash, as their `compareTo` does.
        """
        if key in self._nodes:
            return
        self._put(Node(key, spread, rank), head=False)
        if len(self._nodes) > self._threshold():
            self._outgrown()

    def compute_if_absent(self, key: int, spread: int, rank: Rank) -> None:
        """`HashMap.computeIfAbsent`: grows before it looks, and puts a new key first in its bin."""
        if len(self._nodes) > self._threshold():
            self._outgrown()
        if key not in self._nodes:
            self._put(Node(key, spread, rank), head=True)

    def remove(self, key: int) -> None:
        """`HashMap.remove` or `HashSet.remove`."""
        node = self._nodes.pop(key, None)
        if node is None:
            return
        index = self._index(node)
        found = self._bins[index]
        if isinstance(found, TreeBin):
            rest = found.remove(node)
            if rest is not None:
                self._bins[index] = rest
        else:
            found.remove(node)
        if not len(self._bins[index]):
            del self._bins[index]

    def first(self) -> int:
        """The key Java gives first; there is one."""
        return next(iter(self._bins[min(self._bins)])).key

    def state(self) -> Hashable:
        """Everything that its order depends on, now and after later calls."""
        bins = [
            (index, found.state() if isinstance(found, TreeBin) else tuple(node.key for node in found))
            for index, found in sorted(self._bins.items())
        ]
        return self._length, tuple(bins)

    def _put(self, node: Node, *, head: bool) -> None:
        self._nodes[node.key] = node
        found = self._bins.setdefault(self._index(node), [])
        if isinstance(found, TreeBin):
            found.add(node)
            return
        found.insert(0 if head else len(found), node)
        # `computeIfAbsent` counts the new key, `put` those before it.
        if len(found) > TREEIFY - head:
            self._treeify(node)

    def _index(self, node: Node) -> int:
        return node.hash & (self._length - 1)

    def _threshold(self) -> int:
        return self._length * 3 // 4

    def _treeify(self, node: Node) -> None:
        if self._length < SHORTEST_WITH_TREES:
            self._outgrown()
        else:
            index = self._index(node)
            self._bins[index] = TreeBin(self._bins[index])

    def _outgrown(self) -> None:
        self._double()

    def _double(self) -> None:
        bit = self._length
        self._length *= 2
        bins: dict[int, list[Node] | TreeBin] = {}
        for index, found in self._bins.items():
            halves = (
                [node for node in found if not node.hash & bit],
                [node for node in found if node.hash & bit],
            )
            for half, where in zip(halves, (index, index + bit), strict=True):
                if not half:
                    continue
                if isinstance(found, list) or len(half) <= UNTREEIFY:
                    bins[where] = half
                else:
                    bins[where] = found if len(half) == len(found) else TreeBin(half)
        self._bins = bins


class Excerpt(HashTable):
    """Some bins of a map: the keys that fall into others are left out, and it grows when told."""

    def grow_to(self, length: int) -> None:
        """The map's table now has this length."""
        while self._length < length:
            self._double()

    def _outgrown(self) -> None:
        """Whether the whole map has, keys of other bins decide too."""


def number_set(numbers: Iterable[int], capacity: int) -> HashTable:
    """A `HashSet<Integer>` with these numbers, added one by one."""
    table = HashTable(capacity)
    for number in numbers:
        table.add(number, spread_number(number), (number,))
    return table


def spread_number(number: int) -> int:
    """A hash code as `HashMap` uses it; that of an Integer is its value."""
    return number ^ ((number & 0xFFFFFFFF) >> 16)


def spread(hashes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Hash codes as `HashMap` uses them: the upper half mixed into the lower."""
    if len(hashes) == 0 or (hashes.min() >= 0 and hashes.max() < 1 << 16):
        return hashes
    return hashes ^ (hashes.view(np.uint32) >> np.uint32(16)).view(np.int32)
