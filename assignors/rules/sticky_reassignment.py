"""How partitions move between members that subscribe to different topics, until they are balanced.

Kafka: `AbstractStickyAssignor.GeneralAssignmentBuilder`, methods `performReassignments`, `isBalanced`,
`reassignPartition` and `processPartitionMovement`, in clients 4.4.0 (as 4.1 to 4.4).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assignors.errors import AssignorError
from assignors.reasons import Reason
from assignors.rules.sticky_movements import PartitionMovements
from assignors.rules.sticky_order import SortedSubscriptions

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from assignors.reasons import Recorder
    from assignors.rules.racks import RackInfo
    from partitioning.java.hash_map import HashMap
    from partitioning.topic_partition import TopicPartition


@dataclass(kw_only=True)
class Reassignment:
    """Partitions on the move.

    Attributes:
        partitions_per_topic: the partitions of each subscribed topic.
        rack_info: racks of consumers and partitions.
        topic_to_all_potential_consumers: who subscribes to what.
        consumer_to_all_potential_topics: the same the other way round.
        max_assignment_size: the most partitions each member can have.
        prev_assignment: who had a partition in an earlier generation.
        current_assignment: what each member has; members that take no part are not in it.
        current_partition_consumer: who has each partition; of two members, who got it last.
        record: is told each move.
        moved: the partitions that moved, in order.
    """

    partitions_per_topic: Mapping[str, list[TopicPartition]]
    rack_info: RackInfo
    topic_to_all_potential_consumers: Mapping[str, list[str]]
    consumer_to_all_potential_topics: Mapping[str, list[str]]
    max_assignment_size: Mapping[str, int]
    prev_assignment: Mapping[TopicPartition, str]
    current_assignment: HashMap[str, list[TopicPartition]]
    current_partition_consumer: dict[TopicPartition, str]
    record: Recorder
    moved: dict[TopicPartition, None] = field(default_factory=dict, init=False)
    _counter_example: tuple[str, TopicPartition, str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._order = SortedSubscriptions(
            self.current_assignment, self.topic_to_all_potential_consumers, self.rack_info.consumer_racks
        )
        self._movements = PartitionMovements()
        self._fixed = self.consumer_to_all_potential_topics.keys() - self.current_assignment.keys()
        self._topics_with_fixed_consumers = {
            topic for consumer in self._fixed for topic in self.consumer_to_all_potential_topics[consumer]
        }

    def perform(self, reassignable_partitions: Sequence[TopicPartition]) -> bool:
        """`performReassignments`: goes over the partitions again and again until none moves.

        Quirk: partitions that move in place of others can go round in a circle, and Java follows them for
        ever. A state that comes back after a round gives it away.

        Returns:
            Whether any partition moved.

        Raises:
            AssignorError: it never ends, or it meets a member that takes no part (NullPointerException).
        """
        states: set[Hashable] = set()
        while self._go_over(reassignable_partitions):
            state = tuple(self.current_partition_consumer.values()), self._movements.state()
            if state in states:
                raise AssignorError(
                    "balancing never ends: the same partitions go round in a circle, and a JVM leader hangs "
                    "here; let members subscribe to the same topics, or use another assignor"
                )
            states.add(state)
        return bool(states)

    def _go_over(self, partitions: Sequence[TopicPartition]) -> bool:
        """Looks at each partition once, or until all are balanced; whether any moved."""
        modified = False
        for partition in partitions:
            if self._is_balanced():
                break
            consumer = self.current_partition_consumer[partition]
            previous = self.prev_assignment.get(partition)
            # Quirk: the previous consumer need not subscribe to the topic any more.
            if previous is not None and self._has_fewer(previous, consumer, partition):
                self._reassign(partition, previous, Reason.STOLEN_BACK)
            elif self._somebody_has_fewer(consumer, partition):
                # Quirk: whoever has fewer, near or not, the first one in order gets it.
                new_consumer = self._order.first(partition.topic)
                assert new_consumer is not None
                self._reassign(partition, new_consumer, Reason.BALANCED)
            else:
                continue
            modified = True
        return modified

    def _has_fewer(self, other: str, consumer: str, partition: TopicPartition) -> bool:
        """Whether another consumer has at least two partitions less than the partition's consumer."""
        if other in self._fixed:
            raise AssignorError(
                f"member {other!r} takes no part in balancing, but {partition} could go to it; drop what it "
                "claims from an earlier generation or that does not exist",
                jvm_exception="NullPointerException",
            )
        return len(self.current_assignment[other]) + 1 < len(self.current_assignment[consumer])

    def _somebody_has_fewer(self, consumer: str, partition: TopicPartition) -> bool:
        """Whether any potential consumer has at least two partitions less than the partition's consumer.

        Java asks those near the partition first if the partition's consumer is near it, and then all. The
        first one in order can answer for them, unless asking one of them fails before another one says yes.
        """
        topic = partition.topic
        if topic not in self._topics_with_fixed_consumers:
            first = self._order.first(topic)
            return first is not None and self._has_fewer(first, consumer, partition)
        others = self.topic_to_all_potential_consumers[topic]
        near = [other for other in others if self.rack_info.is_near(other, partition)]
        asked = near + others if consumer in near else others
        return any(self._has_fewer(other, consumer, partition) for other in asked)

    def _is_balanced(self) -> bool:
        """Whether no member that can have more could take a partition from one that has at least two more.

        A counter-example is remembered, so that not all partitions need be looked at again while it holds.
        """
        if self._order.difference <= 1:
            return True
        if self._counter_example is not None:
            consumer, _, other = self._counter_example
            size = len(self.current_assignment[consumer])
            holds = size != self.max_assignment_size[consumer]
            if holds and size + 1 < len(self.current_assignment[other]):
                return False
        self._counter_example = self._find_counter_example()
        return self._counter_example is None

    def _find_counter_example(self) -> tuple[str, TopicPartition, str] | None:
        """A member, a partition that it could take, and who from; None where all are balanced.

        Any will do. The last partition of a topic will move last, so it stays one for longest.
        Quirk: of two members that have a partition, Java looks at the one that its HashMap visits last.
        """
        all_partitions = {
            partition: consumer
            for consumer, partitions in self.current_assignment.items()
            for partition in partitions
        }
        settled: set[str] = set()  # topics that nobody has partitions of who has at least two more
        for consumer in self._order.ascending():
            size = len(self.current_assignment[consumer])
            if size == self.max_assignment_size[consumer]:
                continue
            for topic in reversed(self.consumer_to_all_potential_topics[consumer]):
                if topic in settled:
                    continue  # this member has no fewer partitions than the ones before it
                settled.add(topic)
                for partition in reversed(self.partitions_per_topic[topic]):
                    other = all_partitions[partition]
                    if size + 1 < len(self.current_assignment[other]):
                        if partition not in self.current_assignment[consumer]:
                            return consumer, partition, other
                        settled.discard(topic)
        return None

    def _reassign(self, partition: TopicPartition, new_consumer: str, reason: Reason) -> None:
        """`reassignPartition`: moves it, or one of its topic that moved the opposite way before."""
        consumer = self.current_partition_consumer[partition]
        moved = self._movements.actual_partition_to_be_moved(partition, consumer, new_consumer)
        self._process_partition_movement(moved, new_consumer)
        self.record(moved, reason if moved == partition else Reason.SWAPPED, new_consumer)

    def _process_partition_movement(self, partition: TopicPartition, new_consumer: str) -> None:
        old_consumer = self.current_partition_consumer[partition]
        self._movements.move_partition(partition, old_consumer, new_consumer)
        self.moved[partition] = None

        given, taken = self.current_assignment[old_consumer], self.current_assignment[new_consumer]
        given.remove(partition)
        taken.append(partition)
        self.current_partition_consumer[partition] = new_consumer
        self._order.resized(new_consumer, len(taken) - 1)
        self._order.resized(old_consumer, len(given) + 1)
        if self._counter_example is not None and self._counter_example[1] == partition:
            self._counter_example = None
