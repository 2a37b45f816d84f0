"""The rule of "sticky": balanced as far as subscriptions allow, with few moves (KIP-54).

In Kafka these are `StickyAssignor` and `AbstractStickyAssignor` of clients 4.4.0 (the same in 4.1 to 4.4).
`assign_partitions` takes all steps, and the parts of this file follow in the same order:

1. Remember: read the partitions that each member had after earlier rebalances, and its generation.
2. Claims: decide which member may keep a partition if several members claim it.
3. Constrained: if all members subscribe to the same topics, quotas decide.
4. General: if not, the member with the fewest partitions gets the next one.
5. Reassign: in the general case, partitions then move until no move makes the assignment more balanced. Steps
   4 and 5 are in `sticky_general`.
6. Hand over: "cooperative-sticky" holds back partitions that another member owns (`cooperative_sticky`).

The data structures of these steps are in `sticky_structures`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from assignors.assignment import Assignment
from assignors.group import Group, Member, StickyUserData
from assignors.interface import Reason, Recorder, record_nothing
from assignors.protocol import as_it_travels, decode_sticky_user_data
from assignors.rules.sticky_general import GeneralAssignmentBuilder
from assignors.rules.sticky_structures import (
    StickyGroup,
    all_topic_partitions,
    unassigned_partitions,
)
from partitioning.errors import AssignorError
from partitioning.java import utf16_key
from partitioning.java.hash_map import HashMap
from partitioning.topic_partition import TopicPartition

DEFAULT_GENERATION = -1


class StickyDecision(NamedTuple):
    """Holds the decision that both sticky strategies share.

    Attributes:
        assignment: the partitions of each member after all moves, by member id.
        partitions_transferring_ownership: the partitions that another member must revoke first, with the
            member that gets them; None if this is not computed yet, because subscriptions differ.
        max_generation: the highest generation that the leader knows, those of this rebalance included.
    """

    assignment: Mapping[str, list[TopicPartition]]
    partitions_transferring_ownership: Mapping[TopicPartition, str] | None
    max_generation: int


def assign_sticky(
    group: Group, highest: int = DEFAULT_GENERATION, record: Recorder = record_nothing
) -> tuple[Assignment, int]:
    """Return the assignment and the leader's next `maxGeneration`.

    Args:
        group: the group.
        highest: the highest generation that this leader knew before (`maxGeneration`); -1 for none.
        record: called with the reason of each decision.

    Raises:
        AssignorError: the JVM throws an exception for this group or never ends.
    """
    decision = assign_partitions(group, member_data, highest, record)
    return Assignment.for_group(group, decision.assignment), decision.max_generation


def assign_partitions(
    group: Group, recall: Callable[[Member], MemberData], highest: int, record: Recorder
) -> StickyDecision:
    """Return the decision of both sticky strategies (`assignPartitions`).

    Args:
        group: the group.
        recall: reads a member's previous partitions (`memberData`); each strategy has its own.
        highest: the highest generation that this leader knew before; -1 for none.
        record: called with the reason of each decision.

    Raises:
        AssignorError: the JVM throws an exception for this group or never ends.
    """
    sticky_group = StickyGroup(group, record)
    subscriptions = sticky_group.subscriptions

    # 1. Remember.
    memories = {consumer: recall(member) for consumer, member in subscriptions.items()}
    max_generation = max_generation_of(memories.values(), highest)

    # 2. Claims.
    claims = settle_claims(sticky_group, memories)

    # 3. Constrained.
    if all_subscriptions_equal(subscriptions):
        constrained = ConstrainedAssignmentBuilder(sticky_group, claims)
        assignment = constrained.build()
        return StickyDecision(assignment, constrained.partitions_transferring_ownership, max_generation)

    # 4. General, and 5. Reassign.
    general = GeneralAssignmentBuilder(sticky_group, claims)
    return StickyDecision(general.build(previous_assignment(memories, max_generation)), None, max_generation)


# 1. Remember -------------------------------------------------------------------------------------------


class MemberData(NamedTuple):
    """Holds the partitions that a member reports as its own, and the generation it reports; None for none."""

    partitions: Sequence[TopicPartition]
    generation: int | None


def member_data(member: Member) -> MemberData:
    """Return the previous partitions of a member of a "sticky" group, from its user data (KIP-341)."""
    data = member.user_data
    if isinstance(data, StickyUserData):
        return MemberData(as_it_travels(data.partitions), data.generation)
    return MemberData(*decode_sticky_user_data(data or b""))


def max_generation_of(memories: Iterable[MemberData], highest: int) -> int:
    """Return the highest generation that the leader knows after it has read all members (`maxGeneration`)."""
    return max([highest, *(_generation(data) for data in memories)])


def previous_assignment(memories: Mapping[str, MemberData], max_generation: int) -> dict[TopicPartition, str]:
    """Return each partition's owner in the latest generation before `max_generation`.

    Step 5 returns a partition to that member first. Without this, a member that missed a rebalance would lose
    its partitions for good. `memories` is in the order of Java's map; of two members with the same generation
    the first one counts.
    Quirk: if the leader knows a higher generation than all members report, the result has the present owners.
    """
    previous: dict[TopicPartition, tuple[str, int]] = {}
    for consumer, data in memories.items():
        generation = _generation(data)
        if generation < max_generation:
            for partition in data.partitions:
                if partition not in previous or generation > previous[partition][1]:
                    previous[partition] = consumer, generation
    return {partition: consumer for partition, (consumer, _) in previous.items()}


def subscription_generation(subscription: Member) -> int:
    """Return the generation in a member's subscription (KIP-792), -1 if it has none."""
    generation = subscription.generation
    return DEFAULT_GENERATION if generation is None or generation < 0 else generation


