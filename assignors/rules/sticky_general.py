"""The sticky strategies where members subscribe to different topics.

Kafka: `AbstractStickyAssignor.GeneralAssignmentBuilder` in clients 4.4.0 (as 4.1 to 4.4);
`performReassignments` is in `sticky_reassignment`.

1. Members keep what they own and still subscribe to; with racks, only what has a replica in their rack.
2. What nobody keeps is unassigned.
3. With racks, each unassigned partition goes to the subscriber with the fewest among those that are near it
   or have no rack.
4. Each of the others goes to the subscriber with the fewest.
5. Topics with a single subscriber, and members that nothing can be given to or taken from, are fixed and set
   aside.
6. Partitions move while that makes the assignment more balanced. If it did not, all moves are undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.reasons import Reason
from assignors.rules.racks import NO_RACKS
from assignors.rules.sticky_order import SortedSubscriptions
from assignors.rules.sticky_partitions import all_topic_partitions, unassigned_partitions
from assignors.rules.sticky_reassignment import Reassignment
from partitioning.java import utf16_key
from partitioning.java.hash_map import HashMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assignors.group import Member
    from assignors.reasons import Recorder
    from assignors.rules.racks import RackInfo
    from partitioning.topic_partition import TopicPartition

    # The partitions of each consumer. Java's order decides who a partition with two consumers counts for.
    CurrentAssignment = HashMap[str, list[TopicPartition]]


class GeneralAssignmentBuilder:
    """Builds the assignment of members that subscribe to different topics.

    Args:
        partitions_per_topic: the partitions of each subscribed topic, by number.
        rack_info: racks of consumers and partitions.
        current_assignment: what each member may keep; becomes the assignment.
        subscriptions: the members by id.
        record: is told each step.
    """

    def __init__(
        self,
        partitions_per_topic: Mapping[str, list[TopicPartition]],
        rack_info: RackInfo,
        current_assignment: CurrentAssignment,
        subscriptions: HashMap[str, Member],
        record: Recorder,
    ) -> None:
        self._partitions_per_topic = partitions_per_topic
        self._rack_info = rack_info
        self._current_assignment = current_assignment
        self._record = record

        # Quirk: a topic that a member names twice counts twice in both.
        self._topic_to_all_potential_consumers: dict[str, list[str]] = {
            topic: [] for topic in partitions_per_topic
        }
        self._consumer_to_all_potential_topics: HashMap[str, list[str]] = HashMap(capacity=len(subscriptions))
        for consumer, subscription in subscriptions.items():
            topics = [topic for topic in subscription.topics if topic in partitions_per_topic]
            self._consumer_to_all_potential_topics[consumer] = topics
            for topic in topics:
                self._topic_to_all_potential_consumers[topic].append(consumer)

        self._max_assignment_size = {
            consumer: self._get_max_assignment_size(topics)
            for consumer, topics in self._consumer_to_all_potential_topics.items()
        }
        self._current_partition_consumer: dict[TopicPartition, str] = {}
        self._revocation_required = False

    def build(self, prev_assignment: Mapping[TopicPartition, str]) -> CurrentAssignment:
        """The partitions of every member.

        Args:
            prev_assignment: who had a partition in an earlier generation, and would get it back first.

        Raises:
            AssignorError: balancing meets a member that takes no part in it (NullPointerException), or it
                never ends, as in the JVM.
        """
        sorted_topics = sorted(self._partitions_per_topic, key=self._topic_key)
        all_partitions = all_topic_partitions(sorted_topics, self._partitions_per_topic)
        assigned_partitions = self._assign_owned_partitions()
        assigned_partitions.sort(key=lambda each: (self._topic_key(each.topic), each.partition))
        unassigned = unassigned_partitions(all_partitions, assigned_partitions)
        self._balance(prev_assignment, unassigned, all_partitions)
        return self._current_assignment

    def _topic_key(self, topic: str) -> tuple[int, bytes]:
        """Topics with the fewest potential consumers come first."""
        return len(self._topic_to_all_potential_consumers[topic]), utf16_key(topic)

    def _get_max_assignment_size(self, all_subscribed_topics: Sequence[str]) -> int:
        """The most partitions that somebody who subscribes to these topics can have."""
        topics: Iterable[str] = all_subscribed_topics
        if len(all_subscribed_topics) == len(self._partitions_per_topic):
            topics = self._partitions_per_topic  # Quirk: also if one is named twice in place of another
        return sum(len(self._partitions_per_topic[topic]) for topic in topics)

    def _assign_owned_partitions(self) -> list[TopicPartition]:
        """Step 1: members keep what they own, still subscribe to, and are not far from."""
        assigned = []
        for consumer, owned in self._current_assignment.items():
            topics = set(self._consumer_to_all_potential_topics[consumer])
            kept = []
            for partition in owned:
                reason = Reason.KEPT
                if partition.topic not in topics:
                    reason = Reason.UNSUBSCRIBED
                elif self._rack_info.racks_mismatch(consumer, partition):
                    reason = Reason.FAR
                else:
                    kept.append(partition)
                    self._current_partition_consumer[partition] = consumer
                self._record(partition, reason, consumer)
            self._revocation_required |= len(kept) < len(owned)
            owned[:] = kept
            assigned += kept
        return assigned

    def _balance(
        self,
        prev_assignment: Mapping[TopicPartition, str],
        unassigned: list[TopicPartition],
        all_partitions: list[TopicPartition],
    ) -> None:
        """Steps 3 to 6."""
        initializing = not any(self._current_assignment.values())
        self._assign_unassigned_partitions(unassigned)
        fixed_assignments = self._set_fixed_assignments_aside()

        pre_balance = _deep_copy(self._current_assignment)
        pre_balance_consumer = dict(self._current_partition_consumer)
        reassignment = Reassignment(
            partitions_per_topic=self._partitions_per_topic,
            rack_info=self._rack_info,
            topic_to_all_potential_consumers=self._topic_to_all_potential_consumers,
            consumer_to_all_potential_topics=self._consumer_to_all_potential_topics,
            max_assignment_size=self._max_assignment_size,
            prev_assignment=prev_assignment,
            current_assignment=self._current_assignment,
            current_partition_consumer=self._current_partition_consumer,
            record=self._record,
        )
        if not self._revocation_required:
            reassignment.perform(list(filter(self._can_participate, unassigned)))
        performed = reassignment.perform(list(filter(self._can_participate, all_partitions)))
        # Quirk: only moves of the second run lead to a look at the score, but those of both are undone.
        if (
            performed
            and not initializing
            and _balance_score(self._current_assignment) >= _balance_score(pre_balance)
        ):
            self._revert_to(pre_balance)
            for partition in reassignment.moved:
                self._record(partition, Reason.UNDONE, pre_balance_consumer[partition])

        for consumer, partitions in fixed_assignments.items():
            self._current_assignment[consumer] = partitions

    def _assign_unassigned_partitions(self, unassigned: list[TopicPartition]) -> None:
        """Steps 3 and 4: each unassigned partition goes to the subscriber that has the fewest."""
        order = SortedSubscriptions(
            self._current_assignment, self._topic_to_all_potential_consumers, self._rack_info.consumer_racks
        )

        def assign(partition: TopicPartition, consumer: str) -> None:
            partitions = self._current_assignment[consumer]
            partitions.append(partition)
            order.resized(consumer, len(partitions) - 1)
            self._current_partition_consumer[partition] = consumer
            near = self._rack_info.is_near(consumer, partition)
            self._record(partition, Reason.NEAR if near else Reason.FILLED, consumer)

        left = []
        for partition in unassigned:
            racks = self._rack_info.partition_racks.get(partition, NO_RACKS)
            consumer = order.first(partition.topic, racks)
            if consumer is None:
                left.append(partition)
            else:
                assign(partition, consumer)
        for partition in left:
            consumer = order.first(partition.topic)
            assert consumer is not None  # or it would not be a subscribed topic
            assign(partition, consumer)

    def _can_participate(self, partition: TopicPartition) -> bool:
        """Whether the partition's topic has two potential consumers, so that it can move between them."""
        return len(self._topic_to_all_potential_consumers[partition.topic]) >= 2

    def _set_fixed_assignments_aside(self) -> CurrentAssignment:
        """Step 5: takes out those who have all they can have, none of which can move, with what they have."""
        fixed_assignments: CurrentAssignment = HashMap()
        for consumer, max_size in self._max_assignment_size.items():
            partitions = self._current_assignment[consumer]
            if len(partitions) >= max_size and not any(map(self._can_participate, partitions)):
                fixed_assignments[consumer] = self._current_assignment.pop(consumer)
        return fixed_assignments

    def _revert_to(self, before: CurrentAssignment) -> None:
        """Clears the current assignment and fills it again, as that can change the order of Java's map."""
        for consumer in list(self._current_assignment):
            del self._current_assignment[consumer]
        for consumer, partitions in before.items():
            self._current_assignment[consumer] = partitions


def _deep_copy(assignment: CurrentAssignment) -> CurrentAssignment:
    copy: CurrentAssignment = HashMap()
    for consumer, partitions in assignment.items():
        copy[consumer] = list(partitions)
    return copy


def _balance_score(assignment: CurrentAssignment) -> int:
    """The sum of the differences in size of all pairs of members.

    In ascending order, a size is added in its pairs with those before it, and subtracted in its pairs with
    those after it. Quirk: Java counts in 32 bits.
    """
    sizes = sorted(map(len, assignment.values()))
    score = sum(size * (place - (len(sizes) - 1 - place)) for place, size in enumerate(sizes))
    return (score + 2**31) % 2**32 - 2**31
