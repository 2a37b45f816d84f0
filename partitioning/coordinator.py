"""Which broker coordinates a group or a transaction: the leader of the partition that keeps its id."""

from __future__ import annotations

from partitioning.java import string_hash
from partitioning.topic_partition import checked_partition_count


def coordinator_partition(group_or_transactional_id: str, num_partitions: int = 50) -> int:
    """Which partition of `__consumer_offsets` or `__transaction_state` keeps this id.

    The broker that leads it is the coordinator of the group or transaction.

    >>> coordinator_partition("billing")
    9

    Args:
        group_or_transactional_id: `group.id` or `transactional.id`.
        num_partitions: `offsets.topic.num.partitions` or `transaction.state.log.num.partitions`.

    Raises:
        InvalidPartitionCountError: `num_partitions` is outside 1 .. 2**31 - 1.
    """
    count = checked_partition_count(num_partitions)
    value = string_hash(group_or_transactional_id)
    # Utils.abs: Integer.MIN_VALUE has no positive counterpart and becomes 0.
    return 0 if value == -(1 << 31) else abs(value) % count
