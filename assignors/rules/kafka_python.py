"""The rules of kafka-python's own assignors, which have the names of Java's but decide differently.

These are the assignors in `kafka.coordinator.assignors` of kafka-python 3.0.12. They ignore racks, compare
texts by code point, and sort each member's list.

- "range" and "roundrobin" serve static members first, by instance id, then dynamic ones by member id.
- "sticky" follows the Java clients before 2.4, as librdkafka does. Its steps are those of
  `librdkafka_sticky`, except for what this file overrides.
- "cooperative-sticky" decides as "sticky", and holds back the partitions that another member claims.

If kafka-python raises an exception, so that the group gets no assignment, these rules raise AssignorError.
If its answer depends on the order of a set, which differs between processes, these rules give one of the
possible answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle, groupby
from operator import attrgetter

from assignors.assignment import Assignment
from assignors.group import Group, Member, StickyUserData
from assignors.interface import Reason, Recorder, record_nothing
from assignors.protocol import decode_sticky_user_data
from assignors.rules import librdkafka_sticky
from assignors.rules.librdkafka_sticky import Lists, hand_over
from assignors.rules.sticky_structures import PartitionMovements
from partitioning.errors import AssignorError
from partitioning.topic_partition import TopicPartition


def assign_range(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Cut each topic into one range for each subscriber; the first ranges may have one partition more."""
    subscribers: dict[str, list[Member]] = defaultdict(list)
    for member in group.members:
        for topic_name in dict.fromkeys(member.topics):
            subscribers[topic_name].append(member)
    lists: Lists = {member.id: [] for member in group.members}
    for topic in sorted(group.topics, key=attrgetter("name")):
        members = _in_order(subscribers[topic.name])
        least, longer = divmod(topic.partitions, len(members) or 1)
        for place, member in enumerate(members):
            start = place * least + min(place, longer)
            for number in range(start, start + least + (place < longer)):
                partition = TopicPartition(topic.name, number)
                lists[member.id].append(partition)
                record(partition, Reason.RANGE, member.id)
    return Assignment.for_group(group, lists)


