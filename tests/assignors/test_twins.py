"""The rule and the columns of every strategy agree, on groups that hypothesis thinks of; no JVM is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from assignors import Group, Member, Topic
from assignors.strategies import (
    BrokerRangeAssignor,
    CooperativeStickyAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    UniformAssignor,
)

if TYPE_CHECKING:
    from assignors import Assignment

STRATEGIES = [
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    CooperativeStickyAssignor,
    UniformAssignor,
    BrokerRangeAssignor,
]
# Aa and BB have one hash in Java; the flag sorts before the tilde in UTF-16, after it by code point.
NAMES = ["Aa", "BB", "orders", "t-0", "t-1", "\U0001f600", "\uff5e"]
RACKS = ["east", "west", "north"]


@st.composite
def topics(draw: st.DrawFn, racks: bool) -> Topic:
    name = draw(st.sampled_from(NAMES))
    count = draw(st.integers(0, 12))
    replicas = st.lists(st.sets(st.sampled_from(RACKS)), min_size=count, max_size=count)
    return Topic(name, count, draw(replicas) if racks else None, draw(st.none() | st.uuids()))


@st.composite
def members(draw: st.DrawFn, names: list[str], racks: bool, subscription: st.SearchStrategy) -> list[Member]:
    ids = draw(st.lists(st.integers(0, 200), min_size=1, max_size=9, unique=True))
    static = draw(st.booleans())
    return [
        Member(
            f"member-{number}",
            draw(subscription),
            instance_id=f"pod-{(number * 7) % 211}" if static and number % 2 else None,
            rack=draw(st.none() | st.sampled_from(RACKS)) if racks else None,
        )
        for number in ids
    ]


@st.composite
def lives(draw: st.DrawFn) -> tuple[Group, list[st.DataObject]]:
    """A new group, and whether its members subscribe alike."""
    racks = draw(st.booleans())
    cluster = draw(st.lists(topics(racks), min_size=1, max_size=5, unique_by=lambda topic: topic.name))
    names = [topic.name for topic in cluster]
    equal = draw(st.booleans())
    some = st.lists(st.sampled_from(names), min_size=1, unique=True)
    return Group(cluster, draw(members(names, racks, st.just(names) if equal else some)))


def both(strategy: type, group: Group, highest: int) -> tuple[Assignment | str, Assignment | str]:
    raise AssertionError
