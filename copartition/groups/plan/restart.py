"""A deploy: the group whose members are replaced one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.assignment import Assignment
from assignors.explain import settle
from copartition.diff.stops import Event
from copartition.groups.plan.members import placeholder
from partitioning.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from assignors.group import Group, Topic
    from copartition.groups.plan.members import Seat


def owners(topics: Sequence[Topic], assignment: Assignment, places: Mapping[str, int]) -> NDArray[np.int64]:
    """The place of the member that has each partition of these topics, -1 for nobody."""
    start = np.cumsum([0, *(topic.partitions for topic in topics)])
    row = {topic.name: number for number, topic in enumerate(topics)}
    members, names, member, topic, partition = assignment.to_arrays()
    column = np.full(int(start[-1]), -1, np.int64)
    place = np.array([places[name] for name in members], np.int64)
    column[start[np.array([row[name] for name in names], np.int64)[topic]] + partition] = place[member]
    return column


MOST_STEPS = 2**24
"""Members that are replaced times partitions: each is two rebalances of the whole group."""


class Deployed(NamedTuple):
    """A group after its members were replaced.

    Attributes:
        seats: its members, those replaced under their new ids.
        assignment: its answer.
        warnings: what moved on the way.
        way: the rebalances of every replacement.
    """

    seats: list[Seat]
    assignment: Assignment
    warnings: tuple[str, ...]
    way: tuple[Event, ...]


def deploy(
    decide: Callable[[Group], Assignment],
    group: Group,
    assignment: Assignment,
    seats: list[Seat],
    follow_ups: int,
    *,
    surge: bool = False,
) -> Deployed:
    """What becomes of the group, one member after the other.

    A static member is back before its session ends, which nobody sees (KIP-345). Another one leaves, the
    group settles, it joins under a new id, and the group settles again; in a surge it is the other way round.

    Args:
        decide: answers one rebalance.
        group: the group before.
        assignment: what it has.
        seats: its members.
        follow_ups: the most rebalances after each.
        surge: whether each new member joins before the one that it replaces leaves.

    Raises:
        SourceError: more than is worked on.
    """
    restarting = [seat for seat in seats if seat.identity.instance_id is None and seat.prefix is None]
    partitions = sum(topic.partitions for topic in group.topics)
    if len(restarting) * max(partitions, len(seats)) > MOST_STEPS:
        raise SourceError(
            f"a deploy of {len(restarting)} members without an instance id and {partitions} "
            f"partitions are too many to go through one by one; their product may be {MOST_STEPS:,}"
        )
    seated = {seat.identity.id: seat for seat in seats}
    places = {seat.member.id: number for number, seat in enumerate(seats)}
    ids = {seat.member.id for seat in seats}
    moved: list[int] = []
    before = owners(group.topics, assignment, places)
    static = [number for number, seat in enumerate(seats) if seat.identity.instance_id is not None]
    way = [_static_restart(len(seats), before, number) for number in static]
    for seat in restarting:
        prefix = f"{seat.identity.client_id}-" if seat.identity.client_id else ""
        again = replace(seat.member, id=placeholder(prefix, ids))
        ids.add(again.id)
        place = places[seat.member.id]
        places[again.id] = len(places) if surge else place
        seated[seat.identity.id] = seat._replace(member=again, prefix=prefix)
        leave, join = {"leave": [seat.member.id]}, {"join": [again]}
        for change in (join, leave) if surge else (leave, join):
            group = group.next(assignment, **change)
            assignment = Assignment.of({})
            if group.members:
                group, assignment = settle(decide, group, follow_ups)
            now = owners(group.topics, assignment, places)
            moved.append(int(np.count_nonzero((now != before) & (now >= 0))))
            gone = place if change is leave or not surge else -1
            way.append(_rebalance(len(group.members), before, now, gone))
            before = now
    order = "joins before the one that it replaces leaves" if surge else "is gone before it is back"
    moves = (
        f"each member {order}; on the way partitions are handed over {sum(moved)} times in "
        f"{len(moved)} rebalances, {max(moved, default=0)} at most in one"
    )
    return Deployed([*seated.values()], assignment, (moves,) if restarting else (), tuple(way))


def _rebalance(members: int, before: NDArray[np.int64], now: NDArray[np.int64], gone: int) -> Event:
    """One rebalance of a deploy: the member leaves, or is back, in which case it has nothing yet."""
    lost = (before == gone) & (before >= 0)
    reading = (before >= 0) & ~lost
    name = "leave" if not (now == gone).any() and lost.any() else "join"
    return Event.of(name, members, members, before, (lost | (before < 0), reading, reading & (now != before)))


def _static_restart(members: int, before: NDArray[np.int64], number: int) -> Event:
    """A static member's restart, which makes no rebalance: what it has waits for it."""
    mine = before == number
    return Event.of("restart", members, members, before, (mine, (before >= 0) & ~mine, np.zeros_like(mine)))
