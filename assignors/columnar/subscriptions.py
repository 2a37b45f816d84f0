"""Who subscribes to what; members with equal subscriptions are handled as one class."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from operator import is_not, ne
from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.odd_group import OddGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.group import Member


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The subscriptions of a group.

    Attributes:
        lists: the distinct subscriptions, as the members list them; none names a topic twice.
        of_member: index into `lists` of each member, intp of shape (members,).
        are_equal: whether all members subscribe to the same topics, in whatever order they name them.
    """

    lists: list[tuple[str, ...]]
    of_member: NDArray[np.intp]
    are_equal: bool

    @classmethod
    def of(cls, members: Sequence[Member]) -> Subscriptions:
        """The subscriptions of these members.

        Raises:
            OddGroup: one of them names a topic twice.
        """
        lists, of_member = _distinct([member.topics for member in members])
        sets = [frozenset(topics) for topics in lists]
        if any(map(ne, map(len, sets), map(len, lists))):
            raise OddGroup
        return cls(lists=lists, of_member=of_member, are_equal=not any(map(ne, sets, sets[1:])))

    def audiences(self, topics: Sequence[str], order: NDArray[np.integer]) -> Audiences:
        """The subscribers of these topics, of which each has some, with members listed in `order`."""
        if len(self.lists) == 1:
            return Audiences(of_topic=[0] * len(topics), members=[order], of_subscription=[[0]])
        readers: dict[str, list[int]] = {topic: [] for topic in topics}
        for code, subscription in enumerate(self.lists):
            for topic in subscription:
                if topic in readers:
                    readers[topic].append(code)
        numbers: dict[tuple[int, ...], int] = {}
        of_topic = [numbers.setdefault(tuple(readers[topic]), len(numbers)) for topic in topics]
        of_subscription: list[list[int]] = [[] for _ in self.lists]
        members = []
        code_of = self.of_member[order]
        for codes, audience in numbers.items():
            inside = np.zeros(len(self.lists), np.bool_)
            inside[list(codes)] = True
            members.append(order if len(codes) == len(self.lists) else order[inside[code_of]])
            for code in codes:
                of_subscription[code].append(audience)
        return Audiences(of_topic=of_topic, members=members, of_subscription=of_subscription)


@dataclass(frozen=True, slots=True)
class Audiences:
    """The different sets of subscribers that topics have: an audience is an index into `members`.

    Attributes:
        of_topic: audience of each topic.
        members: the members of each audience, in the order asked for.
        of_subscription: the audiences that members with a subscription are in.
    """

    of_topic: list[int]
    members: list[NDArray[np.integer]]
    of_subscription: list[list[int]]


def _distinct(lists: Sequence[Sequence[str]]) -> tuple[list[tuple[str, ...]], NDArray[np.intp]]:
    """The different ones of some lists, and which of them each list is."""
    if lists and not any(map(is_not, lists, repeat(lists[0]))):
        return [tuple(lists[0])], np.zeros(len(lists), np.intp)
    codes: dict[tuple[str, ...], int] = {}
    by_identity: dict[int, int] = {}
    code, latest = -1, None
    for identity, topics in dict(zip(map(id, lists), lists, strict=True)).items():
        if topics != latest:  # comparing neighbours is cheaper than hashing each of them
            code = codes.setdefault(tuple(topics), len(codes))
        by_identity[identity], latest = code, topics
    return list(codes), np.fromiter(map(by_identity.__getitem__, map(id, lists)), np.intp, len(lists))