def assign_round_robin(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Give out partitions one by one, topic after topic, to a circle of members.

    Quirk: if the member whose turn it is does not subscribe to the topic, kafka-python fails (KeyError), and
    this function raises AssignorError.
    """
    lists: Lists = {member.id: [] for member in group.members}
    circle = cycle(_in_order(group.members))
    for partition, member in zip(in_turn(group), circle, strict=False):
        if partition.topic not in member.topics:
            raise AssignorError(
                f"it is the turn of member {member.id!r}, which does not subscribe to {partition.topic!r}: "
                "kafka-python's 'roundrobin' fails here; let members subscribe to the same topics"
            )
        lists[member.id].append(partition)
        record(partition, Reason.TURN, member.id)
    return Assignment.for_group(group, lists)


def in_turn(group: Group) -> Iterator[TopicPartition]:
    """Yield the partitions of all subscribed topics, in the order in which "roundrobin" gives them out."""
    read = {topic for member in group.members for topic in member.topics}
    for topic in sorted(group.topics, key=attrgetter("name")):
        for number in range(topic.partitions if topic.name in read else 0):
            yield TopicPartition(topic.name, number)


def _in_order(members: Iterable[Member]) -> list[Member]:
    """Return static members by instance id, then dynamic ones by member id.

    Quirk: kafka-python groups members by kind with `itertools.groupby`, which makes a new group for each run
    of neighbours. If static and dynamic members joined in turns, only the last run of each kind is served.
    """
    runs = {static: [*run] for static, run in groupby(members, lambda member: member.instance_id is not None)}
    static = sorted(runs.get(True, ()), key=attrgetter("instance_id", "id"))
    return static + sorted(runs.get(False, ()), key=attrgetter("id"))


def assign_sticky(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Return the assignment of "sticky", with previous partitions from the members' user data."""
    return eager_answer(KafkaPythonLeader(group, record, [recall(member) for member in group.members]), group)


def eager_answer(leader: KafkaPythonLeader, group: Group) -> Assignment:
    """Let an eager leader decide, and return its assignment with sorted lists."""
    leader.decide()
    return Assignment.for_group(group, {name: sorted(mine) for name, mine in leader.current.items()})


def assign_cooperative_sticky(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Return the assignment of "cooperative-sticky", with previous partitions from `Member.owned`.

    Partitions that another member must revoke first are in the assignment's `transferring`.

    Quirk: the last member in JoinGroup order that claims a partition owns it, whatever its generation.
    """
    leader = KafkaPythonLeader(group, record, group.members)
    leader.decide()
    lists, transferring = hand_over(leader, record)
    assigned = {name: sorted({*mine}.intersection(leader.current[name])) for name, mine in lists.items()}
    return Assignment.for_group(group, assigned, transferring=transferring)


def recall(member: Member) -> Member:
    """Return the member with the partitions of its user data as `owned`.

    Quirk: kafka-python expects two bytes with a version first. Other clients send no version, so their user
    data cannot be read.
    """
    data = member.user_data or b""
    if isinstance(data, StickyUserData):
        return replace(member, owned=data.partitions, generation=data.generation)
    owned, generation = decode_sticky_user_data(data[2:])
    if int.from_bytes(data[:2], "big") == 0:  # the version without a generation
        generation = -1
    return replace(member, owned=() if generation is None else owned, generation=generation)


class KafkaPythonLeader(librdkafka_sticky.LibrdkafkaLeader):
    """A leader of kafka-python; aiokafka's leader is derived from it.

    Attributes:
        _moves: the moves so far, recorded as in Java. This replaces `_movements`, which has librdkafka's
            faults.
    """

    from_the_last = True

    def __init__(self, group: Group, record: Recorder, members: Sequence[Member]) -> None:
        super().__init__(group, record, [replace(member, rack=None) for member in members])
        self.owned = {name: owned.by_topic() for name, owned in self.owned.items()}
        self._moves = PartitionMovements()

    def _claims(self) -> dict[TopicPartition, list[tuple[int, str]]]:
        """Return the claims on each partition, those of the latest generation last.

        Partitions are in the order in which members joined and claimed them. Of several claims of one
        generation, only the first is kept.
        """
        claims = reversed(super()._claims().items())
        return {partition: sorted(dict(reversed(claimants)).items()) for partition, claimants in claims}

    def _subscriptions_identical(self) -> bool:
        """Return whether all members list the same topics.

        Quirk: two members that list the same topics in different orders count as different.
        """
        counts = self._counts
        return len({tuple(filter(counts.get, member.topics)) for member in self.members.values()}) == 1

    def _has_fewer(self, other: str, size: int) -> bool:
        """Return whether another member has at least two partitions fewer than `size`.

        Quirk: a member that takes no part in balancing counts as if it had no partitions. From then on it
        also counts in the balance score.
        """
        if other not in self.current and not self._is_balanced():
            self._idle.add(other)
        return len(self.current.get(other, ())) + 1 < size

    def _move(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """Move a partition, or in its place another one of its topic that moved the opposite way before.

        If both have moved before, both moves are undone.
        """
        moved = self._moves.actual_partition_to_be_moved(partition, source, target)
        holder = self._consumer_of[moved]
        if holder != source:
            self._give(partition, holder)
        self._give(moved, target)
        return moved

    def _give(self, partition: TopicPartition, target: str) -> None:
        """Give a partition to another member, record the move, and sort the members again."""
        source = self._consumer_of[partition]
        self._moves.move_partition(partition, source, target)
        self.current[source].remove(partition)
        self.current[target].append(partition)
        self._consumer_of[partition] = target
        self._moved[partition] = None
        self._sort()
