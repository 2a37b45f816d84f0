"""Share groups (KIP-932): a partition may belong to several members."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from assignors.group import Group
from assignors.partition_list import NOTHING, PartitionList
from assignors.rules.simple import assign_simple
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
