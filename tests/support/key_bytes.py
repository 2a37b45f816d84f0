"""What Java's serializers, Debezium's converters and confluent-kafka's made of keys: `tests/golden/keys`."""

import json
import lzma
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "golden" / "keys"
AVRO = (GOLDEN / "order.avsc").read_text(encoding="utf-8")
PROTOBUF = (GOLDEN / "order.desc").read_bytes()
JUDGES = ("java", "debezium", "confluent", "confluent, header")


@cache
def recorded() -> dict[str, list[dict[str, Any]]]:
    """By type of key: the `text` that stands for each key, and by judge its bytes in hexadecimal."""
    found = defaultdict(list)
    with lzma.open(GOLDEN / "serializers.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            key = json.loads(line)
            found[key["type"]].append(key)
    return dict(found)
