"""Share groups (KIP-932), and their "simple": `org.apache.kafka.coordinator.group.assignor.SimpleAssignor`.

Kafka 4.4.0, as 4.1 to 4.4. Several members may have one partition: each gets as many members as it takes for
nobody to be left without. Neither racks nor instance ids count. All partitions count as initialised.
"""

import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, TypeVar

from assignors.group import Group
from assignors.partition_list import NOTHING, PartitionList
from assignors.rules.group_spec import GroupSpec, TargetAssignment, deep_copy_assignment
from partitioning.errors import AssignorError
from partitioning.java import hash_map_capacity
from partitioning.java.hash_codes import TopicIdPartition
from partitioning.java.hash_map import HashMap, HashSet
from partitioning.topic_partition import TopicPartition


class ShareAssignment(Mapping[str, PartitionList]):
    """The partitions of every member of a share group, in the JVM's list order; lists of two members overlap.

    Args:
        group: the group that was assigned.
        lists: the partitions of each member; one that is missing got nothing.
    """

    def __init__(self, group: Group, lists: Mapping[str, Sequence[TopicPartition]]) -> None:
        self._lists = {member.id: PartitionList.of(lists.get(member.id, NOTHING)) for member in group.members}
        read = {topic for member in group.members for topic in member.topics}
        self._counts = {topic.name: topic.partitions for topic in group.topics if topic.name in read}

    def __getitem__(self, member: str) -> PartitionList:
        return self._lists[member]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lists)

    def __len__(self) -> int:
        return len(self._lists)

    def __repr__(self) -> str:
        return f"ShareAssignment({self._lists!r})"

    @cached_property
    def members_of(self) -> Mapping[TopicPartition, tuple[str, ...]]:
        """The members of each partition that is subscribed to, also of a partition that nobody has."""
        members: dict[TopicPartition, list[str]] = {
            TopicPartition(topic, number): []
            for topic, count in self._counts.items()
            for number in range(count)
        }
        for member, mine in self._lists.items():
            for partition in mine:
                members.setdefault(partition, []).append(member)
        return {partition: tuple(names) for partition, names in members.items()}

    @property
    def unassigned(self) -> PartitionList:
        """Partitions of subscribed topics that no member has."""
        return PartitionList.of([partition for partition, members in self.members_of.items() if not members])


class SimpleAssignor:
    """The broker's only strategy for share groups, "simple": even by topic, few moves; racks are ignored.

    `Member.owned` is a member's target so far. Topics count by their id, so where `Topic.id` is None the
    answer is that for an id made from the name. All partitions count as initialised: a broker leaves out
    those whose share state it has not made yet.
    """

    name: ClassVar[str] = "simple"

    def assign(self, group: Group) -> ShareAssignment:
        """Who shares what.

        Raises:
            AssignorError: where the JVM throws.
        """
        return ShareAssignment(group, assign_simple(group))


K = TypeVar("K")


def assign_simple(group: Group) -> dict[str, list[TopicPartition]]:
    """The partitions of each member, each list in the order of its map of topic ids.

    What a member owns is its target assignment so far. Raises AssignorError where the JVM throws.
    """
    spec = GroupSpec(group)
    if not spec.member_ids:
        return {}
    builder = _Homogeneous(spec) if spec.is_homogeneous else _Heterogeneous(spec)
    return spec.partition_lists(builder.build())


class _Builder:
    """What both ways share: members by number (index into `member_ids`), old targets, changed copies."""

    def __init__(self, spec: GroupSpec) -> None:
        self.spec = spec
        self.member_ids = spec.member_ids
        self.old = [spec.member_assignment[member] for member in self.member_ids]
        self.new: dict[int, TargetAssignment] = {}

    def result(self) -> dict[str, TargetAssignment]:
        """Each member's target: the old one where it did not change."""
        return {member: self.new.get(index, self.old[index]) for index, member in enumerate(self.member_ids)}

    def changeable(self, member: int) -> TargetAssignment:
        """The member's target, copied before its first change.

        Quirk: a copy can have another order, and one is made now and then although nothing changes.
        """
        if member not in self.new:
            self.new[member] = deep_copy_assignment(self.old[member])
        return self.new[member]


