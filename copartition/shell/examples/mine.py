"""A program that copartition vectors compares with its answers: where the Java client puts a key."""

import base64
import json
import sys

MASK = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """Return the hash as 32 bits without a sign."""
    mixed = 0x9747B28C ^ len(key)
    whole = len(key) // 4 * 4
    for start in range(0, whole, 4):
        word = int.from_bytes(key[start : start + 4], "little") * 0x5BD1E995 & MASK
        mixed = mixed * 0x5BD1E995 & MASK ^ (word ^ word >> 24) * 0x5BD1E995 & MASK
    if whole < len(key):
        mixed = (mixed ^ int.from_bytes(key[whole:], "little")) * 0x5BD1E995 & MASK
    mixed = (mixed ^ mixed >> 13) * 0x5BD1E995 & MASK
    return mixed ^ mixed >> 15


for line in sys.stdin:
    case = json.loads(line)
    key = case["key"]
    partition = None if key is None else (murmur2(base64.b64decode(key)) & 0x7FFFFFFF) % case["partitions"]
    print(json.dumps({"partition": partition}), flush=True)
