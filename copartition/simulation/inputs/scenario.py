"""Describe a scenario: a group, its events, and whether they can happen in this order.

Faults that are certain before the run are refused then. Faults that depend on conditions, on drawn durations
or on events of all running consumers are refused when they occur, in the same words
(`copartition.simulation.agenda`).
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.group import Topic
from assignors.registry import check_for_consumers, get_assignor
from assignors.strategies import BrokerRangeAssignor, UniformAssignor
from copartition.simulation.inputs.course import Course, occurrence
from copartition.simulation.inputs.durations import Between, Milliseconds
from copartition.simulation.inputs.events import (
    REFUSED,
    Autoscaler,
    ByName,
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
    Reassign,
    ScaleTo,
)
from copartition.simulation.inputs.kinds import (
    check_values,
    kind_of,
    kinds_of,
    name_hint,
    plain,
    refusal,
)
from copartition.simulation.inputs.settings import QUIET_MS, Costs, Load, Settings, kafka_name
from copartition.simulation.inputs.values import read_arguments, read_values
from partitioning.errors import ScenarioError, UnknownStrategyError
from partitioning.kit.limits import (
    MAX_GROUP_MEMBERS,
    MAX_SCENARIO_EVENTS,
    MAX_SCENARIO_LOOKS,
    check_members,
    check_partitions,
)

PURPOSES = ("question", "source", "conclusion")
"""Attributes of a scenario that describe its purpose."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A group that is stable at time 0, and the events that follow; a time without a unit is in milliseconds.

    >>> grow = {"event": "grow", "at_ms": "10 min", "topic": "orders", "partitions": 8}
    >>> scenario = Scenario.from_dict({"topics": {"orders": 4}, "consumers": 2, "events": [grow]})
    >>> [consumer.name for consumer in scenario.consumers], scenario.events[0].at_ms
    (['worker-0', 'worker-1'], 600000.0)

    Attributes:
        topics: the topics of the cluster, with the number of partitions that each has at time 0.
        consumers: the members of the stable group at time 0, in the order in which they joined; empty for an
            empty group.
        events: what happens, in any order. Events of the same time happen in the order in which they are
            listed.
        assignor: the name of the strategy, see `assignors.list_assignors`. With "uniform" or "broker-range"
            the group has the protocol of KIP-848.
        settings: the timeouts of clients and brokers.
        seed: the seed of everything that is drawn: the phases of the members' heartbeats, metadata refreshes,
            and durations.
        name: the scenario's name in reports.
        settled_ms: how long the group has been without a rebalance at time 0; 0 means that a rebalance has
            just ended. After a rebalance the heartbeats of all members are in step, and drift apart with
            time.
        costs: the times that steps of a rebalance take on clients and on the network.
        load: the flow of records; None means that no lag is computed.
        until_ms: when the run ends; None means when nothing is left to happen.
        question: the question that the scenario answers. Reports show it above the run, as they do `source`
            and `conclusion`.
        source: where the question or the events come from, such as an address, a paper or an incident.
        conclusion: the answer that the author of the scenario found.

    Raises:
        ScenarioError: something in it is impossible; the message says what, and gives the path to it.
    """

    topics: tuple[Topic, ...]
    consumers: tuple[Consumer, ...]
    events: tuple[Event, ...] = ()
    assignor: str = "cooperative-sticky"
    settings: Settings = field(default_factory=Settings)
    seed: Annotated[int, Between(0, 2**64 - 1, "whole number")] = 0
    name: str = "scenario"
    settled_ms: Milliseconds = QUIET_MS
    costs: Costs = field(default_factory=Costs)
    load: Load | None = None
    until_ms: Milliseconds | None = None
    question: str | None = None
    source: str | None = None
    conclusion: str | None = None

    def __post_init__(self) -> None:
        for name in ("topics", "consumers", "events"):
            # Lists and generators are accepted, too. `check_scenario` refuses a value that is not iterable,
            # with its own message.
            if isinstance(listed := getattr(self, name), Iterable):
                object.__setattr__(self, name, tuple(listed))
        check_scenario(self)

    @property
    def membership(self) -> str:
        """The kind of the consumers at the start: "static", "dynamic" or "mixed"."""
        kinds = {"static" if consumer.static else "dynamic" for consumer in self.consumers}
        return kinds.pop() if len(kinds) == 1 else "mixed"

    @property
    def purpose(self) -> dict[str, str]:
        """The scenario's question, source and conclusion, by these names; a text that is None is left out."""
        texts = {name: getattr(self, name) for name in PURPOSES}
        return {name: text for name, text in texts.items() if text is not None}

    @property
    def rates(self) -> dict[str, NDArray[np.float64]]:
        """Topic -> records a second of each of its partitions, also of those that it gets later."""
        load = self.load or Load(0)
        later = [event for event in self.events if isinstance(event, Create)]
        first = {event.topic: event.partitions for event in reversed(later)}
        # The number of partitions that a topic has at the start or when it is created: `Load.rate` is the
        # mean over these partitions.
        first |= {topic.name: topic.partitions for topic in self.topics}
        return {name: load.rates_of(name, most, first[name]) for name, most in topic_counts(self).items()}

    def capacity_of(self, consumer: Consumer) -> float:
        """Return how many records a second a consumer can process; infinite without a load."""
        return consumer.capacity or (self.load.capacity if self.load else math.inf)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about settings and events that are possible but unlikely to be meant."""
        return find_warnings(self)

    def at_moment(self, seed: int, settled_ms: float) -> "Scenario":
        """Return the same scenario with another seed and another quiet time, in milliseconds.

        `dataclasses.replace` would check everything again, which takes longer than a run of 2,000 members.

        Raises:
            ScenarioError: one of the two has a value that it cannot have.
        """
        other = copy(self)
        object.__setattr__(other, "seed", seed)
        object.__setattr__(other, "settled_ms", settled_ms)
        # No other field depends on these two, so only their own values are checked; see `check_scenario`.
        check_values(other, "$")
        return other

    @classmethod
    def from_file(cls, path: str | PathLike[str], changes: Mapping[str, str] | None = None) -> "Scenario":
        """Return a scenario from a YAML, TOML or JSON file; the name's ending says which.

        Args:
            path: the file.
            changes: name -> value that replaces the file's. A name is a setting by Kafka's name or the path
                of a field (`load.rate`); a value is JSON, or else text.

        Raises:
            ScenarioError: the file cannot be read or is at fault; the error carries the path to the fault,
                such as `$.events[0].at_ms`.
            MissingDependencyError: msgspec or PyYAML is not installed.
        """
        file = Path(path)
        try:
            return cls.from_dict(read_values(file, changes or {}, kinds_of(cls)), file.stem)
        except OSError as error:
            raise ScenarioError(f"{file}: {error.strerror or error}") from error
        except ScenarioError as error:
            raise ScenarioError(f"{file}: {error.args[0]}", path=error.path) from error
        except ValueError as error:
            raise ScenarioError(f"{file}: {error}") from error

    @classmethod
    def from_dict(cls, values: Any, name: str = "scenario") -> "Scenario":
        """Return the scenario that the values of a file describe, as `json.loads` returns them.

        `name` is the scenario's name if the values have none.

        Raises:
            ScenarioError: the values are at fault; the error has the place of the fault in `path`.
        """
        arguments, places = read_arguments(values, kinds_of(cls))
        try:
            scenario = cls(**{"name": name, **arguments})
            _check_registered(scenario)
        except ScenarioError as error:
            # The path of the fault has a consumer's number, but one entry of the file may stand for many
            # consumers.
            path = re.sub(r"^\$\.consumers\[(\d+)\]", lambda match: places[int(match[1])], error.path or "$")
            raise ScenarioError(error.args[0], path=path) from error
        return scenario


class CapturedScenario(NamedTuple):
    """A scenario made from a group; `assumed` says in words what had to be assumed about the group.

    `assumed` is empty for a scenario from a file.
    """

    scenario: Scenario
    assumed: tuple[str, ...] = ()


BROKER_SIDE = frozenset({UniformAssignor.name, BrokerRangeAssignor.name})
"""Assignors of the protocol of KIP-848; a consumer that speaks it names exactly one of these."""
_TOPIC = {"name": kind_of(str), "partitions": kind_of(Count)}
BROKER_SESSIONS_MS = (6_000, 1_800_000)
"""Defaults of `group.min.session.timeout.ms` and `group.max.session.timeout.ms` of the broker."""
LOOK_MS = 1_000
"""The interval between two looks at conditions, in milliseconds."""


def with_static(scenario: Scenario, *, static: bool) -> Scenario:
    """Return the scenario with all consumers, also those that join later, as static or as dynamic members."""
    return replace(
        scenario,
        consumers=tuple(replace(consumer, static=static) for consumer in scenario.consumers),
        events=tuple(
            replace(event, consumer=replace(event.consumer, static=static))
            if isinstance(event, Join)
            else event
            for event in scenario.events
        ),
    )


def check_scenario(scenario: Scenario) -> None:
    """Raise `ScenarioError` if a scenario is impossible; the message says where the fault is and what to do.

    Each field is checked first by itself, since the other checks rely on its type. Fields that must fit
    together are checked next, and the course of events last. The first fault is raised.
    """
    check_values(scenario, "$")
    for number, event in enumerate(scenario.events):
        check_values(event, f"$.events[{number}]")
    joins = [event.consumer for event in scenario.events if isinstance(event, Join)]
    people = len(scenario.consumers) + len(joins)
    faulty = partial(ScenarioError, path="$.consumers")
    check_members(people, faulty, "the scenario, with those who join,")
    topics = topic_counts(scenario)
    for number, event in enumerate(scenario.events):
        _check_event(event, scenario, topics, f"$.events[{number}]")
    _check_length(scenario, people)
    _check_strategies((scenario.assignor,), "$.assignor")
    names: set[str] = set()
    ids: set[str | None] = set()
    for number, consumer in enumerate(scenario.consumers):
        _check_consumer(consumer, topics, f"$.consumers[{number}]")
        if consumer.name in names:
            raise ScenarioError(
                f"consumer {consumer.name!r} is in the scenario twice; name each one once",
                path=f"$.consumers[{number}].name",
            )
        if consumer.member_id is not None and consumer.member_id in ids:
            raise ScenarioError(
                f"member id {consumer.member_id!r} is in the scenario twice; give each id once",
                path=f"$.consumers[{number}].member_id",
            )
        names.add(consumer.name)
        ids.add(consumer.member_id)
    _check_load(scenario, topics, [*scenario.consumers, *joins])
    Course(scenario).check()


def topic_counts(scenario: Scenario) -> dict[str, int]:
    """Return the largest number of partitions that each topic will have, by name.

    Topics that are created later come last.
    """
    counts: dict[str, int] = {}
    for topic in scenario.topics:
        for name, kind in _TOPIC.items():
            if not kind.fits(content := getattr(topic, name)):
                raise refusal(name, content, kind, f"$.topics.{topic.name}")
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
            # `Course` refuses an event that asks for fewer partitions than there are, in its own words.
            more = max(0, event.partitions - counts.get(event.topic, 0))
            total += more
            faulty = partial(ScenarioError, path=f"$.events[{number}].partitions")
            check_partitions(total, faulty, "the scenario at its end")
            if isinstance(event, Create) or event.topic in counts:
                counts[event.topic] = counts.get(event.topic, 0) + more
    return counts


def _check_load(scenario: Scenario, topics: Mapping[str, int], people: Iterable[Consumer]) -> None:
    """Refuse rates, backlogs and capacities that do not fit the topics and consumers.

    `topics` has the most partitions that each topic will have. Rates are given for all of these, backlogs
    only for those that exist at time 0.
    """
    load = scenario.load
    rates = load.rate if load and isinstance(load.rate, Mapping) else {}
    for topic, rate in rates.items():
        _check_topic(topic, topics, f"$.load.rate.{topic}")
        if isinstance(rate, tuple) and len(rate) != topics[topic]:
            raise ScenarioError(
                f"{topic} has {len(rate):,} rates; give one for each of its {topics[topic]:,} partitions, "
                "also for what it gets later",
                path=f"$.load.rate.{topic}",
            )
    first = {topic.name: topic.partitions for topic in scenario.topics}
    for topic, waiting in (load.waiting if load and isinstance(load.waiting, Mapping) else {}).items():
        _check_topic(topic, first, f"$.load.waiting.{topic}")
        if isinstance(waiting, tuple) and len(waiting) != first[topic]:
            raise ScenarioError(
                f"{len(waiting):,} numbers of records wait in {topic}; give one for each of the "
                f"{first[topic]:,} partitions that it has at the start",
                path=f"$.load.waiting.{topic}",
            )
    # Consumers without a capacity would process everything at once, next to others that have a limit.
    if scenario.capacity_of(Consumer("")) == math.inf:
        for consumer in people:
            if consumer.capacity is not None:
                raise ScenarioError(
                    f"consumer {consumer.name!r} has a capacity; give load.capacity for consumers without",
                    path="$.load.capacity",
                )


def _check_topic(name: str, topics: Collection[str], path: str) -> None:
    """Refuse the name of a topic that the scenario does not have."""
    if name not in topics:
        raise ScenarioError(f"no topic {name!r}; {name_hint(name, topics)}", path=path)


def _check_consumer(consumer: Consumer, topics: Collection[str], path: str) -> None:
    """Refuse a consumer whose fields do not fit each other or the topics."""
    check_values(consumer, path)
    if consumer.close != "default" and consumer.client != "java":
        raise ScenarioError(
            f"close is {consumer.close} and client is {consumer.client}; only the Java client can choose "
            "(CloseOptions, KIP-1092), leave close out",
            path=f"{path}.close",
        )
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
    """Refuse strategies that a consumer cannot have together; whether they exist is checked at their use."""
    if names == ():
        raise ScenarioError("no strategy is named; leave assignors out, or name one", path=path)
    check_for_consumers(names or (), partial(ScenarioError, path=path))
    if names and len(names) > 1 and not BROKER_SIDE.isdisjoint(names):
        raise ScenarioError(
            f"{', '.join(names)}: {' and '.join(sorted(BROKER_SIDE))} are the broker's, each alone", path=path
        )


def _check_registered(scenario: Scenario) -> None:
    """Refuse strategies that do not exist.

    This is checked only for scenarios from files: in a scenario made in Python, a strategy may be registered
    later.
    """
    named = {scenario.assignor: "$.assignor"}
    for path, consumers_or_events in (("$.consumers", scenario.consumers), ("$.events", scenario.events)):
        for number, event in enumerate(consumers_or_events):
            inner = event.consumer if isinstance(event, Join) else event
            for turn, name in enumerate(getattr(inner, "assignors", None) or ()):
                named.setdefault(name, f"{path}[{number}].assignors[{turn}]")
    for name, path in named.items():
        try:
            get_assignor(name)
        except UnknownStrategyError as error:
            raise ScenarioError(str(error), path=path) from error


def _check_event(event: Event, scenario: Scenario, topics: Collection[str], path: str) -> None:
    """Refuse an event whose fields do not fit each other or the scenario."""
    if isinstance(event.at_ms, Condition):
        _check_condition(event.at_ms, event, scenario, f"{path}.when")
    match event:
        case Join(consumer=consumer):
            _check_consumer(consumer, topics, f"{path}.consumer")
        case Grow(topic=topic) | Reassign(topic=topic):
            _check_topic(topic, topics, f"{path}.topic")
        case Deployment(surge=0, unavailable=0):
            raise ScenarioError(
                "surge and unavailable are both 0: nothing can be replaced", path=f"{path}.surge"
            )
        case ScaleTo(consumers=consumers):
            check_members(consumers, partial(ScenarioError, path=f"{path}.consumers"), occurrence(event))
        case Autoscaler():
            _check_autoscaler(event, scenario, path)
    _check_strategies(getattr(event, "assignors", None), f"{path}.assignors")


def _check_condition(when: Condition, event: Event, scenario: Scenario, path: str) -> None:
    """Refuse a condition without exactly one limit, or on a figure that the scenario does not have."""
    check_values(when, path)
    fault = None
    if when.figure == REFUSED:
        if when != Condition(REFUSED) or not isinstance(event, ByName):
            fault = f"{REFUSED} has no limit and no time, and is for an event of one consumer"
    elif (when.above is None) == (when.below is None):
        fault = "a condition has one limit, above or below"
    elif when.figure in {"lag", "partition_lag"} and scenario.load is None:
        fault = f"{when.figure} is known only where the scenario has a load"
    if fault:
        raise ScenarioError(fault, path=path)


def _check_autoscaler(event: Autoscaler, scenario: Scenario, path: str) -> None:
    """Refuse an autoscaler with impossible bounds, or without a load to look at."""
    for name, limit in (("fewest", event.fewest), ("most", event.most)):
        if limit > MAX_GROUP_MEMBERS:
            raise ScenarioError(
                f"{occurrence(event)}: {name} is {limit:,}; {MAX_GROUP_MEMBERS:,} consumers are the most "
                "that are worked on",
                path=f"{path}.{name}",
            )
    if event.fewest > event.most:
        raise ScenarioError(f"fewest is {event.fewest} and most is {event.most}", path=f"{path}.fewest")
    if scenario.load is None:
        raise ScenarioError("an autoscaler looks at the lag; give the scenario a load", path=path)


def _check_length(scenario: Scenario, people: int) -> None:
    """Refuse a run that would not end within hours.

    An event of many consumers counts once more for each of them, and a crash loop once more for each crash.
    The number of looks at conditions is the length of the run divided by the interval. `people` is the number
    of consumers that the scenario names.
    """
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
            f"{count:,} events, where one that concerns every consumer counts once for each; "
            f"{MAX_SCENARIO_EVENTS:,} are the most",
            path="$.events",
        )


def find_warnings(scenario: Scenario) -> tuple[str, ...]:
    """Return warnings about settings and events that are possible but unlikely to be meant."""
    settings = scenario.settings
    pairs = (
        ("heartbeat_interval_ms", "session_timeout_ms"),
        ("group_consumer_heartbeat_interval_ms", "group_consumer_session_timeout_ms"),
    )
    warnings = [
        f"{kafka_name(beat)} is {plain(getattr(settings, beat))}, more than a third of "
        f"{kafka_name(session)}, {plain(getattr(settings, session))}: few lost heartbeats expel a member"
        for beat, session in pairs
        if 3 * getattr(settings, beat) > getattr(settings, session)
    ]
    low, high = BROKER_SESSIONS_MS
    session_ms = settings.session_timeout_ms
    if scenario.assignor not in BROKER_SIDE and not low <= session_ms <= high:
        warnings.append(
            f"session.timeout.ms is {plain(session_ms)}; a broker refuses members below its "
            f"group.min.session.timeout.ms, {low} by default, and above group.max.session.timeout.ms, {high}"
        )
    partitions = sum(topic_counts(scenario).values())
    warnings += [
        f"{occurrence(event)}: {event.consumers:,} consumers for {partitions:,} partitions, so at least "
        f"{event.consumers - partitions:,} of them read nothing"
        for event in scenario.events
        if isinstance(event, ScaleTo) and event.consumers > partitions
    ]
    if scenario.until_ms is not None:
        late = [
            event
            for event in scenario.events
            if not isinstance(event.at_ms, Condition) and event.at_ms >= scenario.until_ms
        ]
        if late:
            warnings.append(
                f"the run ends at until_ms, {plain(scenario.until_ms)}, before {len(late):,} of its events, "
                f"the first of them {occurrence(late[0])}"
            )
    return tuple(warnings)