def _generation(data: MemberData) -> int:
    """Return the generation that a member reports, -1 if it reports none."""
    return DEFAULT_GENERATION if data.generation is None else data.generation


# 2. Claims: Java's `allSubscriptionsEqual`, whose two halves are two functions here --------------------


def all_subscriptions_equal(subscriptions: HashMap[str, Member]) -> bool:
    """Return whether Java treats all subscriptions as equal.

    Quirk: members without topics are ignored if they come before all others in Java's order.
    Quirk: Java compares the length of lists, so a topic that is named twice counts as two.
    """
    subscribed_topics: set[str] = set()
    for subscription in subscriptions.values():
        topics = subscription.topics
        if not subscribed_topics:
            subscribed_topics.update(topics)
        elif len(topics) != len(subscribed_topics) or not subscribed_topics.issuperset(topics):
            return False
    return True


def settle_claims(group: StickyGroup, memories: Mapping[str, MemberData]) -> OwnedPartitions:
    """Return the partitions that each member may keep.

    Members claim in the order of Java's map. Without this step, a member that missed a rebalance would keep
    partitions that other members have got since, and two members would consume the same partition.
    Quirk: only the topic of a claimed partition must exist, not the partition itself.
    """
    claims = OwnedPartitions(group)
    for consumer in group.subscriptions:
        claims.consumer_to_owned_partitions[consumer] = []
        generation = _generation(memories[consumer])
        for partition in memories[consumer].partitions:
            if partition.topic in group.partitions_per_topic:
                claims.claim(partition, consumer, generation)
    return claims


class OwnedPartitions:
    """Decides, claim by claim, which member may keep a partition.

    Attributes:
        consumer_to_owned_partitions: the partitions that each member may keep after the claims so far, in the
            order of the claims.
        partitions_with_multiple_previous_owners: the partitions that several members claimed in the same
            generation.
        _previous_owner: the member with which the next claim on a partition is compared.
    """

    def __init__(self, group: StickyGroup) -> None:
        self._group = group
        self._previous_owner: dict[TopicPartition, str] = {}
        self.consumer_to_owned_partitions: HashMap[str, list[TopicPartition]] = HashMap()
        self.partitions_with_multiple_previous_owners: set[TopicPartition] = set()

    def claim(self, partition: TopicPartition, consumer: str, generation: int) -> None:
        """Take one claim into account.

        If another member claimed the partition before, the claim of the later generation counts. If both
        claims have the same generation, neither counts.
        """
        owned, record = self.consumer_to_owned_partitions, self._group.record
        other = self._previous_owner.get(partition)
        if other is None:
            owned[consumer].append(partition)
            self._previous_owner[partition] = consumer
            return
        # Quirk: the generation of the other member is read from its subscription (KIP-792), although members
        # of a "sticky" group send it in their user data.
        other_generation = subscription_generation(self._group.subscriptions[other])
        if generation < other_generation:
            record(partition, Reason.OUTDATED, consumer)
            return
        if generation > other_generation:
            owned[consumer].append(partition)
            record(partition, Reason.OUTDATED, other)
        # Neither member keeps the partition, but the next claim of it is compared with this claim.
        else:
            self.partitions_with_multiple_previous_owners.add(partition)
            record(partition, Reason.CONTESTED, other)
            record(partition, Reason.CONTESTED, consumer)
        if partition in owned[other]:
            owned[other].remove(partition)
        self._previous_owner[partition] = consumer


