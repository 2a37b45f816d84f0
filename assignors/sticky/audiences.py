"""Who subscribes to what where subscriptions differ: topics with the same members share one audience."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.sticky.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Audiences:
    """Members are ranks here: positions in the ascending order of member ids, which breaks all ties.

    Attributes:
        rank: rank of each member, int64 of shape (members,).
        subscription: index into the subscriptions of each rank.
        topics: the topics of each subscription that exist, one named twice twice.
        subscribed: whether a subscription has a topic, bool of shape (subscriptions, topics).
        members: the members of each audience, ascending.
        of_topic: audience of each topic.
        of_subscription: the audiences that members with a subscription are in.
        potential: how many members a topic has, one that names it twice counted twice.
        order: topics in the order they are looked at, those with the fewest potential members first.
    """

    rank: NDArray[np.int64]
    subscription: list[int]
    topics: list[list[int]]
    subscribed: NDArray[np.bool_]
    members: list[NDArray[np.int64]]
    of_topic: list[int]
    of_subscription: list[list[int]]
    potential: list[int]
    order: list[int]

    @classmethod
    def of(cls, catalogue: Catalogue) -> Audiences:
        """The audiences of a group."""
        by_id = np.array(catalogue.by_id)
        rank = np.empty(len(by_id), np.int64)
        rank[by_id] = np.arange(len(by_id))
        subscription = catalogue.subscriptions.of_member[by_id]
        topics = [
            [catalogue.index[name] for name in names if name in catalogue.index]
            for names in catalogue.subscriptions.lists
        ]
        sharing = np.bincount(subscription, minlength=len(topics)).tolist()
        potential = [0] * len(catalogue.topics)
        readers: list[list[int]] = [[] for _ in catalogue.topics]
        subscribed = np.zeros((len(topics), len(catalogue.topics)), np.bool_)
        for code, (indexes, members) in enumerate(zip(topics, sharing, strict=True)):
            subscribed[code, indexes] = True
            for topic in indexes:
                potential[topic] += members
            for topic in set(indexes):
                readers[topic].append(code)
        audiences: dict[tuple[int, ...], int] = {}
        of_topic = [audiences.setdefault(tuple(codes), len(audiences)) for codes in readers]
        ranks_of = _ranks_by_subscription(subscription, len(topics))
        of_subscription: list[list[int]] = [[] for _ in topics]
        for codes, audience in audiences.items():
            for code in codes:
                of_subscription[code].append(audience)
        return cls(
            rank,
            subscription.tolist(),
            topics,
            subscribed,
            [np.sort(np.concatenate([ranks_of[code] for code in codes])) for codes in audiences],
            of_topic,
            of_subscription,
            potential,
            sorted(range(len(potential)), key=lambda topic: (potential[topic], topic)),
        )


def _ranks_by_subscription(subscription: NDArray[np.int64], subscriptions: int) -> list[NDArray[np.int64]]:
    order = np.argsort(subscription, kind="stable")
    ends = np.cumsum(np.bincount(subscription, minlength=subscriptions))
    return np.split(order, ends[:-1])
