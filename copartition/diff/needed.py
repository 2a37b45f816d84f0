"""How many moves a change needed, how full its fullest member has to be, and how topics are spread."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.optimal.keeping import most_kept
from assignors.optimal.levels import find_levels
from assignors.optimal.reading import Readers
from copartition.diff.changes import Action
from copartition.diff.members import Presence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from copartition.diff.members import MemberChange


CO_PARTITIONED = {"classic": "range", "consumer": "broker-range"}
"""The strategy of each protocol that gives equal numbers of equally large topics to one member."""


class TopicSpread(NamedTuple):
    """The topic that is spread worst, compared with its fair share.

    Attributes:
        fullest: the most of its partitions that a member has.
        needed: the most that a member has where it is spread best.
    """

    fullest: int
    needed: int


def spread_of_topics(rows: Columns, subscribers: NDArray[np.int64]) -> TopicSpread:
    """The spread after.

    Args:
        rows: the partitions, none with two owners.
        subscribers: how many members read each topic.
    """
    here = rows.action != Action.REMOVED
    share = -(-np.bincount(rows.topic[here], minlength=len(subscribers)) // np.maximum(subscribers, 1))
    owned = here & (rows.target >= 0)
    topics = max(len(subscribers), 1)
    pairs, amount = np.unique(
        rows.target[owned].astype(np.int64) * topics + rows.topic[owned], return_counts=True
    )
    if not len(pairs):
        return TopicSpread(0, 0)
    needed = share[pairs % topics]
    worst = int(np.lexsort((amount, amount - needed))[-1])
    return TopicSpread(int(amount[worst]), int(needed[worst]))


class Columns(NamedTuple):
    """The rows of a diff, see `AssignmentDiff`."""

    topic: NDArray[np.integer]
    action: NDArray[np.int8]
    source: NDArray[np.int32]
    target: NDArray[np.int32]


class Needed(NamedTuple):
    """The least that a change needs.

    Attributes:
        moves: the fewest moves; None where no valid assignment is as balanced as the side after.
        fullest: the most partitions that a member has where loads are the best; None where partitions have
            two owners, or members may be there unseen that could take some.
        exact: whether these are the numbers themselves and not only bounds: some members' subscriptions are
            unknown, or not all members are known.
        topics: the topic that is spread worst after; None where partitions have two owners.
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
) -> Needed:
    """What the best valid assignments need.

    Moves are counted to any whose loads are between the fewest and the most of after. Members whose
    subscriptions are unknown could read everything, and one that was not seen after could still have
    partitions, so that no fewer are possible whatever the truth is.

    Args:
        rows: the partitions.
        topics: names of the topics.
        members: every member of either side.
        subscriptions: what each of them subscribes to; None where that is unknown.
        all_known: whether the side after shows all its members.
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
        here &= rows.target >= 0
    held = here & (rows.source >= 0) & (rows.action != Action.CONFLICT)
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
        readers = Readers.of([of[names] for names in staying], len(topics))
        size = np.bincount(rows.topic[here & read[rows.topic]], minlength=len(topics))
        fullest = int(find_levels(size, readers).of_kind.max(initial=0))
    readers_of = np.zeros(len(topics), np.int64)
    for names, times in Counter(staying).items():
        readers_of[of[names]] += times
    return Needed(
        None if kept is None else movable - kept, fullest, exact, spread_of_topics(rows, readers_of)
    )
