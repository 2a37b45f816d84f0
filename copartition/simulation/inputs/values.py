"""Turn the values of a scenario file into topics, consumers, events and settings."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assignors.files import read_text
from assignors.group import Topic
from copartition.simulation.inputs.events import EVENTS, Consumer, Count, Event, Join
from copartition.simulation.inputs.kinds import (
    MEMBERS,
    RACKS,
    FieldKind,
    excerpt,
    kind_of,
    kinds_of,
    name_hint,
    read_condition,
    read_field,
)
from copartition.simulation.inputs.settings import Costs, Load, Settings, kafka_name
from partitioning.errors import ScenarioError
from partitioning.kit.limits import MAX_FILE_BYTES, check_members
from partitioning.kit.packages import needs

_ENDINGS = {".json": "json", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
SETTINGS = {kafka_name(field.name): field.name for field in fields(Settings)}
COUNT = kind_of(Count)
FLAG = kind_of(bool)
TEXT = kind_of(str)


def read_values(file: Path, changes: Mapping[str, str], names: Iterable[str]) -> Any:
    """Return the values of a file after changes; if they name an audit, its rates replace the name.

    Args:
        file: the file; its ending says its format.
        changes: path of a setting or field -> its value, as JSON or else as text.
        names: the fields of a scenario.

    Raises:
        OSError: the file cannot be read.
        ValueError: the text is not in the file's format, or a change cannot be made.
        MissingDependencyError: msgspec or PyYAML is not installed.
    """
    from partitioning.kit import formats  # noqa: PLC0415 - needs msgspec, which who has no file does without

    form = _ENDINGS.get(file.suffix.lower())
    if form is None:
        raise ScenarioError(
            f"a scenario file ends in {', '.join(sorted(_ENDINGS))}; "
            "a captured group also needs `deploy` rolling, surge, ..."
        )
    # YAML and TOML are parsed far more slowly than JSON, so their files have a lower limit.
    text = read_text(file, MAX_FILE_BYTES if form == "json" else formats.MAX_SLOW_BYTES)
    with needs(f"reading {file}", "cli"):
        values = getattr(formats, f"decode_{form}")(text)
        for key, value in changes.items():
            change_value(values, key, value, names)
        read_audit(values, file.parent)
    return values


def read_arguments(values: Any, kinds: Mapping[str, FieldKind]) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments of a scenario, and for each consumer its path in the values.

    One entry of the values may stand for many consumers, so a consumer's number does not lead to its entry.
    `kinds` has the kind of each field. Only the form of the values is checked here; `Scenario` itself checks
    whether they fit together.
    """
    _check_keys(values, [*kinds, "static"], ("topics", "consumers"), "$")
    static = read_field("static", values.get("static", False), FLAG, "$")
    consumers, places = _consumers(values["consumers"], static=static)
    read: dict[str, Any] = {
        "topics": _topics(values["topics"]),
        "events": _events(values.get("events", []), consumers, static=static),
        "settings": Settings(**_fields(Settings, values.get("settings", {}), "$.settings", SETTINGS)),
        "costs": Costs(**_fields(Costs, values.get("costs", {}), "$.costs")),
    }
    if values.get("load") is not None:
        read["load"] = Load(**_fields(Load, values["load"], "$.load"))
    plain = {
        key: read_field(key, value, kinds[key], "$")
        for key, value in values.items()
        if key not in {"static", "consumers", *read}
    }
    return {**plain, **read, "consumers": consumers}, places


