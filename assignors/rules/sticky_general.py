"""The rule of "sticky" if members subscribe to different topics: steps 4 and 5 of `sticky`.

In Kafka this is `AbstractStickyAssignor.GeneralAssignmentBuilder` of clients 4.4.0 (the same in 4.1 to 4.4).
Partitions go one by one to the member with the fewest. Then they move between members until no move makes the
assignment more balanced.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from assignors.interface import Reason
from assignors.rules.sticky_structures import (
    NO_RACKS,
    CurrentAssignment,
    PartitionMovements,
    PotentialConsumers,
    StickyGroup,
    all_topic_partitions,
    unassigned_partitions,
)
from partitioning.errors import AssignorError
from partitioning.java import utf16_key
from partitioning.java.hash_map import HashMap
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from assignors.rules.sticky import OwnedPartitions


class GeneralAssignmentBuilder:
    """Builds the assignment of members that subscribe to different topics."""

    def __init__(self, group: StickyGroup, claims: OwnedPartitions) -> None:
        self._group = group
        self._potential = PotentialConsumers(group)
        self._current = CurrentAssignment(claims.consumer_to_owned_partitions)

    def build(self, prev_assignment: Mapping[TopicPartition, str]) -> HashMap[str, list[TopicPartition]]:
        """Return the assignment.

        Args:
            prev_assignment: the member that had each partition in an earlier generation. In step 5, this
                member is the first that the partition can move to.

        Raises:
            AssignorError: a partition would move to a member that takes no part in balancing
                (NullPointerException in Java), or balancing never ends.
        """
        # 4.1 Members keep the partitions that they own and still subscribe to, except for far ones.
        number_owned = self._current.count()
        assigned_partitions = self._assign_owned_partitions()
        initializing = not assigned_partitions
        revocation_required = len(assigned_partitions) < number_owned
        # 4.2 Partitions that no member keeps are unassigned. Topics with the fewest potential consumers come
        # first: later, these few could already have too many partitions of other topics.
        all_partitions = all_topic_partitions(self._group, self._topic_key)
        assigned_partitions.sort(key=lambda owned: (self._topic_key(owned.topic), owned.partition))
        unassigned = unassigned_partitions(all_partitions, assigned_partitions)
        # 4.3 Each unassigned partition goes to the subscriber with the fewest; members near it come first.
        self._assign_unassigned_partitions(unassigned)
        # 4.4 Members that can neither get nor lose a partition take no part in balancing. Their sizes never
        # change, so it would be useless to compare them again and again.
        fixed_assignments = self._set_fixed_assignments_aside()
        # 4.5 Partitions move as long as that makes the assignment more balanced (step 5). If no member gave
        # up a partition, only the partitions that were just assigned move at first. That may be enough, and
        # such moves take no partition from its owner.
        before = self._current.copy()
        reassignment = Reassignment(self._group, self._potential, self._current, prev_assignment)
        if not revocation_required:
            reassignment.perform(self._that_can_move(unassigned))
        performed = reassignment.perform(self._that_can_move(all_partitions))
        # 4.6 Moves that did not make the assignment more balanced are undone, because members would give up
        # partitions for nothing. Quirk: the score is compared only if the second run moved a partition; then
        # the moves of both runs are undone.
        if performed and not initializing and self._current.balance_score() >= before.balance_score():
            self._undo(reassignment, before)
        self._current.put_back(fixed_assignments)
        return self._current.partitions

    def _topic_key(self, topic: str) -> tuple[int, bytes]:
        """Return a sort key that puts topics with the fewest potential consumers first."""
        return len(self._potential.topic_to_all_potential_consumers[topic]), utf16_key(topic)

    def _assign_owned_partitions(self) -> list[TopicPartition]:
        """Step 4.1: return the partitions that members keep."""
        assigned = []
        for consumer, owned in self._current.partitions.items():
            topics = set(self._potential.consumer_to_all_potential_topics[consumer])
            kept = []
            for partition in owned:
                reason = Reason.KEPT
                if partition.topic not in topics:
                    reason = Reason.UNSUBSCRIBED
                elif self._group.rack_info.racks_mismatch(consumer, partition):
                    reason = Reason.FAR
                else:
                    kept.append(partition)
                self._group.record(partition, reason, consumer)
            self._current.keep(consumer, kept)
            assigned += kept
        return assigned

    def _assign_unassigned_partitions(self, unassigned: list[TopicPartition]) -> None:
        """Step 4.3: assign each partition to a member near it or without a rack, else to any subscriber.

        First all partitions are tried with members near them; those that are left follow.
        """
        self._current.sort(self._potential, self._group.rack_info)
        left = []
        for partition in unassigned:
            racks = self._group.rack_info.partition_racks.get(partition, NO_RACKS)
            consumer = self._current.order.first(partition.topic, racks)
            if consumer is None:
                left.append(partition)
            else:
                self._assign_partition(partition, consumer)
        for partition in left:
            consumer = self._current.order.first(partition.topic)
            assert consumer is not None  # every subscribed topic has a consumer
            self._assign_partition(partition, consumer)

    def _assign_partition(self, partition: TopicPartition, consumer: str) -> None:
        """Give an unassigned partition to a member, and record whether it is near."""
        self._current.add(partition, consumer)
        near = self._group.rack_info.is_near(consumer, partition)
        self._group.record(partition, Reason.NEAR if near else Reason.FILLED, consumer)

    def _set_fixed_assignments_aside(self) -> HashMap[str, list[TopicPartition]]:
        """Step 4.4: remove and return the members that have all partitions that they can have.

        A member is removed only if none of its partitions can move.
        """
        fixed_assignments: HashMap[str, list[TopicPartition]] = HashMap()
        for consumer, max_size in self._potential.max_assignment_size.items():
            partitions = self._current.partitions[consumer]
            if len(partitions) >= max_size and not any(map(self._potential.can_participate, partitions)):
                fixed_assignments[consumer] = self._current.partitions.pop(consumer)
        return fixed_assignments

    def _that_can_move(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions that can move: their topic has at least two potential consumers."""
        return list(filter(self._potential.can_participate, partitions))

    def _undo(self, reassignment: Reassignment, before: CurrentAssignment) -> None:
        """Step 4.6: undo all moves."""
        self._current.revert_to(before)
        for partition in reassignment.moved:
            self._group.record(partition, Reason.UNDONE, before.consumer_of[partition])


