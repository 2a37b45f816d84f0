"""Reference vectors: their JSON Schema, and where a program differs from them."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from copartition.vectors import MOST_SHOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.vectors import Difference

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


def vectors_report(strategy: str, cases: Sequence[Any], differences: Sequence[Difference], form: str) -> str:
    """Where a program differs: counts, and the first differences; `form` is "text" or "json"."""
    counts = Counter(each.verdict for each in differences)
    numbers = {
        "cases": len(cases),
        "equal": len(cases) - len(differences),
        "other_order": counts["other order"],
        "different": counts["different"],
    }
    shown = sorted(differences, key=lambda each: each.verdict)[:MOST_SHOWN]
    if form == "json":
        rows = [{"verdict": each.verdict, "case": each.case, "found": each.answer} for each in shown]
        return json.dumps({"strategy": strategy, **numbers, "differences": rows}, indent=2) + "\n"
    equal, order, different = (f"{numbers[name]:,}" for name in ("equal", "other_order", "different"))
    head = (
        f"{strategy}: {equal} of {len(cases):,} cases equal, {order} in another order, {different} different"
    )
    lines = [head]
    for each in shown[:5]:
        lines += [
            f"case {each.case['case']}, {each.verdict}: {_question(each.case)}",
            f"  exact  {json.dumps(each.case['answer'])}",
            f"  found  {json.dumps(each.answer)}",
        ]
    return "\n".join(lines) + "\n"


def _question(case: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in case.items() if key not in {"case", "answer"}})
