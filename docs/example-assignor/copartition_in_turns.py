"""An assignor that deals out the partitions of each topic in turns, and tells why."""

from itertools import cycle

from assignors import Assignment, Group, Reason, RebalanceProtocol, Recorder
from assignors.interface import record_nothing
from partitioning import TopicPartition


class InTurnsAssignor:
    """Every partition goes to the next member that reads its topic."""

    name = "in-turns"
    protocols = frozenset({RebalanceProtocol.EAGER})

    def assign(self, group: Group) -> Assignment:
        """The partitions of every member."""
        return self.assign_recorded(group, record_nothing)

    def assign_recorded(self, group: Group, record: Recorder) -> Assignment:
        """The same, with each step recorded."""
        lists: dict[str, list[TopicPartition]] = {member.id: [] for member in group.members}
        for topic in group.topics:
            readers = cycle([member.id for member in group.members if topic.name in member.topics])
            for number, member in zip(range(topic.partitions), readers, strict=False):
                partition = TopicPartition(topic.name, number)
                lists[member].append(partition)
                record(partition, Reason.TURN, member)
        return Assignment.for_group(group, lists)
