"""The subscribed topics as a group's leader sees them (client side); Kafka 4.4.0, as 4.1 to 4.4."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from assignors.rules.members import members_by_id
from partitioning.java.hash_map import HashMap, HashSet

if TYPE_CHECKING:
    from assignors.group import Group


def partitions_per_topic(group: Group) -> HashMap[str, int]:
    """How many partitions each subscribed topic has; `AbstractPartitionAssignor.assign` makes this map.

    Topics without metadata are left out. The order of the map decides the order of lists.
    """
    # 1. A HashSet of all subscribed topics; adding one again changes nothing.
    subscriptions = (member.topics for member in members_by_id(group).values())
    all_subscribed_topics: HashSet[str] = HashSet()
    for topic in dict.fromkeys(chain.from_iterable(subscriptions)):
        all_subscribed_topics.add(topic)

    # 2. A HashMap of those that have partitions, put in the order of that set.
    metadata = {topic.name: topic.partitions for topic in group.topics}
    partitions: HashMap[str, int] = HashMap()
    for topic in all_subscribed_topics:
        if metadata.get(topic):
            partitions[topic] = metadata[topic]
    return partitions
