"""The rule of "cooperative-sticky": "sticky", but a partition that moves is held back first (KIP-429).

In Kafka this is `CooperativeStickyAssignor` of clients 4.4.0 (the same in 4.1 to 4.4).

1. Members report the partitions they own in their subscription.
2. Partitions are assigned as by "sticky".
3. A partition transfers ownership if it is new to its member and another member owns it.
4. Such a partition is held back: no member gets it in this rebalance. Its owner revokes it and rejoins at
   once, and the next rebalance assigns it.
"""

from collections.abc import Mapping

from assignors.assignment import Assignment
from assignors.group import Group, Member
from assignors.interface import Reason, Recorder, record_nothing
from assignors.partition_list import PartitionList
from assignors.protocol import decode_cooperative_user_data
from assignors.rules.group_spec import members_by_id
from assignors.rules.sticky import DEFAULT_GENERATION, MemberData, assign_partitions, subscription_generation
from partitioning.topic_partition import TopicPartition


def assign_cooperative_sticky(
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
    assignment, transferring, max_generation = assign_partitions(group, member_data, highest, record)
    if transferring is None:
        transferring = compute_partitions_transferring_ownership(group, assignment)
    for partition, consumer in transferring.items():
        assignment[consumer].remove(partition)
        record(partition, Reason.HELD_BACK, consumer)
    return Assignment.for_group(group, assignment, transferring=transferring), max_generation


def member_data(member: Member) -> MemberData:
    """Step 1: return the partitions that a cooperative member owns, and its generation.

    The generation is read from the member's subscription (KIP-792). If the subscription has none, the
    generation is read from the user data, where clients before KIP-792 put it.
    """
    owned = PartitionList.of(member.owned)
    generation = subscription_generation(member)
    if generation != DEFAULT_GENERATION:
        return MemberData(owned, generation)
    data = None if member.user_data is None else bytes(member.user_data)
    return MemberData(owned, decode_cooperative_user_data(data))


def compute_partitions_transferring_ownership(
    group: Group, assignment: Mapping[str, list[TopicPartition]]
) -> dict[TopicPartition, str]:
    """Step 3 if subscriptions differ: find partitions added to one member and revoked from another.

    Args:
        group: the members with the partitions they own now.
        assignment: the partitions that each member shall have in the end, by member id.

    Returns:
        Partition -> the member that gets it after its owner has revoked it.
    """
    subscriptions = members_by_id(group)
    all_added_partitions: dict[TopicPartition, str] = {}
    all_revoked_partitions: set[TopicPartition] = set()
    for consumer, assigned in assignment.items():
        owned = set(PartitionList.of(subscriptions[consumer].owned))
        for partition in assigned:
            if partition not in owned:
                # Quirk: two members can get the same partition. The one that Java visits last counts.
                all_added_partitions[partition] = consumer
        all_revoked_partitions |= owned.difference(assigned)
    return {
        partition: consumer
        for partition, consumer in all_added_partitions.items()
        if partition in all_revoked_partitions
    }
