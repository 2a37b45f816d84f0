"""How "sticky" decides: balanced as far as subscriptions allow, with few moves (KIP-54).

Kafka: `StickyAssignor` and `AbstractStickyAssignor` in clients 4.4.0 (as 4.1 to 4.4).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from assignors.assignment import Assignment
from assignors.errors import AssignorError
from assignors.group import StickyUserData
from assignors.protocol import as_it_travels, decode_sticky_user_data
from assignors.reasons import Reason, unrecorded
from assignors.rules.members_and_topics import members_by_id, partitions_per_topic
from assignors.rules.sticky_structures import NO_RACKS, PartitionMovements, RackInfo, SortedSubscriptions
from partitioning.java import utf16_key
from partitioning.java.hash_map import HashMap
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence

    from assignors.group import Group, Member
    from assignors.reasons import Recorder

    # The partitions of each consumer. Java's order decides who a partition with two consumers counts for.
    CurrentAssignment = HashMap[str, list[TopicPartition]]


DEFAULT_GENERATION = -1


class Decision(NamedTuple):
    """What both sticky strategies decide.

    Attributes:
        assignment: the partitions of each member.
        partitions_transferring_ownership: those of them that another member has to give up first, with the
            member that gets them; None where that is not known yet, because subscriptions differ.
        max_generation: the highest generation the leader has seen, this rebalance included.
    """

    assignment: Mapping[str, list[TopicPartition]]
    partitions_transferring_ownership: Mapping[TopicPartition, str] | None
    max_generation: int


def assign_sticky(
    group: Group, highest: int = DEFAULT_GENERATION, record: Recorder = unrecorded
) -> tuple[Assignment, int]:
    """Who gets what.

    Args:
        group: the group to assign.
        highest: the highest generation that the group's leader has seen so far, its `maxGeneration`.
        record: is told each step.

    Returns:
        The assignment, and the leader's `maxGeneration` after it.

    Raises:
        AssignorError: where the JVM throws, or never ends.
    """
    decision = assign_partitions(group, member_data, highest, record)
    return Assignment.for_group(group, decision.assignment), decision.max_generation


def member_data(member: Member) -> MemberData:
    """Step 1: what a member remembers; in a "sticky" group that is in its user data (KIP-341)."""
    data = member.user_data
    if isinstance(data, StickyUserData):
        return MemberData(as_it_travels(data.partitions), data.generation)
    return MemberData(*decode_sticky_user_data(data or b""))


def assign_partitions(
    group: Group, recall: Callable[[Member], MemberData], highest: int, record: Recorder
) -> Decision:
    """`assignPartitions`, for both sticky strategies.

    Args:
        group: the group to assign.
        recall: step 1, what a member remembers.
        highest: the highest generation that the leader has seen so far.
        record: is told each step.

    Raises:
        AssignorError: where the JVM throws, or never ends.
    """
    subscriptions = members_by_id(group)
    partitions = {  # nothing depends on the order of this one, so it need not be a HashMap
        topic: [TopicPartition(topic, number) for number in range(count)]
        for topic, count in partitions_per_topic(group).items()
    }
    rack_info = RackInfo((topic for topic in group.topics if topic.name in partitions), group.members)

    remembered = {consumer: recall(member) for consumer, member in subscriptions.items()}
    max_generation = max_generation_of(remembered.values(), highest)
    owned = OwnedPartitions(subscriptions, remembered, partitions, record)

    if all_subscriptions_equal(subscriptions):
        constrained = ConstrainedAssignmentBuilder(
            partitions,
            rack_info,
            owned.consumer_to_owned_partitions,
            owned.partitions_with_multiple_previous_owners,
            record,
        )
        assignment = constrained.build()
        return Decision(assignment, constrained.partitions_transferring_ownership, max_generation)
    general = GeneralAssignmentBuilder(
        partitions, rack_info, owned.consumer_to_owned_partitions, subscriptions, record
    )
    return Decision(general.build(previous_assignment(remembered, max_generation)), None, max_generation)


class MemberData(NamedTuple):
    """What a member remembers.

    Attributes:
        partitions: what it had.
        generation: in which generation it got that; None where it does not say.
    """

    partitions: Sequence[TopicPartition]
    generation: int | None


def subscription_generation(subscription: Member) -> int:
    """The generation in a member's subscription (KIP-792), -1 where it has none."""
    generation = subscription.generation
    return DEFAULT_GENERATION if generation is None or generation < 0 else generation


def max_generation_of(memories: Iterable[MemberData], highest: int) -> int:
    """`maxGeneration`: the highest generation a leader has seen once it knows what members remember."""
    return max([highest, *(_generation(data) for data in memories)])


