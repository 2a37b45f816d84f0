"""How many bytes a record takes in a batch of message format v2 (KIP-98), uncompressed."""

BATCH_OVERHEAD = 61
"""Bytes of a batch before its first record."""

MAX_RECORD_OVERHEAD = 21
"""Bytes of a record's length, attributes, timestamp and offset at the most."""


def varint_size(value: int) -> int:
    """Bytes of a signed number as zigzag varint."""
    zigzag = value << 1 if value >= 0 else (-value << 1) - 1
    return max(1, (zigzag.bit_length() + 6) // 7)


def payload_size(key_bytes: int, value_bytes: int) -> int:
    """Bytes of key and value with their lengths and an empty header list; -1 stands for null."""
    return varint_size(key_bytes) + max(key_bytes, 0) + varint_size(value_bytes) + max(value_bytes, 0) + 1


def record_size(payload: int, offset_delta: int, timestamp_delta_ms: int) -> int:
    """Bytes of one record at its place in a batch, its own length included."""
    body = 1 + varint_size(timestamp_delta_ms) + varint_size(offset_delta) + payload
    return varint_size(body) + body
