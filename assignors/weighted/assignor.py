"""Offers the assignors that weigh partitions, "weighted" and "cooperative-weighted".

Both add a certificate to their answer: its peak (the largest load divided by the member's capacity), and a
lower bound for the peak of any answer.
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
from assignors.optimal.reading import number_group
from assignors.partition_list import PartitionList
from assignors.weighted.improving import MoveLimits, certify, decide
from assignors.weighted.placing import place
from assignors.weighted.problem import Problem, least_peak
from assignors.weighted.weights import (
    Capacities,
    GivenWeights,
    MeasuredRates,
    Weights,
    checked_rates,
    read_measured,
    weights_of,
    with_rates,
)
from partitioning.kit.columns import inverse

_ATTEMPTS = 16
"""How often a cooperative answer is revised so that the next rebalance takes no partition from a member.

If no revision reaches that, this rebalance takes no partition from a member either.
"""
_WORTH = 0.99
"""The moves of a cooperative answer must lower the peak to at most this fraction of the peak before them.

If smaller gains were enough, one rebalance would follow another.
"""


class _WeightedBase(Deciding):
    """Base of both assignors, with their settings and what the settings mean.

    A subclass adds the rebalance protocol and the decision.

    Args:
        weights: the weight of partitions, by topic (the weight of each of its partitions) or by topic and
            partition; or the path of a JSON, YAML or CSV file with them, which is read at once. A partition
            without a weight gets the mean of its topic. None stands for the rates that members measured and
            sent; if several members send a rate of one partition, the greatest rate counts.
        rates: a function that returns the rates which this consumer has measured, by topic and partition, in
            a unit that all members share. It is called at each join. If it is None, this consumer sends no
            rates.
        capacities: the capacity of members, by instance id, client id or member id. Other members have the
            mean of the capacities of the members that have one.
        max_moves: how many partitions a rebalance may take from members that still subscribe to them; None
            for any number.
        min_gain: how far each of these moves must lower the peak, on average, as a fraction of the mean load
            over capacity.

    Raises:
        InvalidConfigError: a setting or the file is invalid.
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

    def _weights_of(self, measured: MeasuredRates) -> Weights:
        """Return the weights of the settings or, if there are none, the rates that members measured."""
        return self._weights or Weights(measured.rates)

    def _problem(self, group: Group, memory: ReportedPartitions, weights: Weights) -> Problem:
        """Return the problem of this group; `memory` is in the order of `group.members`."""
        reading = number_group(group, memory)
        members = [group.members[row] for row in reading.members.tolist()]
        return Problem.of(reading, weights.of(reading), self._capacities.of(members))

    def _with_rates(self, data: bytes | None) -> bytes | None:
        """Return user data with the rates of this consumer appended, if it measures rates."""
        return data if self._rates is None else with_rates(data, self._rates())


class WeightedAssignor(_WeightedBase, EagerMemory):
    """Lowers the largest load over capacity of weighted partitions, with few moves and a certificate.

    Members report their previous partitions in the user data of "sticky"; user data that cannot be read
    counts as no partitions.
    """

    name: ClassVar[str] = "weighted"

    def _decide(self, group: Group) -> OwnerDecision:
        measured = read_measured(group.members)
        problem = self._problem(group, recall_user_data(measured.members), self._weights_of(measured))
        owner, certificate = decide(problem, self._limits)
        return OwnerDecision(problem.reading, owner, np.zeros(len(owner), np.bool_), certificate)

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """Return the user data of "sticky" (none before the first assignment), with rates appended."""
        return self._with_rates(super().user_data(owned, generation))


class CooperativeWeightedAssignor(_WeightedBase, CooperativeMemory):
    """The cooperative form of "weighted": a partition that moves is unassigned for one rebalance (KIP-429).

    In the first rebalance its old owner revokes the partition, which is in the assignment's `transferring`.
    Members that lose partitions rejoin at once. The first answer is chosen so that the second rebalance takes
    no partition from a member. A partition without an owner counts as a move, because that is what a moved
    partition looks like in the second rebalance.
    """

    name: ClassVar[str] = "cooperative-weighted"

    def _decide(self, group: Group) -> OwnerDecision:
        measured = read_measured(group.members)
        weights = self._weights_of(measured)
        problem = self._problem(group, recall_owned(measured.members), weights)
        reading = problem.reading
        owner, certificate = self._answer(problem)
        # The next rebalance numbers members anew, so its answer is translated by their places in the group.
        place_of = inverse(reading.members)
        for _ in range(_ATTEMPTS):
            decision = OwnerDecision(reading, owner, find_held_back(reading, owner), certificate)
            if not decision.waits.any():
                return decision
            # Decide the next rebalance in advance, as its leader will decide it.
            later = group.next(decision.assignment(group))
            follows = self._problem(later, recall_owned(later.members), weights)
            later_owner, later_certificate = self._answer(follows)
            if not find_held_back(follows.reading, later_owner).any():
                return decision._replace(certificate=replace(certificate, peak=later_certificate.peak))
            # The partitions that the next rebalance would take are taken now, so that two rebalances suffice.
            owner = place_of[follows.reading.members[later_owner]]
            certificate = certify(problem, owner, least_peak(problem))
        # No attempt succeeded, so members keep everything, and only partitions without an owner are assigned.
        owner = reading.holder.copy()
        place(problem, owner)
        certificate = certify(problem, owner, least_peak(problem))
        return OwnerDecision(reading, owner, find_held_back(reading, owner), certificate)

    def _answer(self, problem: Problem) -> tuple[NDArray[np.intp], Certificate]:
        """Return the owner of each partition, and the certificate.

        A partition without an owner counts as a move, because the rebalance before may have taken it from its
        owner.
        """
        moves, gain, _ = self._limits
        if moves is not None:
            # `max_moves` is meant for both rebalances together. The second one sees the moves of the first
            # only as partitions without an owner.
            moves = max(moves - int(np.count_nonzero(problem.reading.holder < 0)), 0)
        return decide(problem, MoveLimits(moves, gain, _WORTH))

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """Return the user data of "cooperative-sticky", which is the generation, with rates appended."""
        return self._with_rates(super().user_data(owned, generation))
