"""What no answer can beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.weighted.problem import Problem

_ROUNDING = 1 - 2.0**-40
"""Sums of capacities and quotients are rounded; with this a bound stays one."""


def least_peak(problem: Problem) -> float:
    """A bound on the largest load over capacity of every answer, in units.

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
    """What the fullest of so many members carries at least, partitions being ordered from the heaviest."""
    upto = np.append(0, np.cumsum(weight))
    size = np.arange((len(weight) - 1) // members + 1)
    return int((upto[size * members + 1] - upto[size * (members - 1)]).max())


def least_peak_within(problem: Problem, moves: int) -> float:
    """The same of answers that take at most so many partitions from their holders.

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
