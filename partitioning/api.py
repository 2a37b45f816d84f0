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
from partitioning.interface import (
    NONE_AVAILABLE,
    BatchAware,
    BytesAware,
    LoadAware,
    Partitioner,
    PlacesByKey,
    TimeAware,
    TopicLayout,
    TopicPartitioner,
)
from partitioning.keys import KeyColumn, Keys, key_column
from partitioning.partitioners import get_partitioner, list_partitioners, register_partitioner
from partitioning.placement import murmur2_batch, partition_batch, partition_for_key
from partitioning.profiles import PROFILES
from partitioning.registry import StrategyInfo
from partitioning.strategy import seeded
from partitioning.topic_partition import TopicPartition

__all__ = [
    "NONE_AVAILABLE",
    "PROFILES",
    "BatchAware",
    "BrokenPluginError",
    "BytesAware",
    "Growth",
    "InvalidConfigError",
    "InvalidKeyError",
    "InvalidLayoutError",
    "InvalidPartitionCountError",
    "KeyColumn",
    "Keys",
    "LoadAware",
    "MissingDependencyError",
    "Partitioner",
    "PartitioningError",
    "PlacesByKey",
    "StrategyConflictError",
    "StrategyInfo",
    "TimeAware",
    "TopicLayout",
    "TopicPartition",
    "TopicPartitioner",
    "UnknownStrategyError",
    "coordinator_partition",
    "expected_share",
    "get_partitioner",
    "grow",
    "key_column",
    "list_partitioners",
    "murmur2",
    "murmur2_batch",
    "partition_batch",
    "partition_for_key",
    "register_partitioner",
    "seeded",
]
