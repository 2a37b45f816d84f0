"""Models Java's `hashCode` and `HashMap`, whose results affect many decisions of Kafka.

- `hash_codes` hashes and compares strings, by UTF-16 code unit as in Java.
- `hash_map` has `HashMap` and `HashSet` with Java's single operations; `tree_bin` models a crowded bin of a
  map.
- `hash_map_order` computes the order of a map to which keys are only added, and `many_maps` computes it for
  many maps at once.
- `collections` has the order of other maps, such as `TimelineKeys`: Kafka's own map, in which a coordinator
  keeps its members.

"Order" is always the order of iteration. A function that computes an order by arithmetic says which cases it
leaves to the classes that go key by key.
"""

from partitioning.java.collections import TimelineKeys as TimelineKeys
from partitioning.java.collections import scala_set_order as scala_set_order
from partitioning.java.hash_codes import string_hash as string_hash
from partitioning.java.hash_codes import string_hashes as string_hashes
from partitioning.java.hash_codes import topic_partition_hashes as topic_partition_hashes
from partitioning.java.hash_codes import utf16_key as utf16_key
from partitioning.java.hash_codes import uuid_hash as uuid_hash
from partitioning.java.hash_map import HashMap as HashMap
from partitioning.java.hash_map import HashSet as HashSet
from partitioning.java.hash_map import hash_map_capacity as hash_map_capacity
from partitioning.java.hash_map import hash_map_keys as hash_map_keys
from partitioning.java.hash_map import hash_map_order as hash_map_order
from partitioning.java.hash_map import hash_set_capacity as hash_set_capacity
