"""The JSON Schema of reference vectors."""

from __future__ import annotations

from typing import Any

_TEXT, _COUNT = {"type": "string"}, {"type": "integer", "minimum": 0}
_TEXTS = {"type": "array", "items": _TEXT}
_RUNS = {
    "description": "an ordered list of partitions: runs of a topic name followed by partition numbers",
    "type": "array",
    "items": {"type": "array", "prefixItems": [_TEXT], "items": {"type": "integer"}, "minItems": 2},
}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


_TOPIC = _object(
    ["name", "partitions"],
    name=_TEXT,
    partitions={**_COUNT, "description": "0: a topic without metadata"},
    racks={"description": "the racks of each partition's replicas", "type": "array", "items": _TEXTS},
    id={**_TEXT, "description": "topic id; absent: Java's UUID.nameUUIDFromBytes of the name in UTF-8"},
)
_MEMBER = _object(
    ["id", "topics"],
    id=_TEXT,
    topics=_TEXTS,
    instance_id=_TEXT,
    rack=_TEXT,
    owned={**_RUNS, "description": "what it says it owns (KIP-429); broker side: its target so far"},
    generation={"type": "integer", "description": "of that claim (KIP-792)"},
    user_data={**_TEXT, "description": "the strategy's own bytes, in hex"},
)
_GROUP = _object(
    ["case", "new_leader", "topics", "members", "answer"],
    case=_COUNT,
    new_leader={"type": "boolean", "description": "whether the leader knows nothing of the cases before"},
    topics={"type": "array", "items": _TOPIC},
    members={"type": "array", "items": _MEMBER, "description": "in JoinGroup order"},
    answer={
        "oneOf": [
            _object(["assignment"], assignment={"type": "object", "additionalProperties": _RUNS}),
            _object(
                ["error"],
                error={"type": ["string", "null"], "description": "simple name of Java's exception"},
            ),
        ]
    },
)
_KEY = _object(
    ["case", "key", "partitions", "answer"],
    case=_COUNT,
    key={"type": ["string", "null"], "description": "the key's bytes in base64; null: no key"},
    partitions=_COUNT,
    answer=_object(
        ["partition"],
        partition={"type": ["integer", "null"], "description": "null: such a key is not hashed"},
    ),
)
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Reference vectors of copartition vectors",
    **_object(
        ["format_version", "strategy", "seed", "cases"],
        format_version=_TEXT,
        strategy=_TEXT,
        seed=_COUNT,
        cases={"type": "array", "items": {"oneOf": [_GROUP, _KEY]}},
    ),
}
"""The document that `copartition vectors STRATEGY` prints."""
