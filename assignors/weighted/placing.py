"""Gives each free partition, the heaviest first, to the member whose ratio would then be the lowest.

A ratio is a load, in units of `Problem.weight`, divided by the member's capacity.
"""

import numpy as np
from numpy.typing import NDArray

from assignors.weighted.problem import Problem
from partitioning.kit.columns import sorted_by

_FEW = 16
"""If a step would serve fewer members than this, the next partitions are given one by one."""
_RUN = 1024
"""How many partitions are then given one by one before steps are tried again."""


def place(problem: Problem, owner: NDArray[np.intp]) -> None:
    """Give an owner to each partition that has none (-1); `owner` is changed in place.

    Partitions of weight 0 change no load, so they go to the member with the fewest partitions.
    """
    weight = problem.weight
    free = np.flatnonzero(owner < 0)
    heavy = free[weight[free] > 0]
    heavy = heavy[np.argsort(-weight[heavy], kind="stable")]
    owner[heavy] = _deal(problem, heavy, weight[heavy], problem.loads(owner))
    # Partitions of weight 0 are spread by number, each with weight 1: a member with all of them would still
    # have to poll all of them.
    light = free[weight[free] == 0]
    if len(light):
        count = np.bincount(owner[owner >= 0], minlength=len(problem.capacity))
        owner[light] = _deal(problem, light, np.ones(len(light), np.int64), count)


def _deal(
    problem: Problem, rows: NDArray[np.intp], weight: NDArray[np.int64], load: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Return the member that gets each of these partitions.

    Args:
        problem: the group.
        rows: partitions, the heaviest first.
        weight: the weight of each of `rows`, above 0.
        load: the load of each member so far, in the unit of `weight`.
    """
    levels = problem.levels
    member = np.empty(len(rows), np.intp)
    part = levels.part_of_topic[problem.reading.topic_of[rows]]
    by_part = sorted_by(part)
    ends = np.cumsum(np.bincount(part, minlength=len(levels.complete)))
    of_member = levels.part_of_kind[levels.readers.of_member]
    for number in np.flatnonzero(np.diff(ends, prepend=0)).tolist():
        own = by_part[ends[number - 1] if number else 0 : ends[number]]
        if levels.complete[number]:
            team = np.flatnonzero(of_member == number)
            member[own] = team[_to_equals(weight[own], load[team], problem.capacity[team])]
        else:
            member[own] = _to_readers(problem, rows[own], weight[own], load)
    return member


def _to_equals(
    weight: NDArray[np.int64], load: NDArray[np.int64], capacity: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return the member that gets each partition if every member may get every partition.

    A step gives one partition each to many members at once. It ends before a member would get a second
    partition. If a step would serve few members, the next partitions are given one by one.

    Args:
        weight: the weight of each partition, descending, above 0.
        load: the load of each member so far, in the unit of `weight`.
        capacity: the capacity of each member.
    """
    member = np.empty(len(weight), np.intp)
    load = load.copy()
    place = 0
    while place < len(weight):
        # `come_to` is the ratio that each member would have with the next partition. Members with the lowest
        # ratios come first.
        come_to = (load + weight[place]) / capacity
        order = np.argsort(come_to, kind="stable")[: len(weight) - place]
        weights = weight[place : place + len(order)]
        # `again[i]` is the lowest ratio that one of the first i + 1 members of `order` would reach with a
        # second partition. If the next member would reach a higher ratio with its first partition, giving
        # partitions one by one would give this partition to the earlier member. So the step ends before the
        # next member.
        again = np.minimum.accumulate((load[order] + 2 * weights) / capacity[order])
        late = again[:-1] < come_to[order[1:]]
        size = int(late.argmax()) + 1 if late.any() else len(order)
        if size < min(_FEW, len(order)):
            size = min(_RUN, len(weight) - place)
            order = _one_by_one(weight[place : place + size], load, capacity)
        order, weights = order[:size], weight[place : place + size]
        member[place : place + size] = order
        load += np.bincount(order, weights, len(load)).astype(np.int64)
        place += size
    return member


def _one_by_one(
    weight: NDArray[np.int64], load: NDArray[np.int64], capacity: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return the member that gets each partition if every member may get every partition.

    For each partition all members are compared. A heap of members would not help: with different capacities
    their order depends on the weight of the next partition, so the heap would be rebuilt at each new weight.
    """
    carried = load.astype(np.float64)
    chosen = np.empty(len(weight), np.intp)
    for number, heavy in enumerate(weight.tolist()):
        member = ((carried + heavy) / capacity).argmin()
        chosen[number] = member
        carried[member] += heavy
    return chosen


def _to_readers(
    problem: Problem, rows: NDArray[np.intp], weight: NDArray[np.int64], load: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Return the member that gets each partition if members may get different topics.

    A topic's team is the set of all members that may get its partitions. It is built once for each topic.

    Args:
        problem: the group.
        rows: partitions, the heaviest first.
        weight: the weight of each of `rows`, above 0.
        load: the load of each member so far, in the unit of `weight`.
    """
    readers = problem.levels.readers
    of_class = sorted_by(readers.of_member)
    ends = np.cumsum(problem.reading.readers.members)
    by_topic = sorted_by(readers.topic)
    starts = np.searchsorted(readers.topic[by_topic], np.arange(readers.topics + 1)).tolist()
    classes = readers.kind[by_topic]
    sizes = problem.reading.readers.members
    carried = load.astype(np.float64)
    room = 1 / problem.capacity
    teams: dict[int, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
    chosen = np.empty(len(rows), np.intp)
    topics = problem.reading.topic_of[rows].tolist()
    for number, (topic, heavy) in enumerate(zip(topics, weight.tolist(), strict=True)):
        entry = teams.get(topic)
        if entry is None:
            kinds = classes[starts[topic] : starts[topic + 1]]
            team = np.concatenate(
                [of_class[ends[kind] - sizes[kind] : ends[kind]] for kind in kinds.tolist()]
            )
            entry = teams[topic] = team, room[team]
        team, slow = entry
        # Teams overlap, so partitions of other topics change a member's load, too. Therefore each choice
        # compares all members of the team.
        member = team[((carried[team] + heavy) * slow).argmin()]
        chosen[number] = member
        carried[member] += heavy
    return chosen
