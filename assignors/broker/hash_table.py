"""A Java HashMap call by call, for the tables whose order columns cannot tell: those with crowded bins.

A bin that gets crowded becomes a red-black tree, whose nodes also form a list; a HashMap iterates over that
list. A new node is listed right after its parent in the tree, and the root always comes first, so the tree's
shape has to be the one Java has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TREEIFY = 8
UNTREEIFY = 6
SHORTEST_WITH_TREES = 64


@dataclass(slots=True, eq=False)
class _Node:
    """A key; `rank` is its place among keys with the same hash, as their `compareTo` says."""

    key: int
    hash: int
    rank: tuple[int, ...]
    red: bool = False
    parent: _Node | None = field(default=None, repr=False)
    left: _Node | None = None
    right: _Node | None = None


class HashTable:
    """A `HashMap` or `HashSet` whose keys are integers that stand for something, or for themselves.

    Args:
        capacity: argument of `new HashMap(capacity)`.
    """

    def __init__(self, capacity: int = 16) -> None:
        self._length = 1 << max(capacity - 1, 0).bit_length()
        self._bins: dict[int, list[_Node] | _Tree] = {}
        self._nodes: dict[int, _Node] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, key: object) -> bool:
        return key in self._nodes

    def __iter__(self) -> Iterator[int]:
        """The keys in the order Java gives them."""
        for index in sorted(self._bins):
            for node in self._bins[index]:
                yield node.key

    def add(self, key: int, spread: int, rank: tuple[int, ...]) -> None:
        """`HashMap.put` or `HashSet.add`.

        Args:
            key: the key.
            spread: its hash as `HashMap` uses it, `h ^ (h >>> 16)`, signed.
            rank: orders keys with the same hash.
        """
        if key in self._nodes:
            return
        node = self._nodes[key] = _Node(key, spread, rank)
        found = self._bins.setdefault(self._index(node), [])
        if isinstance(found, _Tree):
            found.add(node)
        else:
            found.append(node)
            if len(found) > TREEIFY:
                self._treeify(node)
        if len(self._nodes) > self._threshold():
            self._grow()

    def compute_if_absent(self, key: int, spread: int, rank: tuple[int, ...]) -> None:
        """`HashMap.computeIfAbsent`: grows before it looks, and puts a new key first in its bin."""
        if len(self._nodes) > self._threshold():
            self._grow()
        if key in self._nodes:
            return
        node = self._nodes[key] = _Node(key, spread, rank)
        found = self._bins.setdefault(self._index(node), [])
        if isinstance(found, _Tree):
            found.add(node)
        else:
            found.insert(0, node)
            if len(found) >= TREEIFY:
                self._treeify(node)

    def remove(self, key: int) -> None:
        """`HashMap.remove` or `HashSet.remove`."""
        node = self._nodes.pop(key, None)
        if node is None:
            return
        index = self._index(node)
        found = self._bins[index]
        if isinstance(found, _Tree):
            rest = found.remove(node)
            if rest is not None:
                self._bins[index] = rest
        else:
            found.remove(node)
        if not len(self._bins[index]):
            del self._bins[index]

    def _index(self, node: _Node) -> int:
        return node.hash & (self._length - 1)

    def _threshold(self) -> int:
        return self._length * 3 // 4

    def _treeify(self, node: _Node) -> None:
        if self._length < SHORTEST_WITH_TREES:
            self._grow()
        else:
            index = self._index(node)
            self._bins[index] = _Tree(self._bins[index])

    def _grow(self) -> None:
        bit = self._length
        self._length *= 2
        bins: dict[int, list[_Node] | _Tree] = {}
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
                    bins[where] = found if len(half) == len(found) else _Tree(half)
        self._bins = bins


def number_set(numbers: Iterable[int], capacity: int) -> HashTable:
    """A `HashSet<Integer>` with these numbers, added one by one."""
    table = HashTable(capacity)
    for number in numbers:
        table.add(number, spread_number(number), (number,))
    return table


def spread_number(number: int) -> int:
    """A hash code as `HashMap` uses it; that of an Integer is its value."""
    return number ^ ((number & 0xFFFFFFFF) >> 16)


class _Tree:
    """A crowded bin."""

    def __init__(self, nodes: Iterable[_Node]) -> None:
        self._listed = list(nodes)
        self._root: _Node | None = None
        for node in self._listed:
            node.left = node.right = None
            self._attach(node)
        self._root_first()

    def __len__(self) -> int:
        return len(self._listed)

    def __iter__(self) -> Iterator[_Node]:
        return iter(self._listed)

    def add(self, node: _Node) -> None:
        parent = self._attach(node)
        assert parent is not None
        self._listed.insert(self._listed.index(parent) + 1, node)
        self._root_first()

    def remove(self, node: _Node) -> list[_Node] | None:
        """Takes the node out; returns the bin as a plain list where the tree has become too small."""
        self._listed.remove(node)
        root = self._root
        assert root is not None
        if root.right is None or root.left is None or root.left.left is None:
            return self._listed
        self._detach(node)
        self._root_first()
        return None

    def _root_first(self) -> None:
        root = self._root
        if root is not None and self._listed[0] is not root:
            self._listed.remove(root)
            self._listed.insert(0, root)

    def _attach(self, node: _Node) -> _Node | None:
        """Puts the node below the leaf where it belongs, which is returned, and rebalances."""
        parent, below = None, self._root
        place = (node.hash, node.rank)
        while below is not None:
            parent = below
            below = below.left if place < (below.hash, below.rank) else below.right
        node.parent, node.red = parent, True
        if parent is None:
            self._root = node
        elif place < (parent.hash, parent.rank):
            parent.left = node
        else:
            parent.right = node
        self._paint_after_insertion(node)
        return parent

    def _paint_after_insertion(self, node: _Node) -> None:
        while (parent := node.parent) is not None and parent.red:
            above = parent.parent
            assert above is not None  # a red node is not the root
            left = parent is above.left
            uncle = above.right if left else above.left
            if uncle is not None and uncle.red:
                parent.red = uncle.red = False
                above.red = True
                node = above
                continue
            if node is (parent.right if left else parent.left):
                self._rotate(parent, left=left)
                parent = node
            parent.red, above.red = False, True
            self._rotate(above, left=not left)
            break
        assert self._root is not None
        self._root.red = False

    def _detach(self, node: _Node) -> None:
        if node.left is not None and node.right is not None:
            self._swap_with_successor(node)
        child = node.left if node.left is not None else node.right
        if child is not None:
            self._replace(node, child)
            if not node.red:
                self._paint_after_removal(child)
        else:
            # The node stands for the missing leaf while the tree is balanced, and goes then.
            if not node.red:
                self._paint_after_removal(node)
            self._replace(node, None)

    def _swap_with_successor(self, node: _Node) -> None:
        """Exchanges the node with the next higher one, which has no left child, colours included."""
        assert node.right is not None
        low = node.right
        while low.left is not None:
            low = low.left
        low.red, node.red = node.red, low.red
        left, right, parent, above = node.left, node.right, node.parent, low.parent
        node.left, node.right = None, low.right
        if node.right is not None:
            node.right.parent = node
        low.parent = parent
        if parent is None:
            self._root = low
        elif parent.left is node:
            parent.left = low
        else:
            parent.right = low
        low.left = left
        assert left is not None
        left.parent = low
        if low is right:
            low.right, node.parent = node, low
        else:
            assert above is not None
            low.right, right.parent = right, low
            above.left, node.parent = node, above

    def _replace(self, node: _Node, other: _Node | None) -> None:
        parent = node.parent
        if other is not None:
            other.parent = parent
        if parent is None:
            self._root = other
        elif parent.left is node:
            parent.left = other
        else:
            parent.right = other

    def _paint_after_removal(self, node: _Node) -> None:
        """Restores the number of black nodes on the paths through `node`, which lack one."""
        while (parent := node.parent) is not None and not node.red:
            left = parent.left is node
            sibling = parent.right if left else parent.left
            assert sibling is not None
            if sibling.red:
                sibling.red, parent.red = False, True
                self._rotate(parent, left=left)
                sibling = parent.right if left else parent.left
                assert sibling is not None
            near, far = (sibling.left, sibling.right) if left else (sibling.right, sibling.left)
            if far is None or not far.red:
                if near is None or not near.red:
                    sibling.red = True
                    node = parent
                    continue
                near.red, sibling.red = False, True
                self._rotate(sibling, left=not left)
                sibling, far = near, sibling
            sibling.red, parent.red = parent.red, False
            far.red = False
            self._rotate(parent, left=left)
            return
        node.red = False

    def _rotate(self, node: _Node, *, left: bool) -> None:
        """Turns the node down to the left or right; its child on the other side takes its place."""
        child = node.right if left else node.left
        assert child is not None
        inner = child.left if left else child.right
        self._replace(node, child)
        if left:
            node.right, child.left = inner, node
        else:
            node.left, child.right = inner, node
        node.parent = child
        if inner is not None:
            inner.parent = node
