"""What will happen to a group, in order."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from copartition.simulation.inputs import unfolding
from copartition.simulation.inputs.checks import LOOK_MS
from copartition.simulation.inputs.durations import Distribution, Duration, draw
from copartition.simulation.inputs.events import (
    Autoscaler,
    ByName,
    Condition,
    Consumer,
    Crash,
    CrashLoop,
    Create,
    Deployment,
    Failover,
    GroupWide,
    Grow,
    Join,
    Leave,
    Restart,
    RollingRestart,
    ScaleTo,
    SlowPoll,
    Stall,
    StatefulSetRoll,
)
from copartition.simulation.inputs.order import (
    Cluster,
    check_instance,
    no_consumer,
    not_running,
    running_already,
)
from copartition.simulation.inputs.unfolding import Step
from partitioning.errors import ScenarioError
from partitioning.kit.limits import check_members

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from copartition.simulation.inputs.events import Event, Primitive, Rollout
    from copartition.simulation.inputs.scenario import Scenario
    from copartition.simulation.inputs.unfolding import Length


class View(Protocol):
    """What events see of the group."""

    @property
    def running(self) -> Sequence[Consumer]:
        """Consumers whose processes run, in the order they started."""
        ...

    @property
    def members(self) -> int:
        """Members of the group."""
        ...

    @property
    def unread(self) -> int:
        """Partitions that nobody reads."""
        ...

    def is_running(self, name: str) -> bool:
        """Whether a process of this consumer runs."""
        ...

    def lag(self) -> float:
        """Records behind, over all partitions."""
        ...

    def partition_lag(self) -> float:
        """Records behind in the partition that is most behind."""
        ...


class _Entry(NamedTuple):
    """Something in the future; the first of them sorts first.

    Attributes:
        at_ms: when.
        rank: order at one time: the place of the event in the scenario, or behind all.
        turn: order of entries of one event.
        number: the place of the event in the scenario.
        what: that event, or a step of it.
    """

    at_ms: float
    rank: float
    turn: int
    number: int
    what: Event | Step


class _Watch:
    """An event that waits for its condition."""

    def __init__(self, number: int, event: Event, condition: Condition) -> None:
        self.number = number
        self.event = event
        self.condition = condition
        self._since_ms = math.inf

    def holds(self, now_ms: float, view: View) -> bool:
        """Whether the figure has been beyond the limit for long enough."""
        condition = self.condition
        given = getattr(view, condition.figure)
        figure = given() if callable(given) else given
        beyond = figure > condition.above if condition.below is None else figure < condition.below
        self._since_ms = min(self._since_ms, now_ms) if beyond else math.inf
        return now_ms - self._since_ms >= condition.for_ms


class Agenda:
    """The events of a scenario as what the simulated cluster knows.

    Events that come down to others are unfolded when they begin, among those that run then. Steps that have
    become impossible by then, since somebody else stopped the consumer, are left out; what the scenario says
    itself and cannot be is refused.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._seed = scenario.seed
        self._random: dict[int, np.random.Generator] = {}
        self._cluster = Cluster(scenario.topics)
        self._known = {consumer.name: consumer for consumer in scenario.consumers}
        self._turns = count()
        self._queue: list[_Entry] = []
        self._planned: Counter[str] = Counter()
        self._ends_ms = -math.inf  # of the last change of the whole group
        self._scalers: dict[int, unfolding.Scaler] = {}
        self._watches: list[_Watch] = []
        self._look_ms = 0.0
        for number, event in enumerate(scenario.events):
            if isinstance(event.at_ms, Condition):
                self._watches.append(_Watch(number, event, event.at_ms))
            else:
                self._add(event.at_ms, number, event)

    def next_ms(self) -> float:
        """When something happens or is looked at next; infinite where nothing is left."""
        look_ms = self._look_ms if self._watches else math.inf
        return min(look_ms, self._queue[0].at_ms) if self._queue else look_ms

    def due(self, now_ms: float, view: View) -> Iterator[Primitive]:
        """What happens up to now; each is to be done before the next is asked for.

        Raises:
            ScenarioError: an event cannot happen as things are.
        """
        if self._watches and self._look_ms <= now_ms:
            self._look(now_ms, view)
        while self._queue and self._queue[0].at_ms <= now_ms:
            entry = heappop(self._queue)
            if isinstance(entry.what, Step):
                yield from self._step(entry.what, entry.number, view)
            else:
                yield from self._begin(entry.what, entry.at_ms, entry.number, view)

    def _add(self, at_ms: float, number: int, what: Event | Step, *, last: bool = False) -> None:
        rank = math.inf if last else number
        heappush(self._queue, _Entry(float(at_ms), rank, next(self._turns), number, what))

    def _look(self, now_ms: float, view: View) -> None:
        """Set off the events whose conditions hold."""
        waiting = []
        for watch in self._watches:
            if watch.holds(now_ms, view):
                self._add(now_ms, watch.number, replace(watch.event, at_ms=now_ms))
            else:
                waiting.append(watch)
        self._watches = waiting
        self._look_ms = (now_ms // LOOK_MS + 1) * LOOK_MS

    def _lengths(self, number: int) -> Length:
        """Gives durations of this event their lengths, from a stream of random numbers of its own.

        So an event takes as long under every assignor, whatever happened before it.
        """

        def length(duration: Duration) -> float:
            if not isinstance(duration, Distribution):
                return float(duration)
            if number not in self._random:
                philox = np.random.Philox(key=np.array([self._seed, 1], np.uint64), counter=[0, 0, 0, number])
                self._random[number] = np.random.Generator(philox)
            return draw(duration, self._random[number])

        return length

    def _begin(self, event: Event, now_ms: float, number: int, view: View) -> Iterator[Primitive]:
        """An event of the scenario begins."""
        if isinstance(event, Autoscaler):
            self._scale_by_lag(event, now_ms, number, view)
        elif isinstance(event, GroupWide):
            self._roll_out(event, now_ms, number, view)
        elif isinstance(event, Restart | CrashLoop):
            consumer, length = self._running(event, number, view), self._lengths(number)
            if isinstance(event, Restart):
                self._plan(unfolding.restart(event, now_ms, consumer, length), number)
            else:
                self._plan(unfolding.crash_loop(event, now_ms, consumer, length), number)
        else:
            yield self._single(event, number, view)

    def _single(self, event: Primitive, number: int, view: View) -> Primitive:
        """An event of the scenario that the cluster knows as it is, with its length drawn."""
        if isinstance(event, ByName):
            self._running(event, number, view)
        match event:
            case Join(consumer=consumer):
                if view.is_running(consumer.name) or consumer.name in self._planned:
                    raise running_already(event, number)
                self._starts(consumer, number)
            case Leave() | Crash():
                self._forget(event.consumer)
            case Grow() | Create():
                self._cluster.change(event, number)
            case SlowPoll() | Stall():
                return replace(event, for_ms=self._lengths(number)(event.for_ms))
            case Failover():
                return replace(event, down_ms=self._lengths(number)(event.down_ms))
        return event

    def _running(self, event: ByName, number: int, view: View) -> Consumer:
        """The consumer of an event, which must run."""
        if event.consumer not in self._known:
            raise no_consumer(event, number, self._known)
        if not view.is_running(event.consumer):
            raise not_running(event, number)
        consumer = self._known[event.consumer]
        check_instance(event, number, consumer)
        return consumer

    def _starts(self, consumer: Consumer, number: int) -> None:
        self._known[consumer.name] = consumer
        check_members(len(self._known), partial(ScenarioError, path=f"$.events[{number}]"), "the run")

    def _plan(self, steps: Iterable[Step], number: int) -> None:
        for step in steps:
            self._planned[step.name] += 1
            self._add(step.at_ms, number, step)

    def _step(self, step: Step, number: int, view: View) -> Iterator[Primitive]:
        """A step of an event is due; one that others have made impossible is left out."""
        self._planned[step.name] -= 1
        if not self._planned[step.name]:
            del self._planned[step.name]
        if view.is_running(step.name) != isinstance(step.event, Join):
            if isinstance(step.event, Join):
                self._starts(step.event.consumer, number)
            yield step.event

    def _forget(self, name: str) -> None:
        """Whatever is planned for this consumer does not happen."""
        if self._planned.pop(name, 0):
            self._queue = [
                entry
                for entry in self._queue
                if not (isinstance(entry.what, Step) and entry.what.name == name)
            ]
            heapify(self._queue)

    def _roll_out(self, event: Rollout, now_ms: float, number: int, view: View) -> None:
        """Change the whole group; one change waits until the one before has ended."""
        if now_ms < self._ends_ms:
            self._add(self._ends_ms, number, event, last=True)
            return
        length = self._lengths(number)
        people = [consumer for name, consumer in self._known.items() if view.is_running(name)]
        match event:
            case RollingRestart():
                steps = unfolding.rolling_restart(event, now_ms, people, length)
            case StatefulSetRoll():
                steps = unfolding.stateful_set_roll(event, now_ms, people, length)
            case Deployment():
                steps = unfolding.deployment(event, now_ms, view.running, self._known, length)
            case ScaleTo():
                steps = self._scale(event.consumers, event, now_ms, number, view)
        self._plan(steps, number)
        self._ends_ms = max((step.at_ms for step in steps), default=now_ms)

    def _scale_by_lag(self, event: Autoscaler, now_ms: float, number: int, view: View) -> None:
        """An autoscaler looks, now and from now on."""
        self._add(now_ms + event.polling_ms, number, event)
        present, partitions = len(self._future(view)), sum(self._cluster.counts.values())
        scaler = self._scalers.setdefault(number, unfolding.Scaler(event))
        wanted = scaler.wanted(now_ms, view.lag(), present, partitions)
        self._plan(self._scale(wanted, event, now_ms, number, view), number)

    def _scale(
        self, wanted: int, event: ScaleTo | Autoscaler, now_ms: float, number: int, view: View
    ) -> list[Step]:
        """What makes so many consumers run."""
        future = self._future(view)
        if wanted < len(future):
            leaving = list(future)[wanted:]
            for name in leaving:
                self._forget(name)
            return [unfolding.closes(now_ms, name) for name in reversed(leaving)]
        more = wanted - len(future)
        faulty = partial(ScenarioError, path=f"$.events[{number}]")
        check_members(len(self._known) + more, faulty, "the run")
        like = next(reversed((future or self._known).values()), Consumer("worker-0"))
        length = self._lengths(number)
        return [
            unfolding.starts(now_ms + length(event.start_ms), consumer)
            for consumer in unfolding.newcomers(more, like, future, self._known)
        ]

    def _future(self, view: View) -> dict[str, Consumer]:
        """Who will run when everything that is planned is done, in the order they start."""
        future = {consumer.name: consumer for consumer in view.running}
        for entry in sorted(self._queue) if self._planned else ():
            if isinstance(entry.what, Step):
                if isinstance(entry.what.event, Join):
                    future.setdefault(entry.what.name, entry.what.event.consumer)
                else:
                    future.pop(entry.what.name, None)
        return future
