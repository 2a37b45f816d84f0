"""How many partitions can stay where they are, whoever decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.optimal.keeping import Claims, solve_keeping
from assignors.optimal.readers import Readers

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from assignors.optimal.network import Ints


def most_kept(
    topic: Ints, holder: Ints, subscriptions: Sequence[Collection[int] | Ints], low: int, high: int
) -> int | None:
    """The most partitions that can stay with their holder in an assignment with these bounds on loads.

    Every partition that some member subscribes to has to be assigned to one of its subscribers.

    Args:
        topic: the topic of each partition.
        holder: the member that has each partition, -1 where that is nobody or one that is gone.
        subscriptions: the topics that each member subscribes to, each once.
        low: the least load of a member.
        high: the greatest one.

    Returns:
        How many; None where there is no such assignment.
    """
    readers = Readers.of(subscriptions, int(topic.max(initial=-1)) + 1)
    read = np.zeros(readers.topics, np.bool_)
    read[readers.topic] = True
    here = read[topic]
    topic, holder = topic[here], holder[here]
    low, members = max(low, 0), len(subscriptions)
    if not low * members <= len(topic) <= high * members:
        return None
    stays = np.flatnonzero(holder >= 0)
    stays = stays[readers.has(readers.of_member[holder[stays]], topic[stays])]
    size = np.bincount(topic, minlength=readers.topics)
    if len(readers.members) == 1:
        held = np.minimum(np.bincount(holder[stays], minlength=members), high)
        return int(held.sum() - max(np.maximum(held, low).sum() - len(topic), 0))
    if not members:
        return 0
    levels = np.full(members, low), np.full(members, high)
    pairs, amount = np.unique(
        holder[stays].astype(np.int64) * readers.topics + topic[stays], return_counts=True
    )
    claims = Claims(*np.divmod(pairs, readers.topics), amount, np.ones_like(amount), np.full_like(amount, -1))
    kept = solve_keeping(size, readers, claims, *levels)
    return None if kept is None else int(kept.amount.sum())
