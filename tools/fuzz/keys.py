"""Key columns: lists, Arrow arrays of every kind of bytes where pyarrow is there, and columns that lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partitioning import grow, partition_batch, partition_for_key
from partitioning.keys import KeyColumn
from partitioning.profiles import PROFILES

if TYPE_CHECKING:
    from random import Random

try:
    import pyarrow as pa
except ModuleNotFoundError:
    pa = None

KEYS = [None, b"", b"\0", b"a", b"abc", b"abcd", b"\xff\xfe", b"\xed\xa0\x80", "ä€😀".encode(), b"x" * 1000]
COUNTS = [-1, 0, 1, 2, 3, 1000, 2**31 - 1, 2**31, 2**64]
KINDS = ["list", "array", "binary", "large_binary", "string", "binary_view", "chunked", "dictionary"]


def make(rng: Random) -> tuple[list[bytes | None], str, int, str]:
    keys = [rng.choice(KEYS) for _ in range(rng.choice((0, 1, 2, 3, 17)))]
    return keys, rng.choice(KINDS), rng.choice(COUNTS), rng.choice([*PROFILES])


def check(case: tuple[list[bytes | None], str, int, str]) -> None:
    keys, kind, count, profile = case
    if kind == "string":
        keys = [key if key is None or _is_text(key) else b"?" for key in keys]
    column = _column(keys, kind)
    found = partition_batch(column, count, profile=profile)
    alone = [partition_for_key(key, count, profile=profile) for key in keys]
    assert found.tolist() == [-1 if partition is None else partition for partition in alone]
    grow(column, count, count + 1, profile=profile)


def _column(keys: list[bytes | None], kind: str) -> object:
    if kind == "list" or pa is None:
        return keys
    if kind == "array":
        return np.array([*keys, None], object)[:-1]
    if kind == "chunked":
        return pa.chunked_array([keys[:1], [], keys[1:]], pa.binary())
    if kind == "dictionary":
        return pa.array(keys, pa.binary()).dictionary_encode()
    if kind == "string":
        return pa.array([None if key is None else key.decode() for key in keys], pa.string())
    return pa.array(keys, getattr(pa, kind)())


def _is_text(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True


def make_lie(rng: Random) -> tuple[bytes, list[int], list[bool], bool]:
    """Bytes, offsets that may fall, be negative or lead beyond the bytes, and which keys are null."""
    count = rng.choice((0, 1, 2, 3, 17))
    offsets = [rng.choice((0, 1, 2, 3, 8, 9, -1, 2**31 - 1, -(2**31))) for _ in range(count + 1)]
    if rng.random() < 0.5:
        offsets.sort()
    return bytes(8), offsets, [rng.random() < 0.2 for _ in range(count)], rng.random() < 0.5


def check_lie(case: tuple[bytes, list[int], list[bool], bool]) -> None:
    data, offsets, nulls, arrow = case
    if not arrow or pa is None:
        ends, is_null = np.array(offsets, np.int64), np.array(nulls, np.bool_)
        column = KeyColumn(ends, np.frombuffer(data, np.uint8), is_null)
    else:
        buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(data)]
        try:
            column = pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)
        except pa.ArrowInvalid:  # Arrow itself looks at the first and the last offset
            return
    assert len(partition_batch(column, 7)) == len(offsets) - 1


TARGETS = {"keys": (make, check), "lying-keys": (make_lie, check_lie)}
