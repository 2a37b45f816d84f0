"""What Java's `hashCode` and `HashMap` do; both decide where Kafka puts things.

`HashMap` and `HashSet` are called one by one, as in Java. `hash_map_order` is the order of a map that is only
filled; `many_maps` has that of many at once. `TimelineKeys` is the order of Kafka's own map, in which a
coordinator has its members.
"""

from partitioning.java.collections import TimelineKeys, scala_set_order
from partitioning.java.hash_codes import (
    string_hash,
    string_hashes,
    topic_partition_hash,
    topic_partition_hashes,
    utf16_key,
    uuid_hash,
)
from partitioning.java.hash_map import HashMap, HashSet
from partitioning.java.hash_order import hash_map_keys, hash_map_order
from partitioning.java.sizes import hash_map_capacity, hash_set_capacity

__all__ = [
    "HashMap",
    "HashSet",
    "TimelineKeys",
    "hash_map_capacity",
    "hash_map_keys",
    "hash_map_order",
    "hash_set_capacity",
    "scala_set_order",
    "string_hash",
    "string_hashes",
    "topic_partition_hash",
    "topic_partition_hashes",
    "utf16_key",
    "uuid_hash",
]
