"""Scenarios as YAML or JSON: read, written, and described by a JSON Schema."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields
from functools import partial
from inspect import getdoc
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assignors.files import read_text
from assignors.group import Topic
from assignors.registry import get_assignor
from copartition.simulation.inputs import kinds
from copartition.simulation.inputs.durations import Milliseconds
from copartition.simulation.inputs.events import (
    EVENT_NAMES,
    EVENTS,
    ByName,
    Condition,
    Consumer,
    Count,
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
    near,
    object_of,
    read_condition,
    read_field,
    write_condition,
)
from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.inputs.settings import Costs, Load, Settings, dotted
from partitioning.errors import ScenarioError, UnknownStrategyError
from partitioning.kit.extras import needs
from partitioning.kit.formats import MAX_SLOW_BYTES, decode_json, decode_toml, decode_yaml
from partitioning.kit.limits import MAX_FILE_BYTES, MAX_TOPIC_NAME, check_members
from partitioning.kit.words import described

_DECODERS = {".json": decode_json, ".toml": decode_toml, ".yaml": decode_yaml, ".yml": decode_yaml}
_SETTINGS = {dotted(field.name): field.name for field in fields(Settings)}
_COUNT = kind_of(Count)
_FLAG = kind_of(bool)
_TEXT = kind_of(str)


def read_scenario(path: str | PathLike[str], changes: Mapping[str, str] | None = None) -> Scenario:
    """The scenario of a file; see `Scenario.from_file`.

    `changes` are what it says differently: settings by Kafka's names, or fields by their path (`load.rate`),
    and their values as JSON; what is no JSON is text.
    """
    file = Path(path)
    decode = _DECODERS.get(file.suffix.lower())
    if decode is None:
        raise ScenarioError(
            f"{file}: a scenario file ends in {', '.join(sorted(_DECODERS))}; "
            "a captured group also needs --deploy rolling, surge, ..."
        )
    try:
        text = read_text(file, MAX_FILE_BYTES if decode is decode_json else MAX_SLOW_BYTES)
        with needs(f"reading {file}", "cli"):
            values = decode(text)
            for key, value in (changes or {}).items():
                _change(values, key, value)
            _read_audit(values, file.parent)
        return scenario_from_dict(values, file.stem)
    except OSError as error:
        raise ScenarioError(f"{file}: {error.strerror or error}") from error
    except ScenarioError as error:
        raise ScenarioError(f"{file}: {error.args[0]}", path=error.path) from error
    except ValueError as error:
        raise ScenarioError(f"{file}: {error}") from error


def scenario_from_dict(values: Any, name: str = "scenario") -> Scenario:
    """The scenario that values of a file, as `json.loads` gives them, describe; `name` where they have none.

    In a `ScenarioError` `path` leads to the fault as it is in the values.
    """
    kinds = kinds_of(Scenario)
    _check_keys(values, [*kinds, "static"], ("topics", "consumers"), "$")
    static = read_field("static", values.get("static", False), _FLAG, "$")
    consumers, places = _consumers(values["consumers"], static=static)
    read: dict[str, Any] = {
        "topics": _topics(values["topics"]),
        "events": _events(values.get("events", []), consumers, static=static),
        "settings": Settings(**_fields(Settings, values.get("settings", {}), "$.settings", _SETTINGS)),
        "costs": Costs(**_fields(Costs, values.get("costs", {}), "$.costs")),
    }
    if values.get("load") is not None:
        read["load"] = Load(**_fields(Load, values["load"], "$.load"))
    plain = {
        key: read_field(key, value, kinds[key], "$")
        for key, value in values.items()
        if key not in {"static", "consumers", *read}
    }
    try:
        scenario = Scenario(**{"name": name, **plain, **read, "consumers": consumers})
        _check_strategies(scenario)
    except ScenarioError as error:
        path = re.sub(r"^\$\.consumers\[(\d+)\]", lambda match: places[int(match[1])], error.path or "$")
        raise ScenarioError(error.args[0], path=path) from error
    return scenario


def with_settings(scenario: Scenario, changes: Mapping[str, str]) -> Scenario:
    """The scenario with other settings, costs and load; all else is as it was.

    `changes` are settings by Kafka's names, or fields as `costs.assign_ms` and `load.rate`, and their values
    as JSON or text; a name that is neither and an impossible value raise `ScenarioError`.
    """
    if not changes:
        return scenario
    values = scenario_to_dict(scenario)
    for key, value in changes.items():
        if key.removeprefix("settings.") not in _SETTINGS and not key.startswith(("costs.", "load.")):
            raise ScenarioError(f"no setting {excerpt(key)}; {near(key, _SETTINGS)}")
        _change(values, key, value)
    _read_audit(values, Path())
    return scenario_from_dict(values)


def scenario_to_dict(scenario: Scenario) -> dict[str, Any]:
    """The scenario as the values of a file, from which `scenario_from_dict` makes an equal one."""
    values = {
        "name": scenario.name,
        "topics": {topic.name: _topic_value(topic) for topic in scenario.topics},
        "consumers": [_consumer_value(consumer) for consumer in scenario.consumers],
        **_changed_fields(
            scenario, skip={"name", "topics", "consumers", "events", "settings", "costs", "load"}
        ),
        "settings": {dotted(name): value for name, value in _changed_fields(scenario.settings).items()},
        "costs": _changed_fields(scenario.costs),
        "load": _changed_fields(scenario.load) if scenario.load else None,
        "events": [_event_value(event) for event in scenario.events],
    }
    return {
        name: value
        for name, value in values.items()
        if value or name not in {"settings", "costs", "load", "events"}
    }


def _change(values: Any, key: str, text: str) -> None:
    setting = key.removeprefix("settings.")
    *path, last = ("settings", setting) if setting in _SETTINGS else key.split(".")
    names = [*kinds_of(Scenario), "static"]
    if [*path, last][0] not in names:
        raise ScenarioError(f"no setting or field {excerpt(key)}; {near(key, [*_SETTINGS, *names])}")
    for name in path:
        if isinstance(values, dict) and values.get(name) is None:
            values[name] = {}
        values = values.get(name) if isinstance(values, dict) else None
    if not isinstance(values, dict):
        raise ScenarioError(f"{excerpt(key)} cannot be set: {excerpt('.'.join(path))} holds no fields")
    try:
        values[last] = decode_json(text)
    except ValueError:
        values[last] = text


def _read_audit(values: Any, folder: Path) -> None:
    """A text as `load.rate` is the name of an audit's file, whose rates take its place."""
    load = values.get("load") if isinstance(values, dict) else None
    if isinstance(load, dict) and isinstance(name := load.get("rate"), str):
        load["rate"] = audited_rates(name, folder)


