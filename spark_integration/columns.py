"""Kafka's partition of a row, as a column."""

from __future__ import annotations

from partitioning.errors import InvalidPartitionCountError

PARTITIONS = "copartition.partitions"
"""Metadata of a partition column: the partition count it was computed for."""


def check_partition_count(num_partitions: int) -> None:
    """Raise `InvalidPartitionCountError` unless a topic can have this many partitions."""
    if not 1 <= num_partitions < 2**31:
        raise InvalidPartitionCountError(f"num_partitions is {num_partitions}; a topic has 1 to 2**31 - 1")
