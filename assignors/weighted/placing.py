"""Places free partitions, the heaviest first, each at the member that would be the least loaded with it.

Loads are in units of `Problem.weight` and are compared over capacity.
"""

import numpy as np
from numpy.typing import NDArray

from assignors.weighted.problem import Problem
from partitioning.kit.columns import sorted_by

_FEW = 16
"""If a step would serve fewer members, the next partitions are given one by one."""
_RUN = 1024
"""Number of partitions that are given one by one before steps are tried again."""


def place(problem: Problem, owner: NDArray[np.intp]) -> None:
    """Give an owner to each partition without one (-1), in place.

    Partitions that weigh nothing change no load, so they go to the member with the fewest partitions.
    """
    weight = problem.weight
    free = np.flatnonzero(owner < 0)
    heavy = free[weight[free] > 0]
    heavy = heavy[np.argsort(-weight[heavy], kind="stable")]
    owner[heavy] = _dealt(problem, heavy, weight[heavy], problem.loads(owner))
    # They count as one each and are spread by number: a member with all of them would still have their
    # records to poll.
    light = free[weight[free] == 0]
    if len(light):
        count = np.bincount(owner[owner >= 0], minlength=len(problem.capacity))
        owner[light] = _dealt(problem, light, np.ones(len(light), np.int64), count)


def _dealt(
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

    A step gives one partition each to many members at once: to as many as come before some member would be
    the least loaded a second time. If these are few, the next partitions are given one by one.
    """
    member = np.empty(len(weight), np.intp)
    load = load.copy()
    place = 0
    while place < len(weight):
        # What each member would carry with the next partition, over its capacity: the members with the least
        # come first.
        come_to = (load + weight[place]) / capacity
        order = np.argsort(come_to, kind="stable")[: len(weight) - place]
        weights = weight[place : place + len(order)]
        # What the first members of this order would carry with a second partition. From the member on that is
        # above this, the order of a single step is not that of giving one by one.
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
    """Return the member that gets each partition if every member may get every one.

    All members are compared for each partition. A heap of members would have to be made anew whenever the
    weight falls, as the order of members with different capacities depends on the next weight.
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
    """Return the member that gets each partition if members may get different ones.

    A topic's team is all members that may get its partitions; it is built once for each topic.
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
        # Teams overlap, so a member's load changes with the partitions of other topics: every choice looks at
        # all of the team.
        member = team[((carried[team] + heavy) * slow).argmin()]
        chosen[number] = member
        carried[member] += heavy
    return chosen
