"""murmur2 as `org.apache.kafka.common.utils.Utils.murmur2` has it: 32 bits, seed 0x9747b28c.

The Java client and most other clients hash keys by it. It is Austin Appleby's 32-bit MurmurHash2; Kafka reads
words as little-endian and takes the last 1 to 3 bytes as one word.
"""

from functools import partial
from struct import iter_unpack

import numpy as np

from partitioning.hashing.words import WordHash, Words, constant, hash_words

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995


def murmur2(key: bytes) -> int:
    """Return murmur2 of one key, a signed 32-bit number.

    `confluent_kafka.murmur2` cannot replace this function: it returns a partition, and clears the sign bit
    for that. `partition_for_key` may use it if confluent-kafka is installed.

    >>> murmur2(b"user-42")
    1459644460
    """
    length = len(key)
    state = _SEED ^ length
    tail = length & 3
    for (word,) in iter_unpack("<I", key[: length - tail]):
        mixed = word * _MULTIPLIER & 0xFFFFFFFF
        state = (state * _MULTIPLIER ^ (mixed ^ mixed >> 24) * _MULTIPLIER) & 0xFFFFFFFF
    if tail:
        state = (state ^ int.from_bytes(key[length - tail :], "little")) * _MULTIPLIER & 0xFFFFFFFF
    state = (state ^ state >> 13) * _MULTIPLIER & 0xFFFFFFFF
    state ^= state >> 15
    return state - (1 << 32) if state >= 1 << 31 else state


_M = constant(_MULTIPLIER)
_M_LESS_1 = constant(_MULTIPLIER - 1)
_1, _3, _13, _15, _24 = map(constant, (1, 3, 13, 15, 24))


def _mix(h: Words, k: Words, t: Words) -> None:
    """Take a word of each key into its state (see `WordHash.mix`)."""
    np.multiply(k, _M, out=k)
    np.right_shift(k, _24, out=t)
    np.bitwise_xor(k, t, out=k)
    np.multiply(k, _M, out=k)
    np.multiply(h, _M, out=h)
    np.bitwise_xor(h, k, out=h)


def _tail(h: Words, tail: Words, lengths: Words, t: Words) -> None:
    """Take the last 1 to 3 bytes of each key; a key without a tail is multiplied by 1 and stays as it is."""
    np.bitwise_xor(h, tail, out=h)
    # `t` becomes M for a key with a tail and 1 for a key without. Picking the rows with a tail would take
    # longer than these steps.
    np.bitwise_and(lengths, _3, out=t)
    np.minimum(t, _1, out=t)
    np.multiply(t, _M_LESS_1, out=t)
    np.add(t, _1, out=t)  # the multiplier where there is a tail, else 1
    np.multiply(h, t, out=h)


def _finish(h: Words, _lengths: Words, t: Words) -> None:
    """Mix the last bits of each state (see `WordHash.finish`)."""
    np.right_shift(h, _13, out=t)
    np.bitwise_xor(h, t, out=h)
    np.multiply(h, _M, out=h)
    np.right_shift(h, _15, out=t)
    np.bitwise_xor(h, t, out=h)


murmur2_column = partial(
    hash_words, WordHash(murmur2, partial(np.bitwise_xor, constant(_SEED)), _mix, _finish, _tail)
)
"""murmur2 of each key of a column (see `hashing.HashFunction`), int32."""