def change_value(values: Any, key: str, text: str, names: Iterable[str]) -> None:
    """Change in place a setting, by Kafka's name, or a field, by its path; make missing objects on the way.

    `text` is JSON, or else a plain text; `names` are the fields of a scenario.
    """
    from partitioning.kit.formats import decode_json  # noqa: PLC0415 - as above

    setting = key.removeprefix("settings.")
    *path, last = ("settings", setting) if setting in SETTINGS else key.split(".")
    allowed = [*names, "static"]
    if [*path, last][0] not in allowed:
        raise ScenarioError(f"no setting or field {excerpt(key)}; {name_hint(key, [*SETTINGS, *allowed])}")
    for name in path:
        if isinstance(values, dict) and values.get(name) is None:
            values[name] = {}
        values = values.get(name) if isinstance(values, dict) else None
    if not isinstance(values, dict):
        raise ScenarioError(f"{excerpt(key)} cannot be set: {excerpt('.'.join(path))} holds no fields")
    try:
        values[last] = decode_json(text)
    except ValueError:
        # A word without quotes is a text: `assignor=range`.
        values[last] = text


def read_audit(values: Any, folder: Path) -> None:
    """Replace the name of an audit's file by its rates, if `load.rate` is a text."""
    load = values.get("load") if isinstance(values, dict) else None
    if isinstance(load, dict) and isinstance(name := load.get("rate"), str):
        load["rate"] = audited_rates(name, folder)


def _check_keys(values: Any, allowed: Iterable[str], required: Iterable[str], path: str) -> None:
    """Refuse values that are not a mapping, have keys outside `allowed`, or lack one of `required`."""
    if not isinstance(values, Mapping):
        raise ScenarioError(f"{excerpt(values)} is no mapping of names to values", path=path)
    names, needed = list(allowed), list(required)
    # If no required field is there, this is another program's JSON, and "did you mean" would mislead.
    if path == "$" and not {*needed} & values.keys():
        raise ScenarioError(f"this is no scenario: it has no {' and no '.join(needed)}", path=path)
    for key in values:
        if key not in names:
            raise ScenarioError(f"no field {excerpt(key)} here; {name_hint(key, names)}", path=path)
    for name in needed:
        if name not in values:
            raise ScenarioError(f"{name} is missing", path=path)