class _Homogeneous(_Builder):
    """`SimpleHomogeneousAssignmentBuilder`: all subscribe to the same topics, whose partitions are one pool.

    Each partition gets at most `desired_sharing` members, each member `desired` partitions; `unfilled`
    members have fewer.
    """

    def __init__(self, spec: GroupSpec) -> None:
        super().__init__(spec)
        self.subscribed = spec.subscribed_topic_ids[self.member_ids[0]]
        self.targets = [
            TopicIdPartition(topic, number)
            for topic in self.subscribed
            for number in range(spec.num_partitions[topic])
        ]
        self.desired_sharing = _ceil_div(len(self.member_ids), len(self.targets))
        self.desired = _desired_counts(self.desired_sharing * len(self.targets), len(self.member_ids))
        self.by_partition: HashMap[TopicIdPartition, HashSet[int]] = HashMap(
            capacity=hash_map_capacity(len(self.targets) + 1)
        )
        self.by_member: dict[int, HashSet[TopicIdPartition]] = {}
        self.unfilled: set[int] = set()

    def build(self) -> dict[str, TargetAssignment]:
        """The targets, in four steps."""
        if not len(self.subscribed):
            return {}
        for member in self._revoke_unassignable():
            self._revoke_overfilled(member)
        for partition, members in self.by_partition.items():
            self._revoke_overshared(partition, members)
        for target in self.targets:
            self.by_partition.compute_if_absent(target, HashSet)
        _assign_remaining(self.by_partition.items(), self.desired_sharing, self.unfilled, self._give)
        return self.result()

    def _revoke_unassignable(self) -> list[int]:
        """Step 1: keep what is subscribed; who has too much. Quirk: partitions that are gone are kept."""
        overfilled = []
        for member, target in enumerate(self.old):
            assigned = 0
            for topic, partitions in target.items():
                if topic not in self.subscribed:
                    self.changeable(member).pop(topic, None)
                    continue
                for number in partitions:
                    partition = TopicIdPartition(topic, number)
                    assigned += 1
                    self.by_partition.compute_if_absent(partition, HashSet).add(member)
                    self.by_member.setdefault(member, HashSet()).add(partition)
                    if assigned >= self.desired[member]:
                        self.changeable(member)
            if assigned < self.desired[member]:
                self.unfilled.add(member)
            elif assigned > self.desired[member]:
                overfilled.append(member)
        return overfilled

    def _revoke_overfilled(self, member: int) -> None:
        """Step 2: take the first ones of a HashSet away until the member has what it should."""
        mine = self.by_member[member]
        for partition in list(mine)[: len(mine) - self.desired[member]]:
            self.changeable(member)[partition.topic].discard(partition.partition)
            self.by_partition[partition].discard(member)
            mine.discard(partition)

    def _revoke_overshared(self, partition: TopicIdPartition, members: HashSet[int]) -> None:
        """Step 3: take a partition from the first ones of its members until few enough have it."""
        for member in list(members)[: max(0, len(members) - self.desired_sharing)]:
            self.changeable(member)[partition.topic].discard(partition.partition)
            members.discard(member)
            self.by_member[member].discard(partition)
            self.unfilled.add(member)

    def _give(self, partition: TopicIdPartition, member: int) -> bool:
        """Step 4: give a member one more; whether it has what it should."""
        self.changeable(member).compute_if_absent(partition.topic, HashSet).add(partition.partition)
        mine = self.by_member.setdefault(member, HashSet())
        mine.add(partition)
        return len(mine) >= self.desired[member]


class _Heterogeneous(_Builder):
    """`SimpleHeterogeneousAssignmentBuilder`: each topic by itself, among its own subscribers.

    Quirk: topics that nobody subscribes to any more stay in the targets of who had them.
    """

    def build(self) -> dict[str, TargetAssignment]:
        """The targets, topic after topic in the order of a HashSet of all that are subscribed."""
        topics: HashSet[uuid.UUID] = HashSet()
        subscribers: dict[uuid.UUID, list[int]] = {}
        for index, member in enumerate(self.member_ids):
            for topic in self.spec.subscribed_topic_ids[member]:
                topics.add(topic)
                subscribers.setdefault(topic, []).append(index)
        for topic in topics:
            _OneTopic(self, topic, subscribers[topic]).build()
        return self.result() if topics else {}


