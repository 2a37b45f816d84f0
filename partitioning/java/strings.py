"""Java's strings: UTF-16 code units, the basis of `String.hashCode` and `String.compareTo`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from partitioning.hashing.java_string import hash_of_units, hash_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FEW = 256
"""So few texts are hashed, or looked up, one by one in less time than columns take to be set up."""


def utf16_key(text: str) -> bytes:
    """The sort key that orders text as Java's `String.compareTo`: by UTF-16 code unit, not by code point."""
    return text.encode("utf-16-be", "surrogatepass")


def string_hash(text: str) -> int:
    """`String.hashCode`: signed 32-bit."""
    return hash_of_units(text.encode("utf-16-le", "surrogatepass"))


known_string_hash = lru_cache(maxsize=1 << 17)(string_hash)
"""`string_hash`, remembered."""


def string_hashes(texts: Sequence[str]) -> NDArray[np.int32]:
    """`String.hashCode` of each text: int32 array of shape (n,)."""
    if len(texts) <= FEW:
        return np.fromiter(map(known_string_hash, texts), np.int32, len(texts))
    joined = "".join(texts)
    offsets = np.zeros(len(texts) + 1, np.int64)
    if joined.isascii():
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
        units = np.frombuffer(joined.encode(), dtype=np.uint8).astype(np.uint16)
    else:
        np.cumsum([len(utf16_key(text)) // 2 for text in texts], out=offsets[1:])
        units = np.frombuffer(utf16_key(joined), dtype=">u2").astype(np.uint16)
    return hash_units(units, offsets)
