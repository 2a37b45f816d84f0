"""A group with weights and capacities, as exact numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.optimal.levels import find_levels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.optimal.levels import Levels
    from assignors.optimal.reading import Reading

_BITS = 52
"""Sums of this many bits are exact, so that no order of adding shows in an answer."""
_FLOW_BITS = 30
"""What a flow network can carry."""
_CAPACITY_BITS = 12
_LEAST_CAPACITY = 2.0**-64


class Problem(NamedTuple):
    """What is to be decided.

    Attributes:
        reading: the group.
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
        """The problem with these weights and capacities; if all weights are zero partitions are counted."""
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
        """What each member carries; partitions without an owner count for nobody."""
        has = owner >= 0
        return np.bincount(owner[has], self.weight[has], len(self.capacity)).astype(np.int64)


def _units(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """The weights as whole numbers with an exact sum; what is far below the largest becomes zero."""
    _, exponent = np.frexp(weights.max())
    shares = np.ldexp(weights, -exponent)
    _, size = np.frexp(shares.sum())
    units: NDArray[np.int64] = np.rint(np.ldexp(shares, _BITS - size)).astype(np.int64)
    return units


def _levels(reading: Reading, weight: NDArray[np.int64], capacity: NDArray[np.float64]) -> Levels:
    """The levels, as exact as the numbers of a flow allow: they guide a search and prove nothing."""
    readers = reading.readers
    size = np.bincount(reading.topic_of, weight, readers.topics)
    size = np.rint(size * 2.0 ** (_FLOW_BITS - 1 - _BITS)).astype(np.int64) + (reading.counts > 0)
    kinds = len(readers.members)
    members = readers.members
    if capacity.min(initial=1.0) < capacity.max(initial=0.0):
        room = np.bincount(readers.of_member, capacity, kinds)
        members = np.maximum(np.rint(room * 2.0**_CAPACITY_BITS / room.max()), 1).astype(np.int64)
    return find_levels(size, readers._replace(members=members))
