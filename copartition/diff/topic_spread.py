"""How the partitions of one topic lie on the members, and which topics are read together by number."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copartition.diff.changes import Action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from copartition.diff.compare import AssignmentDiff
    from copartition.diff.needed import Columns

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


def co_read_topics(diff: AssignmentDiff) -> tuple[tuple[int, ...], ...]:
    """Groups of topics of which one member had each number before; of indexes into `diff.topics`.

    Only what two or more members shared like that counts; a member alone has everything of every topic.
    """
    together: dict[bytes, list[int]] = {}
    for topic, owners in enumerate(_owners_by_topic(diff, diff.source, Action.ADDED)):
        if len(np.unique(owners)) > 1 and (owners >= 0).all():
            together.setdefault(owners.tobytes(), []).append(topic)
    return tuple(tuple(topics) for topics in together.values() if len(topics) > 1)


def separated_topics(diff: AssignmentDiff) -> tuple[tuple[int, ...], ...]:
    """Those of the groups of `co_read_topics` of which it is no longer so after."""
    after = _owners_by_topic(diff, diff.target, Action.REMOVED)
    return tuple(
        topics for topics in co_read_topics(diff) if len({after[topic].tobytes() for topic in topics}) > 1
    )


def _owners_by_topic(
    diff: AssignmentDiff, owner: NDArray[np.int32], missing: Action
) -> Sequence[NDArray[np.int32]]:
    """The owners of each topic's partitions in the order of their numbers, on a side."""
    there = diff.action != missing
    ends = np.searchsorted(diff.topic[there], np.arange(1, len(diff.topics)))
    return np.split(owner[there], ends)
