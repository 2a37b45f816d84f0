"""The topics of a planned group, and what no source says about them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from assignors.group import Topic
from partitioning.errors import SourceError
from partitioning.kit.limits import check_partitions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assignors.state import GroupState, TopicRacks
    from copartition.groups.plan.members import Seat, WhatIf


_WITHOUT_RACKS = {"roundrobin", "uniform", "broker-range"}
"""Strategies to which racks are nothing."""

_BY_TOPIC_ID = {"uniform", "broker-range"}
"""Strategies that go by the ids of topics."""


class PlannedTopics(NamedTuple):
    """The topics of a planned group, and what no source tells of them."""

    all: list[Topic]
    assumed: tuple[str, ...]


def as_complete(state: GroupState) -> GroupState:
    """The state as a plan has to take it: what it does not show is not there, and is said to be assumed.

    Partitions go up to the highest one seen where counts are unknown; members are those that are shown.
    """
    if not state.complete:
        guess = "partition counts are unknown; taken from the highest partition seen"
        state = replace(state.completed(_seen(state)), assumed=(*state.assumed, guess))
    if not state.members_complete:
        guess = "this source does not show members without partitions; taken for none"
        state = replace(state, members_complete=True, assumed=(*state.assumed, guess))
    return state


def plan_topics(state: GroupState, what_if: WhatIf, seats: Sequence[Seat], strategy: str) -> PlannedTopics:
    """The topics after the change, as the strategy is told of them.

    Raises:
        SourceError: a topic that would shrink, or whose partition count nobody tells.
    """
    counts = _counts(state, what_if, seats)
    read = {topic for seat in seats for topic in seat.member.topics}
    assumed = []
    ids = dict(zip(state.topics, state.topic_ids, strict=True)) if state.topic_ids else {}
    nameless = sorted(topic for topic in read & counts.keys() if ids.get(topic) is None)
    if strategy in _BY_TOPIC_ID and nameless and len(read) > 1:
        assumed.append(
            f"the topic ids of {', '.join(nameless)} are unknown and made from the names; {strategy!r} "
            "goes by them: the numbers are right, who gets which partition may differ"
        )
    racks: dict[str, TopicRacks] = {}
    if strategy not in _WITHOUT_RACKS and any(seat.member.rack for seat in seats):
        racks, unknown = _racks(state, counts, seats)
        assumed.extend(unknown)
    topics = [Topic(name, count, racks.get(name), ids.get(name)) for name, count in counts.items()]
    return PlannedTopics(topics, tuple(assumed))


def _seen(state: GroupState) -> dict[str, int]:
    """Partition counts by the highest partition of each topic."""
    return dict(zip(state.topics, state.highest_counts.tolist(), strict=True))


def _counts(state: GroupState, what_if: WhatIf, seats: Sequence[Seat]) -> dict[str, int]:
    counts = _seen(state)
    asked = {topic for topics in what_if.subscribe.values() for topic in topics}
    asked.update(topic for joiner in what_if.joining for topic in joiner.topics or ())
    read = {topic for seat in seats for topic in seat.member.topics}
    for topic, count in what_if.partitions.items():
        if topic not in counts and topic not in read:
            known = ", ".join(sorted(counts)) or "no topic"
            raise SourceError(f"--partitions {topic}={count}: the group reads {known}")
        check_partitions(count, SourceError, f"--partitions {topic}={count}: the topic")
        if count < counts.get(topic, 1):
            has = f"it has {counts[topic]} already" if topic in counts else "a topic has one at least"
            raise SourceError(f"--partitions {topic}={count}: {has}; a topic only grows")
        counts[topic] = count
    if unknown := sorted(asked - counts.keys()):
        raise SourceError(
            f"nobody tells how many partitions {unknown[0]!r} has, which a member is to subscribe to; "
            f"add --partitions {unknown[0]}=N"
        )
    return counts


def _racks(
    state: GroupState, counts: Mapping[str, int], seats: Sequence[Seat]
) -> tuple[dict[str, TopicRacks], list[str]]:
    """Where the replicas are, as far as that decides anything (KIP-881), and what is unknown of it."""
    known = dict(zip(state.topics, state.racks, strict=True)) if state.racks else {}
    read = {topic for seat in seats for topic in seat.member.topics} & counts.keys()
    unknown = sorted(topic for topic in read if known.get(topic) is None)
    if unknown:
        return {}, [
            f"the racks of the replicas of {', '.join(unknown)} are unknown; racks play no part in this plan"
        ]
    racks = {topic: known[topic] or () for topic in read}
    placed = {names for partitions in racks.values() for names in partitions}
    everywhere = {rack for names in placed for rack in names}
    if everywhere.isdisjoint(seat.member.rack for seat in seats) or placed == {tuple(sorted(everywhere))}:
        return {}, []
    assumed = []
    if any(seat.prefix is not None and seat.member.rack is None for seat in seats):
        assumed.append("the racks of joining members are unknown; taken for none")
    grown = sorted(topic for topic in read if len(racks[topic]) < counts[topic])
    if grown:
        assumed.append(f"the racks of the new partitions of {', '.join(grown)} are unknown; taken for none")
    for topic in grown:
        racks[topic] = (*racks[topic], *[()] * (counts[topic] - len(racks[topic])))
    return racks, assumed
