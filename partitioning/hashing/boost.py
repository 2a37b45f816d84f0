"""The low 32 bits of `boost::hash<std::string>`, as Boost 1.82 and newer compute it on 64-bit machines.

Apache Pulsar's C++ client places records by it. A key is read in little-endian words of 8 bytes; each word is
added to a running position, multiplied to 128 bits and folded, and XORed into the state. The last word is
always there, with 0 to 7 bytes.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from partitioning.hashing.words import padded_rows

Words: TypeAlias = NDArray[np.uint64]

_MASK = 0xFFFFFFFFFFFFFFFF
_STEP = 0x9E3779B97F4A7C15
_MULTIPLIER = 0xDF442D22CE4859B9


def boost_hash(key: bytes) -> int:
    """Return boost::hash of one key: the low 32 bits, signed."""
    position, state = _FIRST, _FIRST ^ len(key)
    for offset in range(0, len(key) + 1, 8):  # the last word, of 0 to 7 bytes, always counts
        position = (position + _STEP) & _MASK
        word = int.from_bytes(key[offset : offset + 8], "little")
        state ^= _folded_product((word + position) & _MASK)
    low = _folded_product((state + position) & _MASK) & 0xFFFFFFFF
    return low - (1 << 32) if low >= 1 << 31 else low


def boost_hash_column(offsets: NDArray[np.integer], data: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return boost::hash of each key of a column (see `hashing.HashFunction`), int32."""
    starts = np.asarray(offsets[:-1], dtype=np.int64)
    lengths = np.diff(offsets).astype(np.int64)
    out = np.empty(len(starts), dtype=np.int32)
    full_words = lengths >> 3
    # Rows of one width are hashed together, so that a step of the hash is one NumPy call on all of them.
    for count in np.unique(full_words).tolist():
        rows = np.flatnonzero(full_words == count)
        matrix = padded_rows(data, starts[rows], 8 * count + 8).view("<u8")
        out[rows] = _hash_rows(matrix, lengths[rows].astype(np.uint64))
    return out


def _hash_rows(matrix: Words, lengths: Words) -> NDArray[np.int32]:
    """Return the hashes of keys with equally many full words; the last column has the bytes after them."""
    # `padded_rows` also copied bytes of the next key into the last word; the mask of 8 * (length mod 8) bits
    # clears them.
    matrix[:, -1] &= (np.uint64(1) << ((lengths & np.uint64(7)) << np.uint64(3))) - np.uint64(1)
    position = _FIRST
    states = lengths ^ np.uint64(_FIRST)
    for column in matrix.T:
        position = (position + _STEP) & _MASK
        states ^= _folded_products(column + np.uint64(position))
    return _folded_products(states + np.uint64(position)).astype(np.uint32).view(np.int32)


def _folded_product(value: int) -> int:
    """Return the XOR of the two 64-bit halves of `value` times `_MULTIPLIER`."""
    product = value * _MULTIPLIER
    return (product ^ product >> 64) & _MASK


def _folded_products(values: Words) -> Words:
    """Return `_folded_product` of each word.

    NumPy has no 128-bit integers, so the product is made of four products of 32-bit halves.
    """
    half, low_half = np.uint64(32), np.uint64(0xFFFFFFFF)
    low, high = values & low_half, values >> half
    factor_low, factor_high = np.uint64(_MULTIPLIER & 0xFFFFFFFF), np.uint64(_MULTIPLIER >> 32)
    middle = high * factor_low + (low * factor_low >> half)
    other_middle = low * factor_high + (middle & low_half)
    # The high half of the product is XORed with its low half. The low half is a plain product, because uint64
    # wraps around.
    folded: Words = high * factor_high + (middle >> half) + (other_middle >> half) ^ values * np.uint64(
        _MULTIPLIER
    )
    return folded


_FIRST = _folded_product(_STEP)
