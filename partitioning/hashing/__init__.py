"""The hash functions of Kafka clients. Each has a module with two twins: for a single key and for a column.

- The hashes are `murmur2` (Java), `kafkajs_murmur2`, `murmur3`, `fnv1a`, `crc32`, `java_string` and `boost`.
- `modulo` turns a hash into a partition, and `words` hashes many keys at a time, word by word.

These modules import nothing of this project but each other, so that `partitioning.hashing` can be sent by
value to machines that have NumPy and nothing of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from partitioning.hashing import boost, crc32, fnv1a, java_string, kafkajs_murmur2, murmur2, murmur3

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


class HashFunction(NamedTuple):
    """Holds the twins of a hash function: the signed 32-bit hash of one key, and of each key of a column.

    A column consists of n + 1 offsets and the contiguous bytes of all keys. The offsets say where each key
    begins and where the last key ends. The hashes of a column are an int32 array of shape (n,).
    """

    scalar: Callable[[bytes], int]
    column: Callable[[NDArray[np.integer], NDArray[np.uint8]], NDArray[np.int32]]


# The names are written out, so that mypy finds a profile that names an unknown hash.
HashName: TypeAlias = Literal[
    "murmur2", "crc32", "fnv1a", "murmur3", "java-string", "kafkajs-murmur2", "boost"
]

HASHES: dict[HashName, HashFunction] = {
    "murmur2": HashFunction(murmur2.murmur2, murmur2.murmur2_column),
    "crc32": HashFunction(crc32.crc32, crc32.crc32_column),
    "fnv1a": HashFunction(fnv1a.fnv1a, fnv1a.fnv1a_column),
    "murmur3": HashFunction(murmur3.murmur3, murmur3.murmur3_column),
    "java-string": HashFunction(java_string.java_string, java_string.java_string_column),
    "kafkajs-murmur2": HashFunction(kafkajs_murmur2.kafkajs_murmur2, kafkajs_murmur2.kafkajs_murmur2_column),
    "boost": HashFunction(boost.boost_hash, boost.boost_hash_column),
}
"""Every hash function by name."""
