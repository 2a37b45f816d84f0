"""Computes how many bytes a record takes in an uncompressed batch of message format v2 (KIP-98).

A producer compares these sizes with `batch.size` to decide that a batch is full, and the sticky strategies
count them. Lengths and deltas are zigzag varints, so a record's size depends on its place in the batch: a
larger offset delta or timestamp delta takes more bytes. A function with a singular name is for one record,
and the function with the plural of that name does the same for columns.
"""

import numpy as np
from numpy.typing import NDArray

BATCH_OVERHEAD = 61
"""The bytes of a batch before its first record."""

MAX_RECORD_OVERHEAD = 21
"""The most bytes that a record's length, attributes, timestamp and offset can take."""


def varint_size(value: int) -> int:
    """Return how many bytes a signed number takes as a zigzag varint."""
    zigzag = value << 1 if value >= 0 else (-value << 1) - 1
    return max(1, (zigzag.bit_length() + 6) // 7)


def payload_size(key_bytes: int, value_bytes: int) -> int:
    """Return how many bytes key and value, their lengths and no headers take; a size of -1 means null."""
    return varint_size(key_bytes) + max(key_bytes, 0) + varint_size(value_bytes) + max(value_bytes, 0) + 1


def record_size(payload: int, offset_delta: int, timestamp_delta_ms: int) -> int:
    """Return how many bytes one record takes at its place in a batch, including its length field."""
    body = 1 + varint_size(timestamp_delta_ms) + varint_size(offset_delta) + payload
    return varint_size(body) + body


# The zigzag values at which a varint needs one more byte: 2**7, 2**14, ... 2**56; 62 bits need at most nine
# bytes.
_LARGER_VARINTS = 2 ** (7 * np.arange(1, 9, dtype=np.int64))


def varint_sizes(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `varint_size` of each number of a column; numbers have at most 62 bits."""
    return np.searchsorted(_LARGER_VARINTS, values << 1 ^ values >> 63, "right") + 1


def payload_sizes(key_bytes: NDArray[np.int64], value_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `payload_size` of each record of a column."""
    lengths = varint_sizes(key_bytes) + varint_sizes(value_bytes)
    return lengths + np.maximum(key_bytes, 0) + np.maximum(value_bytes, 0) + 1


def record_sizes(
    payloads: NDArray[np.int64], offset_deltas: NDArray[np.int64], timestamp_deltas_ms: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return `record_size` of each record of a column."""
    bodies = 1 + varint_sizes(timestamp_deltas_ms) + varint_sizes(offset_deltas) + payloads
    return varint_sizes(bodies) + bodies
