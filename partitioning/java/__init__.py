"""What Java's `hashCode` and `HashMap` iteration order do; both decide where Kafka puts things."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from partitioning.hashing.java_string import hash_of_units, hash_units
from partitioning.java_maps.crowded_bins import Growth, Tree
from partitioning.java_maps.hash_table import SHORTEST_WITH_TREES, TREEIFY, spread
from partitioning.topic_partition import checked_partition_count

if TYPE_CHECKING:
    import uuid
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from partitioning.java_maps.tree_bin import Rank
    from partitioning.topic_partition import TopicPartition


def utf16_key(text: str) -> bytes:
    """The sort key that orders text as Java's `String.compareTo`: by UTF-16 code unit, not by code point."""
    return text.encode("utf-16-be", "surrogatepass")


def string_hash(text: str) -> int:
    """`String.hashCode`: signed 32-bit."""
    return hash_of_units(text.encode("utf-16-le", "surrogatepass"))


def string_hashes(texts: Sequence[str]) -> NDArray[np.int32]:
    """`String.hashCode` of each text: int32 array of shape (n,)."""
    joined = "".join(texts)
    offsets = np.zeros(len(texts) + 1, np.int64)
    if joined.isascii():
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
        units = np.frombuffer(joined.encode(), dtype=np.uint8).astype(np.uint16)
    else:
        np.cumsum([len(utf16_key(text)) // 2 for text in texts], out=offsets[1:])
        units = np.frombuffer(utf16_key(joined), dtype=">u2").astype(np.uint16)
    return hash_units(units, offsets)


def topic_partition_hash(partition: TopicPartition) -> int:
    """`TopicPartition.hashCode`: signed 32-bit."""
    return int(topic_partition_hashes(string_hash(partition.topic), partition.partition))


def topic_partition_hashes(topic_hashes: ArrayLike, partitions: ArrayLike) -> NDArray[np.int32]:
    """`TopicPartition.hashCode` of many partitions: int32, the arguments broadcast against each other.

    Args:
        topic_hashes: the topic names' `string_hashes`.
        partitions: partition numbers.
    """
    with np.errstate(over="ignore"):
        partition_term = np.uint32(31) * (np.uint32(31) + np.asarray(partitions).astype(np.uint32))
        return (partition_term + np.asarray(topic_hashes).astype(np.uint32)).astype(np.int32)


def uuid_hash(value: uuid.UUID) -> int:
    """`org.apache.kafka.common.Uuid.hashCode`: signed 32-bit."""
    half = (value.int >> 64) ^ (value.int & 0xFFFFFFFFFFFFFFFF)
    return _signed((half >> 32) ^ (half & 0xFFFFFFFF))


def hash_map_order(
    hashes: ArrayLike,
    *,
    capacity: int = 16,
    insert: Literal["tail", "head"] = "tail",
    called_again: bool = False,
    keys: Sequence[str] | NDArray[np.int64] | None = None,
    apart: Sequence[int] | None = None,
    sure: bool = True,
) -> NDArray[np.intp]:
    """In which order a `HashMap` iterates over keys that were put one after the other.

    Args:
        hashes: `hashCode` of each key, in the order the keys were put; the keys are distinct. The hash of an
            integer is its value.
        capacity: argument of `new HashMap(capacity)`; 16 is what `new HashMap()` has.
        insert: "tail" for `put`, `putIfAbsent`, `HashSet.add`, `toMap` and `toSet`; "head" for
            `computeIfAbsent`, `compute`, `merge` and `groupingBy`.
        called_again: with "head", whether a call for a key that was there followed the last new one: it
            doubles a table that is too full, which a call does before it puts.
        keys: the keys where Java can compare them: strings, or int64 of shape (n, k) with rows that compare
            as they do.
        apart: a number for each key, where only the order among keys with the same number is asked for.
        sure: whether the keys were put in exactly this order.

    Returns:
        intp array of shape (n,): positions in `hashes`, in iteration order.

    Raises:
        TreeBinError: keys that Java cannot compare have one hash and share a bin that is a red-black tree,
            and the order depends on their `System.identityHashCode`, which every run of a JVM has anew.
    """
    signed = np.asarray(hashes, dtype=np.int32)
    mixed = spread(signed).view(np.uint32)
    growth = _growth(mixed, capacity, insert, called_again=called_again)
    length = growth.lengths[-1]
    buckets = mixed & np.uint32(length - 1)
    if length <= 1 << 16:
        buckets = buckets.astype(np.uint16)  # NumPy sorts these by radix
    if insert == "head":
        order: NDArray[np.intp] = len(buckets) - 1 - np.argsort(buckets[::-1], kind="stable")
    else:
        order = np.argsort(buckets, kind="stable")
    if growth.trees:
        place = np.argsort(order)
        for rows in growth.tree_rows(mixed):
            tree = Tree(rows.tolist(), mixed.view(np.int32)[rows].tolist(), growth, insert)
            if keys is None:
                found = tree.order_without_ranks(apart, sure=sure)
            else:
                found = tree.order([_rank(keys[row]) for row in tree.rows])
            order[np.sort(place[rows])] = found
    return order


def hash_map_keys(keys: Sequence[str], *, capacity: int = 16) -> list[str]:
    """Distinct strings in the iteration order of a `HashMap` or `HashSet` they were put into one by one."""
    order = hash_map_order(string_hashes(keys), capacity=capacity, keys=keys)
    return [keys[i] for i in order.tolist()]


def hash_set_capacity(size: int) -> int:
    """The capacity `new HashSet(collection)` starts with.

    That of Java 8 to 18. Java 19 and newer differ at 12, 24, 48, ... elements only (JDK-8284780).
    """
    return max(int(size / 0.75) + 1, 16)


def hash_map_capacity(size: int) -> int:
    """The capacity `new HashMap(map)` starts with.

    That of Java 8 to 18. Java 19 and newer differ at 3, 6, 12, 24, ... entries only (JDK-8281631).
    """
    return int(size / 0.75 + 1)


def coordinator_partition(group_or_transactional_id: str, num_partitions: int = 50) -> int:
    """Which partition of `__consumer_offsets` or `__transaction_state` keeps this id.

    The broker that leads it is the coordinator of the group or transaction.

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


def _growth(
    mixed: NDArray[np.uint32], capacity: int, insert: Literal["tail", "head"], *, called_again: bool
) -> Growth:
    """How the table grows while the keys are put, and which of its bins may become trees."""
    growth = Growth([], [], {})
    length = 1 << max(capacity - 1, 0).bit_length()
    # `put` looks at a bin after it appended, `computeIfAbsent` before it prepends.
    most = TREEIFY if insert == "tail" else TREEIFY - 1
    put = 0
    while True:
        growth.starts.append(put)
        growth.lengths.append(length)
        threshold = length * 3 // 4
        stop = min(len(mixed), threshold + 1)  # the key that passes the threshold still meets this table
        if stop > most:
            buckets = mixed[:stop] & np.uint32(length - 1)
            crowded = np.bincount(buckets, minlength=length)[buckets[put:]] > most
            if crowded.any():
                if length < SHORTEST_WITH_TREES:
                    put = _first_crowding(buckets, put, most) + 1
                    length *= 2
                    continue
                growth.trees[length] = np.unique(buckets[put:][crowded])
        put = stop
        if put == len(mixed) and (put <= threshold or (insert == "head" and not called_again)):
            return growth
        length *= 2


def _first_crowding(buckets: NDArray[np.uint32], start: int, most: int) -> int:
    """Position of the first key from `start` on that is more than the `most`-th of its bin."""
    for position in range(start, len(buckets)):
        if np.count_nonzero(buckets[: position + 1] == buckets[position]) > most:
            return position
    raise AssertionError("called only where a bin is crowded")


def _rank(key: str | NDArray[np.int64]) -> Rank:
    return utf16_key(key) if isinstance(key, str) else tuple(key.tolist())


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value
