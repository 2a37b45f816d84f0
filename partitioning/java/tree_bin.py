"""A crowded bin of a Java HashMap.

A bin that gets too many keys becomes a red-black tree. Its nodes also form a list, over which the map
iterates: a new node is listed right after its parent in the tree, and the root always comes first. So the
list has Java's order only if the tree has Java's shape, and that takes the same red-black tree.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from partitioning.java.hash_codes import Rank

H = TypeVar("H", bound="Hashable")


class TreeBin(Generic[H]):
    """A bin that is a tree; `has_ties` says whether keys met that nothing orders.

    `hashes` are of what was in the bin before, in its order: each key's hash as `HashMap` uses it,
    `h ^ (h >>> 16)`, signed. `rank_of` orders keys with the same hash.

    Attributes:
        _nodes: each key's node.
        _first: head of the list over which the map iterates.
        _root: root of the tree. Between calls it is also `_first`.
    """

    def __init__(self, hashes: Mapping[H, int], rank_of: Callable[[H], Rank]) -> None:
        self.has_ties = False
        self._rank_of = rank_of
        self._nodes: dict[H, _Node[H]] = {}
        self._first: _Node[H] | None = None
        self._root: _Node[H] | None = None
        last = None
        for key, spread in hashes.items():
            node = self._nodes[key] = _Node(key, spread, rank_of(key))
            # Java links the list in its old order and inserts into the tree one by one, in `treeify`.
            self._attach(node)
            self._list(node, last)
            last = node
        self._root_first()

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[H]:
        return (node.key for node in self._in_list_order())

    def state(self) -> Hashable:
        """Return everything that its order depends on, now and later."""
        return tuple((node.key, node.red, node.parent and node.parent.key) for node in self._in_list_order())

    def add(self, key: H, spread: int) -> None:
        """Puts a new key, with its hash."""
        node = self._nodes[key] = _Node(key, spread, self._rank_of(key))
        self._list(node, self._attach(node))
        self._root_first()

    def remove(self, key: H) -> list[H] | None:
        """Takes a key out; returns the bin as a plain list where the tree has become too small."""
        node = self._nodes.pop(key)
        self._unlist(node)
        root = self._root
        assert root is not None
        # Java's test for a tree that is too small; it depends on the tree's shape, not on its size.
        if root.right is None or root.left is None or root.left.left is None:
            return list(self)
        self._detach(node)
        self._root_first()
        return None

    def _root_first(self) -> None:
        """Move the root to the front of the list (`moveRootToFront`)."""
        root = self._root
        if root is not None and self._first is not root:
            self._unlist(root)
            self._list(root, None)

    def _in_list_order(self) -> Iterator[_Node[H]]:
        """Yield the nodes in the order of the list."""
        node = self._first
        while node is not None:
            yield node
            node = node.next

    def _list(self, node: _Node[H], before: _Node[H] | None) -> None:
        """Lists the node right after another one, or first."""
        if before is None:
            after, self._first = self._first, node
        else:
            after, before.next = before.next, node
        node.previous, node.next = before, after
        if after is not None:
            after.previous = node

    def _unlist(self, node: _Node[H]) -> None:
        """Take a node out of the list; the tree stays as it is."""
        if node.previous is None:
            self._first = node.next
        else:
            node.previous.next = node.next
        if node.next is not None:
            node.next.previous = node.previous

    def _attach(self, node: _Node[H]) -> _Node[H] | None:
        """Puts the node below the leaf where it belongs, which is returned, and rebalances."""
        parent, below, is_left = None, self._root, False
        while below is not None:
            parent = below
            is_left = self._precedes(node, below)
            below = below.left if is_left else below.right
        node.parent, node.red = parent, True
        if parent is None:
            self._root = node
        elif is_left:
            parent.left = node
        else:
            parent.right = node
        self._paint_after_insertion(node)
        return parent

    def _precedes(self, node: _Node[H], other: _Node[H]) -> bool:
        """Return whether a node goes to the left of another; a tie is noted."""
        if node.hash != other.hash:
            return node.hash < other.hash
        # Java asks `System.identityHashCode` here (`tieBreakOrder`), which no two runs have alike.
        self.has_ties |= node.rank == other.rank
        return node.rank < other.rank

    def _paint_after_insertion(self, node: _Node[H]) -> None:
        """Restore the colours above a new red node: no red node has a red parent, and the root is black."""
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

    def _detach(self, node: _Node[H]) -> None:
        """Take a node out of the tree, and restore the colours; the list stays as it is."""
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

    def _swap_with_successor(self, node: _Node[H]) -> None:
        """Exchanges the node with the next higher one, which has no left child, colours included."""
        assert node.right is not None
        low = node.right
        while low.left is not None:
            low = low.left
        low.red, node.red = node.red, low.red
        left, right, above = node.left, node.right, low.parent
        self._replace(node, low)
        node.left, node.right = None, low.right
        if node.right is not None:
            node.right.parent = node
        low.left = left
        assert left is not None
        left.parent = low
        if low is right:
            low.right, node.parent = node, low
        else:
            assert above is not None
            low.right, right.parent = right, low
            above.left, node.parent = node, above

    def _replace(self, node: _Node[H], other: _Node[H] | None) -> None:
        """Put another node, or none, in a node's place below its parent."""
        parent = node.parent
        if other is not None:
            other.parent = parent
        if parent is None:
            self._root = other
        elif parent.left is node:
            parent.left = other
        else:
            parent.right = other

    def _paint_after_removal(self, node: _Node[H]) -> None:
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

    def _rotate(self, node: _Node[H], *, left: bool) -> None:
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


@dataclass(slots=True, eq=False)
class _Node(Generic[H]):
    """A key in a tree.

    Attributes:
        key: the key itself.
        hash: the key's hash as `HashMap` uses it, signed; orders the tree first.
        rank: orders keys with the same hash.
        red: colour; a missing child counts as black.
        parent: the node above; None for the root.
        left: subtree of smaller keys.
        right: subtree of greater keys.
        previous: neighbour in the list of iteration.
        next: neighbour in the list of iteration.
    """

    key: H
    hash: int
    rank: Rank
    red: bool = False
    parent: _Node[H] | None = None
    left: _Node[H] | None = None
    right: _Node[H] | None = None
    previous: _Node[H] | None = None
    next: _Node[H] | None = None
