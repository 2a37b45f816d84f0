"""The JSON Schema of scenario files, made of the dataclasses: their types, defaults and docstrings."""

from __future__ import annotations

import math
from dataclasses import MISSING, fields
from inspect import getdoc
from typing import Any

from copartition.simulation.inputs import conditions
from copartition.simulation.inputs.durations import Milliseconds
from copartition.simulation.inputs.events import EVENTS, Consumer, Count
from copartition.simulation.inputs.kinds import DURATION, MEMBERS, RACKS, kind_of, kinds_of, object_of
from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.inputs.settings import Costs, Load, Settings, dotted
from partitioning.kit.docstrings import described
from partitioning.kit.limits import MAX_TOPIC_NAME

_TEXT = kind_of(str).schema
_FLAG = kind_of(bool).schema
_COUNT = kind_of(Count).schema
_CONSUMER = {"$ref": "#/definitions/Consumer"}


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file; of draft 7, which editors know."""
    consumer, costs, load, settings, whole = map(_object, (Consumer, Costs, Load, Settings, Scenario))
    alike = {name: of for name, of in consumer["properties"].items() if name not in {"name", "beat_ms"}}
    several = object_of(alike | {"count": MEMBERS.schema, "prefix": _TEXT}, ["count"])
    settings["properties"] = {dotted(name): of for name, of in settings["properties"].items()}
    topic = object_of(
        {"partitions": _COUNT, "racks": RACKS.schema, "id": {"type": "string", "format": "uuid"}},
        ["partitions"],
    )
    own: dict[str, dict[str, Any]] = {
        "topics": {
            "type": "object",
            "propertyNames": {"minLength": 1, "maxLength": MAX_TOPIC_NAME},
            "additionalProperties": {"anyOf": [_COUNT, topic]},
        },
        "consumers": {
            "anyOf": [
                MEMBERS.schema,
                several,
                {"type": "array", "items": {"anyOf": [_TEXT, _CONSUMER, several]}},
            ]
        },
        "settings": settings,
        "costs": costs,
        "load": {"anyOf": [load, {"type": "null"}]},
        "events": {"type": "array", "items": {"oneOf": [_event(name) for name in EVENTS]}},
    }
    for name, of in own.items():
        whole["properties"][name] = of | {"description": whole["properties"][name]["description"]}
    whole["properties"]["static"] = _FLAG | {
        "description": "whether consumers are static members where they do not say.",
        "default": False,
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A scenario of copartition simulate",
        **whole,
        "definitions": {"Consumer": consumer, "Duration": DURATION.definition},
    }


def _object(type_: type[Any]) -> dict[str, Any]:
    """The schema of a dataclass."""
    descriptions = described(type_)
    properties, required = {}, []
    for field in fields(type_):
        schema = kinds_of(type_)[field.name].schema
        notes: dict[str, Any] = {}
        if field.name in descriptions:
            notes["description"] = descriptions[field.name]
        if field.default is MISSING and field.default_factory is MISSING:
            required.append(field.name)
        elif isinstance(field.default, int | float | str) and field.default != math.inf:
            notes["default"] = field.default
        # Draft 7 ignores what stands beside a reference.
        properties[field.name] = ({"allOf": [schema]} if "$ref" in schema and notes else schema) | notes
    summary = (getdoc(type_) or "").partition("\n\n")[0]
    return object_of(properties, required) | {"description": " ".join(summary.split())}


def _event(name: str) -> dict[str, Any]:
    schema = _object(EVENTS[name])
    own = {
        "event": {"const": name},
        "at_ms": kind_of(Milliseconds).schema | {"description": "when."},
        "when": conditions.SCHEMA
        | {"description": "the condition that sets it off, once, instead of a time."},
    }
    if name == "join":
        own["consumer"] = {"anyOf": [_TEXT, _CONSUMER]}
    schema["properties"] |= own
    if "at_ms" in schema["required"]:
        schema["required"].remove("at_ms")
        schema["oneOf"] = [{"required": ["at_ms"]}, {"required": ["when"]}]
    else:
        schema["not"] = {"required": ["at_ms", "when"]}
    schema["required"].insert(0, "event")
    return schema
