"""What happens to a consumer group, and when: the input of a simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal

from assignors.errors import ScenarioError
from assignors.extras import needs
from assignors.limits import check_members, check_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from assignors.group import Topic

LATEST_MS = 2**53
"""The latest time and the longest timeout: a float tells no milliseconds apart beyond it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The timeouts that decide how long a rebalance takes; defaults are those of the Java client and broker.

    Attributes:
        session_timeout_ms: `session.timeout.ms`; how long the coordinator waits for a silent member.
        heartbeat_interval_ms: `heartbeat.interval.ms`; members learn of a rebalance at their next heartbeat.
        max_poll_interval_ms: `max.poll.interval.ms`; how long the join barrier waits for a member.
        metadata_max_age_ms: `metadata.max.age.ms`; how late the leader may notice new partitions.
        group_initial_rebalance_delay_ms: `group.initial.rebalance.delay.ms` of the broker (KIP-134).
    """

    session_timeout_ms: float = 45_000
    heartbeat_interval_ms: float = 3_000
    max_poll_interval_ms: float = 300_000
    metadata_max_age_ms: float = 300_000
    group_initial_rebalance_delay_ms: float = 3_000

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            lowest = 0 if setting.name == "group_initial_rebalance_delay_ms" else 1
            if not lowest <= value <= LATEST_MS:
                name = setting.name.replace("_", ".")
                raise ScenarioError(
                    f"{name} is {value}; give a number of milliseconds from {lowest} to {LATEST_MS}"
                )
        for limit in ("session_timeout_ms", "max_poll_interval_ms"):
            if self.heartbeat_interval_ms >= getattr(self, limit):
                raise ScenarioError(
                    f"heartbeat.interval.ms is {self.heartbeat_interval_ms} and {limit.replace('_', '.')} is "
                    f"{getattr(self, limit)}; heartbeats must be more frequent than that"
                )


@dataclass(frozen=True, slots=True)
class Consumer:
    """One consumer process, whatever member ids it has over time.

    Attributes:
        name: unique in the scenario; also its client id, and its `group.instance.id` where it is static.
        static: whether it is a static member (KIP-345).
        topics: names of the topics it subscribes to; None stands for all topics of the scenario.
    """

    name: str
    static: bool = False
    topics: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """A consumer starts: a new one, or one that has stopped before."""

    at_ms: float
    consumer: Consumer


@dataclass(frozen=True, slots=True)
class Leave:
    """A consumer closes cleanly. A static one says nothing to the coordinator, as in the Java client."""

    at_ms: float
    consumer: str


@dataclass(frozen=True, slots=True)
class Crash:
    """A consumer vanishes without a word; the coordinator notices when its session ends."""

    at_ms: float
    consumer: str


@dataclass(frozen=True, slots=True)
class Restart:
    """A consumer closes cleanly and starts again `down_ms` later."""

    at_ms: float
    consumer: str
    down_ms: float


@dataclass(frozen=True, slots=True)
class Grow:
    """A topic gets more partitions."""

    at_ms: float
    topic: str
    partitions: int


Event = Join | Leave | Crash | Restart | Grow


def rolling_restart(
    consumers: Sequence[Consumer], *, start_ms: float = 0, every_ms: float, down_ms: float
) -> tuple[Restart, ...]:
    """One restart after another of every consumer, as a deployment does it."""
    return tuple(
        Restart(start_ms + turn * every_ms, consumer.name, down_ms) for turn, consumer in enumerate(consumers)
    )


@dataclass(frozen=True, slots=True)
class Scenario:
    """A group that is stable at time 0 and the events that follow; times are milliseconds.

    Attributes:
        topics: the topics of the cluster.
        consumers: members of the stable group at time 0, in the order they joined; empty for an empty group.
        events: what happens; any order, sorted by time (ties keep their order).
        assignor: name of the strategy, see `assignors.list_assignors`.
        settings: timeouts.
        seed: decides the phase of every consumer's heartbeats and metadata refreshes, nothing else.
        name: what reports call it.
        heartbeats: "independent": every consumer has its own phase for good, so somebody is always late; that
            is how published figures are explained. "in-step": a rebalance sets all heartbeats going together,
            as the Java client and librdkafka do when JoinGroup is answered. Real ones then drift apart, these
            do not: the truth lies between the two.

    Raises:
        ScenarioError: an event that cannot happen; the message names it and the fault.
    """

    topics: tuple[Topic, ...]
    consumers: tuple[Consumer, ...]
    events: tuple[Event, ...] = ()
    assignor: str = "cooperative-sticky"
    settings: Settings = field(default_factory=Settings)
    seed: int = 0
    name: str = "scenario"
    heartbeats: Literal["independent", "in-step"] = "independent"

    def __post_init__(self) -> None:
        object.__setattr__(self, "topics", tuple(self.topics))
        object.__setattr__(self, "consumers", tuple(self.consumers))
        object.__setattr__(self, "events", tuple(sorted(self.events, key=lambda event: event.at_ms)))
        if not 0 <= self.seed < 2**64:
            raise ScenarioError(f"seed is {self.seed}; give a number from 0 to 2**64 - 1")
        if self.heartbeats not in {"independent", "in-step"}:
            raise ScenarioError(f"heartbeats is {self.heartbeats!r}; give 'independent' or 'in-step'")
        joining = sum(isinstance(event, Join) for event in self.events)
        check_members(len(self.consumers) + joining, ScenarioError, "the scenario, those that join included,")
        _check_events(self)

    @property
    def membership(self) -> str:
        """Whether the consumers at the start are "static", "dynamic" or "mixed"."""
        kinds = {"static" if consumer.static else "dynamic" for consumer in self.consumers}
        return kinds.pop() if len(kinds) == 1 else "mixed"

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Scenario:
        """A scenario from a YAML, TOML or JSON file, by its ending.

        Raises:
            ScenarioError: the file cannot be read or does not say what it must; the message carries the path
                to the fault, such as `$.events[0].at_ms`.
            MissingDependencyError: msgspec or PyYAML is not installed.
        """
        with needs("reading a scenario file", "cli"):
            from assignors.simulation.scenario_file import read_scenario  # noqa: PLC0415

        return read_scenario(path)


def _check_events(scenario: Scenario) -> None:
    counts: dict[str, int] = {}
    for topic in scenario.topics:
        if topic.name in counts:
            raise ScenarioError(f"topic {topic.name!r} is in the scenario twice; name each topic once")
        counts[topic.name] = topic.partitions
    known: dict[str, Consumer] = {}
    for consumer in scenario.consumers:
        if consumer.name in known:
            raise ScenarioError(f"consumer {consumer.name!r} is in the scenario twice; name each one once")
        _check_topics(consumer, counts)
        known[consumer.name] = consumer
    back_at = dict.fromkeys(
        known, -math.inf
    )  # when each consumer runs again; infinite for one that stays away
    for event in scenario.events:
        kind = type(event).__name__.lower()
        if not 0 <= event.at_ms <= LATEST_MS:
            raise ScenarioError(
                f"{kind} at {event.at_ms} ms: an event happens at a time from 0 to {LATEST_MS}"
            )
        what = f"{kind} at {event.at_ms:g} ms"
        if isinstance(event, Grow):
            _check_growth(event, what, counts)
        elif isinstance(event, Join):
            _check_join(event, what, known, back_at)
            _check_topics(event.consumer, counts)
        else:
            _check_stop(event, what, back_at)
    check_partitions(sum(counts.values()), ScenarioError, "the scenario at its end")


def _check_topics(consumer: Consumer, counts: dict[str, int]) -> None:
    for topic in consumer.topics or ():
        if topic not in counts:
            raise ScenarioError(
                f"consumer {consumer.name!r} subscribes to {topic!r}, which is not a topic of the scenario"
            )


def _check_growth(event: Grow, what: str, counts: dict[str, int]) -> None:
    if event.topic not in counts:
        raise ScenarioError(f"{what}: {event.topic!r} is not a topic of the scenario")
    if event.partitions <= counts[event.topic]:
        raise ScenarioError(
            f"{what}: {event.topic!r} has {counts[event.topic]} partitions already; a topic only grows"
        )
    counts[event.topic] = event.partitions


def _check_join(event: Join, what: str, known: dict[str, Consumer], back_at: dict[str, float]) -> None:
    name = event.consumer.name
    if known.setdefault(name, event.consumer) != event.consumer:
        raise ScenarioError(f"{what}: consumer {name!r} was {known[name]} before; give a new name")
    if back_at.get(name, math.inf) != math.inf:
        raise ScenarioError(f"{what}: consumer {name!r} is in the group already; let it leave or crash first")
    back_at[name] = event.at_ms


def _check_stop(event: Leave | Crash | Restart, what: str, back_at: dict[str, float]) -> None:
    name = event.consumer
    if name not in back_at:
        raise ScenarioError(
            f"{what}: no consumer {name!r}; it is neither there at the start nor joins earlier"
        )
    if event.at_ms < back_at[name]:
        raise ScenarioError(f"{what}: consumer {name!r} is not running at that time")
    back_at[name] = math.inf
    if isinstance(event, Restart):
        if not 0 <= event.down_ms <= LATEST_MS:
            raise ScenarioError(f"{what}: down_ms is {event.down_ms}; give a time from 0 to {LATEST_MS}")
        back_at[name] = event.at_ms + event.down_ms
