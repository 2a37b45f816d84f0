"""CRC-32 as zlib, gzip and Ethernet have it (IEEE 802.3).

librdkafka's `consistent` and `consistent_random` use it, and so do Sarama's CRC hash and ruby-kafka. The hash
of one key is zlib's. The hash of a column takes four bytes in each step, with two tables of 65,536 states
each: CRC is linear, so the state after a word is the XOR of the states after its two halves. Keys whose
length is not a multiple of four get zeros in front; `_STARTS` holds the states that lead, through these
zeros, to the usual first state.
"""

import zlib
from functools import partial

import numpy as np

from partitioning.hashing.words import WordHash, Words, constant, hash_words, start_by_length

_POLYNOMIAL = 0xEDB88320


def crc32(key: bytes) -> int:
    """Return CRC-32 of one key, a signed 32-bit number."""
    value = zlib.crc32(key)
    return value - (1 << 32) if value >= 1 << 31 else value


def _byte_table() -> Words:
    """Return the state after each of the 256 bytes, from a state of zero: uint32 of shape (256,)."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, np.uint32(_POLYNOMIAL), np.uint32(0)) ^ (table >> np.uint32(1))
    return table


def _before_zeros(state: int, count: int) -> int:
    """Return the state from which `count` zero bytes lead to `state`."""
    for _ in range(8 * count):
        state = ((state ^ _POLYNOMIAL) << 1) | 1 if state >> 31 else state << 1
    return state


class _AfterZeros:
    """Looks up the state after `count` zero bytes, from each state of 16 bits (see `numpy.ndarray.take`).

    Only the count is pickled: Spark sends hashes to its tasks, and a table has 256 KiB.
    """

    def __init__(self, count: int) -> None:
        low, high = np.arange(256, dtype=np.uint32), np.arange(0, 1 << 16, 256, dtype=np.uint32)
        for _ in range(count):
            low, high = (np.right_shift(states, _8) ^ _BYTE[states & _FF] for states in (low, high))
        # CRC is linear: the entry of a 16-bit state is the XOR of the entries of its two bytes.
        self._count, self.take = count, (high[:, np.newaxis] ^ low).ravel().take

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return _AfterZeros, (self._count,)


_8, _16, _FF, _FFFF = map(constant, (8, 16, 0xFF, 0xFFFF))
_BYTE = _byte_table()
_HIGH = _AfterZeros(2)  # the state after a word's last two bytes, from a zero state
_LOW = _AfterZeros(4)  # the state after its first two bytes and two zero bytes, from a zero state
# Start states of keys whose length is 0, 1, 2 or 3 modulo 4. Zero bytes fill the first word of a key from the
# front. From its start state, these zero bytes lead to the first state of CRC-32.
_STARTS = np.array([_before_zeros(0xFFFFFFFF, -length % 4) for length in range(4)], dtype=np.uint32)


def _mix(crc: Words, k: Words, t: Words) -> None:
    """Take a word of each key into its state (see `WordHash.mix`)."""
    np.bitwise_xor(crc, k, out=crc)
    np.bitwise_and(crc, _FFFF, out=k)
    np.right_shift(crc, _16, out=t)
    # Every index is in range, so `take` need not check it; "wrap" is the fastest of NumPy's modes without a
    # check. The low half of a word has the bytes that come first, so the states in its table are those after
    # two more bytes.
    _LOW.take(k, out=crc, mode="wrap")
    _HIGH.take(t, out=k, mode="wrap")
    np.bitwise_xor(crc, k, out=crc)


def _finish(crc: Words, _lengths: Words, _t: Words) -> None:
    """Invert all bits, the last step of CRC-32, which does not use the keys' lengths."""
    np.bitwise_not(crc, out=crc)


crc32_column = partial(hash_words, WordHash(crc32, partial(start_by_length, _STARTS), _mix, _finish))
"""CRC-32 of each key of a column (see `hashing.HashFunction`), int32."""