def all_subscriptions_equal(subscriptions: HashMap[str, Member]) -> bool:
    """Whether Java takes all subscriptions for equal.

    Quirk: members without topics do not count if they come before all others in Java's order.
    Quirk: lists are compared by length, so that a topic named twice can stand for two.
    """
    subscribed_topics: set[str] = set()
    for subscription in subscriptions.values():
        topics = subscription.topics
        if not subscribed_topics:
            subscribed_topics.update(topics)
        elif len(topics) != len(subscribed_topics) or not subscribed_topics.issuperset(topics):
            return False
    return True


class OwnedPartitions:
    """Who may keep what, where several members can claim the same partition.

    Members are heard in the order of Java's map, and each claim is held against the latest one that counted.
    Quirk: only the claimed partition's topic has to exist, not the partition.

    Args:
        subscriptions: the members by id.
        remembered: what each of them remembers.
        all_topics: the subscribed topics.
        record: is told which claims do not count.

    Attributes:
        consumer_to_owned_partitions: what each member may keep, in the order of its claims.
        partitions_with_multiple_previous_owners: what several members claimed in the same generation.
    """

    def __init__(
        self,
        subscriptions: HashMap[str, Member],
        remembered: Mapping[str, MemberData],
        all_topics: Container[str],
        record: Recorder,
    ) -> None:
        self._subscriptions = subscriptions
        self._record = record
        self._previous_owner: dict[TopicPartition, str] = {}
        self.consumer_to_owned_partitions: HashMap[str, list[TopicPartition]] = HashMap()
        self.partitions_with_multiple_previous_owners: set[TopicPartition] = set()
        for consumer in subscriptions:
            self.consumer_to_owned_partitions[consumer] = []
            generation = _generation(remembered[consumer])
            for partition in remembered[consumer].partitions:
                if partition.topic in all_topics:
                    self._hear(partition, consumer, generation)

    def _hear(self, partition: TopicPartition, consumer: str, generation: int) -> None:
        """One claim: it counts, or a claim of a later generation does, or none of two of the same one."""
        owned = self.consumer_to_owned_partitions
        other = self._previous_owner.get(partition)
        if other is None:
            owned[consumer].append(partition)
            self._previous_owner[partition] = consumer
            return
        # Quirk: the other one's generation is that of its subscription (KIP-792), although members of a
        # "sticky" group tell theirs in their user data.
        other_generation = subscription_generation(self._subscriptions[other])
        if generation < other_generation:
            self._record(partition, Reason.OUTDATED, consumer)
            return
        if generation > other_generation:
            owned[consumer].append(partition)
            self._record(partition, Reason.OUTDATED, other)
        else:  # neither of them has it now, but the next claim is held against this one
            self.partitions_with_multiple_previous_owners.add(partition)
            self._record(partition, Reason.CONTESTED, other)
            self._record(partition, Reason.CONTESTED, consumer)
        if partition in owned[other]:
            owned[other].remove(partition)
        self._previous_owner[partition] = consumer


def previous_assignment(
    remembered: Mapping[str, MemberData], max_generation: int
) -> dict[TopicPartition, str]:
    """Who had a partition in the latest generation before `max_generation`.

    Quirk: where a leader has seen a higher generation than all its members, that is who has it now.

    Args:
        remembered: what each member remembers, in the order of Java's map: of two with the same generation
            the first one counts.
        max_generation: the highest generation that the leader has seen.
    """
    previous: dict[TopicPartition, tuple[str, int]] = {}
    for consumer, data in remembered.items():
        generation = _generation(data)
        if generation < max_generation:
            for partition in data.partitions:
                if partition not in previous or generation > previous[partition][1]:
                    previous[partition] = consumer, generation
    return {partition: consumer for partition, (consumer, _) in previous.items()}


def _generation(data: MemberData) -> int:
    return DEFAULT_GENERATION if data.generation is None else data.generation


