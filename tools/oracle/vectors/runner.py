"""Compares a partitioner with recorded answers on standard input; put yours in the place of `partition`.

xz -dc tests/golden/clients/keys.jsonl.xz tests/golden/clients/profiles/java.jsonl.xz | python runner.py
"""

import json
import sys

from kafka.partitioner.default import murmur2


def partition(key: bytes | None, count: int) -> int | None:
    """The rule on trial: kafka-python's. None if it does not hash the key."""
    return None if key is None else (murmur2(key) & 0x7FFFFFFF) % count


keys, *answers = map(json.loads, sys.stdin)
wrong = [
    (key, line["count"], partition(None if key is None else bytes.fromhex(key), line["count"]), expected)
    for line in answers
    for key, expected in zip(keys["keys"], line["partitions"], strict=True)
    if partition(None if key is None else bytes.fromhex(key), line["count"]) != expected
]
for key, count, found, expected in wrong[:3]:
    sys.stdout.write(f"key {key}, {count} partitions: {found}, not {expected}\n")
total = sum(len(line["partitions"]) for line in answers)
sys.stdout.write(f"{total - len(wrong)} of {total} are equal\n")
sys.exit(bool(wrong))
