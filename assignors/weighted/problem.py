"""Describes a group with weights and capacities in exact numbers, and computes lower bounds for the peak.

Weights become whole units whose sum is at most about 2**52. Sums of floats up to that are exact, so no answer
depends on the order in which weights are added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.optimal.levels import Levels, find_levels
from assignors.optimal.reading import NumberedGroup

_BITS = 52
"""Bits of the sum of all weights. Sums of this size are exact in a float."""
_FLOW_BITS = 30
"""Bits of the sum of all weights in a flow network, which is less exact."""
_CAPACITY_BITS = 12
"""Bits of the greatest capacity of a class in a flow network."""
_LEAST_CAPACITY = 2.0**-64
"""The smallest capacity, if the largest is between a half and 1. Smaller ones are raised to this."""


class Problem(NamedTuple):
    """Holds a group with the weights of its partitions and the capacities of its members.

    Attributes:
        reading: the group in numbers.
        weight: the weight of each partition in whole units, 0 or more; int64 of shape (partitions,).
        capacity: the capacity of each member; the largest is in [0.5, 1). Float64 of shape (members,).
        mean: the mean ratio: the sum of all weights divided by the sum of the capacities of all members that
            read a topic; 0 if no member does.
        levels: the levels that the best loads would have if partitions could be split. They divide the group
            into parts.
        reads: True if a class may get a topic; bool of shape (classes, topics).
    """

    reading: NumberedGroup
    weight: NDArray[np.int64]
    capacity: NDArray[np.float64]
    mean: float
    levels: Levels
    reads: NDArray[np.bool_]

    @classmethod
    def of(
        cls, reading: NumberedGroup, weights: NDArray[np.float64], capacities: NDArray[np.float64]
    ) -> Problem:
        """Return the problem with these weights and capacities.

        If all weights are 0, each partition weighs one unit, so that partitions are spread evenly.

        Args:
            reading: the group in numbers.
            weights: the weight of each partition, of shape (partitions,).
            capacities: the capacity of each member, of shape (members,).
        """
        # If all weights stayed 0, there would be no load, and every answer would be as good as any other.
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
        """Return the load of each member in units, int64 of shape (members,); an owner of -1 is no member."""
        has = owner >= 0
        return np.bincount(owner[has], self.weight[has], len(self.capacity)).astype(np.int64)


def _units(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the weights as whole units with a sum of about 2**52; weights far below the sum become 0."""
    _, exponent = np.frexp(weights.max())
    shares = np.ldexp(weights, -exponent)
    _, size = np.frexp(shares.sum())
    units: NDArray[np.int64] = np.rint(np.ldexp(shares, _BITS - size)).astype(np.int64)
    return units


def _levels(reading: NumberedGroup, weight: NDArray[np.int64], capacity: NDArray[np.float64]) -> Levels:
    """Return the levels, rounded to the numbers of a flow network. They guide a search, and prove nothing."""
    readers = reading.readers
    size = np.bincount(reading.topic_of, weight, readers.topics)
    # A topic with partitions keeps a size of at least 1 after rounding, so that it belongs to a part.
    size = np.rint(size * 2.0 ** (_FLOW_BITS - 1 - _BITS)).astype(np.int64) + (reading.counts > 0)
    kinds = len(readers.members)
    members = readers.members
    if capacity.min(initial=1.0) < capacity.max(initial=0.0):
        room = np.bincount(readers.of_member, capacity, kinds)
        members = np.maximum(np.rint(room * 2.0**_CAPACITY_BITS / room.max()), 1).astype(np.int64)
    return find_levels(size, readers._replace(members=members))


_ROUNDING = 1 - 2.0**-40
"""A factor for lower bounds. Without it, rounding in sums and quotients could raise a bound too far."""


def least_peak(problem: Problem) -> float:
    """Return a lower bound for the peak of any answer, in units divided by capacity; 0 without partitions.

    It is the greatest of three bounds. First, the readers of a set of topics must carry all the weight of the
    set. Second, the heaviest partition of a topic must go to one reader, at best to the one with the greatest
    capacity. Third, of the heaviest `k n + 1` partitions of a set with `n` readers, one reader gets `k + 1`,
    at best the lightest of these. The sets are the parts of the group (`Problem.levels`), and all topics
    together.
    """
    weight, reading, levels = problem.weight, problem.reading, problem.levels
    if not len(weight):
        return 0.0
    readers = reading.readers
    # `roomiest` is the capacity of each class's largest member, and `room` that of all its members together.
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
    # `sets` has the weights of each part, the heaviest first, and the classes that read the part. All topics
    # together are one more set, unless there is only one part.
    sets = [(weight[own], of) for own, of in zip(np.split(rows, ends[:-1]), kinds, strict=True) if len(own)]
    for heavy, kind in [*sets, (weight[order], np.unique(readers.kind))] if len(sets) > 1 else sets:
        best = max(
            best,
            heavy.sum() / room[kind].sum(),
            _pigeonhole(heavy, int(readers.members[kind].sum())) / roomiest[kind].max(),
        )
    return best * _ROUNDING


def _pigeonhole(weight: NDArray[np.int64], members: int) -> int:
    """Return a lower bound for the load of the fullest of `members` members; weights are in descending order.

    See the third bound of `least_peak`.
    """
    upto = np.append(0, np.cumsum(weight))
    size = np.arange((len(weight) - 1) // members + 1)
    return int((upto[size * members + 1] - upto[size * (members - 1)]).max())


def least_peak_within(problem: Problem, moves: int) -> float:
    """Return a lower bound for the peak of any answer with at most `moves` moves, in units over capacity.

    A holder that gives up `j` partitions still carries at least its load without its `j` heaviest partitions.
    Call this a rest; a holder has a rest for each `j` from 0 on. To bring all holders down to a peak takes at
    least as many moves as there are rests above it. So the (`moves` + 1)-th largest rest is a bound. It is 0
    if all partitions may move.
    """
    holder = problem.reading.holder
    rows = np.flatnonzero(holder >= 0)
    if moves >= len(rows):
        return 0.0
    rows = rows[np.lexsort((-problem.weight[rows], holder[rows]))]
    member, weight = holder[rows], problem.weight[rows]
    # `upto - upto[starts]` is the sum of the heavier partitions of the same holder, which the holder gives up
    # before this partition.
    upto = np.cumsum(weight) - weight
    starts = np.searchsorted(member, member)
    rest = problem.loads(holder)[member] - (upto - upto[starts])
    rests = rest / problem.capacity[member]
    place = len(rests) - 1 - moves
    return float(np.partition(rests, place)[place]) * _ROUNDING
