"""How "sticky" decides: balanced as far as subscriptions allow, with few moves (KIP-54).

Kafka: `StickyAssignor` and `AbstractStickyAssignor.assignPartitions` in clients 4.4.0 (as 4.1 to 4.4).

1. What do members remember of earlier rebalances?
2. Who may keep what, where several members claim the same partition?
3. Partitions are assigned: see `sticky_constrained` where all subscriptions are equal, `sticky_general` where
   they are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignors.assignment import Assignment
from assignors.group import StickyUserData
from assignors.protocol import as_it_travels, decode_sticky_user_data
from assignors.reasons import Reason, unrecorded
from assignors.rules.members import members_by_id
from assignors.rules.metadata import partitions_per_topic
from assignors.rules.racks import RackInfo
from assignors.rules.sticky_constrained import ConstrainedAssignmentBuilder
from assignors.rules.sticky_general import GeneralAssignmentBuilder
from partitioning.java.hash_map import HashMap
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from assignors.group import Group, Member
    from assignors.reasons import Recorder

DEFAULT_GENERATION = -1


class MemberData(NamedTuple):
    """What a member remembers.

    Attributes:
        partitions: what it had.
        generation: in which generation it got that; None where it does not say.
    """

    partitions: Sequence[TopicPartition]
    generation: int | None


class Decision(NamedTuple):
    """What both sticky strategies decide.

    Attributes:
        assignment: the partitions of each member.
        partitions_transferring_ownership: those of them that another member has to give up first, with the
            member that gets them; None where that is not known yet, because subscriptions differ.
        max_generation: the highest generation the leader has seen, this rebalance included.
    """

    assignment: Mapping[str, list[TopicPartition]]
    partitions_transferring_ownership: Mapping[TopicPartition, str] | None
    max_generation: int


def assign_sticky(
    group: Group, highest: int = DEFAULT_GENERATION, record: Recorder = unrecorded
) -> tuple[Assignment, int]:
    """Who gets what.

    Args:
        group: the group to assign.
        highest: the highest generation that the group's leader has seen so far, its `maxGeneration`.
        record: is told each step.

    Returns:
        The assignment, and the leader's `maxGeneration` after it.

    Raises:
        AssignorError: where the JVM throws, or never ends.
    """
    decision = assign_partitions(group, member_data, highest, record)
    return Assignment.for_group(group, decision.assignment), decision.max_generation


def member_data(member: Member) -> MemberData:
    """Step 1: what a member of a "sticky" group remembers; it is in its user data (KIP-341)."""
    data = member.user_data
    if isinstance(data, StickyUserData):
        return MemberData(as_it_travels(data.partitions), data.generation)
    return MemberData(*decode_sticky_user_data(data or b""))


def assign_partitions(
    group: Group, recall: Callable[[Member], MemberData], highest: int, record: Recorder
) -> Decision:
    """`AbstractStickyAssignor.assignPartitions`, for both sticky strategies.

    Args:
        group: the group to assign.
        recall: what a member remembers.
        highest: the highest generation that the leader has seen so far.
        record: is told each step.

    Raises:
        AssignorError: where the JVM throws, or never ends.
    """
    subscriptions = members_by_id(group)
    # Nothing depends on the order of this one, which Java keeps in a HashMap.
    partitions = {
        topic: [TopicPartition(topic, number) for number in range(count)]
        for topic, count in partitions_per_topic(group).items()
    }
    rack_info = RackInfo((topic for topic in group.topics if topic.name in partitions), group.members)
    remembered = {consumer: recall(member) for consumer, member in subscriptions.items()}
    max_generation = max_generation_of(remembered.values(), highest)
    owned, several_owners = owned_partitions(subscriptions, remembered, partitions, record)

    if all_subscriptions_equal(subscriptions):
        constrained = ConstrainedAssignmentBuilder(partitions, rack_info, owned, several_owners, record)
        assignment = constrained.build()
        return Decision(assignment, constrained.partitions_transferring_ownership, max_generation)
    general = GeneralAssignmentBuilder(partitions, rack_info, owned, subscriptions, record)
    return Decision(general.build(previous_assignment(remembered, max_generation)), None, max_generation)


def max_generation_of(remembered: Iterable[MemberData], highest: int) -> int:
    """The highest generation that a leader has seen once it knows what its members remember."""
    return max([highest, *(data.generation for data in remembered if data.generation is not None)])


def all_subscriptions_equal(subscriptions: HashMap[str, Member]) -> bool:
    """Whether Java takes all subscriptions for equal.

    Quirk: members without topics do not count if they come before all others in Java's order.
    Quirk: lists are compared by length, so that a topic named twice can stand for two.
    """
    subscribed_topics: set[str] = set()
    for subscription in subscriptions.values():
        topics = subscription.topics
        if not subscribed_topics:
            subscribed_topics.update(topics)
        elif len(topics) != len(subscribed_topics) or not subscribed_topics.issuperset(topics):
            return False
    return True


def owned_partitions(
    subscriptions: HashMap[str, Member],
    remembered: Mapping[str, MemberData],
    all_topics: Container[str],
    record: Recorder,
) -> tuple[HashMap[str, list[TopicPartition]], set[TopicPartition]]:
    """Step 2: who may keep what; the second half of `allSubscriptionsEqual`.

    Members are heard in the order of Java's map; each claim is held against the latest one that won.

    Returns:
        `consumerToOwnedPartitions` and `partitionsWithMultiplePreviousOwners`, those that several members
        claimed in the same generation. Quirk: whether the partition exists is not asked, only its topic.
    """
    owned: HashMap[str, list[TopicPartition]] = HashMap()
    with_multiple_previous_owners: set[TopicPartition] = set()
    previous_owner: dict[TopicPartition, str] = {}
    for consumer in subscriptions:
        owned[consumer] = []
        generation = _or_default(remembered[consumer].generation)
        for partition in remembered[consumer].partitions:
            if partition.topic not in all_topics:
                continue
            other = previous_owner.get(partition)
            if other is None:
                owned[consumer].append(partition)
                previous_owner[partition] = consumer
                continue
            # Quirk: the other one's generation is that of its subscription (KIP-792), even if the strategy is
            # "sticky", whose members tell theirs in their user data.
            other_generation = subscription_generation(subscriptions[other])
            if generation < other_generation:
                record(partition, Reason.OUTDATED, consumer)
                continue
            if generation > other_generation:
                owned[consumer].append(partition)
                record(partition, Reason.OUTDATED, other)
            else:
                with_multiple_previous_owners.add(partition)
                record(partition, Reason.CONTESTED, other)
                record(partition, Reason.CONTESTED, consumer)
            if partition in owned[other]:
                owned[other].remove(partition)
            previous_owner[partition] = consumer
    return owned, with_multiple_previous_owners


def previous_assignment(
    remembered: Mapping[str, MemberData], max_generation: int
) -> dict[TopicPartition, str]:
    """Who had a partition in the latest generation before `max_generation`: `prepopulateCurrentAssignments`.

    Quirk: a leader that has seen a higher generation than all its members takes what they have for this.
    """
    previous: dict[TopicPartition, tuple[str, int]] = {}
    for consumer, data in remembered.items():
        generation = _or_default(data.generation)
        if generation < max_generation:
            for partition in data.partitions:
                if partition not in previous or generation > previous[partition][1]:
                    previous[partition] = consumer, generation
    return {partition: consumer for partition, (consumer, _) in previous.items()}


def subscription_generation(member: Member) -> int:
    """The generation in a member's subscription (KIP-792), -1 where it has none."""
    return DEFAULT_GENERATION if member.generation is None or member.generation < 0 else member.generation


def _or_default(generation: int | None) -> int:
    return DEFAULT_GENERATION if generation is None else generation
