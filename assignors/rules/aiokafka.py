"""The rules of aiokafka's own assignors, which come from kafka-python 2.

These are the assignors in `aiokafka.coordinator.assignors` of aiokafka 0.14. They ignore instance ids and
racks, so members are in the order of their ids. In all else that this file does not describe, they decide as
kafka-python's assignors do (`assignors.rules.kafka_python`). aiokafka has no cooperative assignor.
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
    """Cut each topic into one range for each subscriber; the first ranges may have one partition more."""
    members = [replace(member, instance_id=None) for member in group.members]
    return kafka_python.assign_range(Group(group.topics, members), record)


def assign_round_robin(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Give out partitions one by one to a circle of members; skip members that do not subscribe."""
    lists: Lists = {member.id: [] for member in group.members}
    circle = cycle(sorted(group.members, key=lambda member: member.id))
    for partition in kafka_python.in_turn(group):
        member = next(candidate for candidate in circle if partition.topic in candidate.topics)
        lists[member.id].append(partition)
        record(partition, Reason.TURN, member.id)
    return Assignment.for_group(group, lists)


def assign_sticky(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Return the assignment of "sticky", with previous partitions from the members' user data.

    Quirk: aiokafka never tells its assignor the generation, because nothing calls `on_generation_assignment`.
    So members send a generation of -1, and if two members claim a partition, the claim of the member that
    joined first counts.
    """
    leader = _Leader(group, record, [_recall(member) for member in group.members])
    return kafka_python.eager_answer(leader, group)


def _recall(member: Member) -> Member:
    """Return the member with the partitions of its user data as `owned`.

    User data that cannot be read counts as no partitions.
    """
    # A `StickyUserData` has not been encoded yet. aiokafka would send it without a generation.
    if isinstance(member.user_data, StickyUserData):
        return replace(member, owned=member.user_data.partitions, generation=None)
    owned, generation = decode_sticky_user_data(member.user_data or b"")
    return replace(member, owned=() if generation is None else owned, generation=generation)


class _Leader(kafka_python.KafkaPythonLeader):
    """A leader of aiokafka, which moves partitions in another way than kafka-python's leader."""

    def _move(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """Move a partition, or in its place another one of its topic that moved the opposite way before.

        Quirk: the other partition may belong to a member that is not `source`.
        """
        moved = self._moves.actual_partition_to_be_moved(partition, source, target)
        self._give(moved, target)
        return moved
