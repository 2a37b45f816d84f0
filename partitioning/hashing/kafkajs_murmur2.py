"""murmur2 as kafkajs computed it before 2.0; newer releases keep it as `LegacyPartitioner`.

It is Kafka's murmur2 with two mistakes: products are rounded to 53 bits, and the last bytes are hashed twice.
"""

from functools import partial

import numpy as np

from partitioning.hashing.words import WordHash, Words, constant, hash_words

_SEED = 0x9747B28C
_MULTIPLIER = float(0x5BD1E995)


def kafkajs_murmur2(key: bytes) -> int:
    """Hash one key as the legacy murmur2 of kafkajs does: signed 32-bit."""
    length = len(key)
    state = _SEED ^ length
    # Kafka's loop ends before a word that is not full. The loop of kafkajs also takes this word, and its
    # bytes are taken again as the tail below. This is kafkajs' second mistake.
    for offset in range(0, length, 4):
        word = _rounded_product(int.from_bytes(key[offset : offset + 4], "little"))
        state = _rounded_product(state) ^ _rounded_product(word ^ word >> 24)
    if length % 4:
        state = _rounded_product(state ^ int.from_bytes(key[length & ~3 :], "little"))
    state = _rounded_product(state ^ state >> 13)
    return _as_signed(state ^ state >> 15)


def _as_signed(value: int) -> int:
    """Return the value of 32 bits read as a signed number."""
    return value - (1 << 32) if value >= 1 << 31 else value


def _rounded_product(value: int) -> int:
    """Return JavaScript's `value * M | 0` as unsigned bits: a signed product, rounded to a double."""
    return int(_as_signed(value) * _MULTIPLIER) & 0xFFFFFFFF


_3, _13, _15, _24 = map(constant, (3, 13, 15, 24))


def _multiply(x: Words) -> None:
    """Multiply in place as JavaScript does (`_rounded_product`)."""
    # The product has up to 62 bits, and a double keeps 53 of them. The cast to int64 is exact, and the cast
    # to uint32 keeps the low 32 bits.
    product = x.view(np.int32) * np.float64(_MULTIPLIER)
    np.copyto(x, product.astype(np.int64), casting="unsafe")


def _mix(h: Words, k: Words, t: Words) -> None:
    """Take a word of each key into its state (see `WordHash.mix`)."""
    _multiply(k)
    np.right_shift(k, _24, out=t)
    np.bitwise_xor(k, t, out=k)
    _multiply(k)
    _multiply(h)
    np.bitwise_xor(h, k, out=h)


def _tail(h: Words, tail: Words, lengths: Words, t: Words) -> None:
    """Take the last 1 to 3 bytes of each key twice, as a word and as a tail.

    The states of keys without a tail stay as they are.
    """
    # The states of all keys are mixed in a copy, and then those of keys with a tail are copied back. So the
    # rows of these keys need not be picked out.
    mixed = h.copy()
    _mix(mixed, tail.copy(), t)
    np.bitwise_xor(mixed, tail, out=mixed)
    _multiply(mixed)
    np.copyto(h, mixed, where=(lengths & _3) != 0)


def _finish(h: Words, _lengths: Words, t: Words) -> None:
    """Mix the last bits of each state (see `WordHash.finish`)."""
    np.right_shift(h, _13, out=t)
    np.bitwise_xor(h, t, out=h)
    _multiply(h)
    np.right_shift(h, _15, out=t)
    np.bitwise_xor(h, t, out=h)


kafkajs_murmur2_column = partial(
    hash_words, WordHash(kafkajs_murmur2, partial(np.bitwise_xor, constant(_SEED)), _mix, _finish, _tail)
)
"""The legacy murmur2 of kafkajs of each key of a column (see `hashing.HashFunction`), int32."""
