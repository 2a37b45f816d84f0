"""The rule of "broker-range": `org.apache.kafka.coordinator.group.assignor.RangeAssignor` (KIP-848).

Kafka 4.4.0, as 4.1 to 4.4. Each topic is cut into ranges, one a subscriber; the first ones get one partition
more where the count does not divide. Neither racks nor what members had so far count.
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
    """Return the assignment (`assign`), each member's list in the order of its map of topic ids."""
    spec = GroupSpec(group)
    member_ids = [member.id for member in sorted_members(group)]

    # 1. Count each topic's subscribers; from that follows how long their ranges are.
    num_members = Counter(topic for member in member_ids for topic in spec.subscribed_topic_ids[member])
    topics = {topic: _TopicMetadata(spec.num_partitions[topic], num_members[topic]) for topic in num_members}

    # 2. Each member in order gets the next range of each of its topics, and no entry where that is empty.
    assignments: dict[str, HashMap[uuid.UUID, range]] = {}
    for member in member_ids:
        # Quirk: where all subscribe to the same topics, they come in the order of the first member's set.
        subscription = spec.subscribed_topic_ids[member_ids[0] if spec.is_homogeneous else member]
        # Quirk: otherwise topics that do not exist make the map longer, which can change its order.
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
    """A topic while it is cut into ranges; `extra_partitions` subscribers are still to get one more.

    Attributes:
        min_quota: partitions that each subscriber gets at least.
        extra_partitions: how many of the next subscribers get one more; falls as ranges are taken.
        next_range: the first partition that is in no range yet.
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