class ConstrainedAssignmentBuilder:
    """Builds the assignment of members that all subscribe to the same topics.

    Args:
        partitions_per_topic: the partitions of each subscribed topic, by number.
        rack_info: racks of consumers and partitions.
        consumer_to_owned_partitions: what each member may keep; iterates as Java's map.
        partitions_with_multiple_previous_owners: what nobody may keep, because several members claimed it.
        record: is told each step.

    Attributes:
        partitions_transferring_ownership: partitions that another member has to give up first, with the
            member that gets them; complete once built.

    Raises:
        AssignorError: there are no members (ArithmeticException).
    """

    def __init__(
        self,
        partitions_per_topic: Mapping[str, list[TopicPartition]],
        rack_info: RackInfo,
        consumer_to_owned_partitions: Mapping[str, list[TopicPartition]],
        partitions_with_multiple_previous_owners: Container[TopicPartition],
        record: Recorder,
    ) -> None:
        self._partitions_per_topic = partitions_per_topic
        self._rack_info = rack_info
        self._consumer_to_owned_partitions = consumer_to_owned_partitions
        self._partitions_with_multiple_previous_owners = partitions_with_multiple_previous_owners
        self._record = record

        total_partitions = sum(map(len, partitions_per_topic.values()))
        number_of_consumers = len(consumer_to_owned_partitions)
        if number_of_consumers == 0:
            raise AssignorError(
                "the group has no members, so nobody can get its partitions; give it at least one",
                jvm_exception="ArithmeticException",
            )
        self._min_quota = total_partitions // number_of_consumers
        self._max_quota = -(-total_partitions // number_of_consumers)
        # How many members are to get more than min_quota, and how many do so far.
        self._expected_over_min_quota = total_partitions % number_of_consumers
        self._current_over_min_quota = 0

        self._assignment: dict[str, list[TopicPartition]] = {
            name: [] for name in consumer_to_owned_partitions
        }
        self._assigned_partitions: list[TopicPartition] = []
        # Partitions that a member owned and did not keep; of several such members the last one counts.
        self._maybe_revoked_partitions: dict[TopicPartition, str] = {}
        self._unfilled_under_min_quota: list[str] = []
        self._unfilled_exactly_min_quota: list[str] = []
        self.partitions_transferring_ownership: dict[TopicPartition, str] = {}

    def build(self) -> dict[str, list[TopicPartition]]:
        """The partitions of every member.

        Raises:
            AssignorError: the quotas do not come out even (IllegalStateException).
        """
        self._assign_owned_partitions()

        sorted_topics = sorted(self._partitions_per_topic, key=utf16_key)
        all_partitions = all_topic_partitions(sorted_topics, self._partitions_per_topic)
        self._assigned_partitions.sort(key=lambda each: (utf16_key(each.topic), each.partition))
        unassigned = unassigned_partitions(all_partitions, self._assigned_partitions)
        unassigned = self._rack_info.sort_partitions_by_rack_consumers(unassigned)
        self._unfilled_under_min_quota.sort(key=utf16_key)
        self._unfilled_exactly_min_quota.sort(key=utf16_key)

        if self._rack_info.consumer_racks:
            unassigned = self._assign_rack_aware_round_robin(unassigned)
        self._assign_round_robin(unassigned)
        self._verify_unfilled_members()
        return self._assignment

    def _assign_owned_partitions(self) -> None:
        """Step 1: members, in the order of Java's map, keep what they own up to their quota."""
        for consumer in self._consumer_to_owned_partitions:
            owned = self._owned_partitions(consumer)
            quota = self._quota(consumer, len(owned))
            for partition in owned[:quota]:
                self._assignment[consumer].append(partition)
                self._assigned_partitions.append(partition)
                self._record(partition, Reason.KEPT, consumer)
            for partition in owned[quota:]:
                self._maybe_revoked_partitions[partition] = consumer
                self._record(partition, Reason.OVER_QUOTA, consumer)

    def _owned_partitions(self, consumer: str) -> list[TopicPartition]:
        """What the consumer owns that is neither far nor contested, by number and topic (KAFKA-16277)."""
        owned = []
        for partition in self._consumer_to_owned_partitions[consumer]:
            if self._rack_info.racks_mismatch(consumer, partition):
                self._maybe_revoked_partitions[partition] = consumer
                self._record(partition, Reason.FAR, consumer)
            elif partition in self._partitions_with_multiple_previous_owners:
                # Quirk: this also meets the claim of a later generation that outdid several earlier ones.
                self._record(partition, Reason.CONTESTED, consumer)
            else:
                owned.append(partition)
        return sorted(owned, key=lambda each: (each.partition, utf16_key(each.topic)))

    def _quota(self, consumer: str, owned: int) -> int:
        """How many of the partitions that it owns a consumer keeps; unfilled consumers are written down."""
        if owned < self._min_quota:
            self._unfilled_under_min_quota.append(consumer)
            return owned
        if owned >= self._max_quota and self._some_get_more():
            self._count_over_min_quota()
            return self._max_quota
        if self._some_get_more():
            self._unfilled_exactly_min_quota.append(consumer)
        return self._min_quota

    def _some_get_more(self) -> bool:
        """Whether fewer members than expected have more than min_quota so far."""
        return self._current_over_min_quota < self._expected_over_min_quota

    def _count_over_min_quota(self) -> None:
        """One more member has max_quota; once enough have, those with min_quota are filled."""
        self._current_over_min_quota += 1
        if self._current_over_min_quota == self._expected_over_min_quota:
            self._unfilled_exactly_min_quota.clear()

    def _assign_rack_aware_round_robin(self, unassigned: list[TopicPartition]) -> list[TopicPartition]:
        """Step 3: gives partitions to unfilled members near them, and returns the partitions left."""
        under, exactly = self._unfilled_under_min_quota, self._unfilled_exactly_min_quota
        left = []
        next_unfilled = 0
        for partition in unassigned:
            index = self._rack_info.next_rack_consumer(partition, under, next_unfilled)
            if index is not None:
                consumer = under[index]
                count = len(self._assignment[consumer]) + 1
                if count >= self._min_quota:
                    del under[index]  # the next one takes its place
                    if count < self._max_quota and self._some_get_more():
                        exactly.append(consumer)
                else:
                    index += 1
                next_unfilled = index % len(under) if under else 0
            else:
                index = self._rack_info.next_rack_consumer(partition, exactly, 0)
                if index is None:
                    left.append(partition)
                    continue
                consumer = exactly[index]
                if len(self._assignment[consumer]) + 1 == self._max_quota:
                    del exactly[index]
                    self._count_over_min_quota()
            self._assign_new_partition(partition, consumer, Reason.NEAR)
        return left

    def _assign_round_robin(self, unassigned: list[TopicPartition]) -> None:
        """Step 4: gives each partition to the next unfilled member."""
        under, exactly = self._unfilled_under_min_quota, self._unfilled_exactly_min_quota
        index = 0
        for partition in unassigned:
            if index == len(under):
                index = 0  # the round is over
            if under:
                consumer = under[index]
                index += 1
            elif exactly:
                consumer = exactly.pop(0)
            else:
                raise self._quotas_do_not_come_out_even()

            self._assign_new_partition(partition, consumer, Reason.FILLED)
            count = len(self._assignment[consumer])
            if count == self._min_quota:
                index -= 1
                del under[index]  # the next one takes its place
                exactly.append(consumer)
            elif count == self._max_quota:
                self._current_over_min_quota += 1

    def _assign_new_partition(self, partition: TopicPartition, consumer: str, reason: Reason) -> None:
        self._assignment[consumer].append(partition)
        self._record(partition, reason, consumer)
        revoked_from = self._maybe_revoked_partitions.get(partition, consumer)
        if revoked_from != consumer or partition in self._partitions_with_multiple_previous_owners:
            self.partitions_transferring_ownership[partition] = consumer

    def _verify_unfilled_members(self) -> None:
        """Step 5: who is still unfilled has min_quota, and nobody else is to get more."""
        if not self._unfilled_under_min_quota:
            return
        counts = {len(self._assignment[consumer]) for consumer in self._unfilled_under_min_quota}
        if self._current_over_min_quota != self._expected_over_min_quota or counts != {self._min_quota}:
            raise self._quotas_do_not_come_out_even()

    def _quotas_do_not_come_out_even(self) -> AssignorError:
        """Quirk: Java keeps partitions that do not exist (any more), and then miscounts."""
        consumer, partition = next(
            (consumer, partition)
            for consumer, partitions in self._assignment.items()
            for partition in partitions
            if not 0 <= partition.partition < len(self._partitions_per_topic[partition.topic])
        )
        count = len(self._partitions_per_topic[partition.topic])
        return AssignorError(
            f"member {consumer!r} claims {partition}, but topic {partition.topic!r} has {count} partitions, "
            "so the members' quotas do not come out even; drop the claim, as a restarted consumer does",
            jvm_exception="IllegalStateException",
        )


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


def all_topic_partitions(
    sorted_all_topics: Iterable[str], partitions_per_topic: Mapping[str, list[TopicPartition]]
) -> list[TopicPartition]:
    """The partitions of all topics, topic by topic."""
    return [partition for topic in sorted_all_topics for partition in partitions_per_topic[topic]]


def unassigned_partitions(
    sorted_all_partitions: Iterable[TopicPartition], sorted_assigned_partitions: Iterable[TopicPartition]
) -> list[TopicPartition]:
    """The partitions that nobody has, found by walking all partitions and the assigned ones side by side.

    Quirk: the walk waits for the next assigned partition to come up. One that does not exist never does, so
    every partition after it passes for unassigned, and those that somebody keeps are assigned once more.
    """
    assigned = iter(sorted_assigned_partitions)
    next_assigned = next(assigned, None)
    unassigned = []
    for partition in sorted_all_partitions:
        if partition == next_assigned:
            next_assigned = next(assigned, None)
        else:
            unassigned.append(partition)
    return unassigned
