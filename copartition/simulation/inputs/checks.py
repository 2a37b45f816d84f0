"""What makes a scenario impossible: values, names, limits and the order of events, each with its place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from assignors.errors import ScenarioError
from assignors.registry import check_for_consumers
from assignors.strategies import BrokerRangeAssignor, UniformAssignor
from copartition.simulation.inputs.events import (
    Autoscaler,
    Condition,
    Consumer,
    Count,
    CrashLoop,
    Create,
    Deployment,
    Event,
    GroupWide,
    Grow,
    Join,
    ScaleTo,
)
from copartition.simulation.inputs.kinds import check_fields, kind_of, near, plain, refused
from copartition.simulation.inputs.order import check_order, occurrence
from copartition.simulation.inputs.settings import dotted
from partitioning.kit.limits import MAX_SCENARIO_EVENTS, MAX_SCENARIO_LOOKS, check_members, check_partitions

if TYPE_CHECKING:
    from collections.abc import Collection

    from copartition.simulation.inputs.scenario import Scenario

BROKER_SIDE = frozenset({UniformAssignor.name, BrokerRangeAssignor.name})
"""Assignors of the protocol of KIP-848; a consumer of it has no other."""
_TOPIC = {"name": kind_of(str), "partitions": kind_of(Count)}
LOOK_MS = 1_000
"""How often conditions are looked at."""


def check(scenario: Scenario) -> None:
    """Refuse a scenario that cannot be.

    Raises:
        ScenarioError: it cannot; the message says where and what to do.
    """
    check_fields(scenario, "$")
    for number, event in enumerate(scenario.events):
        check_fields(event, f"$.events[{number}]")
    joins = [event.consumer for event in scenario.events if isinstance(event, Join)]
    people = len(scenario.consumers) + len(joins)
    faulty = partial(ScenarioError, path="$.consumers")
    check_members(people, faulty, "the scenario, those that join included,")
    topics = _topics(scenario)
    for number, event in enumerate(scenario.events):
        _check_event(event, scenario, topics, f"$.events[{number}]")
    _check_length(scenario, people)
    _check_strategies((scenario.assignor,), "$.assignor")
    if scenario.load and isinstance(rates := scenario.load.rate, Mapping):
        for topic in rates:
            _check_topic(topic, topics, f"$.load.rate.{topic}")
    names: set[str] = set()
    for number, consumer in enumerate(scenario.consumers):
        _check_consumer(consumer, topics, f"$.consumers[{number}]")
        if consumer.name in names:
            raise ScenarioError(
                f"consumer {consumer.name!r} is in the scenario twice; name each one once",
                path=f"$.consumers[{number}].name",
            )
        names.add(consumer.name)
    check_order(scenario)


def _topics(scenario: Scenario) -> dict[str, int]:
    """The most partitions of every topic, those that are created included."""
    counts: dict[str, int] = {}
    for topic in scenario.topics:
        for name, kind in _TOPIC.items():
            if not kind.fits(given := getattr(topic, name)):
                raise refused(name, given, kind, f"$.topics.{topic.name}")
        if topic.name in counts:
            raise ScenarioError(
                f"topic {topic.name!r} is in the scenario twice; name each topic once",
                path=f"$.topics.{topic.name}",
            )
        counts[topic.name] = topic.partitions
    total = sum(counts.values())
    check_partitions(total, partial(ScenarioError, path="$.topics"), "the scenario")
    for number, event in enumerate(scenario.events):
        if isinstance(event, Grow | Create):
            more = max(0, event.partitions - counts.get(event.topic, 0))
            total += more
            faulty = partial(ScenarioError, path=f"$.events[{number}].partitions")
            check_partitions(total, faulty, "the scenario at its end")
            if isinstance(event, Create) or event.topic in counts:
                counts[event.topic] = counts.get(event.topic, 0) + more
    return counts


def _check_topic(name: str, topics: Collection[str], path: str) -> None:
    if name not in topics:
        raise ScenarioError(f"no topic {name!r}; {near(name, topics)}", path=path)


def _check_consumer(consumer: Consumer, topics: Collection[str], path: str) -> None:
    check_fields(consumer, path)
    for number, topic in enumerate(consumer.topics or ()):
        _check_topic(topic, topics, f"{path}.topics[{number}]")
    if consumer.pattern is not None:
        if consumer.topics is not None:
            raise ScenarioError("a consumer has topics or a pattern, not both", path=f"{path}.pattern")
        try:
            re.compile(consumer.pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise ScenarioError(
                f"{consumer.pattern[:60]!r} is no regular expression: {error}", path=f"{path}.pattern"
            ) from error
    _check_strategies(consumer.assignors, f"{path}.assignors")


def _check_strategies(names: tuple[str, ...] | None, path: str) -> None:
    """Refuse strategies that no consumer can have together; whether they exist is known when they run."""
    if names == ():
        raise ScenarioError("no strategy is named; leave assignors out, or name one", path=path)
    check_for_consumers(names or (), partial(ScenarioError, path=path))
    if names and len(names) > 1 and not BROKER_SIDE.isdisjoint(names):
        raise ScenarioError(
            f"{', '.join(names)}: {' and '.join(sorted(BROKER_SIDE))} are the broker's, each alone", path=path
        )


def _check_event(event: Event, scenario: Scenario, topics: Collection[str], path: str) -> None:
    if isinstance(when := event.at_ms, Condition):
        check_fields(when, f"{path}.when")
        if (when.above is None) == (when.below is None):
            raise ScenarioError("a condition has one limit, above or below", path=f"{path}.when")
        if when.figure in {"lag", "partition_lag"} and scenario.load is None:
            raise ScenarioError(
                f"{when.figure} is known only where the scenario has a load", path=f"{path}.when"
            )
    match event:
        case Join(consumer=consumer):
            _check_consumer(consumer, topics, f"{path}.consumer")
        case Grow(topic=topic):
            _check_topic(topic, topics, f"{path}.topic")
        case Deployment(surge=0, unavailable=0):
            raise ScenarioError(
                "surge and unavailable are both 0: nothing can be replaced", path=f"{path}.surge"
            )
        case ScaleTo(consumers=consumers):
            check_members(consumers, partial(ScenarioError, path=f"{path}.consumers"), occurrence(event))
        case Autoscaler(fewest=fewest, most=most) if most is not None and fewest > most:
            raise ScenarioError(f"fewest is {fewest} and most is {most}", path=f"{path}.fewest")
        case Autoscaler() if scenario.load is None:
            raise ScenarioError("an autoscaler looks at the lag; give the scenario a load", path=path)
    _check_strategies(getattr(event, "assignors", None), f"{path}.assignors")


def _check_length(scenario: Scenario, people: int) -> None:
    """Refuse a run that would not end within hours."""
    count = 0
    for number, event in enumerate(scenario.events):
        count += 1
        if isinstance(event, CrashLoop):
            count += event.times
        elif isinstance(event, ScaleTo):
            count += event.consumers
        elif isinstance(event, GroupWide):
            count += people
        every_ms = event.polling_ms if isinstance(event, Autoscaler) else LOOK_MS
        if not isinstance(event, Autoscaler) and not isinstance(event.at_ms, Condition):
            continue
        if scenario.until_ms is None:
            raise ScenarioError(
                f"{occurrence(event)} looks at the group until the run ends; give until_ms, when it does",
                path=f"$.events[{number}]",
            )
        if (looks := scenario.until_ms / every_ms) > MAX_SCENARIO_LOOKS:
            raise ScenarioError(
                f"until_ms is {plain(scenario.until_ms)} and {occurrence(event)} looks at the group every "
                f"{plain(every_ms)} ms, {looks:,.0f} times; {MAX_SCENARIO_LOOKS:,} are the most",
                path="$.until_ms",
            )
    if count > MAX_SCENARIO_EVENTS:
        raise ScenarioError(
            f"{count:,} events, those that concern every consumer counted once for each; "
            f"{MAX_SCENARIO_EVENTS:,} are the most",
            path="$.events",
        )


def find_warnings(scenario: Scenario) -> tuple[str, ...]:
    """What is possible and hardly meant."""
    settings = scenario.settings
    pairs = (
        ("heartbeat_interval_ms", "session_timeout_ms"),
        ("group_consumer_heartbeat_interval_ms", "group_consumer_session_timeout_ms"),
    )
    found = [
        f"{dotted(beat)} is {plain(getattr(settings, beat))}, more than a third of {dotted(session)}, "
        f"{plain(getattr(settings, session))}: few lost heartbeats expel a member"
        for beat, session in pairs
        if 3 * getattr(settings, beat) > getattr(settings, session)
    ]
    if scenario.until_ms is not None:
        late = [
            event
            for event in scenario.events
            if not isinstance(event.at_ms, Condition) and event.at_ms >= scenario.until_ms
        ]
        if late:
            found.append(
                f"the run ends at until_ms, {plain(scenario.until_ms)}, before {len(late):,} of its events, "
                f"the first of them {occurrence(late[0])}"
            )
    return tuple(found)
