"""Solves minimum-cost flows layer by layer, with a few NumPy calls for each layer.

Nodes and arcs are numbered from 0 on. An arc is stored in two rows: one for the arc itself, and one for its
reverse, on which flow can be taken back. A unit that flows along the arc lowers the capacity of the arc's own
row by one, and raises the capacity of the reverse row by one. Rows are sorted by their heads, because the
search goes backwards from the nodes with a negative excess and reads all arcs into a node at once.
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
"""The capacity of an arc that no flow fills: more than the partitions of any group."""

_THIN = 16
"""If layers have fewer arcs than this on average, a wave in plain Python is faster than one in NumPy."""


class Arcs(NamedTuple):
    """Lists arcs, one a row; all columns have shape (arcs,).

    Attributes:
        tail: the node where the arc begins.
        head: the node where the arc ends.
        capacity: how many more units the arc can carry.
        used: how many units of its flow can be taken back.
        cost: the cost of a unit of flow. A unit that is taken back gives its cost back.
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
        """Return arcs from each `tail` to the `head` in the same row; a single number counts for all rows."""
        size = len(tail)
        return cls(tail, head, *(np.full(size, number, np.int64) for number in (capacity, used, cost)))


class Network:
    """The cheapest flow from nodes with a positive `excess` to nodes with a negative one.

    The method is primal-dual. A node's potential is the cost of the cheapest path from it to a node with a
    negative excess. Flow uses arcs of such paths only, so at any time it is a cheapest flow of its size. A
    breadth-first search from the nodes with a negative excess finds the layers of these arcs, and a wave
    sends units through them. Before units move, each node requests no more units than it can pass on. So no
    unit stops halfway, and each wave delivers at least one unit.

    `excess` is public: it holds what is still to be sent, and a caller may change it between two calls of
    `flow`. `_head`, `_tail`, `_left` and `_cost` have shape (2 * arcs,), sorted by head: a row for each arc
    and one for its reverse. `_left` is the capacity that is left. `_cost` is the reduced cost: never negative
    in a row with capacity left, and 0 on cheapest paths. `_back` is the row of the same arc's other
    direction, and `_undo` the reverse row of each given arc, in the order given.

    Args:
        excess: for each node, the number of units that have to leave it; negative for a node that wants
            units. The sum need not be 0.
        sorts: the arcs, in any number of pieces.
        potential: for each node a number such that no arc with capacity left costs less than the number of
            the arc's tail minus that of its head. It is needed if some arcs have a negative cost; None stands
            for 0 everywhere.
    """

    def __init__(
        self, excess: NDArray[np.int64], sorts: Sequence[Arcs], potential: NDArray[np.int64] | None = None
    ) -> None:
        tails, heads, capacities, used, costs = zip(*sorts, strict=True)
        self.excess = excess
        nodes = len(excess)
        tail = np.concatenate(tails + heads)
        size = len(tail) // 2
        self._small = np.uint16 if nodes <= 1 << 16 else np.int32  # NumPy sorts 16-bit integers by radix
        head = np.concatenate([tail[size:], tail[:size]]).astype(self._small)
        order = head.argsort(kind="stable")
        # `place` is the row of each arc after sorting: first of the arcs as given, then of their reverses.
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
        # A unit that is taken back gives its cost back, so a reverse row has the negative cost.
        self._cost = np.concatenate([cost, -cost])[order]
        if potential is not None:
            self._cost += potential[self._head] - potential[self._tail]

    def flow_by_arc(self) -> NDArray[np.int64]:
        """Return the flow of each arc (what can be taken back), of shape (arcs,), in the order given."""
        return self._left[self._undo]

    def flow(self) -> NDArray[np.bool_]:
        """Send as many units as possible, at the least cost; change `excess` to what is left.

        Returns:
            bool of shape (nodes,). If some positive excess is left, it is True for the nodes from which units
            could still reach a node with a negative excess; none of these has a positive excess. If no
            positive excess is left, the search stops at once, and only nodes with a negative excess are True.
        """
        while True:
            layers, reached = self._layers()
            if not (reached & (self.excess > 0)).any():
                return reached
            # A NumPy call takes some microseconds even for a few rows, so many thin layers are faster in
            # plain Python.
            if sum(map(len, layers)) < _THIN * len(layers):
                self._thin_wave(layers)
            else:
                self._wave(layers)

    def _layers(self) -> tuple[list[NDArray[np.intp]], NDArray[np.bool_]]:
        """Return the rows of each layer, the one nearest to a negative excess first, and the nodes reached.

        Layer n has the arcs of cheapest paths that lead from a node that no earlier layer reaches to a node
        that an earlier layer reaches. Arcs into the same node are neighbours. The search ends as soon as
        every node with a positive excess is reached. It brings `_cost` up to date with the new potentials.
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
            # Keep only arcs from nodes that no layer has reached yet. So the arcs of a wave never form a
            # cycle.
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
            # Potentials rise by the distances. Then arcs on cheapest paths have a reduced cost of 0, and no
            # arc has a negative one.
            self._cost += distance[self._head] - distance[self._tail]
        return layers, reached

    def _wave(self, layers: list[NDArray[np.intp]]) -> None:
        """Send units through the layers in three passes, so that no unit stops halfway.

        The first pass goes from positive to negative excess and finds how much could arrive at each node. The
        second goes back and finds how much each node should request. The third sends the requested units.
        `_deal` divides a node's amount among its arcs. Changes `excess` and `_left`.

        Args:
            layers: the rows of each layer, as `_layers` returns them.
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
            # A limit is at most the sum of all supply: with `UNLIMITED` the products in `_deal` would
            # overflow.
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
        """Send a wave in plain Python, arc by arc, which is faster if layers are thin.

        The three passes are those of `_wave`. But an arc takes as much as it can before the next arc gets
        anything, while `_wave` divides a node's amount in proportion.

        Args:
            layers: the rows of each layer, as `_layers` returns them.
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
    """Queue of arcs that the search has seen but that are not on cheapest paths yet, cheapest first.

    `waiting` is a heap of (lowest path cost, serial number, rows, path costs). The path cost of an arc is the
    cost from its tail, along the arc, to a node with a negative excess. One entry holds many arcs.
    """

    def __init__(self) -> None:
        self.waiting: list[tuple[int, int, NDArray[np.intp], NDArray[np.int64]]] = []
        self._serial = 0

    def add(self, rows: NDArray[np.intp], cost: NDArray[np.int64], so_far: int) -> None:
        """Add the arcs in `rows` that cost more than 0; at least one of them must.

        Args:
            rows: arcs into nodes that the search has just reached.
            cost: the reduced cost of each arc.
            so_far: the cost of the path from these nodes to a node with a negative excess.
        """
        later = cost > 0
        self._push(rows.compress(later), cost.compress(later) + so_far)

    def take(self) -> tuple[NDArray[np.intp], int]:
        """Remove the arcs with the lowest path cost; return their rows and that cost.

        The queue must not be empty.
        """
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
        """Push one entry for all `rows`, with the lowest of their path costs as its key."""
        self._serial += 1  # decides between entries of equal cost: arrays cannot be compared by the heap
        heapq.heappush(self.waiting, (int(cost.min()), self._serial, rows, cost))


def _distinct(node: NDArray[np.intp], nodes: int) -> NDArray[np.intp]:
    """Return each of these nodes once, in ascending order.

    A few nodes are sorted; if there are more, marking them in an array of all nodes is faster.

    Args:
        node: nodes in any order, with repeats.
        nodes: the number of nodes in the network.
    """
    if len(node) * 8 < nodes:
        return distinct(node)
    present = np.zeros(nodes, np.bool_)
    present[node] = True
    return np.flatnonzero(present)


def _deal(amount: NDArray[np.int64], node: NDArray[np.intp], limit: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many units each row gets of the amount at its node, in proportion to the row's limit.

    No row gets more than its limit. The rows' units are subtracted from `amount`.

    Args:
        amount: units at each node of the network; changed in place.
        node: the node of each row; rows of the same node are neighbours.
        limit: the most units that each row can get, above 0.
    """
    starts, sizes = runs_of(node)
    nodes, total = node[starts], np.add.reduceat(limit, starts)
    dealt = np.minimum(amount[nodes], total)
    amount[nodes] -= dealt
    # Each running sum is scaled and rounded down, and a share is the difference of two neighbours. So the
    # shares of a node add up exactly to what is dealt, in spite of rounding.
    upto = np.cumsum(limit)
    upto -= np.repeat(upto[starts] - limit[starts], sizes)
    upto *= np.repeat(dealt, sizes)
    upto //= np.repeat(total, sizes)
    shares = upto.copy()
    shares[1:] -= upto[:-1]
    shares[starts] = upto[starts]
    return shares
