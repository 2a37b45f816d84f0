"""Who may read what: the members as classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from assignors.optimal.network import Ints


class Readers(NamedTuple):
    """Who reads what; members with equal subscriptions are one class.

    Attributes:
        topics: how many topics there are.
        of_member: the class of each member.
        members: how many members each class has.
        kind: a class and, in the same row of `topic`, one of its topics; ordered by both.
        topic: that topic.
    """

    topics: int
    of_member: NDArray[np.intp]
    members: NDArray[np.int64]
    kind: NDArray[np.intp]
    topic: NDArray[np.intp]

    @classmethod
    def of(cls, subscriptions: Sequence[Collection[int] | Ints], topics: int) -> Readers:
        """The classes of these subscriptions; topics from the number `topics` on have no partitions."""
        index: dict[frozenset[int] | bytes, int] = {}
        lists: list[Ints] = []
        of_member = np.empty(len(subscriptions), np.intp)
        for member, subscription in enumerate(subscriptions):
            if isinstance(subscription, np.ndarray):
                key: frozenset[int] | bytes = subscription.tobytes()
            else:
                key = frozenset(subscription)
            of_member[member] = number = index.setdefault(key, len(lists))
            if number == len(lists):
                lists.append(np.sort(np.fromiter(subscription, np.intp, len(subscription))))
        return cls.of_classes(of_member, lists, topics)

    @classmethod
    def of_classes(cls, of_member: NDArray[np.intp], lists: Sequence[Ints], topics: int) -> Readers:
        """The classes with these topics, each in ascending order."""
        kind = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
        topic = np.concatenate([np.empty(0, np.intp), *lists])
        real = topic < topics
        members = np.bincount(of_member, minlength=len(lists))
        return cls(topics, of_member, members, kind[real], topic[real])

    def rows(self, kind: NDArray[np.intp], topic: Ints) -> NDArray[np.intp]:
        """The row of each class and the topic beside it, which it reads."""
        return np.searchsorted(self.kind * self.topics + self.topic, kind * self.topics + topic)

    def has(self, kind: NDArray[np.intp], topic: Ints) -> NDArray[np.bool_]:
        """Whether each of these classes reads the topic in the same row."""
        pairs = np.append(self.kind * self.topics + self.topic, -1)
        wanted = kind * self.topics + topic
        present: NDArray[np.bool_] = pairs[np.searchsorted(pairs[:-1], wanted)] == wanted
        return present
