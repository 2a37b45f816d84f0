"""The rule of "range": `org.apache.kafka.clients.consumer.RangeAssignor`.

This is the rule of Kafka 4.4.0 (the same in 4.1 to 4.4). Each topic is cut into one range for each consumer.
If the partitions do not divide evenly, the first ranges are one partition longer. If racks matter (KIP-881),
consumers first get partitions that have a replica in their rack, up to the length of their range; then they
get the partitions that are left.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import islice

from assignors.assignment import Assignment
from assignors.group import Group, Topic
from assignors.interface import Reason, Recorder, record_nothing
from assignors.rules.group_spec import (
    partitions_per_topic,
    racks_of_partitions,
    sorted_members,
    use_rack_aware_assignment,
)
from partitioning.java import utf16_key
from partitioning.topic_partition import TopicPartition


def assign_range(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Return the assignment (`assignPartitions`); `record` is called with the reason of each partition."""
    # 1. For each subscribed topic, find its consumers and how many partitions each may get.
    topics = {topic.name: topic for topic in group.topics}
    consumers_per_topic = _consumers_per_topic(group)
    states = [
        _TopicAssignmentState(topics[topic], consumers_per_topic[topic])
        for topic in partitions_per_topic(group)
    ]
    ranges = _Ranges(group, record)

    # 2. If racks matter for at least one topic, partitions go to consumers near them.
    use_rack_aware = any(state.needs_rack_aware_assignment for state in states)
    if use_rack_aware:
        ranges.assign_with_rack_matching(states)

    # 3. Consumers, in order, get the partitions that are left.
    for state in states:
        ranges.assign_ranges(state, near=False)

    # 4. Quirk: lists have their topics in the order of a HashMap, but sorted by name if racks matter.
    if use_rack_aware:
        for partitions in ranges.assignment.values():
            partitions.sort(key=lambda partition: (utf16_key(partition.topic), partition.partition))
    return Assignment.for_group(group, ranges.assignment)


class _TopicAssignmentState:
    """The state of a topic while its partitions are assigned.

    Attributes:
        consumers: the consumers with their racks (None for none), in the order in which they are served.
        partition_racks: the racks of each partition's replicas; empty if no consumer has a rack.
        num_partitions_per_consumer: how many partitions each consumer gets at least.
        remaining_consumers_with_extra_partition: how many consumers may still get one more than that.
        unassigned_partitions: the numbers of the partitions that no consumer has yet.
        num_assigned_by_consumer: how many partitions each consumer has so far; a consumer without an entry
            has 0.
        needs_rack_aware_assignment: True if racks change the answer for this topic.
    """

    def __init__(self, topic: Topic, consumers: dict[str, str | None]) -> None:
        self.topic = topic.name
        self.num_partitions = topic.partitions
        self.consumers = consumers
        self.unassigned_partitions = set(range(topic.partitions))
        self.num_assigned_by_consumer: dict[str, int] = defaultdict(int)
        self.num_partitions_per_consumer, self.remaining_consumers_with_extra_partition = divmod(
            topic.partitions, len(consumers)
        )
        all_consumer_racks = {rack for rack in consumers.values() if rack is not None}
        self.partition_racks = racks_of_partitions(topic) if all_consumer_racks else []
        self.needs_rack_aware_assignment = use_rack_aware_assignment(all_consumer_racks, self.partition_racks)

    def racks_match(self, rack: str | None, partition: int) -> bool:
        """Return whether the partition has a replica in the consumer's rack.

        Quirk: a consumer without a rack (None) matches every partition.
        """
        return rack is None or rack in self.partition_racks[partition]

    def unassigned_near(self, rack: str | None) -> Iterator[int]:
        """Yield the partitions near a rack that are still unassigned when they are drawn, ascending."""
        for partition in range(self.num_partitions):
            if partition in self.unassigned_partitions and self.racks_match(rack, partition):
                yield partition

    def max_assignable(self, consumer: str) -> int:
        """Return how many partitions the consumer may still get; this number never grows."""
        extra = self.remaining_consumers_with_extra_partition > 0
        assigned = self.num_assigned_by_consumer[consumer]
        return max(0, self.num_partitions_per_consumer + extra - assigned)

    def on_assigned(self, consumer: str, partitions: Sequence[int]) -> None:
        """Update the counts after a consumer got partitions."""
        self.num_assigned_by_consumer[consumer] += len(partitions)
        if self.num_assigned_by_consumer[consumer] > self.num_partitions_per_consumer:
            self.remaining_consumers_with_extra_partition -= 1
        self.unassigned_partitions.difference_update(partitions)


