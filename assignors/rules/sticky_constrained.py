"""The sticky strategies where all members subscribe to the same topics.

Kafka: `AbstractStickyAssignor.ConstrainedAssignmentBuilder` in clients 4.4.0 (as 4.1 to 4.4).

Every member gets min_quota partitions, and some get one more, which is max_quota. Members that can have more
are unfilled.

1. Members keep what they own up to their quota; with racks, only partitions with a replica in their rack.
2. What nobody keeps is unassigned.
3. With racks, unassigned partitions go round robin to unfilled members near them.
4. The others go round robin to unfilled members: up to min_quota first, then one more.
5. Nobody may be left unfilled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.errors import AssignorError
from assignors.reasons import Reason
from assignors.rules.sticky_partitions import all_topic_partitions, unassigned_partitions
from partitioning.java import utf16_key

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from assignors.reasons import Recorder
    from assignors.rules.racks import RackInfo
    from partitioning.topic_partition import TopicPartition


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