# 5. Reassign: methods of Java's `GeneralAssignmentBuilder` ---------------------------------------------


class Reassignment:
    """Moves partitions between members until they are balanced.

    Members that take no part in balancing must not be in `current`.

    Attributes:
        moved: the partitions that moved, in order.
        _fixed: the members that take no part in balancing.
        _topics_with_fixed_consumers: the topics that at least one of these subscribes to. For such topics a
            question about a fixed member can fail, as in Java.
        _movements: the moves so far. They decide whether another partition moves in place of the chosen one.
        _counter_example: a possible move: (member that could take a partition, the partition, member that has
            it); None if none is known.
    """

    def __init__(
        self,
        group: StickyGroup,
        potential: PotentialConsumers,
        current: CurrentAssignment,
        prev_assignment: Mapping[TopicPartition, str],
    ) -> None:
        self._group = group
        self._potential = potential
        self._current = current
        self._prev_assignment = prev_assignment
        self._movements = PartitionMovements()
        self._counter_example: tuple[str, TopicPartition, str] | None = None
        topics_of = potential.consumer_to_all_potential_topics
        self._fixed = topics_of.keys() - current.partitions.keys()
        self._topics_with_fixed_consumers = {
            topic for consumer in self._fixed for topic in topics_of[consumer]
        }
        self.moved: dict[TopicPartition, None] = {}
        current.sort(potential, group.rack_info)

    def perform(self, reassignable_partitions: Sequence[TopicPartition]) -> bool:
        """Go over the partitions again and again until none moves (`performReassignments`).

        Returns whether any partition moved.

        Quirk: a partition can move in place of another one, and such moves can repeat without end. Then Java
        never returns. Here a state that occurs twice raises AssignorError.

        Raises:
            AssignorError: balancing never ends, or a partition would move to a member that takes no part in
                it (NullPointerException in Java).
        """
        states: set[Hashable] = set()
        while self._go_over(reassignable_partitions):
            state = tuple(self._current.consumer_of.values()), self._movements.state()
            if state in states:
                raise AssignorError(
                    "balancing never ends: the same partitions go round in a circle, and a JVM leader hangs "
                    "here; let members subscribe to the same topics, or use another assignor"
                )
            states.add(state)
        return bool(states)

    def _go_over(self, partitions: Sequence[TopicPartition]) -> bool:
        """Examine each partition once, or until the assignment is balanced; return whether any moved."""
        modified = False
        for partition in partitions:
            if self._is_balanced():
                break
            consumer = self._current.consumer_of[partition]
            previous = self._prev_assignment.get(partition)
            # 5.1 A member that lost the partition while it was away gets it back first.
            # Quirk: the previous consumer may no longer subscribe to the topic.
            if previous is not None and self._has_fewer(previous, consumer, partition):
                self._reassign_partition(partition, previous, Reason.STOLEN_BACK)
            # 5.2 Otherwise the subscriber with the fewest partitions gets it.
            elif self._somebody_has_fewer(consumer, partition):
                # Quirk: the first subscriber in order gets the partition, no matter which subscriber was
                # found to have fewer, and no matter which subscribers are near.
                new_consumer = self._current.order.first(partition.topic)
                assert new_consumer is not None
                self._reassign_partition(partition, new_consumer, Reason.BALANCED)
            else:
                continue
            modified = True
        return modified

    def _has_fewer(self, other: str, consumer: str, partition: TopicPartition) -> bool:
        """Return whether another consumer has at least two partitions fewer than the partition's consumer.

        If the difference were one, a move would only exchange their sizes, and the partition would move back
        and forth.
        """
        if other in self._fixed:
            raise AssignorError(
                f"member {other!r} takes no part in balancing, but {partition} could go to it; drop what it "
                "claims from an earlier generation or that does not exist",
                jvm_exception="NullPointerException",
            )
        return self._current.size(other) + 1 < self._current.size(consumer)

    def _somebody_has_fewer(self, consumer: str, partition: TopicPartition) -> bool:
        """Return whether a potential consumer has at least two partitions fewer than the present consumer.

        Java asks all potential consumers one by one; if the partition's own consumer is near it, those near
        it are asked first. Here only the one with the fewest is asked, which gives the same answer. But if
        one of them takes no part in balancing, Java can fail at it first, so all are asked in Java's order.
        """
        topic = partition.topic
        if topic not in self._topics_with_fixed_consumers:
            first = self._current.order.first(topic)
            return first is not None and self._has_fewer(first, consumer, partition)
        others = self._potential.topic_to_all_potential_consumers[topic]
        near = [other for other in others if self._group.rack_info.is_near(other, partition)]
        candidates = near + others if consumer in near else others
        return any(self._has_fewer(other, consumer, partition) for other in candidates)

    def _is_balanced(self) -> bool:
        """Return whether no member could take a partition from a member with at least two partitions more.

        The last possible move that was found is remembered. While it is still possible, no search is needed.
        """
        if self._current.order.difference <= 1:
            return True
        if self._counter_example is not None:
            consumer, _, other = self._counter_example
            size = self._current.size(consumer)
            holds = size != self._potential.max_assignment_size[consumer]
            if holds and size + 1 < self._current.size(other):
                return False
        self._counter_example = self._find_counter_example()
        return self._counter_example is None

    def _find_counter_example(self) -> tuple[str, TopicPartition, str] | None:
        """Return a possible move, in the form of `_counter_example`; None if the assignment is balanced.

        Any possible move is good enough. Each topic is searched from its last partition on: the last
        partition is examined last, so a move of this partition remains possible for the longest time.
        Quirk: if two members have a partition, Java considers the one that its HashMap visits last.
        """
        all_partitions = {
            partition: consumer
            for consumer, partitions in self._current.partitions.items()
            for partition in partitions
        }
        # `settled` has the topics whose partitions all belong to members with at most one partition more than
        # the present member.
        settled: set[str] = set()
        for consumer in self._current.order.ascending():
            size = self._current.size(consumer)
            if size == self._potential.max_assignment_size[consumer]:
                continue
            for topic in reversed(self._potential.consumer_to_all_potential_topics[consumer]):
                if topic in settled:
                    continue  # this member has at least as many partitions as the members before it
                settled.add(topic)
                for partition in reversed(self._group.partitions_per_topic[topic]):
                    other = all_partitions[partition]
                    if size + 1 < self._current.size(other):
                        if partition not in self._current.partitions[consumer]:
                            return consumer, partition, other
                        settled.discard(topic)
        return None

    def _reassign_partition(self, partition: TopicPartition, new_consumer: str, reason: Reason) -> None:
        """Move a partition, or in its place one of its topic that moved the opposite way before.

        If the other partition did not move back, two members would exchange partitions of a topic, and both
        would lose state for nothing. In Java this is `reassignPartition`.
        """
        consumer = self._current.consumer_of[partition]
        moved = self._movements.actual_partition_to_be_moved(partition, consumer, new_consumer)
        self._movements.move_partition(moved, self._current.consumer_of[moved], new_consumer)
        self.moved[moved] = None
        self._current.move(moved, new_consumer)
        if self._counter_example is not None and self._counter_example[1] == moved:
            self._counter_example = None
        self._group.record(moved, reason if moved == partition else Reason.SWAPPED, new_consumer)
