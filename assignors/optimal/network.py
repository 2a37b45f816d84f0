"""Minimum-cost flow in whole layers, a NumPy step each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assignors.columns import bounds
from assignors.optimal.grouping import sums
from partitioning.columns import ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.integer[Any]]

UNLIMITED = 1 << 30


class Arcs(NamedTuple):
    """Arcs, one a row.

    Attributes:
        tail: the node each comes from.
        head: the node it goes to.
        capacity: how much it can still carry.
        used: how much of what it carries can be taken back.
        cost: what one unit on it costs.
    """

    tail: Ints
    head: Ints
    capacity: Ints
    used: Ints
    cost: Ints

    @classmethod
    def of(
        cls, tail: Ints, head: Ints, capacity: Ints | int, used: Ints | int = 0, cost: Ints | int = 0
    ) -> Arcs:
        """Arcs of one sort; a number stands for all of them."""
        size = len(tail)
        return cls(tail, head, *(np.broadcast_to(each, size) for each in (capacity, used, cost)))


class Network:
    """A flow that sends what nodes have too much to those that have too little, as cheaply as possible.

    Primal-dual: potentials say what a unit at a node costs on its way, and only arcs on cheapest ways are
    used, so the flow is a cheapest one of its size at any time. Each wave goes down the layers of a
    breadth-first search from the nodes that have too little. Before it flows, nodes ask for as much as can go
    on from them, so nothing gets stuck half way and every wave brings something home.

    Args:
        excess: what each node has too much, negative for too little.
        sorts: arcs.
        potential: what a unit at each node costs on its way, so that no arc is cheaper than the difference
            between its ends; None where no arc costs less than nothing.

    Attributes:
        excess: what is left of it.
    """

    def __init__(
        self, excess: NDArray[np.int64], sorts: Sequence[Arcs], potential: NDArray[np.int64] | None = None
    ) -> None:
        tail, head, capacity, used, cost = (np.concatenate(column) for column in zip(*sorts, strict=True))
        self.excess = excess
        self._size = len(tail)
        small = np.uint16 if len(excess) <= 1 << 16 else np.int32  # NumPy sorts 16 bits by radix
        heads = np.concatenate([head, tail]).astype(small)
        order = heads.argsort(kind="stable")
        self._head = heads[order].astype(np.intp)
        self._tail = np.concatenate([tail, head])[order].astype(np.intp)
        self._tail_key = self._tail.astype(small)
        self._left = np.concatenate([capacity, used])[order].astype(np.int64)
        self._cost = np.concatenate([cost, -cost])[order].astype(np.int64)
        self._place = np.empty(len(order), np.intp)
        self._place[order] = np.arange(len(order))
        self._back = self._place[np.where(order < self._size, order + self._size, order - self._size)]
        self._starts = bounds(np.bincount(self._head, minlength=len(excess)))
        self._potential = np.zeros(len(excess), np.int64) if potential is None else potential

    def used(self) -> NDArray[np.int64]:
        """How much of each arc can be taken back, in the order of the arcs given."""
        return self._left[self._place[self._size :]]

    def flow(self) -> NDArray[np.bool_]:
        """Send all that can be sent.

        Returns:
            Whether each node can still send something to one that has too little; a node with too much that
            is left cannot.
        """
        while True:
            layers, reached = self._layers()
            if not (reached & (self.excess > 0)).any():
                return reached
            self._wave(layers)

    def _layers(self) -> tuple[list[NDArray[np.intp]], NDArray[np.bool_]]:
        """The arcs of each layer, nearest first, and the nodes reached; potentials are brought up to date.

        The search ends as soon as all nodes with too much are reached. The arcs of a layer come from nodes
        that no layer before has, go to nodes that one has, and lie on cheapest ways.
        """
        layers = []
        reached = self.excess < 0
        distance = np.zeros(len(reached), np.int64)
        frontier = np.flatnonzero(reached)
        so_far = 0
        waiting = int(np.count_nonzero(self.excess > 0))
        while waiting and len(frontier):
            starts = self._starts[frontier]
            rows = ranges(starts, self._starts[frontier + 1] - starts)
            rows = rows[(self._left[rows] > 0) & ~reached[self._tail[rows]]]
            rows = rows[self._reduced(rows) == 0]
            if not len(rows):
                rows, so_far = self._dearer(reached, distance, so_far)
            tails = self._tail[rows]
            distance[tails] = so_far
            new = np.zeros(len(reached), np.bool_)
            new[tails] = True
            frontier = np.flatnonzero(new)
            reached[frontier] = True
            waiting -= int(np.count_nonzero(self.excess[frontier] > 0))
            layers.append(rows)
        distance[~reached] = so_far
        self._potential += distance
        return layers, reached

    def _dearer(
        self, reached: NDArray[np.bool_], distance: NDArray[np.int64], so_far: int
    ) -> tuple[NDArray[np.intp], int]:
        """The cheapest arcs into what is reached, and what the way from their tails costs."""
        rows = np.flatnonzero((self._left > 0) & reached[self._head] & ~reached[self._tail])
        if not len(rows):
            return rows, so_far
        cost = self._reduced(rows) + distance[self._head[rows]]
        least = int(cost.min())
        return rows[cost == least], least

    def _reduced(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        potential = self._potential
        return self._cost[rows] + potential[self._head[rows]] - potential[self._tail[rows]]

    def _wave(self, layers: list[NDArray[np.intp]]) -> None:
        """Send down the layers: see what could come, ask for what can go on, then let it flow."""
        nodes = len(self.excess)
        supply = np.maximum(self.excess, 0)
        most = int(supply.sum())
        coming = supply.copy()
        limits = []
        for rows in reversed(layers):
            limit = np.minimum(self._left[rows], coming[self._tail[rows]])
            coming += sums(self._head[rows], limit, nodes)
            np.minimum(coming, most, out=coming)
            limits.append(limit)
        wanted = np.maximum(-self.excess, 0)
        asked = []
        for rows, limit in zip(layers, reversed(limits), strict=True):
            useful = limit > 0
            rows, limit = rows[useful], limit[useful]  # noqa: PLW2901
            share = _shares(wanted, self._head[rows], limit)
            wanted -= sums(self._head[rows], share, nodes)
            wanted += sums(self._tail[rows], share, nodes)
            useful = share > 0
            asked.append((rows[useful], share[useful]))
        for rows, share in reversed(asked):
            order = self._tail_key[rows].argsort(kind="stable")
            rows = rows[order]  # noqa: PLW2901
            sent = _shares(supply, self._tail[rows], share[order])
            supply -= sums(self._tail[rows], sent, nodes)
            supply += sums(self._head[rows], sent, nodes)
            self._left[rows] -= sent
            self._left[self._back[rows]] += sent
        self.excess = np.minimum(self.excess, 0) + supply


def _shares(amount: NDArray[np.int64], node: NDArray[np.intp], limit: NDArray[np.int64]) -> NDArray[np.int64]:
    """What each row gets of the amount at its node: in proportion to its limit, never above it.

    Args:
        amount: what each node has.
        node: the node of each row; the rows of a node are next to each other.
        limit: the most a row can take, above 0.
    """
    if not len(node):
        return limit
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    sizes = np.diff(starts, append=len(node))
    total = np.repeat(np.add.reduceat(limit, starts), sizes)
    upto = np.cumsum(limit)
    upto -= np.repeat(upto[starts] - limit[starts], sizes)
    given = np.minimum(amount[node], total)
    shares: NDArray[np.int64] = given * upto // total - given * (upto - limit) // total
    return shares
