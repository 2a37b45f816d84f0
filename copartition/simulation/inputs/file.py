"""Write scenarios as values of a file, change them, list those of the package, and give files a schema."""

import math
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, NamedTuple

from assignors.group import Topic
from copartition.kit.words import attribute_texts, type_text, visible
from copartition.simulation.inputs import kinds
from copartition.simulation.inputs.durations import Milliseconds
from copartition.simulation.inputs.events import (
    EVENT_NAMES,
    EVENTS,
    ByName,
    Condition,
    Consumer,
    Event,
    Join,
)
from copartition.simulation.inputs.kinds import (
    DURATION,
    MEMBERS,
    RACKS,
    excerpt,
    kind_of,
    kinds_of,
    name_hint,
    object_of,
    write_condition,
)
from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.inputs.settings import Costs, Load, Settings, kafka_name
from copartition.simulation.inputs.values import (
    COUNT,
    FLAG,
    ITS_OWN,
    SETTINGS,
    TEXT,
    change_value,
    read_audit,
)
from partitioning.errors import ScenarioError
from partitioning.kit.limits import MAX_TOPIC_NAME


def with_settings(scenario: Scenario, changes: Mapping[str, str]) -> Scenario:
    """Return the scenario with other settings, costs and load; all else is as it was.

    The scenario is turned into the values of a file, these are changed, and the result is read as a file is.
    So the same rules apply as for a file.

    Args:
        scenario: the scenario.
        changes: name -> value, as JSON or text. A name is a setting by Kafka's name, or a field such as
            `costs.assign_ms` or `load.rate`.
    """
    if not changes:
        return scenario
    values = scenario_to_dict(scenario)
    for key, value in changes.items():
        if key.removeprefix("settings.") not in SETTINGS and not key.startswith(("costs.", "load.")):
            raise ScenarioError(f"no setting {excerpt(key)}; {name_hint(key, SETTINGS)}")
        change_value(values, key, value, kinds_of(Scenario))
    read_audit(values, Path())
    return Scenario.from_dict(values)


def scenario_to_dict(scenario: Scenario) -> dict[str, Any]:
    """Return the scenario as values of a file, from which `Scenario.from_dict` makes an equal one.

    Fields with their default value are left out.
    """
    values = {
        "name": scenario.name,
        "topics": {topic.name: _topic_value(topic) for topic in scenario.topics},
        "consumers": [_consumer_value(consumer) for consumer in scenario.consumers],
        **_changed_fields(
            scenario, skip={"name", "topics", "consumers", "events", "settings", "costs", "load"}
        ),
        "settings": {kafka_name(name): value for name, value in _changed_fields(scenario.settings).items()},
        "costs": _changed_fields(scenario.costs),
        "load": _changed_fields(scenario.load) if scenario.load else None,
        "events": [_event_value(event) for event in scenario.events],
    }
    return {
        name: value
        for name, value in values.items()
        if value or name not in {"settings", "costs", "load", "events"}
    }


