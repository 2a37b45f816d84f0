"""Where Kafka puts a record: every client's rule, for one key and for a column of them."""

from partitioning.hashing.murmur2 import murmur2
from partitioning.java import coordinator_partition
from partitioning.placement import murmur2_batch, partition_batch, partition_for_key
from partitioning.topic_partition import TopicPartition

__all__ = [
    "TopicPartition",
    "coordinator_partition",
    "murmur2",
    "murmur2_batch",
    "partition_batch",
    "partition_for_key",
]
