"""Assigns share groups (KIP-932) as their only strategy, "simple", does.

This is `org.apache.kafka.coordinator.group.assignor.SimpleAssignor` of Kafka 4.4.0 (the same in 4.1 to 4.4).
Several members may share one partition: each partition gets enough members, so that no member is left without
a partition. Racks and instance ids are ignored. All partitions count as initialised.

The words are those of Kafka's source: a topic-partition is shared by its members; `desired` is how many
partitions a member should have. Members and partitions are in Java's maps throughout, because their order
decides which member gets or loses a partition.
"""

import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import ClassVar, Generic, TypeVar

from assignors.group import Group
from assignors.partition_list import NOTHING, PartitionList
from assignors.rules.group_spec import GroupSpec, TargetAssignment, Targets
from partitioning.errors import AssignorError
from partitioning.java import hash_map_capacity
from partitioning.java.hash_codes import TopicIdPartition
from partitioning.java.hash_map import HashMap, HashSet
from partitioning.topic_partition import TopicPartition


class ShareAssignment(Mapping[str, PartitionList]):
    """The partitions of every member of a share group, in the JVM's list order; lists may overlap.

    >>> group = Group([Topic("orders", 2)], [Member(name, ["orders"]) for name in "abc"])
    >>> SimpleAssignor().assign(group).members_of[("orders", 0)]
    ('a', 'c')

    Args:
        group: the group that was assigned.
        lists: the partitions of each member; a member without an entry has none.
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
        """The members of each partition of a subscribed topic; an empty tuple if no member has it."""
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

    `Member.owned` is a member's last target assignment. Topic ids affect the answer; if `Topic.id` is None,
    an id made from the name is used. All partitions count as initialised. A broker leaves out partitions
    whose share state it has not created yet.

    >>> group = Group([Topic("orders", 2)], [Member(name, ["orders"]) for name in "abc"])
    >>> SimpleAssignor().assign(group)["a"], SimpleAssignor().assign(group)["c"]
    (PartitionList([('orders', 0), ('orders', 1)]), PartitionList([('orders', 0)]))
    """

    name: ClassVar[str] = "simple"

    def assign(self, group: Group) -> ShareAssignment:
        """Return the partitions of each member; a list has the order of the member's map of topic ids.

        Raises:
            AssignorError: the JVM throws an exception for this group.
        """
        spec = GroupSpec(group)
        if not spec.member_ids:
            return ShareAssignment(group, {})
        targets = Targets(spec)
        decide = _assign_homogeneous if spec.is_homogeneous else _assign_heterogeneous
        return ShareAssignment(group, spec.partition_lists(decide(spec, targets)))


K = TypeVar("K", bound=int | TopicIdPartition)


