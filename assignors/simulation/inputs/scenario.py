"""What happens to a consumer group, and when: the input of a simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assignors.errors import ScenarioError
from assignors.extras import needs
from assignors.limits import check_members, check_partitions
from assignors.simulation.inputs.events import (
    Consumer,
    Crash,
    Event,
    Grow,
    Join,
    Leave,
    Restart,
)
from assignors.simulation.inputs.settings import LATEST_MS, Costs, Load, Settings

if TYPE_CHECKING:
    from os import PathLike

    from assignors.group import Topic

QUIET_MS = 3_600_000.0
"""How long a group has been quiet where a scenario does not say: an hour."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A group that is stable at time 0 and the events that follow; times are milliseconds.

    Attributes:
        topics: the topics of the cluster.
        consumers: members of the stable group at time 0, in the order they joined; empty for an empty group.
        events: what happens, in any order.
        assignor: name of the strategy, see `assignors.list_assignors`; "uniform" and "broker-range" make it a
            group of the protocol of KIP-848.
        settings: timeouts.
        seed: decides what is drawn: how late each member's heartbeats are, metadata refreshes, durations.
        name: what reports call it.
        settled_ms: how long the group has been quiet at time 0; 0: a rebalance has just formed it. Heartbeats
            are in step after a rebalance, and drift apart while the group is quiet.
        costs: what takes time besides waiting.
        load: the records; None: no lag is computed.
        until_ms: when the run ends; None: when nothing is left to happen.

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
    settled_ms: float = QUIET_MS
    costs: Costs = field(default_factory=Costs)
    load: Load | None = None
    until_ms: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "topics", tuple(self.topics))
        object.__setattr__(self, "consumers", tuple(self.consumers))
        object.__setattr__(self, "events", tuple(sorted(self.events, key=lambda event: event.at_ms)))
        if not 0 <= self.seed < 2**64:
            raise ScenarioError(f"seed is {self.seed}; give a number from 0 to 2**64 - 1")
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
            from assignors.simulation.inputs.file import read_scenario  # noqa: PLC0415

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
