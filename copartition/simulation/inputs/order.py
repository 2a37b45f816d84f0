"""What cannot happen at the time it is said to: who does not run cannot leave, a topic does not shrink.

What is certain before the run is refused then; what depends on conditions, on drawn durations or on events
that concern whoever runs is refused when it occurs (`copartition.simulation.agenda`), in the same words.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from copartition.simulation.inputs.conditions import write_condition
from copartition.simulation.inputs.durations import Distribution
from copartition.simulation.inputs.events import (
    EVENT_NAMES,
    Autoscaler,
    ByName,
    Condition,
    Crash,
    Create,
    Deployment,
    DuplicateInstance,
    Event,
    GroupWide,
    Grow,
    Join,
    Leave,
    Restart,
    ScaleTo,
)
from copartition.simulation.inputs.kinds import near, plain
from partitioning.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignors.group import Topic
    from copartition.simulation.inputs.events import Consumer
    from copartition.simulation.inputs.scenario import Scenario


def occurrence(event: Event) -> str:
    """What messages call an event: "leave at 6000 ms", "crash when lag > 5000"."""
    when = event.at_ms
    time = f"when {write_condition(when)}" if isinstance(when, Condition) else f"at {plain(when)} ms"
    return f"{EVENT_NAMES[type(event)]} {time}"


def no_consumer(event: ByName, number: int, known: Iterable[str]) -> ScenarioError:
    """The error for a name that no consumer has."""
    return ScenarioError(
        f"{occurrence(event)}: no consumer {event.consumer!r}, neither at the start nor one that joins; "
        f"{near(event.consumer, known)}",
        path=f"$.events[{number}].consumer",
    )


def not_running(event: ByName, number: int) -> ScenarioError:
    """The error for a consumer that would have to run."""
    return ScenarioError(
        f"{occurrence(event)}: consumer {event.consumer!r} is not running at that time; let it join first",
        path=f"$.events[{number}].consumer",
    )


def running_already(event: Join, number: int) -> ScenarioError:
    """The error for a consumer that must not run, or be about to."""
    return ScenarioError(
        f"{occurrence(event)}: consumer {event.consumer.name!r} is in the group already; let it leave or "
        "crash first",
        path=f"$.events[{number}].consumer",
    )


def check_instance(event: ByName, number: int, consumer: Consumer) -> None:
    """Refuse a second process with an instance id that the consumer does not have.

    Raises:
        ScenarioError: the consumer is no static member.
    """
    if isinstance(event, DuplicateInstance) and not consumer.static:
        raise ScenarioError(
            f"{occurrence(event)}: consumer {consumer.name!r} has no group.instance.id; make it static",
            path=f"$.events[{number}].consumer",
        )


class Cluster:
    """How many partitions every topic has."""

    def __init__(self, topics: Iterable[Topic]) -> None:
        self.counts = {topic.name: topic.partitions for topic in topics}

    def change(self, event: Grow | Create, number: int) -> None:
        """A topic grows or is created.

        Raises:
            ScenarioError: there is no such topic, or it has these partitions already.
        """
        topic, present = event.topic, self.counts.get(event.topic)
        if isinstance(event, Create):
            fault = f"there is a topic {topic!r} already; let it grow" if present is not None else None
        elif present is None:
            fault = f"no topic {topic!r}; {near(topic, self.counts)}"
        elif event.partitions <= present:
            fault = f"{topic!r} has {present} partitions already; a topic only grows"
        else:
            fault = None
        if fault:
            raise ScenarioError(f"{occurrence(event)}: {fault}", path=f"$.events[{number}].topic")
        self.counts[topic] = event.partitions


def check_order(scenario: Scenario) -> None:
    """Refuse an event that certainly cannot happen at its time.

    Raises:
        ScenarioError: there is one.
    """
    _Course(scenario).check()


class _Course:
    """What is certain about consumers and topics while time goes on."""

    def __init__(self, scenario: Scenario) -> None:
        self._events = scenario.events
        self._consumers = {consumer.name: consumer for consumer in scenario.consumers}
        # When each consumer runs again; infinite for one that stays away.
        self._back_at = dict.fromkeys(self._consumers, -math.inf)
        self._cluster = Cluster(scenario.topics)
        self._unsure_consumers: set[str] = set()
        self._unsure_topics: set[str] = set()
        self._nobody_sure = False

    def check(self) -> None:
        """See `check_order`."""
        self._check_names()
        timed: list[tuple[float, int]] = []
        for number, event in enumerate(self._events):
            if isinstance(event.at_ms, Condition):
                self._doubt(event)
            else:
                timed.append((event.at_ms, number))
        for at_ms, number in sorted(timed):
            self._happens(at_ms, self._events[number], number)

    def _check_names(self) -> None:
        for number, event in enumerate(self._events):
            if isinstance(event, Join):
                known = self._consumers.setdefault(event.consumer.name, event.consumer)
                if known != event.consumer:
                    raise ScenarioError(
                        f"{occurrence(event)}: consumer {known.name!r} was {known} before; give a new name",
                        path=f"$.events[{number}].consumer",
                    )
        makes_names = any(isinstance(event, Deployment | ScaleTo | Autoscaler) for event in self._events)
        for number, event in enumerate(self._events):
            if isinstance(event, ByName):
                consumer = self._consumers.get(event.consumer)
                if consumer is not None:
                    check_instance(event, number, consumer)
                elif not makes_names:
                    raise no_consumer(event, number, self._consumers)

    def _doubt(self, event: Event) -> None:
        """The event may happen at any time from now on."""
        if isinstance(event, Grow | Create):
            self._unsure_topics.add(event.topic)
        elif isinstance(event, Join):
            self._unsure_consumers.add(event.consumer.name)
        elif isinstance(event, ByName):
            self._unsure_consumers.add(event.consumer)
        elif isinstance(event, GroupWide):
            self._nobody_sure = True

    def _happens(self, at_ms: float, event: Event, number: int) -> None:
        if isinstance(event, Grow | Create):
            if event.topic not in self._unsure_topics:
                self._cluster.change(event, number)
        elif isinstance(event, Join):
            name = event.consumer.name
            if self._back_at.get(name, math.inf) != math.inf and self._sure(name):
                raise running_already(event, number)
            self._back_at[name] = at_ms
        elif isinstance(event, ByName):
            if at_ms < self._back_at.get(event.consumer, math.inf) and self._sure(event.consumer):
                raise not_running(event, number)
            if isinstance(event, Leave | Crash):
                self._back_at[event.consumer] = math.inf
            elif isinstance(event, Restart) and not isinstance(event.down_ms, Distribution):
                self._back_at[event.consumer] = at_ms + event.down_ms
        elif isinstance(event, GroupWide):
            self._nobody_sure = True

    def _sure(self, name: str) -> bool:
        return not self._nobody_sure and name not in self._unsure_consumers
