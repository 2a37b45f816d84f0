"""Models a crowded bin of a Java HashMap, which is a red-black tree (`HashMap.TreeNode`).

The nodes of the tree also form a list, over which the map iterates. A new node comes into the list right
after its parent in the tree, and the root is always the first one. So the list has Java's order only if the
tree has Java's shape. Therefore every rotation of Java's tree is made here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from partitioning.java.hash_codes import Rank

H = TypeVar("H", bound="Hashable")


class TreeBin(Generic[H]):
    """Keeps the keys of a crowded bin in Java's order.

    The tree is sorted by hash, and by rank among equal hashes.

    Args:
        hashes: the keys that were in the bin, in its order, each with `HashMap.hash`, a signed number.
        rank_of: returns the sort key among keys with the same hash.

    Attributes:
        has_ties: whether two keys were compared that have the same hash and the same rank. From then on the
            order is not Java's, because Java's own differs from run to run.
        _nodes: key -> its node.
        _first: head of the list over which the map iterates.
        _root: root of the tree. Between calls it is always equal to `_first`.
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
            # As in Java's `treeify`, the list keeps the old order of the bin, and keys go into the tree one
            # by one.
            self._attach(node)
            self._list(node, last)
            last = node
        self._root_first()

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[H]:
        return (node.key for node in self._in_list_order())

    def state(self) -> Hashable:
        """Return a value that is equal for two bins if they iterate alike, now and after the same calls."""
        return tuple((node.key, node.red, node.parent and node.parent.key) for node in self._in_list_order())

    def add(self, key: H, spread: int) -> None:
        """Add a key that is not there yet (`putTreeVal`).

        Args:
            key: the new key.
            spread: its `HashMap.hash`, a signed number.
        """
        node = self._nodes[key] = _Node(key, spread, self._rank_of(key))
        self._list(node, self._attach(node))
        self._root_first()

    def remove(self, key: H) -> list[H] | None:
        """Remove a key that is there (`removeTreeNode`).

        Returns:
            The remaining keys as a list, in order, if the tree has become too small: the bin is a list from
            then on, and this object must not be used any more. None if the bin stays a tree.
        """
        node = self._nodes.pop(key)
        self._unlist(node)
        root = self._root
        assert root is not None
        # Quirk: Java tests the shape of the tree before the removal, not its size.
        if root.right is None or root.left is None or root.left.left is None:
            return list(self)
        self._detach(node)
        self._root_first()
        return None

    def _root_first(self) -> None:
        """Move the root to the front of the list (`moveRootToFront`), after rotations may have changed it."""
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
        """Insert a node into the list right after the node `before`, or at the front if that is None."""
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
        """Insert a node into the tree, rebalance the tree, and return the node's first parent.

        The first parent is the one before the rotations, which may give the node another parent. Java uses
        the first one for the list, too. None if the tree was empty.
        """
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
        """Return whether a node belongs to the left of another one; set `has_ties` if nothing orders them."""
        if node.hash != other.hash:
            return node.hash < other.hash
        # For equal ranks Java compares `System.identityHashCode` (`tieBreakOrder`), which differs from run to
        # run.
        self.has_ties |= node.rank == other.rank
        return node.rank < other.rank

    def _paint_after_insertion(self, node: _Node[H]) -> None:
        """Restore the rules of the tree after a red node was inserted (`balanceInsertion`).

        The rules are: no red node has a red parent, and the root is black.
        """
        while (parent := node.parent) is not None and parent.red:
            above = parent.parent
            assert above is not None  # a red node is not the root
            left = parent is above.left
            uncle = above.right if left else above.left
            # If the uncle is red, colours are exchanged, and the grandparent may then break the rule one
            # level up.
            if uncle is not None and uncle.red:
                parent.red = uncle.red = False
                above.red = True
                node = above
                continue
            # An inner grandchild is rotated to the outside first, so that one more rotation ends the loop.
            if node is (parent.right if left else parent.left):
                self._rotate(parent, left=left)
                parent = node
            parent.red, above.red = False, True
            self._rotate(above, left=not left)
            break
        assert self._root is not None
        self._root.red = False

    def _detach(self, node: _Node[H]) -> None:
        """Remove a node from the tree, and restore the tree's rules; the list is not changed."""
        # A node with two children first changes places with its successor, which has at most one child.
        if node.left is not None and node.right is not None:
            self._swap_with_successor(node)
        child = node.left if node.left is not None else node.right
        if child is not None:
            self._replace(node, child)
            if not node.red:
                self._paint_after_removal(child)
        else:
            # As in Java, a node without children stays in its place while the tree is rebalanced around it,
            # and is removed after that.
            if not node.red:
                self._paint_after_removal(node)
            self._replace(node, None)

    def _swap_with_successor(self, node: _Node[H]) -> None:
        """Exchange the places and colours of a node with two children and of its successor.

        The successor has no left child. The nodes themselves change places and keep their keys, because the
        list refers to nodes.
        """
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
        # The successor may be the node's own right child: then it becomes the node's parent.
        if low is right:
            low.right, node.parent = node, low
        else:
            assert above is not None
            low.right, right.parent = right, low
            above.left, node.parent = node, above

    def _replace(self, node: _Node[H], other: _Node[H] | None) -> None:
        """Put another node, or none, into the place of a node below its parent, or at the root."""
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
        """Restore the rules of the tree after a black node was removed (`balanceDeletion`).

        Every path from the root down must have the same number of black nodes. Paths through `node` lack one.
        """
        while (parent := node.parent) is not None and not node.red:
            left = parent.left is node
            sibling = parent.right if left else parent.left
            assert sibling is not None
            # A red sibling is rotated above the parent, so that the node has a black sibling from here on.
            if sibling.red:
                sibling.red, parent.red = False, True
                self._rotate(parent, left=left)
                sibling = parent.right if left else parent.left
                assert sibling is not None
            near, far = (sibling.left, sibling.right) if left else (sibling.right, sibling.left)
            # A sibling without a red child becomes red. Then the paths through the parent lack a black node,
            # so the parent is the next node. If only the near child is red, a rotation makes that child the
            # sibling, and the old sibling, now red, its far child.
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
        """Rotate a node down to the left or right (`rotateLeft`, `rotateRight`).

        Its child on the other side takes its place, and gives its own inner child to the node.

        Args:
            node: a node that has a child on the other side.
            left: whether to rotate to the left.
        """
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
    """Holds a key of a tree, with its neighbours in the tree and in the list.

    Attributes:
        key: the key.
        hash: `HashMap.hash` of the key, a signed number; the tree is sorted by it.
        rank: the sort key among keys with the same hash.
        red: whether the node is red; a missing child counts as black.
        parent: the node above; None for the root.
        left: root of the subtree of lower keys; None if there is none.
        right: root of the subtree of higher keys; None if there is none.
        previous: the node before this one in the list; None for the first.
        next: the node after this one in the list; None for the last.
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