class _Pool(Generic[K]):
    """Shares partitions: a partition gets at most `_sharing` members, and a member its `desired` count.

    If subscriptions are equal, one pool has all partitions. If not, each topic has a pool. `keep` is called
    for each partition that a member has; then `share` is called once.

    Args:
        targets: the targets of the members; changed as partitions are taken and given.
        members: the members of this pool, as indices into `GroupSpec.member_ids`, ascending.
        partitions: the partitions of this pool, in the order of the coordinator's map.
        place_of: returns the topic id and the number of a partition of this pool.
    """

    def __init__(
        self,
        targets: Targets,
        members: Sequence[int],
        partitions: Sequence[K],
        place_of: Callable[[K], tuple[uuid.UUID, int]],
    ) -> None:
        self._targets = targets
        self._members = members
        self._partitions = partitions
        self._place_of = place_of
        # The number of members for each partition is rounded up. So no member is left without a partition,
        # even if there are more members than partitions.
        self._sharing = -(-len(members) // len(partitions)) if partitions else 0
        self.desired = dict(
            zip(members, _desired_counts(self._sharing * len(partitions), len(members)), strict=True)
        )
        self._by_partition: HashMap[K, HashSet[int]] = HashMap(
            capacity=hash_map_capacity(len(partitions) + 1)
        )
        self._by_member: HashMap[int, HashSet[K]] = HashMap(capacity=hash_map_capacity(len(members) + 1))

    def keep(self, partition: K, member: int) -> None:
        """Step 1: record that a member has a partition already."""
        self._by_partition.compute_if_absent(partition, HashSet).add(member)
        self._by_member.compute_if_absent(member, HashSet).add(partition)

    def share(self) -> None:
        """Steps 2 to 4: take surplus partitions from members, and give partitions that lack members.

        If a HashSet has too many partitions or members, its first elements are the surplus.
        """
        for member, mine in self._by_member.items():
            # This loops over a copy, because the set changes while partitions are taken.
            for partition in list(mine)[: max(0, len(mine) - self.desired.get(member, 0))]:
                self._take(partition, member)
        for partition, members in self._by_partition.items():
            for member in list(members)[: max(0, len(members) - self._sharing)]:
                self._take(partition, member)
        for partition in self._partitions:
            self._by_partition.compute_if_absent(partition, HashSet)
        unfilled = {
            member for member in self._members if len(self._by_member.get(member, ())) < self.desired[member]
        }
        _assign_remaining(self._by_partition.items(), self._sharing, unfilled, self._give)

    def _take(self, partition: K, member: int) -> None:
        """Take a partition from a member: in both maps, and in the member's target."""
        self._by_partition[partition].discard(member)
        self._by_member[member].discard(partition)
        topic, number = self._place_of(partition)
        self._targets.changeable(member)[topic].discard(number)

    def _give(self, partition: K, member: int) -> bool:
        """Give a partition to a member; return whether the member has its desired count now."""
        topic, number = self._place_of(partition)
        self._targets.changeable(member).compute_if_absent(topic, HashSet).add(number)
        # As in Kafka, `_by_partition` is not updated here: `_assign_remaining` uses the counts from before,
        # which is its quirk.
        mine = self._by_member.compute_if_absent(member, HashSet)
        mine.add(partition)
        return len(mine) >= self.desired[member]


def _assign_homogeneous(spec: GroupSpec, targets: Targets) -> dict[str, TargetAssignment]:
    """Return the targets if all members subscribe to the same topics, whose partitions are one pool.

    In Kafka this is `SimpleHomogeneousAssignmentBuilder`. Quirk: members keep partitions that no longer
    exist.
    """
    subscribed = spec.subscribed_topic_ids[spec.member_ids[0]]
    if not len(subscribed):
        return {}
    partitions = [
        TopicIdPartition(topic, number)
        for topic in subscribed
        for number in range(spec.num_partitions[topic])
    ]
    pool = _Pool(targets, range(len(spec.member_ids)), partitions, lambda partition: partition)
    for member, target in enumerate(targets.old):
        assigned = 0
        for topic, numbers in target.items():
            if topic not in subscribed:
                targets.changeable(member).pop(topic, None)
                continue
            for number in numbers:
                pool.keep(TopicIdPartition(topic, number), member)
                assigned += 1
                if assigned >= pool.desired[member]:
                    targets.changeable(member)
    pool.share()
    return targets.result()


def _assign_heterogeneous(spec: GroupSpec, targets: Targets) -> dict[str, TargetAssignment]:
    """Return the targets if subscriptions differ: each topic is a pool, in the order of a HashSet of topics.

    In Kafka this is `SimpleHeterogeneousAssignmentBuilder`. Quirk: a topic that has lost all its subscribers
    stays in the target of each member that had it.
    """
    topics: HashSet[uuid.UUID] = HashSet()
    subscribers: dict[uuid.UUID, list[int]] = {}
    for index, name in enumerate(spec.member_ids):
        for topic in spec.subscribed_topic_ids[name]:
            topics.add(topic)
            subscribers.setdefault(topic, []).append(index)
    for topic in topics:
        numbers = range(spec.num_partitions[topic])
        # Each topic is a pool of its own, so members with many topics can have more partitions than others.
        pool = _Pool(targets, subscribers[topic], numbers, partial(TopicIdPartition, topic))
        for member, target in enumerate(targets.old):
            for number in target.get(topic, ()):
                pool.keep(number, member)
        pool.share()
    return targets.result() if topics else {}


def _desired_counts(total: int, members: int) -> list[int]:
    """Return how many partitions each member should have.

    Quirk: Kafka computes with doubles, whose rounding can make a count one higher.
    """
    precise = total / members
    return [math.ceil(precise * (index + 1)) - math.ceil(precise * index) for index in range(members)]


def _assign_remaining(
    assigned: Iterable[tuple[K, HashSet[int]]],
    desired_sharing: int,
    unfilled: set[int],
    give: Callable[[K, int], bool],
) -> None:
    """Give partitions with too few members to unfilled members, in a circle (`assignRemainingPartitions`).

    Quirk: Kafka does not record the members that get a partition in this step. So a short circle can return
    to the same member, which then counts as one more.

    Args:
        assigned: the partitions with their members.
        desired_sharing: how many members each partition should have.
        unfilled: the members that have fewer partitions than desired; changed: full members are removed.
        give: gives a partition to a member, and returns whether the member is full now.
    """
    circle, has_given = iter(sorted(unfilled)), False
    for partition, members in assigned if unfilled else ():
        to_make = desired_sharing - len(members)
        while to_make > 0:
            member = next(circle, None)
            # If a whole round gave nothing, all unfilled members have this partition already.
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
