"""Measures an assignment against the best possible one.

The best one is decided anew for the group, by the same code as "optimal", whatever assignor made the answer
that is measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment, Certificate
from assignors.group import Group
from assignors.optimal.deciding import Task
from assignors.optimal.racks import find_kinds
from assignors.optimal.reading import NumberedGroup, read_group, recall_owned_or_user_data
from assignors.partition_list import PartitionList
from assignors.weighted.improving import certify
from assignors.weighted.problem import Problem, least_peak
from assignors.weighted.weights import Capacities, GivenWeights, Weights, weights_of
from partitioning.errors import InvalidGroupError
from partitioning.kit.columns import sums


@dataclass(frozen=True, slots=True)
class AssignmentQuality:
    """An assignment against the best one for the same group; what is held back counts as given.

    >>> members = [Member("a", ["orders", "clicks"]), Member("b", ["orders", "clicks"])]
    >>> group = Group([Topic("orders", 3), Topic("clicks", 3)], members)
    >>> result = quality(group, get_assignor("range").assign(group))
    >>> result.loads, result.best_loads
    ((4, 2), (3, 3))

    Attributes:
        loads: how many partitions members have, most first.
        best_loads: the same where the greatest is least, then the second, and so on.
        moves: partitions whose owner is still there, still subscribes and loses them.
        fewest_moves: of all assignments with the best loads the fewest such moves.
        topic_excess: how many partitions of one topic a member has above that topic's fair share, at worst;
            the share is its partitions over its subscribers, rounded up.
        topic_fullest: how many partitions of that topic this member has.
        best_topic_fullest: how many it has where that topic is spread best.
        far: partitions whose owner has a rack without a replica of theirs; None if no member can be far
            from a partition that it reads.
        fewest_far: of all assignments with the best loads and the fewest moves the fewest far partitions;
            likewise.
        unassigned: partitions that somebody subscribes to and nobody who does gets.
        certificate: the peak by weights and capacities and what no answer can beat; None if neither is
            given.
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
        """The moves above the fewest that best loads need; negative if worse loads saved some."""
        return self.moves - self.fewest_moves


def quality(
    group: Group,
    assignment: Assignment,
    *,
    weights: GivenWeights | None = None,
    capacities: Mapping[str, float] | None = None,
) -> AssignmentQuality:
    """Measure an assignment's balance and moves against the best possible.

    What members had is what they say they own, or where none of them owns anything what "sticky" user data
    remembers.

    >>> group = Group([Topic("orders", 3)], [Member("a", ["orders"]), Member("b", ["orders"])])
    >>> result = quality(group, get_assignor("range").assign(group))
    >>> result.loads, result.best_loads
    ((2, 1), (2, 1))

    Args:
        group: the group it was made for.
        assignment: who gets what.
        weights: what partitions weigh, as the assignor "weighted" takes it.
        capacities: what members can carry, likewise.

    Raises:
        InvalidGroupError: the assignment gives a partition twice, or one that nobody can have.
        InvalidConfigError: weights or capacities make no sense.
    """
    reading = read_group(group, recall_owned_or_user_data(group.members))
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
    """Return the peak of an assignment by weights, and what no assignment can beat.

    Raises InvalidGroupError if the assignment gives a partition twice, or one that nobody can have.
    """
    reading = read_group(group, recall_owned_or_user_data(group.members))
    return _certificate(group, reading, _owners(group, reading, assignment), weights, Capacities({}))


def _certificate(
    group: Group, reading: NumberedGroup, owner: NDArray[np.intp], weights: Weights, capacities: Capacities
) -> Certificate:
    """Return the peak of owners and the least one that is proven, both by weights over capacities."""
    members = [group.members[row] for row in reading.members.tolist()]
    problem = Problem.of(reading, weights.of(reading), capacities.of(members))
    return certify(problem, owner, least_peak(problem))


def _owners(group: Group, reading: NumberedGroup, assignment: Assignment) -> NDArray[np.intp]:
    """Return the member that gets each partition of a reading, -1 if nobody does."""
    place = {group.members[row].id: number for number, row in enumerate(reading.members.tolist())}
    topics = {name: row for row, name in enumerate(reading.topics)}
    owner = np.full(len(reading.topic_of), -1, np.intp)
    # A partition that waits counts as its receiver's: it will be there after the next round.
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
        # In three steps, as each is an index of the next: the topic is there, the number is, nobody else has
        # it.
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
    # Who does not read a topic does nothing with its partitions, so they count as nobody's.
    owner[assigned[~reading.readers.has(kind, reading.topic_of[assigned])]] = -1
    return owner


def _loads(owner: NDArray[np.intp], members: int) -> tuple[int, ...]:
    """Return how many partitions each member has, most first."""
    return tuple(sorted(np.bincount(owner[owner >= 0], minlength=members).tolist(), reverse=True))


def _moves(reading: NumberedGroup, owner: NDArray[np.intp]) -> int:
    """Return how many partitions their holder loses although it still reads them."""
    return int(np.count_nonzero((reading.holder >= 0) & (owner != reading.holder)))


def _worst_topic(reading: NumberedGroup, owner: NDArray[np.intp]) -> tuple[int, int]:
    """Return the most partitions of one topic on one member, and its fair share, for the worst such topic."""
    topics = len(reading.topics)
    assigned = owner >= 0
    pairs, amount = np.unique(owner[assigned] * topics + reading.topic_of[assigned], return_counts=True)
    subscribers = sums(reading.readers.topic, reading.readers.members[reading.readers.kind], topics)
    share = -(-reading.counts // subscribers)
    if not len(pairs):
        return 0, 0
    fair = share[pairs % topics]
    worst = int(np.lexsort((amount, amount - fair))[-1])
    return int(amount[worst]), int(fair[worst])
