"""The rule of "uniform" where all members subscribe to the same topics.

`org.apache.kafka.coordinator.group.assignor.UniformHomogeneousAssignmentBuilder`, Kafka 4.4.0 (as 4.1 to 4.4;
4.0.0 and older lack step 2.2, KAFKA-18688).
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING

from assignors.errors import AssignorError
from assignors.reasons import Reason
from assignors.rules.target_assignment import deep_copy_assignment, remove_partition
from partitioning.java.hash_map import HashSet

if TYPE_CHECKING:
    import uuid

    from assignors.reasons import Recorder
    from assignors.rules.group_spec import GroupSpec
    from assignors.rules.target_assignment import TargetAssignment


class UniformHomogeneousAssignmentBuilder:
    """Makes one target assignment.

    Args:
        spec: the group; all members subscribe to the same topics.
        record: is told each step.

    Attributes:
        subscribed_topic_ids: the topics, in the order of a HashSet of their ids.
        unassigned_partitions: the partitions that are to be assigned, in order.
        minimum_member_quota: how many partitions each member gets at least.
        remaining_members_to_get_an_extra_partition: how many of the members that follow get one more.
        unfilled_members: members with room, and for how many partitions.
        target_assignment: the target of each member; as long as nothing changes, it is the one it has had.
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
        self.unfilled_members: list[tuple[str, int]] = []
        self.target_assignment = dict(spec.member_assignment)

    def build(self) -> dict[str, TargetAssignment]:
        """The new target of each member.

        Raises:
            AssignorError: targets hold partitions that do not exist, or one twice, so others find no room.
        """
        # 1. List the partitions that are in nobody's target.
        self._find_unassigned_partitions()
        # 2. Members keep what they have, up to their quota, and give up the rest.
        self._maybe_revoke_partitions()
        # 3. Members with room get what is unassigned.
        self._assign_remaining_partitions()
        return self.target_assignment

    def _find_unassigned_partitions(self) -> None:
        """Step 1, topic after topic."""
        assigned: dict[uuid.UUID, set[int]] = defaultdict(set)
        for target in self._spec.member_assignment.values():
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
        for index, member in enumerate(self._spec.member_ids):
            # 2.1 It keeps up to its quota, with an extra partition while there are any.
            gets_extra = self.remaining_members_to_get_an_extra_partition > 0
            quota = self._keep(member, self.minimum_member_quota + gets_extra)
            # 2.2 With room left it gives the extra back, if enough others follow to take all of them.
            remaining_members = len(self._spec.member_ids) - index
            enough = remaining_members > self.remaining_members_to_get_an_extra_partition
            if gets_extra and quota > 0 and enough:
                gets_extra = False
                quota -= 1
            # 2.3 What is left of its quota is filled in step 3.
            if quota > 0:
                self.unfilled_members.append((member, quota))
            if gets_extra:
                self.remaining_members_to_get_an_extra_partition -= 1

    def _keep(self, member: str, quota: int) -> int:
        """Step 2.1 for one member; what is left of its quota.

        Quirk: it keeps what its maps list first, which need not be the lowest numbers.
        """
        old_assignment = new_assignment = self._spec.member_assignment[member]
        for topic, partitions in old_assignment.items():
            for partition in partitions:
                if topic not in self.subscribed_topic_ids:
                    reason = Reason.UNSUBSCRIBED
                elif quota > 0:
                    reason = Reason.KEPT
                    quota -= 1
                else:
                    reason = Reason.OVER_QUOTA
                    self.unassigned_partitions.append((topic, partition))
                self._record(self._spec.named(topic, partition), reason, member)
                if reason is not Reason.KEPT:
                    # Quirk: only a target that changes is copied, and a copy's order can be another.
                    if new_assignment is old_assignment:
                        new_assignment = deep_copy_assignment(old_assignment)
                    remove_partition(new_assignment, topic, partition)
        self.target_assignment[member] = new_assignment
        return quota

    def _assign_remaining_partitions(self) -> None:
        """Step 3, in order, first what nobody had, then what members gave up."""
        remaining_partitions = iter(self.unassigned_partitions)
        for member, quota in self.unfilled_members:
            target = self.target_assignment[member]
            if target is self._spec.member_assignment[member]:
                target = self.target_assignment[member] = deep_copy_assignment(target)
            for topic, partition in islice(remaining_partitions, quota):
                target.compute_if_absent(topic, HashSet).add(partition)
                self._record(self._spec.named(topic, partition), Reason.FILLED, member)
        if next(remaining_partitions, None) is not None:
            raise AssignorError(
                f"not every partition finds a member: {self._fault()}; "
                "give `owned` as the broker's target assignment is",
                jvm_exception="PartitionAssignorException",
            )

    def _fault(self) -> str:
        """What the targets have that no group a broker made has: a partition too many, or one twice."""
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
                        named = self._spec.named(topic, partition)
                        twice = twice or f"members {owner!r} and {member!r} both own {named}"
        return twice
