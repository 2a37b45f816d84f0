"""What a group's leader knows before an assignor decides: who subscribes, and to how many partitions.

Kafka: `AbstractPartitionAssignor.assign` and `ConsumerCoordinator.onLeaderElected` in clients 4.4.0 (as 4.1
to 4.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from partitioning.java.hash_map import HashMap, HashSet

if TYPE_CHECKING:
    from assignors.group import Group, Member


def subscriptions_of(group: Group) -> HashMap[str, Member]:
    """`subscriptions`: the members by id; put in JoinGroup order, they iterate as Java has them."""
    subscriptions: HashMap[str, Member] = HashMap()
    for member in group.members:
        subscriptions[member.id] = member
    return subscriptions


def partitions_per_topic(group: Group) -> HashMap[str, int]:
    """`partitionsPerTopic`: partition counts of the subscribed topics; those without any are left out."""
    all_subscribed_topics: HashSet[str] = HashSet()
    for member in subscriptions_of(group).values():
        for topic in member.topics:
            all_subscribed_topics.add(topic)

    metadata = {topic.name: topic.partitions for topic in group.topics}
    counts: HashMap[str, int] = HashMap()
    for topic in all_subscribed_topics:
        if metadata.get(topic, 0) > 0:
            counts[topic] = metadata[topic]
    return counts
