"""What happens to a consumer group, and when: the input of a simulation."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import Annotated

from assignors.group import Topic
from copartition.simulation.inputs.checks import check, find_warnings
from copartition.simulation.inputs.durations import Between, Milliseconds
from copartition.simulation.inputs.events import Consumer, Event
from copartition.simulation.inputs.settings import Costs, Load, Settings

QUIET_MS = 3_600_000.0
"""How long a group has been quiet where a scenario does not say: an hour."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A group that is stable at time 0 and the events that follow; times are milliseconds.

    Attributes:
        topics: the topics of the cluster.
        consumers: members of the stable group at time 0, in the order they joined; empty for an empty group.
        events: what happens, in any order; at one time, in the order given.
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
        ScenarioError: something in it cannot be; the message says what, and the path to it.
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

    def __post_init__(self) -> None:
        for name in ("topics", "consumers", "events"):
            if isinstance(given := getattr(self, name), Iterable):
                object.__setattr__(self, name, tuple(given))
        check(self)

    @property
    def membership(self) -> str:
        """Whether the consumers at the start are "static", "dynamic" or "mixed"."""
        kinds = {"static" if consumer.static else "dynamic" for consumer in self.consumers}
        return kinds.pop() if len(kinds) == 1 else "mixed"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is possible and hardly meant."""
        return find_warnings(self)

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> "Scenario":
        """A scenario from a YAML, TOML or JSON file, by its ending.

        Raises:
            ScenarioError: the file cannot be read or does not say what it must; the message carries the path
                to the fault, such as `$.events[0].at_ms`.
            MissingDependencyError: msgspec or PyYAML is not installed.
        """
        from copartition.simulation.inputs.file import read_scenario  # noqa: PLC0415 - needs msgspec

        return read_scenario(path)