def _check_keys(values: Any, allowed: Iterable[str], required: Iterable[str], path: str) -> None:
    if not isinstance(values, Mapping):
        raise ScenarioError(f"{excerpt(values)} is no mapping of names to values", path=path)
    names = list(allowed)
    for key in values:
        if key not in names:
            raise ScenarioError(f"no field {excerpt(key)} here; {near(key, names)}", path=path)
    for name in required:
        if name not in values:
            raise ScenarioError(f"{name} is missing", path=path)


def _fields(type_: Any, values: Any, path: str, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Arguments for a dataclass; `names` are its fields by their names in the file."""
    kinds = kinds_of(type_)
    names = names or {name: name for name in kinds}
    optional = {field.name for field in fields(type_) if field.default is not MISSING}
    _check_keys(values, names, (key for key, name in names.items() if name not in optional), path)
    return {names[key]: read_field(key, value, kinds[names[key]], path) for key, value in values.items()}


def _topics(values: Any) -> tuple[Topic, ...]:
    if not isinstance(values, Mapping):
        raise ScenarioError(f"{excerpt(values)} is no mapping of topics to partitions", path="$.topics")
    return tuple(_topic(name, value) for name, value in values.items())


def _topic(name: Any, value: Any) -> Topic:
    if not _TEXT.fits(name):
        raise ScenarioError(
            f"{excerpt(name)} is no name of a topic; give {_TEXT.expected.file}", path="$.topics"
        )
    path = f"$.topics.{name}"
    racks = id_ = None
    if isinstance(value, Mapping):
        _check_keys(value, ("partitions", "racks", "id"), ("partitions",), path)
        partitions = read_field("partitions", value["partitions"], _COUNT, path)
        racks = read_field("racks", value.get("racks"), RACKS, path)
        id_ = read_field("id", value.get("id"), kind_of(str | None), path)
    else:
        partitions = read_field(name, value, _COUNT, "$.topics")
    try:
        return Topic(name, partitions, racks, None if id_ is None else uuid.UUID(id_))
    except ValueError as error:  # InvalidGroupError is one
        raise ScenarioError(str(error), path=path) from error


def _consumers(value: Any, *, static: bool) -> tuple[list[Consumer], list[str]]:
    if isinstance(value, list):
        entries = [(each, f"$.consumers[{number}]") for number, each in enumerate(value)]
    elif isinstance(value, Mapping):
        entries = [(value, "$.consumers")]
    else:
        entries = [({"count": read_field("consumers", value, MEMBERS, "$")}, "$.consumers")]
    consumers: list[Consumer] = []
    places: list[str] = []
    for entry, path in entries:
        if isinstance(entry, Mapping) and "count" in entry:
            more = _several(entry, path, len(consumers), static=static)
        else:
            more = [_consumer(entry, path, static=static)]
        consumers += more
        places += [path] * len(more)
    return consumers, places


def _several(entry: Mapping[str, Any], path: str, others: int, *, static: bool) -> list[Consumer]:
    """Consumers that are alike, `{count: 40, prefix: worker, static: true}`, besides so many others."""
    numbered = {"count": MEMBERS, "prefix": _TEXT}
    alike = {name: name for name in kinds_of(Consumer) if name not in {"name", "beat_ms"}}
    _check_keys(entry, [*numbered, *alike], (), path)
    for name, kind in numbered.items():
        if name in entry:
            read_field(name, entry[name], kind, path)
    check_members(others + entry["count"], partial(ScenarioError, path=path), "the scenario")
    shared = {key: value for key, value in entry.items() if key in alike}
    arguments = {"static": static, **_fields(Consumer, shared, path, alike)}
    prefix = entry.get("prefix", "worker")
    return [Consumer(f"{prefix}-{number}", **arguments) for number in range(entry["count"])]


def _consumer(entry: Any, path: str, *, static: bool) -> Consumer:
    if isinstance(entry, str):
        return Consumer(entry, static)
    return Consumer(**{"static": static, **_fields(Consumer, entry, path)})


def _events(values: Any, consumers: list[Consumer], *, static: bool) -> tuple[Event, ...]:
    if not isinstance(values, list):
        raise ScenarioError(f"{excerpt(values)} is no list of events", path="$.events")
    people = {consumer.name: consumer for consumer in consumers}
    return tuple(
        _event(each, people, f"$.events[{number}]", static=static) for number, each in enumerate(values)
    )


def _event(values: Any, people: dict[str, Consumer], path: str, *, static: bool) -> Event:
    """One event; `people` are the consumers known by name, to which a join adds its own."""
    name = values.get("event") if isinstance(values, Mapping) else None
    if not isinstance(name, str) or name not in EVENTS:
        raise ScenarioError(f"no event {excerpt(name)}; {near(name, EVENTS)}", path=f"{path}.event")
    type_ = EVENTS[name]
    _check_keys(values, ["event", "when", *kinds_of(type_)], (), path)
    arguments = {key: value for key, value in values.items() if key != "event"}
    when = arguments.pop("when", None)
    if when is not None:
        if "at_ms" in arguments:
            raise ScenarioError("an event has at_ms or when, not both", path=f"{path}.when")
        try:
            arguments["at_ms"] = read_condition(when)
        except ValueError as error:
            raise ScenarioError(str(error), path=f"{path}.when") from error
    if type_ is Join and "consumer" in arguments:
        entry = arguments["consumer"]
        consumer = people.get(entry) if isinstance(entry, str) else None
        joining = consumer or _consumer(entry, f"{path}.consumer", static=static)
        arguments["consumer"] = people[joining.name] = joining
    return type_(**_fields(type_, arguments, path))


def _check_strategies(scenario: Scenario) -> None:
    """Refuse strategies that there are not; in a scenario made in Python, one may be registered later."""
    named = {scenario.assignor: "$.assignor"}
    for path, consumers_or_events in (("$.consumers", scenario.consumers), ("$.events", scenario.events)):
        for number, each in enumerate(consumers_or_events):
            inner = each.consumer if isinstance(each, Join) else each
            for turn, name in enumerate(getattr(inner, "assignors", None) or ()):
                named.setdefault(name, f"{path}[{number}].assignors[{turn}]")
    for name, path in named.items():
        try:
            get_assignor(name)
        except UnknownStrategyError as error:
            raise ScenarioError(str(error), path=path) from error


def _changed_fields(value: Any, skip: Iterable[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass that are not as they are by default."""
    kinds = kinds_of(type(value))
    return {
        field.name: kinds[field.name].write(own)
        for field in fields(value)
        if field.name not in skip and (own := getattr(value, field.name)) != field.default
    }


def _topic_value(topic: Topic) -> int | dict[str, Any]:
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
    written = _changed_fields(consumer)
    return consumer.name if len(written) == 1 else written


def _event_value(event: Event) -> dict[str, Any]:
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


class ReadyScenario(NamedTuple):
    """A scenario that comes with the package: its name for commands, its file's first line, and the file."""

    name: str
    summary: str
    path: Path


def ready_scenarios() -> dict[str, ReadyScenario]:
    """Scenarios for what people ask, by name, in order of names."""
    files = sorted((Path(__file__).parents[1] / "ready").glob("*.yaml"), key=lambda file: file.stem)
    lines = (file.read_text(encoding="utf-8").partition("\n")[0].rstrip().lstrip("# ") for file in files)
    return {file.stem: ReadyScenario(file.stem, line, file) for file, line in zip(files, lines, strict=True)}


_CONSUMER = {"$ref": "#/definitions/Consumer"}


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file; of draft 7, which editors know."""
    consumer, costs, load, settings, whole = map(_object, (Consumer, Costs, Load, Settings, Scenario))
    alike = {name: of for name, of in consumer["properties"].items() if name not in {"name", "beat_ms"}}
    several = object_of(alike | {"count": MEMBERS.schema, "prefix": _TEXT.schema}, ["count"])
    load["properties"]["rate"]["anyOf"].append(
        {"type": "string", "description": "a file that copartition audit -o json wrote."}
    )
    settings["properties"] = {dotted(name): of for name, of in settings["properties"].items()}
    topic = object_of(
        {"partitions": _COUNT.schema, "racks": RACKS.schema, "id": {"type": "string", "format": "uuid"}},
        ["partitions"],
    )
    own: dict[str, dict[str, Any]] = {
        "topics": {
            "type": "object",
            "propertyNames": {"minLength": 1, "maxLength": MAX_TOPIC_NAME},
            "additionalProperties": {"anyOf": [_COUNT.schema, topic]},
        },
        "consumers": {
            "anyOf": [
                MEMBERS.schema,
                several,
                {"type": "array", "items": {"anyOf": [_TEXT.schema, _CONSUMER, several]}},
            ]
        },
        "settings": settings,
        "costs": costs,
        "load": {"anyOf": [load, {"type": "null"}]},
        "events": {"type": "array", "items": {"oneOf": [_event_schema(name) for name in EVENTS]}},
    }
    for name, of in own.items():
        whole["properties"][name] = of | {"description": whole["properties"][name]["description"]}
    whole["properties"]["static"] = _FLAG.schema | {
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


def _event_schema(name: str) -> dict[str, Any]:
    schema = _object(EVENTS[name])
    own = {
        "event": {"const": name},
        "at_ms": kind_of(Milliseconds).schema | {"description": "when."},
        "when": kinds.SCHEMA | {"description": "the condition that sets it off, once, instead of a time."},
    }
    if name == "join":
        own["consumer"] = {"anyOf": [_TEXT.schema, _CONSUMER]}
    schema["properties"] |= own
    if "at_ms" in schema["required"]:
        schema["required"].remove("at_ms")
        schema["oneOf"] = [{"required": ["at_ms"]}, {"required": ["when"]}]
    else:
        schema["not"] = {"required": ["at_ms", "when"]}
    schema["required"].insert(0, "event")
    return schema


_WRITE = "write one with copartition audit TOPIC --since TIME -o json"


def audited_rates(name: str, folder: Path) -> dict[str, list[float]]:
    """Records a second that came to each partition of the topics of an audit: its counts over its time.

    The file is looked for in the folder, then in the working directory. Raises `ScenarioError` where it is no
    audit, or counts something else than what came.
    """
    file = folder / name if (folder / name).is_file() else Path(name)
    try:
        document = decode_json(read_text(file, MAX_FILE_BYTES))
        return {audit["topic"]: _rates(audit) for audit in document["topics"]}
    except OSError as error:
        fault = error.strerror or str(error)
    except ScenarioError as error:
        fault = str(error)
    except (ValueError, LookupError, TypeError):
        fault = f"this is no audit; {_WRITE}"
    raise ScenarioError(f"{file}: {fault}", path="$.load.rate")


def _rates(audit: Mapping[str, Any]) -> list[float]:
    topic, kind, spans = audit["topic"], audit["coverage"]["kind"], audit["spans"]
    if audit["compacted"] or kind not in {"full", "since"}:
        what = "the topic is compacted" if audit["compacted"] else f"it read a part only ({kind})"
        raise ScenarioError(f"the records of {topic!r} in it are not all that came: {what}; {_WRITE}")
    times = [span[end] for span in spans for end in ("first_ms", "last_ms") if span[end] is not None]
    if not times or max(times) == min(times):
        raise ScenarioError(f"the records of {topic!r} in it do not tell how long they took to come")
    partitions, rows = [span["partition"] for span in spans], [span["rows"] for span in spans]
    counts = np.bincount(partitions, rows, audit["num_partitions"])
    rates: list[float] = (counts / (max(times) - min(times)) * 1000).tolist()
    return rates
