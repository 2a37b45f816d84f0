"""Offers the public names of the package, except its errors, which are in `partitioning.errors`.

A name is public if it stands in `__all__`, which is in the order in which people need the names. Names that
need only the hashes and the table of profiles are imported here at once. Strategies, growth and the
registries come with the first use of one of their names, so that `from partitioning import partition_for_key`
stays cheap on an executor and on the command line.

`Growth`, `grow` and `expected_share` come from `growth`, `seeded_source` from `strategy`, the functions that
get, list and register partitioners from `partitioners`.
"""

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
    from partitioning.strategy import seeded_source
else:

    def __getattr__(name: str) -> object:
        """Return a public object of a module that is imported late.

        Placing a key needs none of these modules, and importing them takes longer than importing the rest.

        Args:
            name: a name that this module does not define.

        Returns:
            The object. It is not stored in this module, because Python finds a module that was imported
            before without delay.

        Raises:
            AttributeError: the package has no such public name.
        """
        # The module that takes the least time to import is tried first: `growth` imports no strategy.
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
    # Authors of plug-ins need these names: the Protocols to implement, and what a plug-in is given or calls.
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
    "seeded_source",
    # These are tables of names, and the types of results.
    "PROFILES",
    "KEY_TYPES",
    "KeySerializer",
    "StrategyInfo",
    "Growth",
]
