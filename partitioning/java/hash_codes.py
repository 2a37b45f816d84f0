"""Computes Java's hash codes of keys, `HashMap.hash`, and the order of keys with equal hash codes."""

import uuid
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partitioning.hashing.java_string import hash_of_units, hash_units
from partitioning.kit.columns import bounds
from partitioning.topic_partition import TopicPartition

FEW = 256
"""Up to this many texts, hashing or looking up one by one takes less time than setting up columns."""


def utf16_key(text: str) -> bytes:
    """Return the sort key that orders text as Java's `String.compareTo`: by UTF-16 code unit."""
    return text.encode("utf-16-be", "surrogatepass")


def string_hash(text: str) -> int:
    """Return `String.hashCode` of a text, a signed 32-bit number."""
    return hash_of_units(text.encode("utf-16-le", "surrogatepass"))


known_string_hash = lru_cache(maxsize=1 << 17)(string_hash)
"""`string_hash` with a cache."""


def string_hashes(texts: Sequence[str]) -> NDArray[np.int32]:
    """Return `String.hashCode` of each text, int32 of shape (n,).

    Args:
        texts: any texts. Up to `FEW` texts are hashed one by one and cached (`known_string_hash`). A longer
            list is hashed as one column, without a cache.
    """
    if len(texts) <= FEW:
        return np.fromiter(map(known_string_hash, texts), np.int32, len(texts))
    joined = "".join(texts)
    if joined.isascii():
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        units = np.frombuffer(joined.encode(), dtype=np.uint8).astype(np.uint16)
    else:
        # Java hashes code units, not characters: a character beyond U+FFFF is two of them.
        sizes = np.array([len(utf16_key(text)) // 2 for text in texts])
        units = np.frombuffer(utf16_key(joined), dtype=">u2").astype(np.uint16)
    return hash_units(units, bounds(sizes))


class TaskId(NamedTuple):
    """A `ConnectorTaskId` of Connect, or a `TaskId` of a streams group: a key that Java can compare."""

    group: str
    number: int


class TopicIdPartition(NamedTuple):
    """A `TopicIdPartition` of a share group: a key that Java cannot compare."""

    topic: uuid.UUID
    partition: int


Key = str | int | uuid.UUID | TopicPartition | TaskId | TopicIdPartition
"""A key of a Java map: a String, an Integer, a Uuid, a TopicPartition, or one of the two classes above."""

Rank = tuple[bytes | int, ...]
"""The sort key among keys with the same hash, in the order of `compareTo`; () if Java cannot compare them."""


def topic_partition_hashes(topic_hashes: ArrayLike, partitions: ArrayLike) -> NDArray[np.int32]:
    """Return `TopicPartition.hashCode` of many partitions, int32; the arguments are broadcast.

    Args:
        topic_hashes: the topic names' `string_hashes`.
        partitions: partition numbers.
    """
    # Java's int wraps around, and so does uint32. NumPy warns about it for scalars, which is suppressed.
    with np.errstate(over="ignore"):
        partition_term = np.uint32(31) * (np.uint32(31) + np.asarray(partitions).astype(np.uint32))
        return (partition_term + np.asarray(topic_hashes).astype(np.uint32)).astype(np.int32)


def uuid_hash(value: uuid.UUID) -> int:
    """Return `org.apache.kafka.common.Uuid.hashCode`, a signed 32-bit number."""
    # The two 64-bit halves are combined, then the two 32-bit halves of the result. Higher bits are cut off at
    # the end.
    half = (value.int >> 64) ^ value.int
    return _to_signed((half >> 32) ^ half, 32)


def spread(hashes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return `HashMap.hash` of each hash code: the upper half is mixed into the lower half."""
    # Hash codes below 2**16, such as those of partition numbers, have no upper half and stay as they are.
    unsigned = hashes.view(np.uint32)
    if unsigned.max(initial=0) < 1 << 16:
        return hashes
    return hashes ^ (unsigned >> np.uint32(16)).view(np.int32)


def spread_hash(key: Key) -> int:
    """Return `HashMap.hash` of a key, `h ^ (h >>> 16)` of its hash code, a signed 32-bit number.

    Args:
        key: any of the keys of `Key`; an int is an Integer, whose hash code is its value.
    """
    if isinstance(key, str):
        code = known_string_hash(key)
    elif isinstance(key, TopicPartition):
        code = 31 * (31 + key[1]) + known_string_hash(key[0])
    elif isinstance(key, TaskId):
        code = 31 * known_string_hash(key.group) + key.number
    elif isinstance(key, TopicIdPartition):
        code = 31 * _known_uuid_hash(key.topic) + key.partition
    else:
        # The hash code of an Integer is its value.
        code = _known_uuid_hash(key) if isinstance(key, uuid.UUID) else key
    # Python's integers do not wrap around; the sums above may have more than 32 bits.
    code &= 0xFFFFFFFF
    code ^= code >> 16
    return code - (1 << 32) if code >> 31 else code


def rank(key: Key) -> Rank:
    """Return the sort key of a key among keys with the same hash, in the order of Java's `compareTo`.

    Args:
        key: any of the keys of `Key`.

    Returns:
        () if the key's class cannot be compared in Java. A tree of such keys has no order, see `TreeBin`.
    """
    if isinstance(key, str):
        return (utf16_key(key),)
    if isinstance(key, uuid.UUID):
        return _to_signed(key.int >> 64, 64), _to_signed(key.int, 64)
    if isinstance(key, TaskId):
        return utf16_key(key.group), key.number
    return () if isinstance(key, TopicPartition | TopicIdPartition) else (key,)


# A topic id is put into many maps, so its hash code is cached.
_known_uuid_hash = lru_cache(maxsize=1 << 17)(uuid_hash)


def _to_signed(value: int, bits: int) -> int:
    """Return the low `bits` bits of a value as a signed integer, as a Java integer keeps them."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
