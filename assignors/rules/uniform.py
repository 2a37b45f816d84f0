"""The rule of "uniform": `org.apache.kafka.coordinator.group.assignor.UniformAssignor` (KIP-848).

Kafka 4.4.0, as 4.1 to 4.4. Members keep as much as they may of what they have been told to consume, and sizes
are as even as can be. Racks are ignored.
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
    """A topic's subscribers by how many partitions they have, from both ends.

    It is `UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer`, Kafka 4.4.0 (as 4.0 to 4.4). The
    members with fewest are a range that grows to the right: each gets one partition a round, then members
    with as many join in. Members with most are a range that grows to the left: each loses one a round.
    Subscribers are ascending, and there is one at least; `sizes` change while partitions go round.
    `imbalance` is the difference between the most and the fewest partitions to begin with.

    Between calls, members at places `[0, end)` of the first range have the size that it has come to or one
    more; those in the last range likewise or one less; places in between have sizes strictly between the two.

    Members that were excluded stand behind the last range.
    """

    def __init__(self, subscribers: Sequence[int], sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._sorted_members = sorted(subscribers, key=sizes.__getitem__)  # stable: ties stay ascending
        least, most = sizes[self._sorted_members[0]], sizes[self._sorted_members[-1]]
        self.imbalance = most - least
        # The first range is [0, end), the last one is [start, end).
        self._least_loaded_range_end = 0
        self._least_loaded_range_partition_count = least - 1
        self._next_least_loaded_member = 0
        self._most_loaded_range_start = self._most_loaded_range_end = len(self._sorted_members)
        self._most_loaded_range_partition_count = most + 1
        self._next_most_loaded_member = len(self._sorted_members) - 1

    def is_balanced(self) -> bool:
        """Return whether what both ranges have come to differs by one at most."""
        return self._most_loaded_range_partition_count - self._least_loaded_range_partition_count <= 1

    def next_least_loaded_member(self) -> int:
        """Return the member that gets the next partition."""
        if self._next_least_loaded_member >= self._least_loaded_range_end:
            # All of the range have got one, so now they have as many as the next ones.
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
                # All of the range were excluded: go on with the next ones, however many they have.
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
        """Takes the member that `next_most_loaded_member` gave last out of the range, to its right."""
        self._most_loaded_range_end -= 1
        members = self._sorted_members
        excluded, last = self._next_most_loaded_member + 1, self._most_loaded_range_end
        members[excluded], members[last] = members[last], members[excluded]

    def _size_at(self, place: int) -> int:
        """Return how many partitions the member at this place of the sorted list has now."""
        return self._sizes[self._sorted_members[place]]


def assign_uniform(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Return the assignment (`assign`), each member's list in the order of the broker's maps.

    A member's `owned` is its target assignment so far. Raises AssignorError if some member owns a
    partition that does not exist or that another one owns, and the JVM throws.
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
    """Makes one target assignment, where all members subscribe to the same topics.

    Attributes:
        subscribed_topic_ids: the topics, in the order of a HashSet of their ids.
        minimum_member_quota: how many partitions each member gets at least.
        remaining_members_to_get_an_extra_partition: how many of the members that follow get one more.
        unfilled_members: members with room, by number, and for how many partitions.
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
        """Return the new target of each member.

        Raises AssignorError if targets hold partitions that do not exist, or one twice: others find no
        room.
        """
        # 1. List the partitions that are in nobody's target.
        self._find_unassigned_partitions()
        # 2. Members keep what they have, up to their quota, and give up the rest.
        self._maybe_revoke_partitions()
        # 3. Members with room get what is unassigned.
        self._assign_remaining_partitions()
        return self._targets.result()

    def _find_unassigned_partitions(self) -> None:
        """Step 1, topic after topic."""
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
        """Step 2, member after member."""
        for member in range(len(self._spec.member_ids)):
            # 2.1 It keeps up to its quota, with an extra partition while there are any.
            gets_extra = self.remaining_members_to_get_an_extra_partition > 0
            quota = self._keep(member, self.minimum_member_quota + gets_extra)
            # 2.2 With room left it gives the extra back, if enough others follow to take all of them.
            remaining_members = len(self._spec.member_ids) - member
            enough = remaining_members > self.remaining_members_to_get_an_extra_partition
            if gets_extra and quota > 0 and enough:
                gets_extra = False
                quota -= 1
            # 2.3 What is left of its quota is filled in step 3.
            if quota > 0:
                self.unfilled_members.append((member, quota))
            if gets_extra:
                self.remaining_members_to_get_an_extra_partition -= 1

    def _keep(self, member: int, quota: int) -> int:
        """Step 2.1 for one member; what is left of its quota. Quirk: it keeps what its maps list first."""
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
        """Step 3, in order, first what nobody had, then what members gave up."""
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
        """Return what the targets have that no group a broker made has.

        A partition too many, or one twice.
        """
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
    """Makes one target assignment; a member is its index, in the order of the coordinator's map.

    Attributes:
        topic_subscribers: the members that subscribe to each topic, ascending.
        sorted_topic_ids: the subscribed topics, in the order in which they are assigned and balanced.
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
        self._targets = Targets(spec)
        self.target_assignment_sizes = [0] * len(spec.member_ids)
        self.partition_owners: dict[uuid.UUID, list[int | None]] = {
            topic: [None] * spec.num_partitions[topic] for topic in self.sorted_topic_ids
        }

    def build(self) -> dict[str, TargetAssignment]:
        """Return the new target of each member.

        AssignorError if an old one has a partition its topic lacks.
        """
        # 1. Members keep what they have of topics they subscribe to.
        self._maybe_revoke_partitions()
        # 2. What nobody has goes to the members with fewest.
        self._assign_remaining_partitions()
        # 3. Partitions move from the members with most to those with fewest.
        self._balance()
        return self._targets.result()

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
                        remove_partition(self._targets.changeable(index), topic, partition)
                        self._record(
                            self._spec.topic_partition(topic, partition), Reason.UNSUBSCRIBED, member
                        )

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
        self._record(self._spec.topic_partition(topic, partition), Reason.KEPT, name)

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
            remove_partition(self._targets.changeable(owner), topic, partition)
            self.target_assignment_sizes[owner] -= 1
        # Quirk: a new set has room for an even share of the topic, which can change its order.
        estimated_partitions_per_subscriber = math.ceil(
            self._spec.num_partitions[topic] / len(self.topic_subscribers[topic])
        )
        capacity = hash_map_capacity(estimated_partitions_per_subscriber)
        target = self._targets.changeable(member)
        target.compute_if_absent(topic, lambda: HashSet(capacity=capacity)).add(partition)
        self.partition_owners[topic][partition] = member
        self.target_assignment_sizes[member] += 1
        self._record(self._spec.topic_partition(topic, partition), reason, self._spec.member_ids[member])
