"""The rule of "uniform" where members subscribe to different topics.

`org.apache.kafka.coordinator.group.assignor.UniformHeterogeneousAssignmentBuilder`, Kafka 4.4.0 (as
4.0 to 4.4; 3.9 and older decide in another way, KAFKA-17710).
"""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from typing import TYPE_CHECKING

from assignors.errors import AssignorError
from assignors.reasons import Reason
from assignors.rules.member_assignment_balancer import MemberAssignmentBalancer
from assignors.rules.target_assignment import deep_copy_assignment, remove_partition
from partitioning.java import hash_map_capacity
from partitioning.java.hash_map import HashSet

if TYPE_CHECKING:
    import uuid

    from assignors.reasons import Recorder
    from assignors.rules.group_spec import GroupSpec
    from assignors.rules.target_assignment import TargetAssignment

MAX_ITERATION_COUNT = 16
"""How many sweeps over the topics are made at most."""


class UniformHeterogeneousAssignmentBuilder:
    """Makes one target assignment; a member is its index, in the order of the coordinator's map.

    Args:
        spec: the group.
        record: is told each step.

    Attributes:
        topic_subscribers: the members that subscribe to each topic, ascending.
        sorted_topic_ids: the subscribed topics, in the order in which they are assigned and balanced.
        target_assignment: the target of each member; as long as nothing changes, it is the one it has had.
        target_assignment_sizes: how many partitions each member has.
        partition_owners: the member that has each partition of each topic, None for nobody.
    """

    def __init__(self, spec: GroupSpec, record: Recorder) -> None:
        self._spec = spec
        self._record = record
        self.topic_subscribers: dict[uuid.UUID, list[int]] = defaultdict(list)
        for index, member in enumerate(spec.member_ids):
            for topic in spec.subscribed_topic_ids[member]:
                self.topic_subscribers[topic].append(index)
        self.sorted_topic_ids = sorted(self.topic_subscribers, key=self._topic_order)
        self.target_assignment = [spec.member_assignment[member] for member in spec.member_ids]
        self.target_assignment_sizes = [0] * len(spec.member_ids)
        self.partition_owners: dict[uuid.UUID, list[int | None]] = {
            topic: [None] * spec.num_partitions[topic] for topic in self.sorted_topic_ids
        }

    def build(self) -> dict[str, TargetAssignment]:
        """The new target of each member.

        Raises:
            AssignorError: a member's target has a partition that its topic does not have.
        """
        # 1. Members keep what they have of topics they subscribe to.
        self._maybe_revoke_partitions()
        # 2. What nobody has goes to the members with fewest.
        self._assign_remaining_partitions()
        # 3. Partitions move from the members with most to those with fewest.
        self._balance()
        return dict(zip(self._spec.member_ids, self.target_assignment, strict=True))

    def _topic_order(self, topic: uuid.UUID) -> tuple[float, int, tuple[int, ...]]:
        """Most partitions a subscriber first, then fewest subscribers, then by id (`topicComparator`).

        Quirk: `Uuid.compareTo` compares the two halves of an id as signed numbers.
        """
        subscribers = len(self.topic_subscribers[topic])
        return -self._spec.num_partitions[topic] / subscribers, subscribers, struct.unpack(">qq", topic.bytes)

    def _maybe_revoke_partitions(self) -> None:
        """Step 1, member after member."""
        for index, member in enumerate(self._spec.member_ids):
            subscribed = self._spec.subscribed_topic_ids[member]
            for topic, partitions in self._spec.member_assignment[member].items():
                for partition in partitions:
                    if topic in subscribed:
                        self._keep(topic, partition, index)
                    else:
                        remove_partition(self._changeable(index), topic, partition)
                        self._record(self._spec.named(topic, partition), Reason.UNSUBSCRIBED, member)

    def _keep(self, topic: uuid.UUID, partition: int, member: int) -> None:
        """Quirk: where several members have a partition, all keep it, and the last counts as its owner."""
        name = self._spec.member_ids[member]
        beyond = self._spec.beyond_count(name, topic, partition)
        if beyond is not None:
            raise AssignorError(
                f"{beyond}, on which the JVM fails while subscriptions differ; leave it out of `owned`",
                jvm_exception="ArrayIndexOutOfBoundsException",
            )
        self.partition_owners[topic][partition] = member
        self.target_assignment_sizes[member] += 1
        self._record(self._spec.named(topic, partition), Reason.KEPT, name)

    def _assign_remaining_partitions(self) -> None:
        """Step 2, topic after topic."""
        for topic in self.sorted_topic_ids:
            owners = self.partition_owners[topic]
            unassigned_partitions = [partition for partition, owner in enumerate(owners) if owner is None]
            balancer = MemberAssignmentBalancer(self.topic_subscribers[topic], self.target_assignment_sizes)
            for partition in unassigned_partitions:
                self._assign_partition(topic, partition, balancer.next_least_loaded_member(), Reason.FILLED)

    def _balance(self) -> None:
        """Step 3: sweeps over the topics until it is back at the last one of which something moved.

        Quirk: each topic is balanced by itself, so 9, 10 and 11 partitions stay where the first two members
        share one topic and the last two another.
        """
        topics = [topic for topic in self.sorted_topic_ids if len(self.topic_subscribers[topic]) > 1]
        last_rebalanced_topic = None
        for _ in range(MAX_ITERATION_COUNT):
            for topic in topics:
                if topic == last_rebalanced_topic:
                    return
                has_moved = self._balance_topic(topic)
                if has_moved or last_rebalanced_topic is None:
                    last_rebalanced_topic = topic

    def _balance_topic(self, topic: uuid.UUID) -> bool:
        """Moves partitions from the topic's most to its least loaded subscribers; whether any moved."""
        balancer = MemberAssignmentBalancer(self.topic_subscribers[topic], self.target_assignment_sizes)
        if balancer.imbalance <= 1:
            return False
        # 3.1 What each member has to give: partitions it has now, the highest number first.
        partitions: dict[int | None, list[int]] = defaultdict(list)
        for partition, owner in enumerate(self.partition_owners[topic]):
            partitions[owner].append(partition)
        has_moved = False
        while not balancer.is_balanced():
            # 3.2 The next of the most loaded members that has a partition of this topic left.
            most_loaded_member = balancer.next_most_loaded_member()
            while most_loaded_member is not None and not partitions[most_loaded_member]:
                balancer.exclude_most_loaded_member()
                most_loaded_member = balancer.next_most_loaded_member()
            if most_loaded_member is None:
                break
            partition = partitions[most_loaded_member].pop()
            # 3.3 It moves to the next of the least loaded, unless the two levels have met meanwhile.
            least_loaded_member = balancer.next_least_loaded_member()
            if balancer.is_balanced():
                break
            self._assign_partition(topic, partition, least_loaded_member, Reason.BALANCED)
            has_moved = True
        return has_moved

    def _assign_partition(self, topic: uuid.UUID, partition: int, member: int, reason: Reason) -> None:
        """Gives a partition to a member, taking it from the one that has it."""
        owner = self.partition_owners[topic][partition]
        if owner is not None:
            remove_partition(self._changeable(owner), topic, partition)
            self.target_assignment_sizes[owner] -= 1
        # Quirk: a new set has room for an even share of the topic, which can change its order.
        estimated_partitions_per_subscriber = math.ceil(
            self._spec.num_partitions[topic] / len(self.topic_subscribers[topic])
        )
        capacity = hash_map_capacity(estimated_partitions_per_subscriber)
        target = self._changeable(member)
        target.compute_if_absent(topic, lambda: HashSet(capacity=capacity)).add(partition)
        self.partition_owners[topic][partition] = member
        self.target_assignment_sizes[member] += 1
        self._record(self._spec.named(topic, partition), reason, self._spec.member_ids[member])

    def _changeable(self, member: int) -> TargetAssignment:
        """The member's target, copied before its first change.

        Quirk: a target that does not change keeps its order, and a copy can have another.
        """
        target = self.target_assignment[member]
        if target is self._spec.member_assignment[self._spec.member_ids[member]]:
            target = self.target_assignment[member] = deep_copy_assignment(target)
        return target
