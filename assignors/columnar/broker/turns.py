"""In which order "uniform" hands out and balances topics where subscriptions differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.columnar.broker.numbering import BrokerNumbering
    from assignors.columnar.numbering import TopicRow, Visit


@dataclass(frozen=True, slots=True)
class TopicTurns:
    """The subscribed topics that exist, in the order in which they are handed out and balanced.

    Attributes:
        row: each topic.
        start: id of each topic's first partition.
        count: partitions of each topic.
        audience: the subscribers of each topic, an index into `members`.
        members: the different sets of subscribers, ascending.
        alone: whether the members of such a set are in no other.
    """

    row: TopicRow
    start: NDArray[np.int64]
    count: NDArray[np.int64]
    audience: list[int]
    members: list[Visit]
    alone: list[bool]

    @classmethod
    def of(cls, numbering: BrokerNumbering) -> TopicTurns:
        """Topics with most partitions a subscriber first, then with fewest subscribers, then by id."""
        rows = np.flatnonzero(numbering.has_subscriber & (numbering.counts > 0))
        names = [numbering.topics[row] for row in rows.tolist()]
        found = numbering.subscriptions.audiences(names, np.arange(len(numbering.members)))
        audience = np.array(found.of_topic, np.intp)
        subscribers = np.array([len(each) for each in found.members], np.intp)[audience]
        counts = numbering.counts[rows]
        high, low = numbering.halves[rows].T
        order = np.lexsort([low, high, subscribers, -(counts / subscribers)])
        rows = rows[order]
        shared = {each for audiences in found.of_subscription if len(audiences) > 1 for each in audiences}
        return cls(
            row=rows,
            start=numbering.starts[rows],
            count=counts[order],
            audience=audience[order].tolist(),
            members=found.members,
            alone=[number not in shared for number in range(len(found.members))],
        )
