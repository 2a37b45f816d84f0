"""What members of a sticky group remember, and who may keep what.

Kafka: `AbstractStickyAssignor`, methods `allSubscriptionsEqual` (its two halves are two things here) and
`prepopulateCurrentAssignments`, in clients 4.4.0 (as 4.1 to 4.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignors.reasons import Reason
from partitioning.java.hash_map import HashMap

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from assignors.group import Member
    from assignors.reasons import Recorder
    from partitioning.topic_partition import TopicPartition

DEFAULT_GENERATION = -1


class MemberData(NamedTuple):
    """What a member remembers.

    Attributes:
        partitions: what it had.
        generation: in which generation it got that; None where it does not say.
    """

    partitions: Sequence[TopicPartition]
    generation: int | None


def subscription_generation(subscription: Member) -> int:
    """The generation in a member's subscription (KIP-792), -1 where it has none."""
    generation = subscription.generation
    return DEFAULT_GENERATION if generation is None or generation < 0 else generation


def max_generation_of(memories: Iterable[MemberData], highest: int) -> int:
    """`maxGeneration`: the highest generation a leader has seen once it knows what members remember."""
    return max([highest, *(_generation(data) for data in memories)])


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


class OwnedPartitions:
    """Who may keep what, where several members can claim the same partition.

    Members are heard in the order of Java's map, and each claim is held against the latest one that counted.
    Quirk: only the claimed partition's topic has to exist, not the partition.

    Args:
        subscriptions: the members by id.
        remembered: what each of them remembers.
        all_topics: the subscribed topics.
        record: is told which claims do not count.

    Attributes:
        consumer_to_owned_partitions: what each member may keep, in the order of its claims.
        partitions_with_multiple_previous_owners: what several members claimed in the same generation.
    """

    def __init__(
        self,
        subscriptions: HashMap[str, Member],
        remembered: Mapping[str, MemberData],
        all_topics: Container[str],
        record: Recorder,
    ) -> None:
        self._subscriptions = subscriptions
        self._record = record
        self._previous_owner: dict[TopicPartition, str] = {}
        self.consumer_to_owned_partitions: HashMap[str, list[TopicPartition]] = HashMap()
        self.partitions_with_multiple_previous_owners: set[TopicPartition] = set()
        for consumer in subscriptions:
            self.consumer_to_owned_partitions[consumer] = []
            generation = _generation(remembered[consumer])
            for partition in remembered[consumer].partitions:
                if partition.topic in all_topics:
                    self._hear(partition, consumer, generation)

    def _hear(self, partition: TopicPartition, consumer: str, generation: int) -> None:
        """One claim: it counts, or a claim of a later generation does, or none of two of the same one."""
        owned = self.consumer_to_owned_partitions
        other = self._previous_owner.get(partition)
        if other is None:
            owned[consumer].append(partition)
            self._previous_owner[partition] = consumer
            return
        # Quirk: the other one's generation is that of its subscription (KIP-792), although members of a
        # "sticky" group tell theirs in their user data.
        other_generation = subscription_generation(self._subscriptions[other])
        if generation < other_generation:
            self._record(partition, Reason.OUTDATED, consumer)
            return
        if generation > other_generation:
            owned[consumer].append(partition)
            self._record(partition, Reason.OUTDATED, other)
        else:  # neither of them has it now, but the next claim is held against this one
            self.partitions_with_multiple_previous_owners.add(partition)
            self._record(partition, Reason.CONTESTED, other)
            self._record(partition, Reason.CONTESTED, consumer)
        if partition in owned[other]:
            owned[other].remove(partition)
        self._previous_owner[partition] = consumer


def previous_assignment(
    remembered: Mapping[str, MemberData], max_generation: int
) -> dict[TopicPartition, str]:
    """Who had a partition in the latest generation before `max_generation`.

    Quirk: where a leader has seen a higher generation than all its members, that is who has it now.

    Args:
        remembered: what each member remembers, in the order of Java's map: of two with the same generation
            the first one counts.
        max_generation: the highest generation that the leader has seen.
    """
    previous: dict[TopicPartition, tuple[str, int]] = {}
    for consumer, data in remembered.items():
        generation = _generation(data)
        if generation < max_generation:
            for partition in data.partitions:
                if partition not in previous or generation > previous[partition][1]:
                    previous[partition] = consumer, generation
    return {partition: consumer for partition, (consumer, _) in previous.items()}


def _generation(data: MemberData) -> int:
    return DEFAULT_GENERATION if data.generation is None else data.generation
