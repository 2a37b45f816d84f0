"""Minimum-cost flow in whole layers, a NumPy step each.

Nodes and arcs are numbers from 0 on. An arc is stored twice, as itself and turned around: what the one can
still carry, the other can take back of its flow. Rows of these 2m arcs are sorted by their heads, so that a
search backwards from the nodes that want something finds a node's arcs side by side.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partitioning.kit.columns import bounds, distinct, inverse, range_numbers, runs_of

Ints = NDArray[np.integer[Any]]

UNLIMITED = 1 << 30

_THIN = 16
"""Layers with fewer arcs than this, on average, are quicker arc by arc."""


class Arcs(NamedTuple):
    """Arcs, one a row: what each can still carry, and how much of its flow can be taken back (`used`).

    Attributes:
        tail: the node where each begins.
        head: the node where it ends.
        capacity: how much more it can carry.
        used: how much of its flow can be taken back.
        cost: of a unit of flow; taken back, a unit costs as much less.
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
        """Return arcs of one sort; a single number counts for each of them."""
        size = len(tail)
        return cls(tail, head, *(np.full(size, number, np.int64) for number in (capacity, used, cost)))


class Network:
    """The cheapest flow from nodes with an `excess` to nodes where it is negative.

    Primal-dual: potentials say what a unit at a node costs on its way, and only arcs on cheapest ways are
    used, so the flow is a cheapest one of its size at any time. Each wave goes down the layers of a
    breadth-first search from the nodes that have too little. Before it flows, nodes ask for as much as can go
    on from them, so nothing gets stuck half way and every wave brings something home. By the given
    `potential`, no arc is cheaper than the difference between its ends; None if no arc costs less than
    nothing.

    `_left` and `_cost` have a row for each arc of both directions; `_back` is the row of the same arc turned
    around, and `_undo` the turned row of each arc that was given, in their order. `_cost` is reduced by
    potentials: never negative where something is left, and 0 on cheapest ways.

    Args:
        excess: of each node, what is too much there; below 0, what is wanted. They need not sum up to 0.
        sorts: the arcs, in any number of columns.
        potential: of each node, if some arcs cost less than nothing.
    """

    def __init__(
        self, excess: NDArray[np.int64], sorts: Sequence[Arcs], potential: NDArray[np.int64] | None = None
    ) -> None:
        tails, heads, capacities, used, costs = zip(*sorts, strict=True)
        self.excess = excess
        nodes = len(excess)
        tail = np.concatenate(tails + heads)
        size = len(tail) // 2
        self._small = np.uint16 if nodes <= 1 << 16 else np.int32  # NumPy sorts 16 bits by radix
        head = np.concatenate([tail[size:], tail[:size]]).astype(self._small)
        order = head.argsort(kind="stable")
        # Where each arc went by the sorting: the first half are the arcs given, the second the same turned
        # around.
        place = inverse(order)
        self._undo = place[size:]
        self._back = np.empty(len(order), np.intp)
        self._back[place] = np.concatenate([self._undo, place[:size]])
        degree = np.bincount(head, minlength=nodes)
        self._starts = bounds(degree)
        self._head = np.repeat(np.arange(nodes), degree)
        self._tail = tail[order]
        self._left = np.concatenate(capacities + used)[order]
        cost = np.concatenate(costs)
        # To take a unit back is to get its cost back.
        self._cost = np.concatenate([cost, -cost])[order]
        if potential is not None:
            self._cost += potential[self._head] - potential[self._tail]

    def flow_by_arc(self) -> NDArray[np.int64]:
        """Return how much of each arc can be taken back, in the order of the arcs given."""
        return self._left[self._undo]

    def flow(self) -> NDArray[np.bool_]:
        """Send all that can be sent; whether each node can still reach one that has too little."""
        while True:
            layers, reached = self._layers()
            if not (reached & (self.excess > 0)).any():
                return reached
            # A NumPy step costs some microseconds however few its rows, so long thin ways are walked in
            # Python.
            if sum(map(len, layers)) < _THIN * len(layers):
                self._thin_wave(layers)
            else:
                self._wave(layers)

    def _layers(self) -> tuple[list[NDArray[np.intp]], NDArray[np.bool_]]:
        """Return the arcs of each layer, nearest first, and the nodes reached.

        Potentials are brought up to date.

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
            rows = range_numbers(starts, self._starts[frontier + 1] - starts)
            rows = rows.compress(self._left[rows] > 0)
            # Only into nodes of this layer from nodes of no layer: so arcs of a wave never form a circle.
            rows = rows.compress(~reached[self._tail[rows]])
            cost = self._cost[rows]
            if cost.any():
                dearer.add(rows, cost, so_far)
                rows = rows.compress(cost == 0)
            while not len(rows) and dearer.waiting:
                rows, so_far = dearer.take()
                rows = np.sort(rows[~reached[self._tail[rows]]])
            frontier = _distinct(self._tail[rows], len(reached))
            distance[frontier] = so_far
            reached[frontier] = True
            waiting -= int(np.count_nonzero(self.excess[frontier] > 0))
            layers.append(rows)
        if so_far:
            distance[~reached] = so_far
            # Potentials rise by the distances, which makes the cost of arcs on cheapest ways 0 and of no arc
            # negative.
            self._cost += distance[self._head] - distance[self._tail]
        return layers, reached

    def _wave(self, layers: list[NDArray[np.intp]]) -> None:
        """Send down the layers: see what could come, ask for what can go on, then let it flow.

        Three passes, so that no unit is sent where it cannot go on: down from the nodes with too much, up
        from those that want, and down again with what was asked for. What a node gets is divided by `_deal`.

        Args:
            layers: rows of `_layers`, nearest to the nodes that want first.
        """
        supply = np.maximum(self.excess, 0)
        most = int(supply.sum())
        coming = supply.copy()
        limits = []
        for rows in reversed(layers):
            tail = self._tail[rows]
            useful = coming[tail] > 0
            rows, tail = rows.compress(useful), tail.compress(useful)  # noqa: PLW2901
            head = self._head[rows]
            # No more than all there is: with `UNLIMITED` limits the products in `_deal` would overflow.
            limit = np.minimum(np.minimum(self._left[rows], most), coming[tail])
            np.add.at(coming, head, limit)
            limits.append((rows, tail, head, limit))
        wanted = np.maximum(-self.excess, 0)
        requests = []
        for rows, tail, head, limit in reversed(limits):
            share = _deal(wanted, head, limit)
            np.add.at(wanted, tail, share)
            requests.append([column.compress(share > 0) for column in (rows, tail, head, share)])
        for layer in reversed(requests):
            order = layer[1].astype(self._small).argsort(kind="stable")
            rows, tail, head, share = (column[order] for column in layer)
            sent = _deal(supply, tail, share)
            np.add.at(supply, head, sent)
            self._left[rows] -= sent
            self._left[self._back[rows]] += sent
        self.excess = np.minimum(self.excess, 0) + supply

    def _thin_wave(self, layers: list[NDArray[np.intp]]) -> None:
        """Send a wave arc by arc, which is quicker if layers are thin.

        The passes are those of `_wave`, though an arc takes all that it can before the next one.

        Args:
            layers: as for `_wave`.
        """
        rows = np.concatenate(layers)
        tails, heads, limits = (column[rows].tolist() for column in (self._tail, self._head, self._left))
        supply, wanted = (np.maximum(amount, 0).tolist() for amount in (self.excess, -self.excess))
        coming = supply.copy()
        places = range(len(tails))
        for place in reversed(places):
            limits[place] = min(limits[place], coming[tails[place]])
            coming[heads[place]] += limits[place]
        for place in places:
            limits[place] = request = min(limits[place], wanted[heads[place]])
            wanted[heads[place]] -= request
            wanted[tails[place]] += request
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
        """Add arcs into nodes from which the way costs `so_far`; not all of them cost nothing."""
        later = cost > 0
        self._push(rows.compress(later), cost.compress(later) + so_far)

    def take(self) -> tuple[NDArray[np.intp], int]:
        """Return those of them that come next, and what the way from their tails costs."""
        least = self.waiting[0][0]
        edges = []
        while self.waiting and self.waiting[0][0] == least:
            _, _, rows, cost = heapq.heappop(self.waiting)
            now = cost == least
            edges.append(rows[now])
            if not now.all():
                self._push(rows[~now], cost[~now])
        return np.concatenate(edges), least

    def _push(self, rows: NDArray[np.intp], cost: NDArray[np.int64]) -> None:
        """Put rows into the heap under the least of their costs, so that one entry stands for many arcs."""
        self._serial += 1  # entries of one cost are not compared any further
        heapq.heappush(self.waiting, (int(cost.min()), self._serial, rows, cost))


def _distinct(node: NDArray[np.intp], nodes: int) -> NDArray[np.intp]:
    """Return the different ones of some nodes, which may be few of many, in order.

    Args:
        node: not in order, with repeats.
        nodes: how many nodes there are.
    """
    if len(node) * 8 < nodes:
        return distinct(node)
    present = np.zeros(nodes, np.bool_)
    present[node] = True
    return np.flatnonzero(present)


def _deal(amount: NDArray[np.int64], node: NDArray[np.intp], limit: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what each row gets of the amount at its node, in proportion to its limit; taken from `amount`.

    The rows of a node are next to each other. Limits are above 0, and no row gets more than its own.

    Args:
        amount: at each node of the network; it is changed.
        node: of each row.
        limit: of each row.
    """
    starts, sizes = runs_of(node)
    nodes, total = node[starts], np.add.reduceat(limit, starts)
    dealt = np.minimum(amount[nodes], total)
    amount[nodes] -= dealt
    # Shares are differences of running parts rounded down, so they sum up to what is dealt, to the unit.
    upto = np.cumsum(limit)
    upto -= np.repeat(upto[starts] - limit[starts], sizes)
    upto *= np.repeat(dealt, sizes)
    upto //= np.repeat(total, sizes)
    shares = upto.copy()
    shares[1:] -= upto[:-1]
    shares[starts] = upto[starts]
    return shares
