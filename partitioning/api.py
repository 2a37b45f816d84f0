"""The names that the package has for everybody; errors are in `partitioning.errors`."""

from importlib import import_module
from typing import TYPE_CHECKING

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
from partitioning.placement import coordinator_partition, murmur2_batch, partition_batch, partition_for_key
from partitioning.plug_ins import StrategyInfo
from partitioning.profiles import PROFILES
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from partitioning.growth import Growth, expected_share, grow
    from partitioning.partitioners import get_partitioner, list_partitioners, register_partitioner
    from partitioning.serializers import KEY_TYPES, KeySerializer, key_serializer, serialize_key
    from partitioning.strategy import seeded
else:

    def __getattr__(name: str) -> object:
        """Return what placing a key does without: importing it takes longer than importing the rest."""
        homes = ("growth", "serializers", "strategy", "partitioners")
        for module in (import_module(f"partitioning.{home}") for home in homes):
            if name in __all__ and hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [  # noqa: RUF022 - in the order in which people need them
    "partition_for_key",
    "partition_batch",
    "serialize_key",
    "key_serializer",
    "coordinator_partition",
    "grow",
    "expected_share",
    "murmur2",
    "murmur2_batch",
    "get_partitioner",
    "list_partitioners",
    "TopicLayout",
    "TopicPartition",
    "key_column",
    "register_partitioner",
    # What plug-ins implement, and what they get
    "Partitioner",
    "TopicPartitioner",
    "PlacesByKey",
    "BytesAware",
    "LoadAware",
    "BatchAware",
    "TimeAware",
    "NONE_AVAILABLE",
    "KeyColumn",
    "Keys",
    "seeded",
    # Results
    "PROFILES",
    "KEY_TYPES",
    "KeySerializer",
    "StrategyInfo",
    "Growth",
]
