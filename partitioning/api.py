"""The names that the package has for everybody."""

from partitioning.coordinator import coordinator_partition
from partitioning.errors import (
    BrokenPluginError,
    InvalidConfigError,
    InvalidKeyError,
    InvalidLayoutError,
    InvalidPartitionCountError,
    MissingDependencyError,
    PartitioningError,
    StrategyConflictError,
    UnknownStrategyError,
)
from partitioning.growth import Growth, expected_share, grow
from partitioning.hashing.murmur2 import murmur2
from partitioning.interface import Partitioner, TopicLayout, TopicPartitioner
from partitioning.partitioners import get_partitioner, list_partitioners, register_partitioner
from partitioning.placement import murmur2_batch, partition_batch, partition_for_key
from partitioning.registry import StrategyInfo
from partitioning.topic_partition import TopicPartition

__all__ = [
    "BrokenPluginError",
    "Growth",
    "InvalidConfigError",
    "InvalidKeyError",
    "InvalidLayoutError",
    "InvalidPartitionCountError",
    "MissingDependencyError",
    "Partitioner",
    "PartitioningError",
    "StrategyConflictError",
    "StrategyInfo",
    "TopicLayout",
    "TopicPartition",
    "TopicPartitioner",
    "UnknownStrategyError",
    "coordinator_partition",
    "expected_share",
    "get_partitioner",
    "grow",
    "list_partitioners",
    "murmur2",
    "murmur2_batch",
    "partition_batch",
    "partition_for_key",
    "register_partitioner",
]
