"""murmur3_32 with seed 0 (x86, 32 bits).

Apache Pulsar's Java client has it as `Murmur3_32Hash`. The hash of one key is computed by the package mmh3,
and that of a column needs only NumPy.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from partitioning.hashing.words import WordHash, Words, constant, hash_words


def murmur3(key: bytes) -> int:
    """Return murmur3_32 of one key, a signed 32-bit number."""
    import mmh3  # noqa: PLC0415 - columns do without it on machines that were sent this module

    value: int = mmh3.hash(key)
    return value


_C1, _C2, _C3, _C4, _C5 = map(constant, (0xCC9E2D51, 0x1B873593, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35))
_5, _13, _15, _16, _17, _19 = map(constant, (5, 13, 15, 16, 17, 19))


def _mix(h: Words, k: Words, t: Words) -> None:
    """Take a word of each key into its state (see `WordHash.mix`)."""
    _absorb(h, k, t)
    _rotate(h, _13, _19, t)
    np.multiply(h, _5, out=h)
    np.add(h, _C3, out=h)


def _tail(h: Words, tail: Words, _lengths: Words, t: Words) -> None:
    """Take the last 0 to 3 bytes of each key into its state (see `WordHash.tail`)."""
    _absorb(h, tail, t)  # an empty tail is a zero and changes nothing


def _finish(h: Words, lengths: Words, t: Words) -> None:
    """Mix the last bits of each state, with the key's length (see `WordHash.finish`)."""
    np.bitwise_xor(h, lengths, out=h)
    np.right_shift(h, _16, out=t)
    np.bitwise_xor(h, t, out=h)
    np.multiply(h, _C4, out=h)
    np.right_shift(h, _13, out=t)
    np.bitwise_xor(h, t, out=h)
    np.multiply(h, _C5, out=h)
    np.right_shift(h, _16, out=t)
    np.bitwise_xor(h, t, out=h)


def _absorb(h: Words, k: Words, t: Words) -> None:
    """Mix a word `k` by itself and XOR it into the state, all in place; `t` is scratch."""
    np.multiply(k, _C1, out=k)
    _rotate(k, _15, _17, t)
    np.multiply(k, _C2, out=k)
    np.bitwise_xor(h, k, out=h)


def _rotate(x: Words, left: NDArray[np.uint32], right: NDArray[np.uint32], t: Words) -> None:
    """Rotate each word in place by `left` bits; `right` is 32 - `left`, and `t` is scratch."""
    np.left_shift(x, left, out=t)
    np.right_shift(x, right, out=x)
    np.bitwise_or(x, t, out=x)


murmur3_column = partial(hash_words, WordHash(murmur3, np.zeros_like, _mix, _finish, _tail))
"""murmur3_32 of each key of a column (see `hashing.HashFunction`), int32."""