# 3. Constrained ----------------------------------------------------------------------------------------


class ConstrainedAssignmentBuilder:
    """Builds the assignment of members that all subscribe to the same topics.

    Every member gets min_quota partitions, and some members get one more, which is max_quota. A member that
    can still get partitions is unfilled.

    Attributes:
        partitions_transferring_ownership: the partitions that another member must revoke first, with the
            member that gets them; complete after `build`.

    Raises:
        AssignorError: the group has no members (ArithmeticException in Java).
    """

    def __init__(self, group: StickyGroup, claims: OwnedPartitions) -> None:
        self._group = group
        self._claims = claims

        total_partitions = sum(map(len, group.partitions_per_topic.values()))
        number_of_consumers = len(claims.consumer_to_owned_partitions)
        if number_of_consumers == 0:
            raise AssignorError(
                "the group has no members, so nobody can get its partitions; give it at least one",
                jvm_exception="ArithmeticException",
            )
        self._min_quota = total_partitions // number_of_consumers
        self._max_quota = -(-total_partitions // number_of_consumers)
        # These count the members that shall have more than min_quota, and those that have more so far.
        self._expected_over_min_quota = total_partitions % number_of_consumers
        self._current_over_min_quota = 0

        self._assignment: dict[str, list[TopicPartition]] = {
            name: [] for name in claims.consumer_to_owned_partitions
        }
        # By partition, the member that owned the partition and did not keep it. Of several such members, the
        # last one counts.
        self._maybe_revoked_partitions: dict[TopicPartition, str] = {}
        self._unfilled_under_min_quota: list[str] = []
        self._unfilled_exactly_min_quota: list[str] = []
        self.partitions_transferring_ownership: dict[TopicPartition, str] = {}

    def build(self) -> dict[str, list[TopicPartition]]:
        """Return the assignment; raise AssignorError if quotas do not add up (IllegalStateException)."""
        # 3.1 Members keep the partitions they own, up to their quota. If racks decide, they keep only
        # partitions with a replica in their rack.
        assigned_partitions = self._assign_owned_partitions()
        # 3.2 Partitions that no member keeps are unassigned. If racks decide, partitions with the fewest
        # members near them come first: later these members might be full.
        unassigned = self._unassigned_partitions(assigned_partitions)
        # 3.3 If racks decide, unassigned partitions go round robin to unfilled members near them.
        self._unfilled_under_min_quota.sort(key=utf16_key)
        self._unfilled_exactly_min_quota.sort(key=utf16_key)
        if self._group.rack_info.consumer_racks:
            unassigned = self._assign_rack_aware_round_robin(unassigned)
        # 3.4 The others go round robin to unfilled members: up to min_quota first, then one more.
        self._assign_round_robin(unassigned)
        # 3.5 No member may be left unfilled.
        self._verify_unfilled_members()
        return self._assignment

    def _assign_owned_partitions(self) -> list[TopicPartition]:
        """Step 3.1: let members keep partitions, in the order of Java's map; return these partitions."""
        assigned_partitions = []
        for consumer in self._claims.consumer_to_owned_partitions:
            owned = self._owned_partitions(consumer)
            quota = self._quota(consumer, len(owned))
            for partition in owned[:quota]:
                self._assignment[consumer].append(partition)
                assigned_partitions.append(partition)
                self._group.record(partition, Reason.KEPT, consumer)
            for partition in owned[quota:]:
                self._maybe_revoked_partitions[partition] = consumer
                self._group.record(partition, Reason.OVER_QUOTA, consumer)
        return assigned_partitions

    def _owned_partitions(self, consumer: str) -> list[TopicPartition]:
        """Return the owned partitions of a consumer that are neither far nor contested, sorted.

        They are sorted by number, then by topic. If they were sorted by topic first, a member would keep
        whole topics and give up others, and a busy topic would stay with few members (KAFKA-16277).
        """
        owned = []
        for partition in self._claims.consumer_to_owned_partitions[consumer]:
            if self._group.rack_info.racks_mismatch(consumer, partition):
                self._maybe_revoked_partitions[partition] = consumer
                self._group.record(partition, Reason.FAR, consumer)
            elif partition in self._claims.partitions_with_multiple_previous_owners:
                # Quirk: this also drops a claim of a later generation that replaced two earlier claims of
                # equal generations.
                self._group.record(partition, Reason.CONTESTED, consumer)
            else:
                owned.append(partition)
        return sorted(owned, key=lambda partition: (partition.partition, utf16_key(partition.topic)))

    def _quota(self, consumer: str, owned: int) -> int:
        """Return how many of its owned partitions a consumer keeps; record the consumer if it is unfilled."""
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
        """Return whether fewer members than expected have more than min_quota so far."""
        return self._current_over_min_quota < self._expected_over_min_quota

    def _count_over_min_quota(self) -> None:
        """Count one more member with max_quota; once there are enough, no member with min_quota gets more."""
        self._current_over_min_quota += 1
        if self._current_over_min_quota == self._expected_over_min_quota:
            self._unfilled_exactly_min_quota.clear()

    def _unassigned_partitions(self, assigned_partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Step 3.2: return the unassigned partitions in the order in which they are given out."""
        all_partitions = all_topic_partitions(self._group, utf16_key)
        assigned_partitions.sort(key=lambda partition: (utf16_key(partition.topic), partition.partition))
        unassigned = unassigned_partitions(all_partitions, assigned_partitions)
        return self._group.rack_info.sort_partitions_by_rack_consumers(unassigned)

    def _assign_rack_aware_round_robin(self, unassigned: list[TopicPartition]) -> list[TopicPartition]:
        """Step 3.3: assign partitions to members near them; return the partitions that are left."""
        under, exactly = self._unfilled_under_min_quota, self._unfilled_exactly_min_quota
        rack_info = self._group.rack_info
        left = []
        next_unfilled = 0
        for partition in unassigned:
            index = rack_info.next_rack_consumer(partition, under, next_unfilled)
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
                index = rack_info.next_rack_consumer(partition, exactly, 0)
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
        """Step 3.4: give each partition to the next unfilled member."""
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
        """Give a partition to a member; record a transfer if another member owned it and must revoke it."""
        self._assignment[consumer].append(partition)
        self._group.record(partition, reason, consumer)
        revoked_from = self._maybe_revoked_partitions.get(partition, consumer)
        if revoked_from != consumer or partition in self._claims.partitions_with_multiple_previous_owners:
            self.partitions_transferring_ownership[partition] = consumer

    def _verify_unfilled_members(self) -> None:
        """Step 3.5: check that each unfilled member has min_quota and no further member should have more."""
        if not self._unfilled_under_min_quota:
            return
        counts = {len(self._assignment[consumer]) for consumer in self._unfilled_under_min_quota}
        if self._current_over_min_quota != self._expected_over_min_quota or counts != {self._min_quota}:
            raise self._quotas_do_not_come_out_even()

    def _quotas_do_not_come_out_even(self) -> AssignorError:
        """Return the error for quotas that do not add up.

        Quirk: Java lets members keep partitions that do not exist, and then its counts are wrong.
        """
        partitions_per_topic = self._group.partitions_per_topic
        consumer, partition = next(
            (consumer, partition)
            for consumer, partitions in self._assignment.items()
            for partition in partitions
            if not 0 <= partition.partition < len(partitions_per_topic[partition.topic])
        )
        count = len(partitions_per_topic[partition.topic])
        return AssignorError(
            f"member {consumer!r} claims {partition}, but topic {partition.topic!r} has {count} partitions, "
            "so the members' quotas do not come out even; drop the claim, as a restarted consumer does",
            jvm_exception="IllegalStateException",
        )
