"""Who gets what, and how good that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.weighted.certificate import Certificate
from assignors.weighted.improving import Limits, improve
from assignors.weighted.placing import place
from assignors.weighted.problem import least_peak, least_peak_within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.weighted.problem import Problem


class Answer(NamedTuple):
    """Who gets what, and how good that is.

    Attributes:
        owner: the member that gets each partition.
        certificate: how near to the best that is.
    """

    owner: NDArray[np.intp]
    certificate: Certificate


def decide(problem: Problem, limits: Limits) -> Answer:
    """Leave everything with its holder, give away what has none, then lower the peak.

    Args:
        problem: the group.
        limits: what moves are allowed.
    """
    bound = least_peak(problem)
    owner = problem.reading.holder.copy()
    place(problem, owner)
    improve(problem, owner, bound, limits)
    return Answer(owner, certify(problem, owner, bound))


def certify(problem: Problem, owner: NDArray[np.intp], bound: float) -> Certificate:
    """How near to the best it is when these own the partitions.

    Args:
        problem: the group.
        owner: the owner of each partition.
        bound: the peak no answer can beat, in units.
    """
    holder = problem.reading.holder
    moves = int(np.count_nonzero((holder >= 0) & (owner != holder)))
    peak = float((problem.loads(owner) / problem.capacity).max(initial=0.0))
    within = max(bound, least_peak_within(problem, moves))
    mean = problem.mean or 1.0
    return Certificate(peak / mean, bound / mean, within / mean, moves)
