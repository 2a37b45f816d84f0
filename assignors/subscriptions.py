"""Who subscribes to what; members with equal subscriptions are handled as one class."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from operator import is_not
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from assignors.group import Member


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The subscriptions of a group.

    Attributes:
        lists: the distinct subscriptions, as the members list them.
        of_member: index into `lists` of each member, intp of shape (members,).
    """

    lists: list[tuple[str, ...]]
    of_member: NDArray[np.intp]

    @classmethod
    def of(cls, members: Sequence[Member]) -> Subscriptions:
        """The subscriptions of these members."""
        lists = [member.topics for member in members]
        if lists and not any(map(is_not, lists, repeat(lists[0]))):
            return cls([tuple(lists[0])], np.zeros(len(lists), np.intp))
        codes: dict[tuple[str, ...], int] = {}
        by_identity: dict[int, int] = {}
        code, latest = -1, None
        for identity, topics in dict(zip(map(id, lists), lists, strict=True)).items():
            if topics != latest:  # comparing neighbours is cheaper than hashing each of them
                code = codes.setdefault(tuple(topics), len(codes))
            by_identity[identity], latest = code, topics
        of_member = np.fromiter(map(by_identity.__getitem__, map(id, lists)), np.intp, len(lists))
        return cls(list(codes), of_member)

    def seen_in(self, order: Iterable[int]) -> dict[str, None]:
        """Every subscribed topic, in the order they are first seen when members are visited in `order`."""
        if len(self.lists) == 1:
            return dict.fromkeys(self.lists[0])
        codes = dict.fromkeys(self.of_member[list(order)].tolist())
        return dict.fromkeys(topic for code in codes for topic in self.lists[code])

    def audiences(self, topics: Sequence[str]) -> list[tuple[int, ...]]:
        """For each topic the subscriptions, indices into `lists`, that have it; each of `topics` has some."""
        if len(self.lists) == 1:
            return [(0,)] * len(topics)
        found: dict[str, list[int]] = {topic: [] for topic in topics}
        for code, subscription in enumerate(self.lists):
            for topic in dict.fromkeys(subscription):
                if topic in found:
                    found[topic].append(code)
        return [tuple(found[topic]) for topic in topics]

    def members_of(self, audience: tuple[int, ...], order: NDArray[np.intp]) -> NDArray[np.intp]:
        """The members that have one of these subscriptions, in `order`."""
        if len(audience) == len(self.lists):
            return order
        inside = np.zeros(len(self.lists), np.bool_)
        inside[list(audience)] = True
        return order[inside[self.of_member[order]]]
