"""aiokafka's own assignors decide as those of kafka-python 2, from which aiokafka was made.

aiokafka 0.14, `aiokafka.coordinator.assignors`. Instance ids and racks are nothing to them, so members are in
the order of their ids. Otherwise they decide as kafka-python's (`assignors.rules.kafka_python`), but for what
is said here. It has no cooperative assignor.
"""

from dataclasses import replace
from itertools import cycle

from assignors.assignment import Assignment
from assignors.group import Group, Member, StickyUserData
from assignors.interface import Reason, Recorder, record_nothing
from assignors.protocol import decode_sticky_user_data
from assignors.rules import kafka_python
from assignors.rules.librdkafka_sticky import Lists
from partitioning.topic_partition import TopicPartition


def assign_range(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Cut each topic into ranges, one a subscriber; the first ones are longer if it does not divide."""
    members = [replace(member, instance_id=None) for member in group.members]
    return kafka_python.assign_range(Group(group.topics, members), record)


def assign_round_robin(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Hand out partitions in a circle of members; whoever does not subscribe is passed over."""
    lists: Lists = {member.id: [] for member in group.members}
    circle = cycle(sorted(group.members, key=lambda member: member.id))
    for partition in kafka_python.in_turn(group):
        member = next(candidate for candidate in circle if partition.topic in candidate.topics)
        lists[member.id].append(partition)
        record(partition, Reason.TURN, member.id)
    return Assignment.for_group(group, lists)


def assign_sticky(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Return the assignment by what members remember in user data.

    Quirk: aiokafka gives its assignor no generation: nothing calls `on_generation_assignment`. So members
    send -1, as what is not bytes yet does here, and of two claims the first in order of JoinGroup counts.
    """
    leader = _Leader(group, record, [_recall(member) for member in group.members])
    return kafka_python.eager_answer(leader, group)


def _recall(member: Member) -> Member:
    """Return the member as if it owned what it remembers in user data.

    User data that cannot be read counts as none.
    """
    if isinstance(member.user_data, StickyUserData):
        return replace(member, owned=member.user_data.partitions, generation=None)
    owned, generation = decode_sticky_user_data(member.user_data or b"")
    return replace(member, owned=() if generation is None else owned, generation=generation)


class _Leader(kafka_python.KafkaPythonLeader):
    """A leader of aiokafka."""

    def _move(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """Moves a partition, or another one of its topic that moved the opposite way before.

        Quirk: it need not be the source that loses the other one.
        """
        moved = self._moves.actual_partition_to_be_moved(partition, source, target)
        self._give(moved, target)
        return moved