class _OneTopic:
    """One topic of such a group (`TopicAssignmentPartialBuilder`); attributes as in `_Homogeneous`."""

    def __init__(self, builder: _Heterogeneous, topic: uuid.UUID, subscribers: list[int]) -> None:
        self.builder = builder
        self.topic = topic
        self.subscribers = subscribers
        self.count = builder.spec.num_partitions[topic]
        self.desired_sharing = _ceil_div(len(subscribers), self.count)
        counts = _desired_counts(self.desired_sharing * self.count, len(subscribers))
        self.desired = dict(zip(subscribers, counts, strict=True))
        self.by_partition: HashMap[int, HashSet[int]] = HashMap(capacity=hash_map_capacity(self.count + 1))
        self.by_member: HashMap[int, HashSet[int]] = HashMap(capacity=hash_map_capacity(len(subscribers) + 1))

    def build(self) -> None:
        """Steps 1 to 4 for this topic."""
        for member, target in enumerate(self.builder.old):
            for partition in target.get(self.topic, ()):
                self.by_partition.compute_if_absent(partition, HashSet).add(member)
                self.by_member.compute_if_absent(member, HashSet).add(partition)
        for member, mine in self.by_member.items():
            for partition in list(mine)[: max(0, len(mine) - self.desired.get(member, 0))]:
                self._take(partition, member)
        for partition, members in self.by_partition.items():
            for member in list(members)[: max(0, len(members) - self.desired_sharing)]:
                self._take(partition, member)
        for partition in range(self.count):
            self.by_partition.compute_if_absent(partition, HashSet)
        unfilled = {
            each for each in self.subscribers if len(self.by_member.get(each, ())) < self.desired[each]
        }
        _assign_remaining(self.by_partition.items(), self.desired_sharing, unfilled, self._give)

    def _take(self, partition: int, member: int) -> None:
        self.by_partition[partition].discard(member)
        self.by_member[member].discard(partition)
        self.builder.changeable(member)[self.topic].discard(partition)

    def _give(self, partition: int, member: int) -> bool:
        self.builder.changeable(member).compute_if_absent(self.topic, HashSet).add(partition)
        mine = self.by_member.compute_if_absent(member, HashSet)
        mine.add(partition)
        return len(mine) >= self.desired[member]


def _ceil_div(members: int, partitions: int) -> int:
    return -(-members // partitions) if partitions else 0


def _desired_counts(total: int, members: int) -> list[int]:
    """How many partitions each member should have. Quirk: in doubles, which can round a count up."""
    precise = total / members
    return [math.ceil(precise * (index + 1)) - math.ceil(precise * index) for index in range(members)]


def _assign_remaining(
    assigned: Iterable[tuple[K, HashSet[int]]],
    desired_sharing: int,
    unfilled: set[int],
    give: Callable[[K, int], bool],
) -> None:
    """Gives what has too few members to the unfilled ones in a circle (`assignRemainingPartitions`).

    Quirk: who gets a partition in this step is not noted, so a short circle comes back to the same member,
    which counts as one more. `give` gives a partition to a member, and says whether the member is full now;
    who is full leaves `unfilled`.
    """
    circle, has_given = iter(sorted(unfilled)), False
    for partition, members in assigned if unfilled else ():
        to_make = desired_sharing - len(members)
        while to_make > 0:
            member = next(circle, None)
            if member is None and not has_given:
                break
            if member is None:
                circle, has_given = iter(sorted(unfilled)), False
                member = next(circle, None)
            if member is None:
                raise AssignorError(
                    f"a partition lacks {to_make} members, but all have what they should; the JVM fails here",
                    jvm_exception="NoSuchElementException",
                )
            if member not in members:
                to_make, has_given = to_make - 1, True
                if give(partition, member):
                    unfilled.discard(member)
        if not unfilled:
            break
