"""Offers the assignors that weigh partitions, "weighted" and "cooperative-weighted".

Both answer with a certificate: the peak (the largest load over capacity) and a bound that no answer beats.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Certificate
from assignors.columnar.sticky_structures import ReportedPartitions, recall_owned, recall_user_data
from assignors.group import Group
from assignors.interface import CooperativeMemory, EagerMemory
from assignors.optimal.assignor import Deciding, OwnerDecision, find_held_back
from assignors.optimal.reading import read_group
from assignors.partition_list import PartitionList
from assignors.weighted.improving import MoveLimits, certify, decide
from assignors.weighted.placing import place
from assignors.weighted.problem import Problem, least_peak
from assignors.weighted.weights import (
    Capacities,
    GivenWeights,
    Measured,
    Weights,
    checked_rates,
    read_measured,
    weights_of,
    with_rates,
)
from partitioning.kit.columns import inverse

_ATTEMPTS = 16
"""Attempts to find a cooperative answer after which the next round moves nothing; then nothing is taken."""
_WORTH = 0.99
"""The greatest part of the peak that cooperative moves may leave: with smaller gains, round follows round."""


class _Weighted(Deciding):
    """Shares between both assignors everything but the protocol.

    Args:
        weights: what partitions weigh, by topic (each of its partitions) or by topic and partition, or a file
            that says so (JSON, YAML or CSV), which is read now; what is not known weighs its topic's mean.
            None: what members measured and sent along, the greatest of each partition.
        rates: a function that is asked at each join what this consumer has measured, by topic and partition,
            in a unit that all members share; None: it sends nothing along.
        capacities: what members can carry, by instance id, client id or member id; others the mean of these.
        max_moves: how many partitions a rebalance may take from members that keep reading them; None for any
            number.
        min_gain: how much of the mean load each of these moves has to lower the peak, on average.

    Raises:
        InvalidConfigError: a setting or the file makes no sense.
    """

    def __init__(
        self,
        *,
        weights: GivenWeights | None = None,
        capacities: Mapping[str, float] | None = None,
        max_moves: int | None = None,
        min_gain: float = 0.0,
        rates: Callable[[], Mapping[tuple[str, int], float]] | None = None,
    ) -> None:
        self._weights = None if weights is None else weights_of(weights)
        checked_rates(rates)
        self._rates = rates
        self._capacities = Capacities({} if capacities is None else capacities)
        self._limits = MoveLimits.of(max_moves, min_gain)

    def _weights_of(self, measured: Measured) -> Weights:
        """Return the weights that were given, or, if none were, those that members measured."""
        return self._weights or Weights(measured.rates)

    def _problem(self, group: Group, memory: ReportedPartitions, weights: Weights) -> Problem:
        """Return the group in numbers; `memory` is in the order of `group.members`."""
        reading = read_group(group, memory)
        members = [group.members[row] for row in reading.members.tolist()]
        return Problem.of(reading, weights.of(reading), self._capacities.of(members))

    def _sent(self, data: bytes | None) -> bytes | None:
        """Return this user data with the measured rates behind it, if this consumer measures any."""
        return data if self._rates is None else with_rates(data, self._rates())


class WeightedAssignor(_Weighted, EagerMemory):
    """Lowers the largest load over capacity of weighted partitions, with few moves and a certificate.

    Members remember in user data, in the form of "sticky"; what cannot be read counts as nothing.
    """

    name: ClassVar[str] = "weighted"

    def _decide(self, group: Group) -> OwnerDecision:
        measured = read_measured(group.members)
        problem = self._problem(group, recall_user_data(measured.members), self._weights_of(measured))
        owner, certificate = decide(problem, self._limits)
        return OwnerDecision(problem.reading, owner, np.zeros(len(owner), np.bool_), certificate)

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """Return what "sticky" sends, nothing before the first assignment, and rates behind it."""
        return self._sent(super().user_data(owned, generation))


class CooperativeWeightedAssignor(_Weighted, CooperativeMemory):
    """As "weighted", but a partition waits a round before it moves, so that its old owner can give it up.

    What waits is in the assignment's `transferring`; members that lose partitions rejoin at once (KIP-429).
    In the second round nothing is taken from anybody: an answer is given only if that is so. Partitions that
    nobody has count as moves, because a round later moved partitions have none.
    """

    name: ClassVar[str] = "cooperative-weighted"

    def _decide(self, group: Group) -> OwnerDecision:
        measured = read_measured(group.members)
        weights = self._weights_of(measured)
        problem = self._problem(group, recall_owned(measured.members), weights)
        reading = problem.reading
        owner, certificate = self._answer(problem)
        # The next round orders members anew, so its answer is translated back by their places in the group.
        place_of = inverse(reading.members)
        for _ in range(_ATTEMPTS):
            decision = OwnerDecision(reading, owner, find_held_back(reading, owner), certificate)
            if not decision.waits.any():
                return decision
            # The next round is decided here in advance, by the rule that its leader will follow.
            later = group.next(decision.assignment(group))
            follows = self._problem(later, recall_owned(later.members), weights)
            later_owner, later_certificate = self._answer(follows)
            if not find_held_back(follows.reading, later_owner).any():
                return decision._replace(certificate=replace(certificate, peak=later_certificate.peak))
            # What the next round would take is taken in this one, so that the group settles in two rounds.
            owner = place_of[follows.reading.members[later_owner]]
            certificate = certify(problem, owner, least_peak(problem))
        # No attempt settles: only partitions without an owner get one, and nothing is taken from a member.
        owner = reading.holder.copy()
        place(problem, owner)
        certificate = certify(problem, owner, least_peak(problem))
        return OwnerDecision(reading, owner, find_held_back(reading, owner), certificate)

    def _answer(self, problem: Problem) -> tuple[NDArray[np.intp], Certificate]:
        """Return the owner of each partition, and the certificate; an unowned partition counts as a move.

        A partition that was taken from its owner in one round has no owner in the next, so it counts there.
        """
        moves, gain, _ = self._limits
        if moves is not None:
            # Whoever set `max_moves` meant both rounds together, and the second one sees only what has no
            # owner.
            moves = max(moves - int(np.count_nonzero(problem.reading.holder < 0)), 0)
        return decide(problem, MoveLimits(moves, gain, _WORTH))

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """Return what "cooperative-sticky" sends, its claim's generation beside it, and rates behind it."""
        return self._sent(super().user_data(owned, generation))
