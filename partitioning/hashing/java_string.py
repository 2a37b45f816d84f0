"""Java's `String.hashCode`, over UTF-16 code units.

A unit is 16 bits; characters beyond U+FFFF are two units. Columns hash units as words of two: the column of
UTF-8 bytes is decoded once as a whole, and each key's offsets are turned from bytes into units.
"""

import struct

import numpy as np
from numpy.typing import NDArray

from partitioning.hashing.words import WordHash, Words, constant, hash_words


class NotTextError(UnicodeError):
    """A key of a column is not UTF-8.

    Attributes:
        row: the row of the key in the column, from 0 up.
    """

    def __init__(self, row: int) -> None:
        super().__init__(f"key in row {row} is not UTF-8")
        self.row = row


def java_string(key: bytes) -> int:
    """Return `String.hashCode` of a key that is UTF-8, signed 32-bit; raise UnicodeError for another key."""
    return hash_of_units(key.decode().encode("utf-16-le"))


def java_string_column(offsets: NDArray[np.integer], data: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return `java_string` of each key of a column (see `hashing.HashFunction`), int32.

    Raises UnicodeError if a key is not UTF-8.
    """
    # A column may be a slice of a longer one, whose other bytes need not be UTF-8.
    data = data[offsets[0] : offsets[-1]]
    bounds = np.subtract(offsets, offsets[0], dtype=np.int64)
    if data.max(initial=0) < 0x80:
        return hash_units(data.astype(np.uint16), bounds)
    # `starts` is True at the first byte of each character. Bytes 10xxxxxx continue a character.
    starts = (data & 0xC0) != 0x80
    text = _decode_text(data)
    # A column can be UTF-8 as a whole although two neighbouring keys are not, because the cut between them
    # falls inside a character.
    if text is None or not starts[bounds[:-1][bounds[:-1] < bounds[1:]]].all():
        raise NotTextError(_first_bad_row(bounds, data))
    before = np.zeros(len(data) + 1, dtype=np.int64)
    # A character of four bytes is two UTF-16 code units, all others are one.
    np.cumsum(starts.view(np.int8) + (data >= 0xF0), out=before[1:])
    return hash_units(np.frombuffer(text.encode("utf-16-le"), dtype="<u2"), before[bounds])


def hash_of_units(units: bytes) -> int:
    """Return `String.hashCode`, signed 32-bit, of a string given as UTF-16 code units, low byte first."""
    state = 0
    for unit in struct.unpack(f"<{len(units) // 2}H", units):
        state = (state * 31 + unit) & 0xFFFFFFFF
    return state - (1 << 32) if state >= 1 << 31 else state


def hash_units(units: NDArray[np.uint16], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return `String.hashCode` (int32) of n strings: contiguous UTF-16 code units, cut at n + 1 offsets."""
    return hash_words(_RULE, offsets * 2, units.astype("<u2", copy=False).view(np.uint8))


def _decode_text(data: NDArray[np.uint8]) -> str | None:
    """Return the bytes as text; None if they are not UTF-8."""
    try:
        return data.tobytes().decode()
    except UnicodeDecodeError:
        return None


def _first_bad_row(bounds: NDArray[np.int64], data: NDArray[np.uint8]) -> int:
    """Return the first row whose bytes are not UTF-8 by themselves; there must be such a row."""
    rows = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    return next(row for row, (begin, end) in enumerate(rows) if _decode_text(data[begin:end]) is None)


_16, _31, _FFFF = map(constant, (16, 31, 0xFFFF))


def _mix(h: Words, k: Words, t: Words) -> None:
    """Take two code units of each key into its state, the low half first (see `WordHash.mix`)."""
    np.bitwise_and(k, _FFFF, out=t)
    np.right_shift(k, _16, out=k)
    for unit in (t, k):
        np.multiply(h, _31, out=h)
        np.add(h, unit, out=h)


# The start state is 0. Zeros in front of a key leave it at 0, so one start state serves all lengths.
_RULE = WordHash(hash_of_units, np.zeros_like, _mix)
