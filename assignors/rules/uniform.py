"""The rule of "uniform": `org.apache.kafka.coordinator.group.assignor.UniformAssignor` (KIP-848).

This is the rule of Kafka 4.4.0 (the same in 4.1 to 4.4). Members keep as many partitions of their last target
assignment as possible while sizes become as even as possible. Racks are ignored.
"""

import math
import struct
import uuid
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from assignors.assignment import Assignment
from assignors.group import Group
from assignors.interface import Reason, Recorder, record_nothing
from assignors.rules.group_spec import (
    GroupSpec,
    TargetAssignment,
    Targets,
    is_settled,
    remove_partition,
)
from partitioning.errors import AssignorError
from partitioning.java import hash_map_capacity
from partitioning.java.hash_map import HashSet


class MemberAssignmentBalancer:
    """Finds the subscribers of a topic with the fewest and with the most partitions, again and again.

    In Kafka 4.4.0 (the same in 4.0 to 4.4) this is
    `UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer`. Members are sorted by their number of
    partitions. Members with the fewest are a range at the left end: each gets one partition in a round, and
    then members that now have the same number join the range. Members with the most are a range at the right
    end, and each loses one partition in a round.

    Between two calls, each member of the left range has the range's size or one more, and each member of the
    right range has that range's size or one less. Members between the two ranges have sizes strictly between
    theirs. Members that were excluded are to the right of the right range.

    Args:
        subscribers: the subscribers of the topic, ascending; at least one.
        sizes: how many partitions each member has. The caller updates the sizes as partitions move.

    Attributes:
        imbalance: the difference between the most and the fewest partitions at the start.
    """

    def __init__(self, subscribers: Sequence[int], sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._sorted_members = sorted(subscribers, key=sizes.__getitem__)  # stable: ties stay ascending
        least, most = sizes[self._sorted_members[0]], sizes[self._sorted_members[-1]]
        self.imbalance = most - least
        # The left range is [0, end), and the right one is [start, end).
        self._least_loaded_range_end = 0
        self._least_loaded_range_partition_count = least - 1
        self._next_least_loaded_member = 0
        self._most_loaded_range_start = self._most_loaded_range_end = len(self._sorted_members)
        self._most_loaded_range_partition_count = most + 1
        self._next_most_loaded_member = len(self._sorted_members) - 1

    def is_balanced(self) -> bool:
        """Return whether the sizes of the two ranges differ by at most one."""
        return self._most_loaded_range_partition_count - self._least_loaded_range_partition_count <= 1

    def next_least_loaded_member(self) -> int:
        """Return the member that gets the next partition."""
        if self._next_least_loaded_member >= self._least_loaded_range_end:
            # Each member of the range has got a partition, so the members with the next size join the range.
            self._least_loaded_range_partition_count += 1
            while (
                self._least_loaded_range_end < len(self._sorted_members)
                and self._size_at(self._least_loaded_range_end) == self._least_loaded_range_partition_count
            ):
                self._least_loaded_range_end += 1
            self._next_least_loaded_member = 0
        member = self._sorted_members[self._next_least_loaded_member]
        self._next_least_loaded_member += 1
        return member

    def next_most_loaded_member(self) -> int | None:
        """Return the member that gives up the next partition; None if all were excluded."""
        if self._next_most_loaded_member < self._most_loaded_range_start:
            is_empty = self._most_loaded_range_end <= self._most_loaded_range_start
            if is_empty and self._most_loaded_range_start > 0:
                # All members of the range were excluded. Continue with the next members, whatever their size.
                self._most_loaded_range_partition_count = self._size_at(self._most_loaded_range_start - 1)
            else:
                self._most_loaded_range_partition_count -= 1
            while (
                self._most_loaded_range_start > 0
                and self._size_at(self._most_loaded_range_start - 1)
                == self._most_loaded_range_partition_count
            ):
                self._most_loaded_range_start -= 1
            self._next_most_loaded_member = self._most_loaded_range_end - 1
        if self._next_most_loaded_member < 0:
            return None
        member = self._sorted_members[self._next_most_loaded_member]
        self._next_most_loaded_member -= 1
        return member

    def exclude_most_loaded_member(self) -> None:
        """Exclude the member that `next_most_loaded_member` returned last, by moving it behind the range."""
        self._most_loaded_range_end -= 1
        members = self._sorted_members
        excluded, last = self._next_most_loaded_member + 1, self._most_loaded_range_end
        members[excluded], members[last] = members[last], members[excluded]

    def _size_at(self, place: int) -> int:
        """Return how many partitions the member at this place of the sorted list has now."""
        return self._sizes[self._sorted_members[place]]


def assign_uniform(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Return the assignment (`assign`), with each member's list in the order of the broker's maps.

    A member's `owned` is its last target assignment. Raises AssignorError if the JVM throws because a member
    owns a partition that does not exist or that another member owns, too.
    """
    if not group.members:
        return Assignment.for_group(group, {})
    spec = GroupSpec(group)
    if spec.is_homogeneous:
        target_assignment = UniformHomogeneousAssignmentBuilder(spec, record).build()
    else:
        target_assignment = UniformHeterogeneousAssignmentBuilder(spec, record).build()
    keeps_record = frozenset(
        member
        for member, target in target_assignment.items()
        if target is spec.member_assignment[member] and not is_settled(target)
    )
    return Assignment.for_group(group, spec.partition_lists(target_assignment), keeps_record=keeps_record)


class UniformHomogeneousAssignmentBuilder:
    """Builds the target assignment of a group whose members all subscribe to the same topics.

    A member is an index into `GroupSpec.member_ids`.

    Attributes:
        subscribed_topic_ids: the topics, in the order of a HashSet of their ids.
        unassigned_partitions: the partitions without an owner, in the order in which they are given out.
        minimum_member_quota: how many partitions each member gets at least.
        remaining_members_to_get_an_extra_partition: how many of the members that follow get one more.
        unfilled_members: (member, how many partitions it still gets) for each member with room.
    """

    def __init__(self, spec: GroupSpec, record: Recorder) -> None:
        self._spec = spec
        self._record = record
        first_member = spec.member_ids[0]
        self.subscribed_topic_ids = HashSet(spec.subscribed_topic_ids[first_member])
        self.unassigned_partitions: list[tuple[uuid.UUID, int]] = []
        partition_count = sum(spec.num_partitions[topic] for topic in self.subscribed_topic_ids)
        self.minimum_member_quota, self.remaining_members_to_get_an_extra_partition = divmod(
            partition_count, len(spec.member_ids)
        )
        self.unfilled_members: list[tuple[int, int]] = []
        self._targets = Targets(spec)

    def build(self) -> dict[str, TargetAssignment]:
        """Return the new target of each member, by member id.

        Raises AssignorError if old targets have a partition twice or partitions that do not exist. Then other
        partitions find no member with room.
        """
        # 1. List the partitions that are in no target.
        self._find_unassigned_partitions()
        # 2. Members keep partitions up to their quota, and give up the others.
        self._maybe_revoke_partitions()
        # 3. Members with room get the unassigned partitions.
        self._assign_remaining_partitions()
        return self._targets.result()

    def _find_unassigned_partitions(self) -> None:
        """Step 1: list the partitions that are in no target, topic after topic."""
        assigned: dict[uuid.UUID, set[int]] = defaultdict(set)
        for target in self._targets.old:
            for topic, partitions in target.items():
                assigned[topic].update(partitions)
        self.unassigned_partitions += [
            (topic, partition)
            for topic in self.subscribed_topic_ids
            for partition in range(self._spec.num_partitions[topic])
            if partition not in assigned[topic]
        ]

    def _maybe_revoke_partitions(self) -> None:
        """Step 2: decide which partitions each member keeps, member after member."""
        for member in range(len(self._spec.member_ids)):
            # 2.1 The member keeps up to its quota, which has an extra partition as long as there are extras.
            gets_extra = self.remaining_members_to_get_an_extra_partition > 0
            quota = self._keep(member, self.minimum_member_quota + gets_extra)
            # 2.2 If the member has room left, it returns the extra, provided that enough members follow to
            # take all extras.
            remaining_members = len(self._spec.member_ids) - member
            enough = remaining_members > self.remaining_members_to_get_an_extra_partition
            if gets_extra and quota > 0 and enough:
                gets_extra = False
                quota -= 1
            # 2.3 Step 3 fills the rest of the member's quota.
            if quota > 0:
                self.unfilled_members.append((member, quota))
            if gets_extra:
                self.remaining_members_to_get_an_extra_partition -= 1

    def _keep(self, member: int, quota: int) -> int:
        """Step 2.1 for one member: keep partitions up to the quota, and return the rest of the quota.

        Quirk: the member keeps the partitions that its maps list first.
        """
        for topic, partitions in self._targets.old[member].items():
            for partition in partitions:
                if topic not in self.subscribed_topic_ids:
                    reason = Reason.UNSUBSCRIBED
                elif quota > 0:
                    reason = Reason.KEPT
                    quota -= 1
                else:
                    reason = Reason.OVER_QUOTA
                    self.unassigned_partitions.append((topic, partition))
                name = self._spec.member_ids[member]
                self._record(self._spec.topic_partition(topic, partition), reason, name)
                if reason is not Reason.KEPT:
                    remove_partition(self._targets.changeable(member), topic, partition)
        return quota

    def _assign_remaining_partitions(self) -> None:
        """Step 3: give out first the partitions that no member had, then those that members gave up."""
        remaining_partitions = iter(self.unassigned_partitions)
        for member, quota in self.unfilled_members:
            target, name = self._targets.changeable(member), self._spec.member_ids[member]
            for topic, partition in islice(remaining_partitions, quota):
                target.compute_if_absent(topic, HashSet).add(partition)
                self._record(self._spec.topic_partition(topic, partition), Reason.FILLED, name)
        if next(remaining_partitions, None) is not None:
            raise AssignorError(
                f"not every partition finds a member: {self._fault()}; "
                "give `owned` as the broker's target assignment is",
                jvm_exception="PartitionAssignorException",
            )

    def _fault(self) -> str:
        """Return the fault of the old targets: a partition that does not exist, or one with two owners."""
        owners: dict[tuple[uuid.UUID, int], str] = {}
        twice = ""
        for member in self._spec.member_ids:
            for topic, partitions in self._spec.member_assignment[member].items():
                for partition in partitions if topic in self.subscribed_topic_ids else ():
                    beyond = self._spec.beyond_count(member, topic, partition)
                    if beyond is not None:
                        return beyond
                    owner = owners.setdefault((topic, partition), member)
                    if owner != member:
                        named = self._spec.topic_partition(topic, partition)
                        twice = twice or f"members {owner!r} and {member!r} both own {named}"
        return twice


MAX_ITERATION_COUNT = 16
"""The most sweeps over the topics."""


class UniformHeterogeneousAssignmentBuilder:
    """Builds the target assignment of a group whose members subscribe to different topics.

    A member is an index into `GroupSpec.member_ids`.

    Attributes:
        topic_subscribers: the members that subscribe to each topic, ascending.
        sorted_topic_ids: the subscribed topics, in the order in which they are assigned and balanced.
        target_assignment_sizes: how many partitions each member has so far.
        partition_owners: for each topic, the member that has each partition number; None for none.
    """

    def __init__(self, spec: GroupSpec, record: Recorder) -> None:
        self._spec = spec
        self._record = record
        self.topic_subscribers: dict[uuid.UUID, list[int]] = defaultdict(list)
        for index, member in enumerate(spec.member_ids):
            for topic in spec.subscribed_topic_ids[member]:
                self.topic_subscribers[topic].append(index)
        self.sorted_topic_ids = sorted(self.topic_subscribers, key=self._topic_order)
        self._targets = Targets(spec)
        self.target_assignment_sizes = [0] * len(spec.member_ids)
        self.partition_owners: dict[uuid.UUID, list[int | None]] = {
            topic: [None] * spec.num_partitions[topic] for topic in self.sorted_topic_ids
        }

    def build(self) -> dict[str, TargetAssignment]:
        """Return the new target of each member, by member id.

        Raises AssignorError if an old target has a partition that does not exist.
        """
        # 1. Members keep the partitions of topics that they subscribe to.
        self._maybe_revoke_partitions()
        # 2. Partitions without an owner go to the members with the fewest partitions.
        self._assign_remaining_partitions()
        # 3. Partitions move from members with the most to members with the fewest.
        self._balance()
        return self._targets.result()

    def _topic_order(self, topic: uuid.UUID) -> tuple[float, int, tuple[int, ...]]:
        """Return the sort key of a topic (`topicComparator`).

        Topics with the most partitions for each subscriber come first, then those with the fewest
        subscribers; then the id decides.
        Quirk: `Uuid.compareTo` compares the two halves of an id as signed numbers.
        """
        subscribers = len(self.topic_subscribers[topic])
        return -self._spec.num_partitions[topic] / subscribers, subscribers, struct.unpack(">qq", topic.bytes)

    def _maybe_revoke_partitions(self) -> None:
        """Step 1: keep the partitions of subscribed topics, member after member."""
        for index, member in enumerate(self._spec.member_ids):
            subscribed = self._spec.subscribed_topic_ids[member]
            for topic, partitions in self._spec.member_assignment[member].items():
                for partition in partitions:
                    if topic in subscribed:
                        self._keep(topic, partition, index)
                    else:
                        remove_partition(self._targets.changeable(index), topic, partition)
                        self._record(
                            self._spec.topic_partition(topic, partition), Reason.UNSUBSCRIBED, member
                        )

    def _keep(self, topic: uuid.UUID, partition: int, member: int) -> None:
        """Let a member keep a partition; raise AssignorError if the partition does not exist.

        Quirk: if several members have a partition, all of them keep it, and the last one counts as its owner.
        """
        name = self._spec.member_ids[member]
        beyond = self._spec.beyond_count(name, topic, partition)
        if beyond is not None:
            raise AssignorError(
                f"{beyond}, on which the JVM fails while subscriptions differ; leave it out of `owned`",
                jvm_exception="ArrayIndexOutOfBoundsException",
            )
        self.partition_owners[topic][partition] = member
        self.target_assignment_sizes[member] += 1
        self._record(self._spec.topic_partition(topic, partition), Reason.KEPT, name)

    def _assign_remaining_partitions(self) -> None:
        """Step 2: give out the partitions without an owner, topic after topic."""
        for topic in self.sorted_topic_ids:
            owners = self.partition_owners[topic]
            unassigned_partitions = [partition for partition, owner in enumerate(owners) if owner is None]
            balancer = MemberAssignmentBalancer(self.topic_subscribers[topic], self.target_assignment_sizes)
            for partition in unassigned_partitions:
                self._assign_partition(topic, partition, balancer.next_least_loaded_member(), Reason.FILLED)

    def _balance(self) -> None:
        """Step 3: sweep over the topics until the sweep is back at the last topic of which a partition moved.

        Quirk: each topic is balanced by itself. So if the first and second of three members share one topic,
        and the second and third share another topic, sizes of 9, 10 and 11 stay as they are.
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
        """Move partitions from the topic's most to its least loaded subscribers; return whether any moved."""
        balancer = MemberAssignmentBalancer(self.topic_subscribers[topic], self.target_assignment_sizes)
        if balancer.imbalance <= 1:
            return False
        # 3.1 List the partitions that each member can give: those it has now, the highest number first.
        partitions: dict[int | None, list[int]] = defaultdict(list)
        for partition, owner in enumerate(self.partition_owners[topic]):
            partitions[owner].append(partition)
        has_moved = False
        while not balancer.is_balanced():
            # 3.2 Find the next of the most loaded members that has a partition of this topic left.
            most_loaded_member = balancer.next_most_loaded_member()
            while most_loaded_member is not None and not partitions[most_loaded_member]:
                balancer.exclude_most_loaded_member()
                most_loaded_member = balancer.next_most_loaded_member()
            if most_loaded_member is None:
                break
            partition = partitions[most_loaded_member].pop()
            # 3.3 Move the partition to the next of the least loaded members, unless the ranges have met now.
            least_loaded_member = balancer.next_least_loaded_member()
            if balancer.is_balanced():
                break
            self._assign_partition(topic, partition, least_loaded_member, Reason.BALANCED)
            has_moved = True
        return has_moved

    def _assign_partition(self, topic: uuid.UUID, partition: int, member: int, reason: Reason) -> None:
        """Give a partition to a member, and take it from the member that has it, if there is one."""
        owner = self.partition_owners[topic][partition]
        if owner is not None:
            remove_partition(self._targets.changeable(owner), topic, partition)
            self.target_assignment_sizes[owner] -= 1
        # Quirk: a new set is made with the capacity for an even share of the topic. This can change its
        # order.
        estimated_partitions_per_subscriber = math.ceil(
            self._spec.num_partitions[topic] / len(self.topic_subscribers[topic])
        )
        capacity = hash_map_capacity(estimated_partitions_per_subscriber)
        target = self._targets.changeable(member)
        target.compute_if_absent(topic, lambda: HashSet(capacity=capacity)).add(partition)
        self.partition_owners[topic][partition] = member
        self.target_assignment_sizes[member] += 1
        self._record(self._spec.topic_partition(topic, partition), reason, self._spec.member_ids[member])
