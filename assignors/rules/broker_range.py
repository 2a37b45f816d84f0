"""The rule of "broker-range": `org.apache.kafka.coordinator.group.assignor.RangeAssignor` (KIP-848).

This is the rule of Kafka 4.4.0 (the same in 4.1 to 4.4). Each topic is cut into one range for each
subscriber. If the partitions do not divide evenly, the first ranges are one partition longer. Racks and
previous owners are ignored.
"""

import uuid
from collections import Counter

from assignors.assignment import Assignment
from assignors.group import Group
from assignors.interface import Reason, Recorder, record_nothing
from assignors.rules.group_spec import GroupSpec, sorted_members
from partitioning.java import hash_map_capacity
from partitioning.java.hash_map import HashMap


def assign_broker_range(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Return the assignment (`assign`), with each member's list in the order of its map of topic ids."""
    spec = GroupSpec(group)
    member_ids = [member.id for member in sorted_members(group)]

    # 1. Count each topic's subscribers, which determines the length of their ranges.
    num_members = Counter(topic for member in member_ids for topic in spec.subscribed_topic_ids[member])
    topics = {topic: _TopicMetadata(spec.num_partitions[topic], num_members[topic]) for topic in num_members}

    # 2. Each member, in order, gets the next range of each of its topics; an empty range makes no entry.
    assignments: dict[str, HashMap[uuid.UUID, range]] = {}
    for member in member_ids:
        # Quirk: if all members subscribe to the same topics, the first member's set gives the order for all.
        subscription = spec.subscribed_topic_ids[member_ids[0] if spec.is_homogeneous else member]
        # Quirk: if members subscribe to different topics, topics that do not exist make the map longer, which
        # can change its order.
        size = len(list(subscription)) if spec.is_homogeneous else len(subscription)
        assignment: HashMap[uuid.UUID, range] = HashMap(capacity=hash_map_capacity(size))
        for topic in subscription:
            partitions = topics[topic].take_range()
            if partitions:
                assignment[topic] = partitions
        assignments[member] = assignment

    lists = spec.partition_lists(assignments)
    for member, assigned in lists.items():
        for partition in assigned:
            record(partition, Reason.RANGE, member)
    return Assignment.for_group(group, lists)


class _TopicMetadata:
    """The state of a topic while it is cut into ranges.

    Attributes:
        min_quota: how many partitions each subscriber gets at least.
        extra_partitions: how many of the next subscribers get one partition more than `min_quota`; the number
            falls as ranges are taken.
        next_range: the first partition number that is in no range yet.
    """

    def __init__(self, num_partitions: int, num_members: int) -> None:
        self.min_quota, self.extra_partitions = divmod(num_partitions, num_members)
        self.next_range = 0

    def take_range(self) -> range:
        """Return the range of the next subscriber (`addPartitionsToAssignment`)."""
        quota = self.min_quota
        if self.extra_partitions > 0:
            quota += 1
            self.extra_partitions -= 1
        start = self.next_range
        self.next_range += quota
        return range(start, self.next_range)
