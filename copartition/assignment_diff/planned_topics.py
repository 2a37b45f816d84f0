"""Compute the topics of a planned group: their partition counts after the change, their racks and order."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assignors.group import Topic
from assignors.state import GroupState, TopicRacks
from copartition.groups.planned_members import Seat, WhatIf
from partitioning.errors import SourceError
from partitioning.java import scala_set_order
from partitioning.kit.limits import check_partitions

_WITHOUT_RACKS = {"roundrobin", "uniform", "broker-range"}
"""Strategies that do not look at racks."""

_BY_TOPIC_ID = {"uniform", "broker-range"}
"""Strategies that depend on the ids of topics."""


class PlannedTopics(NamedTuple):
    """The topics of a planned group, and the assumptions about them.

    Attributes:
        all: the topics, in the order in which the strategy gets them.
        assumed: what is assumed, in sentences.
        nameless: names of topics whose ids matter to the strategy and are unknown. In `all` the id of such a
            topic is None, which stands for an id that is made from the topic's name.
    """

    all: list[Topic]
    assumed: tuple[str, ...]
    nameless: frozenset[str]


def plan_topics(state: GroupState, what_if: WhatIf, seats: Sequence[Seat], strategy: str) -> PlannedTopics:
    """Return the topics after the change, in the order in which the strategy gets them.

    Args:
        state: the group before.
        what_if: the change.
        seats: the members after the change.
        strategy: name of the strategy, which decides whether racks and topic ids matter.

    Raises:
        SourceError: a topic would shrink or get too many partitions, its partition count is unknown, or the
            change names a topic that nobody reads.
    """
    counts = _counts(state, what_if, seats)
    read = {topic for seat in seats for topic in seat.member.topics}
    assumed = []
    ids = dict(zip(state.topics, state.topic_ids, strict=True)) if state.topic_ids else {}
    nameless = sorted(topic for topic in read & counts.keys() if ids.get(topic) is None)
    if strategy not in _BY_TOPIC_ID or len(read) < 2:
        nameless = []
    racks: dict[str, TopicRacks] = {}
    if strategy not in _WITHOUT_RACKS and any(seat.member.rack for seat in seats):
        racks, unknown = _racks(state, counts, seats)
        assumed.extend(unknown)
    # This is the order in which a broker lists the topics of a group to its leader, if members name topics
    # in order, as librdkafka's do. librdkafka's "cooperative-sticky" depends on this order. Topics that
    # nobody reads come last.
    order = dict.fromkeys([*scala_set_order(sorted(read & counts.keys())), *counts])
    topics = [Topic(name, counts[name], racks.get(name), ids.get(name)) for name in order]
    return PlannedTopics(topics, tuple(assumed), frozenset(nameless))


def _counts(state: GroupState, what_if: WhatIf, seats: Sequence[Seat]) -> dict[str, int]:
    """Return topic -> partition count after the change.

    Raises:
        SourceError: a topic of the change would shrink or get too many partitions, is read by nobody, or has
            an unknown partition count.
    """
    counts = state.counts_by_topic
    named = {topic for topics in what_if.subscribe.values() for topic in topics}
    named.update(topic for joiner in what_if.joining for topic in joiner.topics or ())
    read = {topic for seat in seats for topic in seat.member.topics}
    for topic, count in what_if.partitions.items():
        if topic not in counts and topic not in read:
            names = ", ".join(sorted(counts)) or "no topic"
            raise SourceError(f"`partitions` {topic}={count}: the group reads {names}")
        check_partitions(count, SourceError, f"`partitions` {topic}={count}: the topic")
        # Kafka cannot remove partitions from a topic.
        if count < counts.get(topic, 1):
            has = f"it has {counts[topic]} already" if topic in counts else "a topic has one at least"
            raise SourceError(f"`partitions` {topic}={count}: {has}; a topic only grows")
        counts[topic] = count
    if unknown := sorted(named - counts.keys()):
        raise SourceError(
            f"a member is to subscribe to {unknown[0]!r}, whose partition count is unknown; "
            f"add `partitions` {unknown[0]}=N"
        )
    return counts


def _racks(
    state: GroupState, counts: Mapping[str, int], seats: Sequence[Seat]
) -> tuple[dict[str, TopicRacks], list[str]]:
    """Return topic -> racks of the replicas of each partition, and the assumptions about them.

    No racks are returned if they have no effect (KIP-881): no member is in a rack that has replicas, or every
    partition has replicas in all racks.

    Args:
        state: the group before, with the racks that its source tells.
        counts: topic -> partition count after the change; new partitions have no racks.
        seats: the members after the change.
    """
    racks_of = dict(zip(state.topics, state.racks, strict=True)) if state.racks else {}
    read = {topic for seat in seats for topic in seat.member.topics} & counts.keys()
    unknown = sorted(topic for topic in read if racks_of.get(topic) is None)
    if unknown:
        return {}, [
            f"the racks of the replicas of {', '.join(unknown)} are unknown; racks play no part in this plan"
        ]
    racks = {topic: racks_of[topic] or () for topic in read}
    placed = {names for partitions in racks.values() for names in partitions}
    everywhere = {rack for names in placed for rack in names}
    # Java's assignors ignore racks in these cases, too (`useRackAwareAssignment`). "range" decides this for
    # one topic at a time; a condition that holds for all topics also holds for each of them.
    if everywhere.isdisjoint(seat.member.rack for seat in seats) or placed == {tuple(sorted(everywhere))}:
        return {}, []
    assumed = []
    if any(seat.prefix is not None and not seat.member.rack for seat in seats):
        assumed.append("the racks of joining members are unknown; taken for none")
    grown = sorted(topic for topic in read if len(racks[topic]) < counts[topic])
    if grown:
        assumed.append(f"the racks of the new partitions of {', '.join(grown)} are unknown; taken for none")
    for topic in grown:
        racks[topic] = (*racks[topic], *[()] * (counts[topic] - len(racks[topic])))
    return racks, assumed
