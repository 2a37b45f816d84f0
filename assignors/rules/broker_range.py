"""The rule of "broker-range": `org.apache.kafka.coordinator.group.assignor.RangeAssignor` (KIP-848).

Kafka 4.4.0, as 4.1 to 4.4. Each topic is cut into ranges, one a subscriber; the first ones get one partition
more where the count does not divide. Neither racks nor what members had so far count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.assignment import Assignment
from assignors.reasons import Reason, Recorder, unrecorded
from assignors.rules.group_spec import GroupSpec
from assignors.rules.members import sorted_members
from partitioning.java import hash_map_capacity
from partitioning.java.hash_map import HashMap

if TYPE_CHECKING:
    import uuid

    from assignors.group import Group


class _TopicMetadata:
    """A topic while it is cut into ranges.

    Attributes:
        num_partitions: how many partitions it has.
        num_members: how many members subscribe to it.
        min_quota: how many partitions each subscriber gets at least.
        extra_partitions: how many subscribers are still to get one more.
        next_range: where the next range begins.
    """

    def __init__(self, num_partitions: int) -> None:
        self.num_partitions = num_partitions
        self.num_members = 0
        self.next_range = 0

    def compute_quota(self) -> None:
        """Notes the quota, once all subscribers are counted."""
        self.min_quota, self.extra_partitions = divmod(self.num_partitions, self.num_members)

    def next_range_of_partitions(self) -> range:
        """The range of the next subscriber."""
        quota = self.min_quota
        if self.extra_partitions > 0:
            quota += 1
            self.extra_partitions -= 1
        start, self.next_range = self.next_range, self.next_range + quota
        return range(start, self.next_range)


def assign_broker_range(group: Group, record: Recorder = unrecorded) -> Assignment:
    """Who gets what (`assign`), each member's list in the order of its map of topic ids.

    Args:
        group: the group.
        record: is told that each partition lies in its member's range.
    """
    spec = GroupSpec(group)
    member_ids = [member.id for member in sorted_members(group)]

    # 1. Count each topic's subscribers.
    topics = {topic: _TopicMetadata(count) for topic, count in spec.num_partitions.items()}
    for member in member_ids:
        for topic in spec.subscribed_topic_ids[member]:
            topics[topic].num_members += 1
    for metadata in topics.values():
        if metadata.num_members:
            metadata.compute_quota()

    # 2. Each member in order gets the next range of each of its topics. Those without a range have no entry.
    assignments: dict[str, HashMap[uuid.UUID, range]] = {}
    for member in member_ids:
        # Quirk: where all subscribe to the same topics, they count in the order of the first member's set.
        subscription = spec.subscribed_topic_ids[member_ids[0] if spec.is_homogeneous else member]
        # Quirk: otherwise topics that do not exist make the map longer, which can change its order.
        size = len(list(subscription)) if spec.is_homogeneous else len(subscription)
        assignment: HashMap[uuid.UUID, range] = HashMap(capacity=hash_map_capacity(size))
        for topic in subscription:
            next_range = topics[topic].next_range_of_partitions()
            if next_range:
                assignment[topic] = next_range
        assignments[member] = assignment

    lists = spec.lists(assignments)
    for member, partitions in lists.items():
        for partition in partitions:
            record(partition, Reason.RANGE, member)
    return Assignment.for_group(group, lists)
