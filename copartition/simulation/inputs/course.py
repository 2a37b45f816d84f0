"""Follow the certain facts of a scenario in the order of time; refuse events that certainly cannot happen.

An event that depends on a condition, on a drawn duration, or on an event of all running consumers is checked
when it occurs (`copartition.simulation.agenda`), and refused in the same words.

This check is like a run without a group: it only follows which consumers start and stop, and which topics
grow. Times are milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING

from assignors.group import Topic
from copartition.simulation.inputs.durations import Distribution
from copartition.simulation.inputs.events import (
    ANYONE,
    EVENT_NAMES,
    Autoscaler,
    ByName,
    Condition,
    Consumer,
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
from copartition.simulation.inputs.kinds import (
    kinds_of,
    name_hint,
    plain,
    write_condition,
)
from partitioning.errors import ScenarioError

if TYPE_CHECKING:
    from copartition.simulation.inputs.scenario import Scenario


def occurrence(event: Event) -> str:
    """Return how messages name an event: "leave at 6000 ms", "crash when lag > 5000"."""
    when = event.at_ms
    time = f"when {write_condition(when)}" if isinstance(when, Condition) else f"at {plain(when)} ms"
    return f"{EVENT_NAMES[type(event)]} {time}"


def _impossible(event: Event, number: int, fault: str, field: str = "consumer") -> ScenarioError:
    """Return the error for an event that cannot happen, with the path to its field.

    `number` is the index of the event in the scenario; `fault` says what is wrong and what to do.
    """
    return ScenarioError(f"{occurrence(event)}: {fault}", path=f"$.events[{number}].{field}")


def no_consumer(event: ByName, number: int, consumers: Iterable[str]) -> ScenarioError:
    """Return the error for an event about a name that no consumer has."""
    fault = f"no consumer {event.consumer!r}, neither at the start nor one that joins"
    return _impossible(event, number, f"{fault}; {name_hint(event.consumer, consumers)}")


def not_running(event: ByName, number: int) -> ScenarioError:
    """Return the error for an event about a consumer that does not run at its time."""
    fault = f"consumer {event.consumer!r} is not running at that time; let it join first"
    return _impossible(event, number, fault)


def running_already(event: Join, number: int) -> ScenarioError:
    """Return the error for a join of a consumer that runs already, or is about to start."""
    fault = f"consumer {event.consumer.name!r} is in the group already; let it leave or crash first"
    return _impossible(event, number, fault)


def check_instance(event: ByName, number: int, consumer: Consumer) -> None:
    """Refuse a second process with an instance id if the consumer is no static member."""
    if isinstance(event, DuplicateInstance) and not consumer.static:
        fault = f"consumer {consumer.name!r} has no group.instance.id; make it static"
        raise _impossible(event, number, fault)


class TopicCounts:
    """The number of partitions of every topic, by name, as events change it."""

    def __init__(self, topics: Iterable[Topic]) -> None:
        self.counts = {topic.name: topic.partitions for topic in topics}

    def change(self, event: Grow | Create, number: int) -> None:
        """Let a topic grow or be created by an event.

        Raises:
            ScenarioError: the topic to create exists, the topic to grow does not, or it would not grow.
        """
        topic, present = event.topic, self.counts.get(event.topic)
        if isinstance(event, Create):
            fault = f"there is a topic {topic!r} already; let it grow" if present is not None else None
        elif present is None:
            fault = f"no topic {topic!r}; {name_hint(topic, self.counts)}"
        elif event.partitions <= present:
            fault = f"{topic!r} has {present} partitions already; a topic only grows"
        else:
            fault = None
        if fault:
            raise _impossible(event, number, fault, "topic")
        self.counts[topic] = event.partitions


class Course:
    """The facts that are certain about consumers and topics as time goes on, from the scenario alone.

    A consumer or topic is unsure as soon as an event with a condition may change it. All consumers are unsure
    once an event changes the whole group. Nothing about an unsure consumer or topic is refused before the
    run.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._events = scenario.events
        self._consumers = {consumer.name: consumer for consumer in scenario.consumers}
        # The time from which each consumer runs again; infinite for one that has stopped for good.
        self._back_at = dict.fromkeys(self._consumers, -math.inf)
        self._cluster = TopicCounts(scenario.topics)
        self._unsure_consumers: set[str] = set()
        self._unsure_topics: set[str] = set()
        self._membership_unknown = False

    def check(self) -> None:
        """Refuse an event that certainly cannot happen at its time."""
        self._check_names()
        timed: list[tuple[float, int]] = []
        for number, event in enumerate(self._events):
            # An event with a condition may happen at any time, so what it may change is unsure for the whole
            # run.
            if isinstance(event.at_ms, Condition):
                self._doubt(event)
            else:
                timed.append((event.at_ms, number))
        for at_ms, number in sorted(timed):
            self._apply(at_ms, self._events[number], number)

    def _check_names(self) -> None:
        """Refuse events about names that no consumer can have."""
        for number, event in enumerate(self._events):
            if isinstance(event, Join):
                first = self._consumers.setdefault(event.consumer.name, event.consumer)
                if first != event.consumer:
                    own = attrgetter(*kinds_of(Consumer))
                    pairs = zip(kinds_of(Consumer), own(first), own(event.consumer), strict=True)
                    unlike = " and ".join(name for name, was, now in pairs if was != now)
                    fault = f"consumer {first.name!r} had another {unlike} before; give a new name"
                    raise _impossible(event, number, fault)
        # Deployments, `ScaleTo` and autoscalers make up names, so a name that is unknown now may exist when
        # it is used.
        makes_names = any(isinstance(event, Deployment | ScaleTo | Autoscaler) for event in self._events)
        for number, event in enumerate(self._events):
            if isinstance(event, ByName):
                consumer = self._consumers.get(event.consumer)
                if consumer is not None:
                    check_instance(event, number, consumer)
                elif not makes_names and event.consumer != ANYONE:
                    raise no_consumer(event, number, self._consumers)

    def _doubt(self, event: Event) -> None:
        """Record that this event may happen at any time, so that what it changes is unsure."""
        if isinstance(event, Grow | Create):
            self._unsure_topics.add(event.topic)
        elif isinstance(event, Join):
            self._unsure_consumers.add(event.consumer.name)
        elif isinstance(event, ByName) and event.consumer != ANYONE:
            self._unsure_consumers.add(event.consumer)
        elif isinstance(event, ByName | GroupWide):
            self._membership_unknown = True

    def _apply(self, at_ms: float, event: Event, number: int) -> None:
        """Let an event happen; raise `ScenarioError` if it certainly cannot.

        `number` is the index of the event in the scenario. A restart of a drawn length counts as over at
        once, so that no event is refused that might be possible.
        """
        if isinstance(event, Grow | Create):
            if event.topic not in self._unsure_topics:
                self._cluster.change(event, number)
        elif isinstance(event, Join):
            name = event.consumer.name
            # Infinite means that the consumer has stopped or has never run. A consumer that is about to come
            # back counts as running, because otherwise two of its processes would run.
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
            self._membership_unknown = True

    def _sure(self, name: str) -> bool:
        """Return whether it is certain when a consumer runs."""
        return not self._membership_unknown and name not in self._unsure_consumers
