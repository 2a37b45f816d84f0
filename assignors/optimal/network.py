"""Minimum-cost flow in whole layers, a NumPy step each."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assignors.columns import bounds
from assignors.optimal.grouping import runs, sums
from partitioning.columns import ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.integer[Any]]

UNLIMITED = 1 << 30

_THIN = 16
"""Layers with fewer arcs than this, on average, are quicker arc by arc."""


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
            if sum(map(len, layers)) < _THIN * len(layers):
                self._thin_wave(layers)
            else:
                self._wave(layers)

    def _layers(self) -> tuple[list[NDArray[np.intp]], NDArray[np.bool_]]:
        """The arcs of each layer, nearest first, and the nodes reached; potentials are brought up to date.

        The search ends as soon as all nodes with too much are reached. The arcs of a layer come from nodes
        that no layer before has, go to nodes that one has, and lie on cheapest ways; those to the same node
        are next to each other.
        """
        layers = []
        reached = self.excess < 0
        distance = np.zeros(len(reached), np.int64)
        frontier = np.flatnonzero(reached)
        so_far = 0
        dearer = _Dearer()
        waiting = int(np.count_nonzero(self.excess > 0))
        while waiting and len(frontier):
            starts = self._starts[frontier]
            rows = ranges(starts, self._starts[frontier + 1] - starts)
            rows = rows[(self._left[rows] > 0) & ~reached[self._tail[rows]]]
            cost = self._reduced(rows)
            dearer.add(rows, cost, so_far)
            rows = rows[cost == 0]
            while not len(rows) and dearer.waiting:
                rows, so_far = dearer.take()
                rows = np.sort(rows[~reached[self._tail[rows]]])
            tails = self._tail[rows]
            distance[tails] = so_far
            frontier = _distinct(tails, len(reached))
            reached[frontier] = True
            waiting -= int(np.count_nonzero(self.excess[frontier] > 0))
            layers.append(rows)
        distance[~reached] = so_far
        self._potential += distance
        return layers, reached

    def _reduced(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        potential = self._potential
        return self._cost[rows] + potential[self._head[rows]] - potential[self._tail[rows]]

    def _wave(self, layers: list[NDArray[np.intp]]) -> None:
        """Send down the layers: see what could come, ask for what can go on, then let it flow."""
        supply = np.maximum(self.excess, 0)
        most = int(supply.sum())
        coming = supply.copy()
        limits = []
        for rows in reversed(layers):
            limit = np.minimum(np.minimum(self._left[rows], most), coming[self._tail[rows]])
            _add(coming, self._head[rows], limit)
            limits.append(limit)
        wanted = np.maximum(-self.excess, 0)
        asked = []
        for rows, limit in zip(layers, reversed(limits), strict=True):
            useful = limit > 0
            rows, limit = rows[useful], limit[useful]  # noqa: PLW2901
            share = _shares(wanted, self._head[rows], limit)
            _add(wanted, self._head[rows], -share)
            _add(wanted, self._tail[rows], share)
            useful = share > 0
            asked.append((rows[useful], share[useful]))
        for rows, share in reversed(asked):
            order = self._tail_key[rows].argsort(kind="stable")
            rows = rows[order]  # noqa: PLW2901
            sent = _shares(supply, self._tail[rows], share[order])
            _add(supply, self._tail[rows], -sent)
            _add(supply, self._head[rows], sent)
            self._left[rows] -= sent
            self._left[self._back[rows]] += sent
        self.excess = np.minimum(self.excess, 0) + supply

    def _thin_wave(self, layers: list[NDArray[np.intp]]) -> None:
        """The same arc by arc, where layers are so thin that this is quicker."""
        rows = np.concatenate(layers)
        tails, heads, limits = (column[rows].tolist() for column in (self._tail, self._head, self._left))
        supply, wanted = (np.maximum(amount, 0).tolist() for amount in (self.excess, -self.excess))
        coming = supply.copy()
        places = range(len(tails))
        for place in reversed(places):
            limits[place] = min(limits[place], coming[tails[place]])
            coming[heads[place]] += limits[place]
        for place in places:
            limits[place] = asked = min(limits[place], wanted[heads[place]])
            wanted[heads[place]] -= asked
            wanted[tails[place]] += asked
        for place in reversed(places):
            limits[place] = sent = min(limits[place], supply[tails[place]])
            supply[tails[place]] -= sent
            supply[heads[place]] += sent
        self._left[rows] -= limits
        self._left[self._back[rows]] += limits
        self.excess = np.minimum(self.excess, 0) + supply


class _Dearer:
    """Arcs that are not on cheapest ways yet, by what the way from their tails costs."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, int, NDArray[np.intp], NDArray[np.int64]]] = []
        self._serial = 0

    def add(self, rows: NDArray[np.intp], cost: NDArray[np.int64], so_far: int) -> None:
        """Some arcs into nodes from which the way costs `so_far`."""
        later = cost > 0
        if later.any():
            self._push(rows[later], cost[later] + so_far)

    def take(self) -> tuple[NDArray[np.intp], int]:
        """Those of them that come next, and what the way from their tails costs."""
        least = self.waiting[0][0]
        found = []
        while self.waiting and self.waiting[0][0] == least:
            _, _, rows, cost = heapq.heappop(self.waiting)
            now = cost == least
            found.append(rows[now])
            if not now.all():
                self._push(rows[~now], cost[~now])
        return np.concatenate(found), least

    def _push(self, rows: NDArray[np.intp], cost: NDArray[np.int64]) -> None:
        self._serial += 1  # entries of one cost are not compared any further
        heapq.heappush(self.waiting, (int(cost.min()), self._serial, rows, cost))


def _add(total: NDArray[np.int64], node: NDArray[np.intp], amount: NDArray[np.int64]) -> None:
    """Add amounts at nodes, which may be few of many."""
    if len(node) * 8 < len(total):
        np.add.at(total, node, amount)
    else:
        total += sums(node, amount, len(total))


def _distinct(node: NDArray[np.intp], nodes: int) -> NDArray[np.intp]:
    """The different ones of some nodes, which may be few of many, in order."""
    if len(node) * 8 < nodes:
        return np.unique(node)
    found = np.zeros(nodes, np.bool_)
    found[node] = True
    return np.flatnonzero(found)


def _shares(amount: NDArray[np.int64], node: NDArray[np.intp], limit: NDArray[np.int64]) -> NDArray[np.int64]:
    """What each row gets of the amount at its node: in proportion to its limit, never above it.

    Args:
        amount: what each node has.
        node: the node of each row; the rows of a node are next to each other.
        limit: the most a row can take, above 0.
    """
    if not len(node):
        return limit
    starts, sizes = runs(node)
    total = np.repeat(np.add.reduceat(limit, starts), sizes)
    upto = np.cumsum(limit)
    upto -= np.repeat(upto[starts] - limit[starts], sizes)
    given = np.minimum(amount[node], total)
    shares: NDArray[np.int64] = given * upto // total - given * (upto - limit) // total
    return shares
