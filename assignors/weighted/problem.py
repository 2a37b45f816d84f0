"""A group with weights and capacities, as exact numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.optimal.levels import Levels, find_levels
from assignors.optimal.reading import Reading

_BITS = 52
"""Sums of this many bits are exact, so that no order of adding shows in an answer."""
_FLOW_BITS = 30
"""Bits of the numbers that a flow network can carry."""
_CAPACITY_BITS = 12
_LEAST_CAPACITY = 2.0**-64


class Problem(NamedTuple):
    """States what is to be decided: weights, capacities, readers and owners.

    Attributes:
        weight: of each partition, a whole number of units.
        capacity: of each member, the largest is between a half and 1.
        mean: all weights over the capacity of all who read something.
        levels: the levels of the best loads if partitions could be cut.
        reads: who may get what; a class a row.
    """

    reading: Reading
    weight: NDArray[np.int64]
    capacity: NDArray[np.float64]
    mean: float
    levels: Levels
    reads: NDArray[np.bool_]

    @classmethod
    def of(cls, reading: Reading, weights: NDArray[np.float64], capacities: NDArray[np.float64]) -> Problem:
        """Return the problem with these weights and capacities.

        If all weights are zero partitions are counted.
        """
        weight = _units(weights) if weights.any() else np.ones(len(weights), np.int64)
        _, exponent = np.frexp(capacities.max(initial=1.0))
        capacity = np.maximum(np.ldexp(capacities, -exponent), _LEAST_CAPACITY)
        readers = reading.readers
        busy = np.bincount(readers.kind, minlength=len(readers.members)) > 0
        total = float(capacity[busy[readers.of_member]].sum())
        reads = np.zeros((len(readers.members), readers.topics), np.bool_)
        reads[readers.kind, readers.topic] = True
        return cls(
            reading,
            weight,
            capacity,
            float(weight.sum()) / total if total else 0.0,
            _levels(reading, weight, capacity),
            reads,
        )

    def loads(self, owner: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return what each member carries; partitions without an owner count for nobody."""
        has = owner >= 0
        return np.bincount(owner[has], self.weight[has], len(self.capacity)).astype(np.int64)


def _units(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the weights as whole numbers with an exact sum; what is far below the largest becomes zero."""
    _, exponent = np.frexp(weights.max())
    shares = np.ldexp(weights, -exponent)
    _, size = np.frexp(shares.sum())
    units: NDArray[np.int64] = np.rint(np.ldexp(shares, _BITS - size)).astype(np.int64)
    return units


def _levels(reading: Reading, weight: NDArray[np.int64], capacity: NDArray[np.float64]) -> Levels:
    """Return the levels, as exact as the numbers of a flow allow: they guide a search and prove nothing."""
    readers = reading.readers
    size = np.bincount(reading.topic_of, weight, readers.topics)
    size = np.rint(size * 2.0 ** (_FLOW_BITS - 1 - _BITS)).astype(np.int64) + (reading.counts > 0)
    kinds = len(readers.members)
    members = readers.members
    if capacity.min(initial=1.0) < capacity.max(initial=0.0):
        room = np.bincount(readers.of_member, capacity, kinds)
        members = np.maximum(np.rint(room * 2.0**_CAPACITY_BITS / room.max()), 1).astype(np.int64)
    return find_levels(size, readers._replace(members=members))


_ROUNDING = 1 - 2.0**-40
"""Sums of capacities and quotients are rounded; with this a bound stays one."""


def least_peak(problem: Problem) -> float:
    """Return a bound on the largest load over capacity of every answer, in units.

    All that a set of topics weighs has to go to its readers; the heaviest partition of a topic goes to one of
    them; and of `k n + 1` partitions for `n` readers one gets `k + 1`, at best the lightest of the heaviest.
    The sets are the parts of the group that the levels show, those with the highest level together, and all.
    """
    weight, reading, levels = problem.weight, problem.reading, problem.levels
    if not len(weight):
        return 0.0
    readers = reading.readers
    roomiest = np.zeros(len(readers.members))
    np.maximum.at(roomiest, readers.of_member, problem.capacity)
    room = np.bincount(readers.of_member, problem.capacity, len(readers.members))
    widest = np.zeros(readers.topics)
    np.maximum.at(widest, readers.topic, roomiest[readers.kind])
    heaviest = np.zeros(readers.topics)
    np.maximum.at(heaviest, reading.topic_of, weight)
    best = float((heaviest / widest).max())

    order = np.argsort(-weight, kind="stable")
    part = levels.part_of_topic[reading.topic_of[order]]
    rows = order[np.argsort(part, kind="stable")]
    ends = np.cumsum(np.bincount(part, minlength=len(levels.complete)))
    pairs = np.unique(levels.part_of_topic[readers.topic] * len(room) + readers.kind)
    part_of_pair, kind = np.divmod(pairs, len(room))
    kinds = np.split(kind, np.searchsorted(part_of_pair, np.arange(1, len(ends))))
    sets = [(weight[own], of) for own, of in zip(np.split(rows, ends[:-1]), kinds, strict=True) if len(own)]
    for heavy, kind in [*sets, (weight[order], np.unique(readers.kind))] if len(sets) > 1 else sets:
        best = max(
            best,
            heavy.sum() / room[kind].sum(),
            _pigeonhole(heavy, int(readers.members[kind].sum())) / roomiest[kind].max(),
        )
    return best * _ROUNDING


def _pigeonhole(weight: NDArray[np.int64], members: int) -> int:
    """Return the least that the fullest of so many members carries; partitions are ordered heaviest first."""
    upto = np.append(0, np.cumsum(weight))
    size = np.arange((len(weight) - 1) // members + 1)
    return int((upto[size * members + 1] - upto[size * (members - 1)]).max())


def least_peak_within(problem: Problem, moves: int) -> float:
    """Return the `least_peak` of answers that take at most so many partitions from their holders.

    A member that keeps what it has but its `j` heaviest carries the rest. If more than `moves` such rests are
    above a peak, it needs more moves than that.
    """
    holder = problem.reading.holder
    rows = np.flatnonzero(holder >= 0)
    if moves >= len(rows):
        return 0.0
    rows = rows[np.lexsort((-problem.weight[rows], holder[rows]))]
    member, weight = holder[rows], problem.weight[rows]
    upto = np.cumsum(weight) - weight
    starts = np.searchsorted(member, member)
    rest = problem.loads(holder)[member] - (upto - upto[starts])
    rests = rest / problem.capacity[member]
    place = len(rests) - 1 - moves
    return float(np.partition(rests, place)[place]) * _ROUNDING