def _fields(type_: Any, values: Any, path: str, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return arguments for a dataclass; `names` maps names in the file to its fields."""
    kinds = kinds_of(type_)
    names = names or {name: name for name in kinds}
    optional = {field.name for field in fields(type_) if field.default is not MISSING}
    _check_keys(values, names, (key for key, name in names.items() if name not in optional), path)
    return {names[key]: read_field(key, value, kinds[names[key]], path) for key, value in values.items()}


def _topics(values: Any) -> tuple[Topic, ...]:
    """Return the topics of a file."""
    if not isinstance(values, Mapping):
        raise ScenarioError(f"{excerpt(values)} is no mapping of topics to partitions", path="$.topics")
    return tuple(_topic(name, value) for name, value in values.items())


def _topic(name: Any, value: Any) -> Topic:
    """Return a topic of a file, given as a number of partitions or as an object."""
    if not TEXT.fits(name):
        raise ScenarioError(
            f"{excerpt(name)} is no name of a topic; give {TEXT.expected.file}", path="$.topics"
        )
    path = f"$.topics.{name}"
    racks = id_ = None
    if isinstance(value, Mapping):
        _check_keys(value, ("partitions", "racks", "id"), ("partitions",), path)
        partitions = read_field("partitions", value["partitions"], COUNT, path)
        racks = read_field("racks", value.get("racks"), RACKS, path)
        id_ = read_field("id", value.get("id"), kind_of(str | None), path)
    else:
        partitions = read_field(name, value, COUNT, "$.topics")
    try:
        return Topic(name, partitions, racks, None if id_ is None else uuid.UUID(id_))
    except ValueError as error:  # an InvalidGroupError is a ValueError, too
        raise ScenarioError(str(error), path=path) from error


def _consumers(value: Any, *, static: bool) -> tuple[list[Consumer], list[str]]:
    """Return the consumers of a file, given as a number, an object or a list, and the path of each."""
    if isinstance(value, list):
        entries = [(entry, f"$.consumers[{number}]") for number, entry in enumerate(value)]
    elif isinstance(value, Mapping):
        entries = [(value, "$.consumers")]
    else:
        entries = [({"count": read_field("consumers", value, MEMBERS, "$")}, "$.consumers")]
    consumers: list[Consumer] = []
    places: list[str] = []
    for entry, path in entries:
        if isinstance(entry, Mapping) and "count" in entry:
            more = _equal_consumers(entry, path, len(consumers), static=static)
        else:
            more = [_consumer(entry, path, static=static)]
        consumers += more
        places += [path] * len(more)
    return consumers, places


ITS_OWN = frozenset({"name", "beat_ms", "member_id"})
"""The fields of `Consumer` that differ between consumers described by one entry."""


def _equal_consumers(entry: Mapping[str, Any], path: str, others: int, *, static: bool) -> list[Consumer]:
    """Return the equal consumers of one entry, such as `{count: 40, prefix: worker, static: true}`.

    `others` is the number of consumers before them, because the limit holds for all consumers together.
    """
    numbered = {"count": MEMBERS, "prefix": TEXT}
    alike = {name: name for name in kinds_of(Consumer) if name not in ITS_OWN}
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
    """Return a consumer of a file, given as a name or as an object."""
    if isinstance(entry, str):
        return Consumer(entry, static)
    return Consumer(**{"static": static, **_fields(Consumer, entry, path)})


def _events(values: Any, consumers: list[Consumer], *, static: bool) -> tuple[Event, ...]:
    """Return the events of a file."""
    if not isinstance(values, list):
        raise ScenarioError(f"{excerpt(values)} is no list of events", path="$.events")
    people = {consumer.name: consumer for consumer in consumers}
    return tuple(
        _event(value, people, f"$.events[{number}]", static=static) for number, value in enumerate(values)
    )


def _event(values: Any, people: dict[str, Consumer], path: str, *, static: bool) -> Event:
    """Return one event; `people` has the known consumers by name, and a join adds its own."""
    name = values.get("event") if isinstance(values, Mapping) else None
    if not isinstance(name, str) or name not in EVENTS:
        raise ScenarioError(f"no event {excerpt(name)}; {name_hint(name, EVENTS)}", path=f"{path}.event")
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


_WRITE = "write one with copartition audit TOPIC --since TIME -o json"


def audited_rates(name: str, folder: Path) -> dict[str, list[float]]:
    """Return topic -> records a second of each partition: the counts of an audit, divided by its time.

    The file is looked for in `folder`, then in the working directory.

    Raises:
        ScenarioError: the file is not an audit, or the audit does not count all records that came.
    """
    from partitioning.kit.formats import decode_json  # noqa: PLC0415 - as above

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
    """Return the records a second that came to each partition of one audited topic.

    The rate is records divided by milliseconds, times 1,000. The result has one rate for each partition, in
    the order of their numbers.

    Raises:
        ScenarioError: the audit read only a part of the records, or all records came at the same time.
    """
    topic, kind, spans = audit["topic"], audit["coverage"]["kind"], audit["spans"]
    if audit["compacted"] or kind not in {"full", "since"}:
        what = "the topic is compacted" if audit["compacted"] else f"it read a part only ({kind})"
        raise ScenarioError(f"the records of {topic!r} in it are not all that came: {what}; {_WRITE}")
    # The time is the same for all partitions of the topic: from its first record to its last. An empty
    # partition has no times.
    times = [span[end] for span in spans for end in ("first_ms", "last_ms") if span[end] is not None]
    if not times or max(times) == min(times):
        raise ScenarioError(f"the records of {topic!r} in it do not tell how long they took to come")
    partitions, rows = [span["partition"] for span in spans], [span["rows"] for span in spans]
    counts = np.bincount(partitions, rows, audit["num_partitions"])
    rates: list[float] = (counts / (max(times) - min(times)) * 1000).tolist()
    return rates