def _changed_fields(value: Any, skip: Iterable[str] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults, as in a file.

    Fields in `skip` are left out.
    """
    kinds = kinds_of(type(value))
    return {
        field.name: kinds[field.name].write(own)
        for field in fields(value)
        if field.name not in skip and (own := getattr(value, field.name)) != field.default
    }


def _topic_value(topic: Topic) -> int | dict[str, Any]:
    """Return a topic as in a file: its number of partitions, or an object if it has racks or an id."""
    if topic.racks is None and topic.id is None:
        return int(topic.partitions)
    written: dict[str, Any] = {"partitions": int(topic.partitions)}
    if topic.racks is not None:
        written["racks"] = [
            sorted(racks) if isinstance(racks, AbstractSet) else list(racks) for racks in topic.racks
        ]
    if topic.id is not None:
        written["id"] = str(topic.id)
    return written


def _consumer_value(consumer: Consumer) -> str | dict[str, Any]:
    """Return a consumer as in a file: its name, or an object if more than the name is set."""
    written = _changed_fields(consumer)
    return consumer.name if len(written) == 1 else written


def _event_value(event: Event) -> dict[str, Any]:
    """Return an event as in a file."""
    written: dict[str, Any] = {"event": EVENT_NAMES[type(event)]}
    if isinstance(event.at_ms, Condition):
        written["when"] = write_condition(event.at_ms)
    else:
        written["at_ms"] = kinds_of(type(event))["at_ms"].write(event.at_ms)
    written |= _changed_fields(event, skip={"at_ms", "consumer"})
    if isinstance(event, Join):
        written["consumer"] = _consumer_value(event.consumer)
    elif isinstance(event, ByName):
        written["consumer"] = event.consumer
    return written


def scenario_yaml(scenario: Scenario, assumed: Iterable[str]) -> str:
    """Return the text of a scenario file, below one comment for each assumption."""
    import yaml  # noqa: PLC0415 - only a written scenario needs it

    comments = "".join(f"# assumed: {visible(text)}\n" for text in assumed)
    fields = scenario_to_dict(scenario)
    written = yaml.safe_dump(fields, sort_keys=False, width=120, allow_unicode=True)
    # PyYAML leaves some invisible characters as they are, such as marks of direction. In that case only ASCII
    # is written, which shows them as escapes.
    if not written.replace("\n", "").isprintable():
        written = yaml.safe_dump(fields, sort_keys=False, width=120)
    return comments + written


class ReadyScenario(NamedTuple):
    """A scenario of the package: its name for commands, the first line of its file, and the path."""

    name: str
    summary: str
    path: Path


def ready_scenarios() -> dict[str, ReadyScenario]:
    """Return the scenarios that the package brings, by name and in the order of names."""
    files = sorted((Path(__file__).parents[1] / "ready").glob("*.yaml"), key=lambda file: file.stem)
    lines = (file.read_text(encoding="utf-8").partition("\n")[0].rstrip().lstrip("# ") for file in files)
    return {file.stem: ReadyScenario(file.stem, line, file) for file, line in zip(files, lines, strict=True)}


_CONSUMER = {"$ref": "#/definitions/Consumer"}


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario file, in draft 7, which editors know."""
    consumer, costs, load, settings, whole = map(_object, (Consumer, Costs, Load, Settings, Scenario))
    alike = {name: of for name, of in consumer["properties"].items() if name not in ITS_OWN}
    several = object_of(alike | {"count": MEMBERS.schema, "prefix": TEXT.schema}, ["count"])
    load["properties"]["rate"]["anyOf"].append(
        {"type": "string", "description": "the path of a file that copartition audit -o json wrote."}
    )
    # Files call settings by Kafka's names, and the dataclass calls them by Python's.
    settings["properties"] = {kafka_name(name): of for name, of in settings["properties"].items()}
    topic = object_of(
        {"partitions": COUNT.schema, "racks": RACKS.schema, "id": {"type": "string", "format": "uuid"}},
        ["partitions"],
    )
    own: dict[str, dict[str, Any]] = {
        "topics": {
            "type": "object",
            "propertyNames": {"minLength": 1, "maxLength": MAX_TOPIC_NAME},
            "additionalProperties": {"anyOf": [COUNT.schema, topic]},
        },
        "consumers": {
            "anyOf": [
                MEMBERS.schema,
                several,
                {"type": "array", "items": {"anyOf": [TEXT.schema, _CONSUMER, several]}},
            ]
        },
        "settings": settings,
        "costs": costs,
        "load": {"anyOf": [load, {"type": "null"}]},
        "events": {"type": "array", "items": {"oneOf": [_event_schema(name) for name in EVENTS]}},
    }
    for name, of in own.items():
        whole["properties"][name] = of | {"description": whole["properties"][name]["description"]}
    whole["properties"]["static"] = FLAG.schema | {
        "description": "whether a consumer that has no `static` of its own is a static member.",
        "default": False,
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A scenario of copartition simulate",
        **whole,
        "definitions": {"Consumer": consumer, "Duration": DURATION.definition},
    }


def _object(type_: type[Any]) -> dict[str, Any]:
    """Return the schema of a dataclass in files, with the descriptions of its "Attributes" section.

    A field without a default is required. Defaults are written only if they are texts, truth values, or
    numbers other than infinity.
    """
    descriptions = attribute_texts(type_)
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
        # Draft 7 ignores everything next to a "$ref", so a reference with notes is wrapped.
        properties[field.name] = ({"allOf": [schema]} if "$ref" in schema and notes else schema) | notes
    return object_of(properties, required) | {"description": type_text(type_)}


def _event_schema(name: str) -> dict[str, Any]:
    """Return the schema of an event, which begins at a time or when a condition holds."""
    schema = _object(EVENTS[name])
    own = {
        "event": {"const": name},
        "at_ms": kind_of(Milliseconds).schema | {"description": "the time of the event."},
        "when": kinds.SCHEMA
        | {
            "description": "the condition that starts the event, instead of a time. The event happens once; "
            "with commit-refused, each time."
        },
    }
    if name == "join":
        own["consumer"] = {"anyOf": [TEXT.schema, _CONSUMER]}
    schema["properties"] |= own
    if "at_ms" in schema["required"]:
        schema["required"].remove("at_ms")
        schema["oneOf"] = [{"required": ["at_ms"]}, {"required": ["when"]}]
    else:
        schema["not"] = {"required": ["at_ms", "when"]}
    schema["required"].insert(0, "event")
    return schema
