"""Decides as "sticky" does, but a partition that moves waits until it is given up (KIP-429).

Kafka: `CooperativeStickyAssignor` in clients 4.4.0 (as 4.1 to 4.4).

1. Members tell what they own in their subscription.
2. Partitions are assigned as by "sticky".
3. A partition transfers ownership if it is new to a member and another member owns it.
4. They are held back: nobody gets them in this rebalance. Their owners give them up and rejoin at once, and
   then they are free.
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

    AssignorError if the JVM throws or never ends.
    """
    assignment, transferring, max_generation = assign_partitions(group, member_data, highest, record)
    if transferring is None:
        transferring = compute_partitions_transferring_ownership(group, assignment)
    for partition, consumer in transferring.items():
        assignment[consumer].remove(partition)
        record(partition, Reason.HELD_BACK, consumer)
    return Assignment.for_group(group, assignment, transferring=transferring), max_generation


def member_data(member: Member) -> MemberData:
    """Step 1: what a cooperative member owns, and since which generation.

    The generation is in its subscription (KIP-792), or else its user data, where it was before.
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
    """Step 3 where subscriptions differ: what is added to one member and revoked from another.

    Args:
        group: members with what they own now.
        assignment: what each member is to have in the end, by member id.

    Returns:
        Partition -> the member that is to get it once its owner has given it up.
    """
    subscriptions = members_by_id(group)
    all_added_partitions: dict[TopicPartition, str] = {}
    all_revoked_partitions: set[TopicPartition] = set()
    for consumer, assigned in assignment.items():
        owned = set(PartitionList.of(subscriptions[consumer].owned))
        for partition in assigned:
            if partition not in owned:
                # Quirk: two members can get the same partition; the one that Java visits last counts.
                all_added_partitions[partition] = consumer
        all_revoked_partitions |= owned.difference(assigned)
    return {
        partition: consumer
        for partition, consumer in all_added_partitions.items()
        if partition in all_revoked_partitions
    }
