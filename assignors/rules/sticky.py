"""How "sticky" decides: balanced as far as subscriptions allow, with few moves (KIP-54).

Kafka: `StickyAssignor` and `AbstractStickyAssignor.assignPartitions` in clients 4.4.0 (as 4.1 to 4.4).

1. What do members remember of earlier rebalances?
2. Who may keep what? See `sticky_claims`.
3. Partitions are assigned: see `sticky_constrained` where all subscriptions are equal, `sticky_general` where
   they are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignors.assignment import Assignment
from assignors.group import StickyUserData
from assignors.protocol import as_it_travels, decode_sticky_user_data
from assignors.reasons import unrecorded
from assignors.rules.members import members_by_id
from assignors.rules.metadata import partitions_per_topic
from assignors.rules.racks import RackInfo
from assignors.rules.sticky_claims import (
    DEFAULT_GENERATION,
    MemberData,
    OwnedPartitions,
    all_subscriptions_equal,
    max_generation_of,
    previous_assignment,
)
from assignors.rules.sticky_constrained import ConstrainedAssignmentBuilder
from assignors.rules.sticky_general import GeneralAssignmentBuilder
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assignors.group import Group, Member
    from assignors.reasons import Recorder


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
