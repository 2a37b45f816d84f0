"""Scenarios as files: YAML, TOML or JSON of one shape.

topics: {orders: 200}
consumers: 40                      # worker-0 .. worker-39; or a list of names and {name, static, topics}
static: true                       # whether consumers are static members where they do not say
assignor: cooperative-sticky
settings: {session.timeout.ms: 45000}
settled_ms: 3600000                # how long the group has been quiet at time 0
events:
  - {event: rolling-restart, every_ms: 60000, down_ms: 1000}
  - {event: join, at_ms: 5000, consumer: worker-40}
  - {event: leave, at_ms: 6000, consumer: worker-3}
  - {event: crash, at_ms: 7000, consumer: worker-4}
  - {event: restart, at_ms: 8000, consumer: worker-5, down_ms: 2000}
  - {event: grow, at_ms: 9000, topic: orders, partitions: 240}
"""

from __future__ import annotations

from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from assignors.errors import ScenarioError
from assignors.extras import needs
from assignors.files import read_text
from assignors.group import Topic
from assignors.limits import (
    MAX_FILE_BYTES,
    MAX_GROUP_MEMBERS,
    MAX_GROUP_PARTITIONS,
    MAX_ID,
    MAX_SCENARIO_EVENTS,
)
from assignors.simulation.inputs.events import (
    Consumer,
    Crash,
    Event,
    Grow,
    Join,
    Leave,
    Restart,
    rolling_restart,
)
from assignors.simulation.inputs.scenario import QUIET_MS, Scenario
from assignors.simulation.inputs.settings import Settings
from assignors.simulation.inputs.text import MAX_SLOW_BYTES, decode_json, decode_toml, decode_yaml

if TYPE_CHECKING:
    from os import PathLike

_DECODERS = {".json": decode_json, ".toml": decode_toml, ".yaml": decode_yaml, ".yml": decode_yaml}
_SETTINGS = {setting.name.replace("_", "."): setting.name for setting in fields(Settings)}

_Count = Annotated[int, msgspec.Meta(ge=1, le=MAX_GROUP_PARTITIONS)]
_Time = Annotated[float, msgspec.Meta(ge=0)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]


class _Consumer(msgspec.Struct, forbid_unknown_fields=True):
    name: _Name
    static: bool | None = None
    topics: list[str] | None = None


class _Event(msgspec.Struct, forbid_unknown_fields=True, tag_field="event"):
    pass


class _Join(_Event, tag="join"):
    at_ms: _Time
    consumer: str | _Consumer


class _Leave(_Event, tag="leave"):
    at_ms: _Time
    consumer: str


class _Crash(_Event, tag="crash"):
    at_ms: _Time
    consumer: str


class _Restart(_Event, tag="restart"):
    at_ms: _Time
    consumer: str
    down_ms: _Time


class _RollingRestart(_Event, tag="rolling-restart"):
    every_ms: _Time
    down_ms: _Time
    at_ms: _Time = 0


class _Grow(_Event, tag="grow"):
    at_ms: _Time
    topic: str
    partitions: _Count


class _File(msgspec.Struct, forbid_unknown_fields=True):
    topics: dict[_Name, _Count]
    consumers: Annotated[int, msgspec.Meta(ge=0, le=MAX_GROUP_MEMBERS)] | list[str | _Consumer]
    static: bool = False
    assignor: str = "cooperative-sticky"
    settings: dict[str, float] = {}
    settled_ms: _Time = QUIET_MS
    events: list[_Join | _Leave | _Crash | _Restart | _RollingRestart | _Grow] = []
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    name: str | None = None


def read_scenario(path: str | PathLike[str]) -> Scenario:
    """The scenario a file describes; see `Scenario.from_file`."""
    file = Path(path)
    decode = _DECODERS.get(file.suffix.lower())
    if decode is None:
        raise ScenarioError(f"{file}: a scenario file ends in {', '.join(sorted(_DECODERS))}")
    try:
        text = read_text(file, MAX_FILE_BYTES if decode is decode_json else MAX_SLOW_BYTES)
        with needs(f"reading {file}", "cli"):
            content = decode(text, _File)
        return _scenario(content, file.stem)
    except OSError as error:
        raise ScenarioError(f"{file}: {error.strerror or error}") from error
    except ValueError as error:
        raise ScenarioError(f"{file}: {error}") from error


def _scenario(content: _File, stem: str) -> Scenario:
    names = (
        [f"worker-{number}" for number in range(content.consumers)]
        if isinstance(content.consumers, int)
        else content.consumers
    )
    consumers = [_consumer(each, static=content.static) for each in names]
    known = {consumer.name: consumer for consumer in consumers}
    rolling = sum(isinstance(event, _RollingRestart) for event in content.events)
    if (count := len(content.events) + rolling * len(consumers)) > MAX_SCENARIO_EVENTS:
        raise ScenarioError(
            f"{count:,} events, a rolling restart counted once a consumer; {MAX_SCENARIO_EVENTS:,} are the "
            "most - at `$.events`"
        )
    events: list[Event] = []
    for event in content.events:
        match event:
            case _RollingRestart(every_ms=every_ms, down_ms=down_ms, at_ms=at_ms):
                events += rolling_restart(consumers, start_ms=at_ms, every_ms=every_ms, down_ms=down_ms)
            case _Join(at_ms=at_ms, consumer=str() as name) if name in known:
                events.append(Join(at_ms, known[name]))
            case _Join(at_ms=at_ms, consumer=consumer):
                events.append(Join(at_ms, _consumer(consumer, static=content.static)))
            case _Leave(at_ms=at_ms, consumer=consumer):
                events.append(Leave(at_ms, consumer))
            case _Crash(at_ms=at_ms, consumer=consumer):
                events.append(Crash(at_ms, consumer))
            case _Restart(at_ms=at_ms, consumer=consumer, down_ms=down_ms):
                events.append(Restart(at_ms, consumer, down_ms))
            case _Grow(at_ms=at_ms, topic=topic, partitions=partitions):
                events.append(Grow(at_ms, topic, partitions))
    return Scenario(
        topics=tuple(Topic(name, partitions) for name, partitions in content.topics.items()),
        consumers=tuple(consumers),
        events=tuple(events),
        assignor=content.assignor,
        settings=_settings(content.settings),
        settled_ms=content.settled_ms,
        seed=content.seed,
        name=content.name or stem,
    )


def _consumer(entry: str | _Consumer, *, static: bool) -> Consumer:
    if isinstance(entry, str):
        return Consumer(entry, static)
    topics = None if entry.topics is None else tuple(entry.topics)
    return Consumer(entry.name, static if entry.static is None else entry.static, topics)


def _settings(values: dict[str, float]) -> Settings:
    for name in values:
        if name not in _SETTINGS:
            close = get_close_matches(name, _SETTINGS) or sorted(_SETTINGS)
            raise ScenarioError(
                f"unknown setting {name!r}; did you mean {', '.join(close)}? - at `$.settings`"
            )
    return Settings(**{_SETTINGS[name]: value for name, value in values.items()})
