"""Measures an assignment against the best possible one.

The code of "optimal" decides the best assignment of the group, whichever assignor made the assignment that is
measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment, Certificate
from assignors.group import Group
from assignors.optimal.deciding import Task
from assignors.optimal.racks import find_kinds
from assignors.optimal.reading import NumberedGroup, number_group, recall_owned_or_user_data
from assignors.partition_list import PartitionList
from assignors.weighted.improving import certify
from assignors.weighted.problem import Problem, least_peak
from assignors.weighted.weights import Capacities, GivenWeights, Weights, weights_of
from partitioning.errors import InvalidGroupError
from partitioning.kit.columns import sums


@dataclass(frozen=True, slots=True)
class AssignmentQuality:
    """Compares an assignment with the best one for the same group.

    A partition that is held back (`Assignment.transferring`) counts for the member that gets it next.

    >>> members = [Member("a", ["orders", "clicks"]), Member("b", ["orders", "clicks"])]
    >>> group = Group([Topic("orders", 3), Topic("clicks", 3)], members)
    >>> result = quality(group, get_assignor("range").assign(group))
    >>> result.loads, result.best_loads
    ((4, 2), (3, 3))

    Attributes:
        loads: how many partitions each member has, in descending order.
        best_loads: the best loads, in descending order: the greatest load is as small as possible, then the
            second greatest, and so on.
        moves: how many partitions leave a previous owner that is still a member and still subscribes.
        fewest_moves: the fewest such moves of all assignments with the best loads.
        topic_excess: by how many partitions of one topic a member exceeds the topic's fair share, in the
            worst case. The share is the topic's partitions divided by its subscribers, rounded up.
        topic_fullest: how many partitions of the topic the member has in that worst case.
        best_topic_fullest: the fair share of the topic in that worst case.
        far: how many partitions have no replica in the rack of their owner; None if no member can be far
            from a partition that it reads.
        fewest_far: the fewest far partitions of all assignments with the best loads and the fewest moves;
            None as for `far`.
        unassigned: how many partitions have subscribers, but none of these gets them.
        certificate: the greatest load by weights and capacities, and a proven lower bound for it; None if
            neither weights nor capacities are given.
    """

    loads: tuple[int, ...]
    best_loads: tuple[int, ...]
    moves: int
    fewest_moves: int
    topic_excess: int
    topic_fullest: int
    best_topic_fullest: int
    far: int | None
    fewest_far: int | None
    unassigned: int
    certificate: Certificate | None = None

    @property
    def avoidable_moves(self) -> int:
        """The moves beyond `fewest_moves`; negative if uneven loads saved moves."""
        return self.moves - self.fewest_moves


def quality(
    group: Group,
    assignment: Assignment,
    *,
    weights: GivenWeights | None = None,
    capacities: Mapping[str, float] | None = None,
) -> AssignmentQuality:
    """Measure an assignment's balance and moves against the best possible.

    Previous owners come from `Member.owned`; if no member owns a partition, they come from the user data of
    "sticky".

    >>> group = Group([Topic("orders", 3)], [Member("a", ["orders"]), Member("b", ["orders"])])
    >>> result = quality(group, get_assignor("range").assign(group))
    >>> result.loads, result.best_loads
    ((2, 1), (2, 1))

    Args:
        group: the group that the assignment was made for.
        assignment: the partitions of each member.
        weights: the weights of partitions, as for the assignor "weighted".
        capacities: the capacity of each member, as for the assignor "weighted".

    Raises:
        InvalidGroupError: the assignment gives a partition to two members, contains a partition that does
            not exist or has no subscriber, or names a member that is not in the group.
        InvalidConfigError: a weight or a capacity is invalid.
    """
    reading = number_group(group, recall_owned_or_user_data(group.members))
    owner = _owners(group, reading, assignment)
    near = find_kinds(group, reading)
    best = Task(reading, near=near).decide()
    fullest, share = _worst_topic(reading, owner)
    return AssignmentQuality(
        loads=_loads(owner, len(group.members)),
        best_loads=_loads(best, len(group.members)),
        moves=_moves(reading, owner),
        fewest_moves=_moves(reading, best),
        topic_excess=max(0, fullest - share),
        topic_fullest=fullest,
        best_topic_fullest=share,
        far=None if near is None else int(np.count_nonzero(near.far_from(owner))),
        fewest_far=None if near is None else int(np.count_nonzero(near.far_from(best))),
        unassigned=int(np.count_nonzero(owner < 0)),
        certificate=None
        if weights is None and capacities is None
        else _certificate(group, reading, owner, weights_of(weights), Capacities(capacities or {})),
    )


def certificate(group: Group, assignment: Assignment, weights: Weights) -> Certificate:
    """Return an assignment's greatest load by weights, with a proven lower bound for any assignment.

    Raises InvalidGroupError if the assignment is invalid, as `quality` does.
    """
    reading = number_group(group, recall_owned_or_user_data(group.members))
    return _certificate(group, reading, _owners(group, reading, assignment), weights, Capacities({}))


def _certificate(
    group: Group, reading: NumberedGroup, owner: NDArray[np.intp], weights: Weights, capacities: Capacities
) -> Certificate:
    """Return the peak of these owners, and a proven lower bound for the peak.

    A peak is the greatest load of a member, as the sum of weights divided by the member's capacity.
    """
    members = [group.members[row] for row in reading.members.tolist()]
    problem = Problem.of(reading, weights.of(reading), capacities.of(members))
    return certify(problem, owner, least_peak(problem))


def _owners(group: Group, reading: NumberedGroup, assignment: Assignment) -> NDArray[np.intp]:
    """Return the member that gets each partition of a reading, intp of shape (partitions,); -1 for none.

    Raises InvalidGroupError if the assignment is invalid, as `quality` does.
    """
    place = {group.members[row].id: number for number, row in enumerate(reading.members.tolist())}
    topics = {name: row for row, name in enumerate(reading.topics)}
    owner = np.full(len(reading.topic_of), -1, np.intp)
    # A partition that is held back counts for its receiver, which gets it in the next rebalance.
    held = [(receiver, [partition]) for partition, receiver in assignment.transferring.items()]
    for member, partitions in [*assignment.items(), *held]:
        number = place.get(member)
        if number is None:
            raise InvalidGroupError(
                f"member {member!r} is in the assignment but not in the group; "
                "pass the assignment made for this group"
            )
        listed = PartitionList.of(partitions)
        topic = np.array([topics.get(name, -1) for name in listed.names], np.intp)[listed.topics]
        # There are three checks: the topic exists, it has this partition, and no other list has the
        # partition. They are in this order, because each check makes the index of the next one valid.
        fits = (topic >= 0) & (listed.partitions >= 0)
        fits[fits] = listed.partitions[fits] < reading.counts[topic[fits]]
        row = reading.starts[topic] + listed.partitions
        fits[fits] = owner[row[fits]] < 0
        if not fits.all():
            raise InvalidGroupError(
                f"member {member!r} cannot have {listed[int(np.argmin(fits))]}: nobody subscribes to it, "
                "the partition does not exist, or another list has it too"
            )
        owner[row] = number
    assigned = np.flatnonzero(owner >= 0)
    kind = reading.readers.of_member[owner[assigned]]
    # A member that does not subscribe to a topic does not consume its partitions, so they count as
    # unassigned.
    owner[assigned[~reading.readers.has(kind, reading.topic_of[assigned])]] = -1
    return owner


def _loads(owner: NDArray[np.intp], members: int) -> tuple[int, ...]:
    """Return how many partitions each member has, in descending order."""
    return tuple(sorted(np.bincount(owner[owner >= 0], minlength=members).tolist(), reverse=True))


def _moves(reading: NumberedGroup, owner: NDArray[np.intp]) -> int:
    """Return how many partitions leave their holder, a previous owner that still reads them."""
    return int(np.count_nonzero((reading.holder >= 0) & (owner != reading.holder)))


def _worst_topic(reading: NumberedGroup, owner: NDArray[np.intp]) -> tuple[int, int]:
    """Return how many partitions of a topic a member has, and the topic's fair share, in the worst case.

    The worst case is the greatest difference of the two numbers. Both are 0 if no partition is assigned.
    """
    readers, assigned = reading.readers, owner >= 0
    subscribers = sums(readers.topic, readers.members[readers.kind], len(reading.topics))
    return worst_spread(owner[assigned], reading.topic_of[assigned], -(-reading.counts // subscribers))


def worst_spread(
    owner: NDArray[np.integer], topic: NDArray[np.integer], share: NDArray[np.int64]
) -> tuple[int, int]:
    """Return how many partitions of a topic a member has, and the topic's fair share, in the worst case.

    The worst case is the one furthest above its share; of several, the one with the most partitions. Both
    numbers are 0 without a partition.

    Args:
        owner: the member of each partition that has one, a number from 0 on.
        topic: the topic of each of these partitions, an index into `share`.
        share: the fair share of each topic: its partitions over its subscribers, rounded up.
    """
    pairs, amount = np.unique(owner.astype(np.int64) * len(share) + topic, return_counts=True)
    if not len(pairs):
        return 0, 0
    fair = share[pairs % len(share)]
    worst = int(np.lexsort((amount, amount - fair))[-1])
    return int(amount[worst]), int(fair[worst])
