"""Compute the fewest moves that a change needed, the lowest possible greatest load, and if loads are even."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Certificate
from assignors.group import Group, Member, Topic
from assignors.optimal.keeping import most_kept
from assignors.optimal.levels import find_levels
from assignors.optimal.quality import AssignmentQuality, certificate, quality, worst_spread
from assignors.optimal.reading import ClassTopics
from assignors.state import GroupState
from assignors.weighted.weights import Weights
from copartition.assignment_diff.changes import Action, MemberChange, Presence
from partitioning.errors import InvalidGroupError

CO_PARTITIONED = {"classic": "range", "consumer": "broker-range"}
"""Protocol -> its strategy that gives equal partition numbers of equally large topics to one member."""


class TopicSpread(NamedTuple):
    """The topic with the worst spread, compared with its fair share.

    Attributes:
        fullest: the most partitions of this topic that one member has.
        needed: the most that one member would have if the topic were spread evenly over its subscribers.
    """

    fullest: int
    needed: int


def spread_of_topics(rows: Columns, subscribers: NDArray[np.int64]) -> TopicSpread:
    """Return the worst spread of a topic after the change.

    Args:
        rows: the rows of the diff; no partition may have two owners after the change.
        subscribers: the number of members that subscribe to each topic.
    """
    here = rows.action != Action.REMOVED
    # A topic without subscribers counts as having one, so that no owner has more than a share of this topic.
    share = -(-np.bincount(rows.topic[here], minlength=len(subscribers)) // np.maximum(subscribers, 1))
    owned = here & (rows.target >= 0)
    return TopicSpread(*worst_spread(rows.target[owned], rows.topic[owned], share))


class Columns(NamedTuple):
    """The rows of a diff, see `AssignmentDiff`; owners are places of members, -1 for nobody.

    Attributes:
        topic: the topic of each row, shape (rows,) as all columns.
        action: an `Action`.
        source: the owner before.
        target: the owner after.
    """

    topic: NDArray[np.integer]
    action: NDArray[np.int8]
    source: NDArray[np.int32]
    target: NDArray[np.int32]


class NeededMoves(NamedTuple):
    """The least that a change needs, computed from subscriptions, not from any strategy.

    Attributes:
        moves: the fewest moves; None if no valid assignment is as balanced as the side after.
        fullest: the load of the fullest member if loads are as even as possible; None if partitions have two
            owners, or if a member that the side after does not show could take some.
        exact: whether the numbers are exact. Else they are bounds, because some subscriptions or members are
            unknown.
        topics: the worst spread of a topic after; None if partitions have two owners.
    """

    moves: int | None
    fullest: int | None
    exact: bool
    topics: TopicSpread | None = None


def find_needed(
    rows: Columns,
    topics: Sequence[str],
    members: Sequence[MemberChange],
    subscriptions: Sequence[tuple[str, ...] | None],
    *,
    all_known: bool,
) -> NeededMoves:
    """Return the fewest moves and the lowest greatest load that any valid assignment of this group needs.

    Moves are counted from the owners before to the nearest assignment that is at least as balanced as the
    side after: no load is below its smallest or above its largest one.

    If something is unknown, the results are lower bounds. A member with unknown subscriptions is taken to
    read everything. A member that the side after does not show could still have partitions.

    Args:
        rows: the rows of the diff.
        topics: the names to which `rows.topic` has indices.
        members: the change of each member, by place.
        subscriptions: the topics that each member subscribes to, by place; None if they are unknown.
        all_known: True if the side after shows all its members.
    """
    there = np.array([member.presence is not Presence.LEFT for member in members], np.bool_)
    loads = [member.after for member in members if member.after_id is not None]
    number = {name: index for index, name in enumerate(topics)}
    staying = [names for names, stays in zip(subscriptions, there.tolist(), strict=True) if stays]
    of = {
        names: np.array(sorted({number[name] for name in names if name in number}), np.int64)
        if names is not None
        else np.arange(len(topics))
        for names in set(staying)
    }
    exact = all_known and None not in of
    here = rows.action != Action.REMOVED
    if not exact:
        # An unseen member may own a partition that seems to have no owner after the change, so this partition
        # must not count as free.
        here &= rows.target >= 0
    held = here & (rows.source >= 0) & (rows.action != Action.CONFLICT)
    # A member's index among the members that did not leave; -1 for one that left. The last element serves
    # index -1, nobody.
    place = np.append(np.where(there, np.cumsum(there) - 1, -1), -1)
    holder = place[np.where(held, rows.source, -1)][here]
    fewest = min(loads, default=0) if all_known else 0
    kept = most_kept(
        rows.topic[here], holder, [of[names] for names in staying], fewest, max(loads, default=0)
    )
    read = np.zeros(len(topics), np.bool_)
    for readable in of.values():
        read[readable] = True
    movable = int(np.count_nonzero(held & read[rows.topic]))
    fullest = None
    if all_known:
        readers = ClassTopics.of([of[names] for names in staying], len(topics))
        size = np.bincount(rows.topic[here & read[rows.topic]], minlength=len(topics))
        fullest = int(find_levels(size, readers).of_kind.max(initial=0))
    readers_of = np.zeros(len(topics), np.int64)
    for names, times in Counter(staying).items():
        readers_of[of[names]] += times
    return NeededMoves(
        None if kept is None else movable - kept, fullest, exact, spread_of_topics(rows, readers_of)
    )


def group_of(state: GroupState) -> Group:
    """Return a state as a group for assignors; members whose subscriptions are unknown read everything.

    Members that the source counts but does not list are added under new ids, and read everything, too.
    """
    members = [
        Member(member.id, state.topics if member.topics is None else member.topics)
        for member in state.members
    ]
    ids = {member.id for member in members}
    # If an added member had the id of a listed one, the two would become one member.
    unused = (name for number in itertools.count() if (name := f"unlisted-{number}") not in ids)
    members += [Member(name, state.topics) for name in itertools.islice(unused, state.unlisted)]
    return Group([Topic(*counted) for counted in state.counts_by_topic.items()], members)


def balance_of(state: GroupState) -> AssignmentQuality | None:
    """Return the loads of the members of a group, and the most even loads that are possible.

    None if a partition has two owners, or if it has an owner although no member subscribes to its topic.
    """
    try:
        return quality(group_of(state), state.assignment)
    except InvalidGroupError:
        return None


def is_even(balance: AssignmentQuality) -> bool:
    """Return True if a group with members is balanced: no assignment of its partitions has more even loads.

    A group is not balanced if a partition that a member could get has no owner, because the best loads
    include this partition. All commands that judge balance (`assignment-diff`, `doctor`) use this function.
    """
    return bool(balance.loads) and balance.loads == balance.best_loads


def certificate_of(state: GroupState, weights: Weights) -> Certificate | None:
    """Return the peak of a state, and a lower bound for the peak of any assignment of its partitions.

    None if members or partitions are not all known, or if a partition has two owners. Members whose
    subscriptions are unknown count as reading everything, so the bound holds in any case.
    """
    place = state.topic * (np.int64(2**32)) + state.partition
    one_owner = len(np.unique(place)) == len(place)
    if not (state.complete and state.members_complete and one_owner):
        return None
    return certificate(group_of(state), state.assignment, weights)