class _Ranges:
    """Holds the lists of partitions while they are made.

    Attributes:
        assignment: the partitions of each consumer so far, by member id.
    """

    def __init__(self, group: Group, record: Recorder) -> None:
        self.assignment: dict[str, list[TopicPartition]] = {member.id: [] for member in group.members}
        self._record = record

    def assign_with_rack_matching(self, states: Sequence[_TopicAssignmentState]) -> None:
        """Step 2: give partitions to consumers near them; co-partitioned topics are assigned alike.

        Topics are co-partitioned if they have the same consumers and the same partition count.
        """
        co_partitioned: dict[tuple[tuple[str, ...], int], list[_TopicAssignmentState]] = defaultdict(list)
        for state in states:
            # Quirk: Java compares `partitionRacks.size()`, which is 0 if no consumer has a rack. So topics of
            # such consumers are together, whatever their counts. This step assigns none of their partitions.
            co_partitioned[tuple(state.consumers), len(state.partition_racks)].append(state)
        for together in co_partitioned.values():
            if len(together) > 1:
                # Quirk: this also happens if racks matter only for some other topic.
                self._assign_co_partitioned_with_rack_matching(together)
            elif together[0].needs_rack_aware_assignment:
                self.assign_ranges(together[0], near=True)

    def _assign_co_partitioned_with_rack_matching(self, states: Sequence[_TopicAssignmentState]) -> None:
        """Give each partition number, in all topics at once, to the first consumer with room that is near it.

        A consumer with room in one of the topics has room in all, because the topics are assigned alike. Java
        examines all consumers. Here each rack has a queue, so only the first consumer of each rack is
        examined.
        """
        first = states[0]
        remaining_consumers: dict[str | None, deque[tuple[int, str]]] = defaultdict(deque)
        for place, (consumer, rack) in enumerate(first.consumers.items()):
            remaining_consumers[rack].append((place, consumer))
        for partition in range(len(first.partition_racks)):
            matching = []
            for rack, consumers in remaining_consumers.items():
                while consumers and not first.max_assignable(consumers[0][1]):
                    consumers.popleft()
                if consumers and all(state.racks_match(rack, partition) for state in states):
                    matching.append(consumers[0])
            if matching:
                _, consumer = min(matching)
                for state in states:
                    self._assign(consumer, [partition], state, near=True)

    def assign_ranges(self, state: _TopicAssignmentState, *, near: bool) -> None:
        """Give each consumer, in order, the first unassigned partitions, as many as it may still get.

        With `near`, a consumer gets only partitions that are near it.
        """
        assignable = {
            rack: state.unassigned_near(rack if near else None) for rack in set(state.consumers.values())
        }
        for consumer, rack in state.consumers.items():
            if not state.unassigned_partitions:
                break
            partitions = list(islice(assignable[rack], state.max_assignable(consumer)))
            if partitions:
                self._assign(consumer, partitions, state, near=near)

    def _assign(
        self, consumer: str, partitions: Sequence[int], state: _TopicAssignmentState, *, near: bool
    ) -> None:
        """Give partitions of one topic to a consumer, and record why."""
        reason = Reason.NEAR if near and state.consumers[consumer] is not None else Reason.RANGE
        for partition in partitions:
            assigned = TopicPartition(state.topic, partition)
            self.assignment[consumer].append(assigned)
            self._record(assigned, reason, consumer)
        state.on_assigned(consumer, partitions)


def _consumers_per_topic(group: Group) -> dict[str, dict[str, str | None]]:
    """Return each topic's subscribers in order, each with its rack or None; an empty rack counts as none."""
    consumers: dict[str, dict[str, str | None]] = defaultdict(dict)
    for member in sorted_members(group):
        for topic in member.topics:
            consumers[topic][member.id] = member.rack or None
    return consumers
