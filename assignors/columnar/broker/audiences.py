"""Subscribed topics and who subscribes to them, where subscriptions differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.columnar.broker.topic_ids import TopicTable
    from assignors.columnar.subscriptions import Subscriptions


@dataclass(frozen=True, slots=True)
class Audiences:
    """The subscribed topics that exist, in the order in which they are handed out and balanced.

    Attributes:
        row: row of each topic in the topic table.
        start: id of each topic's first partition.
        count: partitions of each topic.
        audience: the subscribers of each topic, an index into `members`.
        members: the different sets of subscribers, ascending.
        alone: whether the members of such a set are in no other.
    """

    row: NDArray[np.intp]
    start: NDArray[np.intp]
    count: NDArray[np.intp]
    audience: list[int]
    members: list[NDArray[np.intp]]
    alone: list[bool]

    @classmethod
    def of(cls, subscriptions: Subscriptions, table: TopicTable) -> Audiences:
        """Topics with most partitions a subscriber first, then with fewest subscribers, then by id."""
        rows = np.flatnonzero(table.which(set[str]().union(*subscriptions.lists)) & (table.counts > 0))
        found = subscriptions.audiences([table.names[row] for row in rows.tolist()])
        audiences = {audience: number for number, audience in enumerate(dict.fromkeys(found))}
        everybody = np.arange(len(subscriptions.of_member))
        members = [subscriptions.members_of(audience, everybody) for audience in audiences]
        shares = Counter(code for audience in audiences for code in audience)
        alone = [all(shares[code] == 1 for code in audience) for audience in audiences]
        audience = np.array([audiences[each] for each in found], np.intp)
        subscribers = np.array([len(each) for each in members], np.intp)[audience]
        high, low = table.halves[rows].T
        order = np.lexsort([low, high, subscribers, -(table.counts[rows] / subscribers)])
        rows = rows[order]
        return cls(rows, table.starts[rows], table.counts[rows], audience[order].tolist(), members, alone)
