"""Plan what happens to a group: take the events of a scenario apart into single steps, in order.

`Event` is what a scenario says. `EventStep` is one start, close or crash of one consumer at one time;
`unfolding` takes events apart into steps. `Agenda` has both in one queue. A step is checked against the group
only when it is due, since a condition or an earlier step may have changed which consumers run. Times are
milliseconds of the run.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np

from copartition.simulation.autoscaler import Scaler
from copartition.simulation.inputs.course import (
    TopicCounts,
    check_instance,
    no_consumer,
    not_running,
    occurrence,
    running_already,
)
from copartition.simulation.inputs.durations import Distribution, draw
from copartition.simulation.inputs.events import (
    ANYONE,
    REFUSED,
    Autoscaler,
    ByName,
    Condition,
    Consumer,
    Crash,
    CrashLoop,
    Create,
    Deployment,
    Event,
    Failover,
    GroupWide,
    Grow,
    Join,
    Lasting,
    Leave,
    Primitive,
    Restart,
    RollingRestart,
    Rollout,
    ScaleTo,
    StatefulSetRoll,
)
from copartition.simulation.inputs.scenario import LOOK_MS, Scenario
from copartition.simulation.outcome.result import LogEntry
from copartition.simulation.unfolding import (
    EventStep,
    Length,
    closes,
    crash_loop,
    deployment,
    newcomers,
    restart,
    rolling_restart,
    starts,
    stateful_set_roll,
)
from partitioning.errors import ScenarioError
from partitioning.kit.limits import check_members


class WatchedGroup(Protocol):
    """A group as the agenda sees it; see `copartition.simulation.run.Run`.

    Reading `unread` or a lag brings the records up to the present, which takes time. So the agenda reads one
    of them only for an event that depends on it.
    """

    @property
    def now_ms(self) -> float:
        """The present time, in milliseconds of the run."""

    @property
    def log(self) -> Sequence[LogEntry]:
        """The lines of the event log so far."""

    @property
    def running(self) -> Sequence[Consumer]:
        """The consumers whose processes run, in the order in which they started."""

    @property
    def members(self) -> int:
        """The number of members of the group."""

    @property
    def unread(self) -> int:
        """The number of partitions that exist and are not read."""

    def is_running(self, name: str) -> bool:
        """Return whether a process of this consumer runs."""

    def lag(self) -> float:
        """Return the number of records behind, summed over all partitions."""

    def partition_lag(self) -> float:
        """Return the number of records behind in the partition that is most behind."""


class _Entry(NamedTuple):
    """An event or step in the future; entries sort in the order in which they happen.

    Each entry has its own `turn`, so no two entries are equal in all fields before `what`. Sorting therefore
    never compares two events, which have no order.
    """

    at_ms: float
    rank: float  # order of entries of one time: the event's index in the scenario, or infinite for the last
    turn: int  # order of entries of one time and rank: a number that grows with each entry
    number: int  # the index of the event in the scenario
    what: Event | EventStep


class _Watch:
    """An event that waits for its condition.

    `_since_ms` is the time of the first look at which its figure was beyond the limit, or infinite.
    """

    def __init__(self, number: int, event: Event, condition: Condition) -> None:
        self.number = number
        self.event = event
        self.condition = condition
        self._since_ms = math.inf

    def holds(self, now_ms: float, group: WatchedGroup) -> bool:
        """Return whether the figure has been beyond the limit for `for_ms`, as seen by the looks so far.

        The time counts from the first look at which the figure was beyond the limit, not from the moment at
        which it crossed the limit. One look at which the figure is within the limit starts the time again.
        """
        condition = self.condition
        match condition.figure:
            case "lag":
                figure = group.lag()
            case "partition_lag":
                figure = group.partition_lag()
            case "unread":
                figure = group.unread
            case _:
                figure = group.members
        above, below = condition.above, condition.below
        beyond = (above is not None and figure > above) or (below is not None and figure < below)
        self._since_ms = min(self._since_ms, now_ms) if beyond else math.inf
        return now_ms - self._since_ms >= condition.for_ms


class Agenda:
    """The events of a scenario, taken apart into single steps and kept in the order of time.

    An event that consists of several steps is unfolded when it begins, for the consumers that run then. A
    step that has become impossible by the time it is due, because another event stopped its consumer, is left
    out. An event that stands in the scenario itself is refused if it is impossible.

    Between two calls, `_planned` counts the steps of each consumer in `_queue`. An event with a condition is
    in `_watches`, or in `_on_refusal` if it waits for a refused commit. It is also in `_unmet` until the
    condition has held.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._seed = scenario.seed
        # One stream of random numbers for each event, made when the event first needs it.
        self._random: dict[int, np.random.Generator] = {}
        self._cluster = TopicCounts(scenario.topics)
        # Every consumer that has run or is about to start, by name, as it was configured last.
        self._consumers = {consumer.name: consumer for consumer in scenario.consumers}
        self._turns = count()
        self._queue: list[_Entry] = []
        self._planned: Counter[str] = Counter()
        self._ends_ms = -math.inf  # the time of the last step of the latest change of the whole group
        self._scalers: dict[int, Scaler] = {}
        self._watches: list[_Watch] = []
        # The time of the next look at conditions; looks are at whole multiples of `LOOK_MS`.
        self._look_ms = 0.0
        self._on_refusal: dict[int, ByName] = {}  # events that wait for a refused commit
        self._unmet: dict[int, Event] = {}  # events whose condition has not held so far
        self._read = 0  # how many lines of the log have been searched for refused commits
        for number, event in enumerate(scenario.events):
            if not isinstance(event.at_ms, Condition):
                self._add(event.at_ms, number, event)
                continue
            self._unmet[number] = event
            if isinstance(event, ByName) and event.at_ms.figure == REFUSED:
                self._on_refusal[number] = event
            else:
                self._watches.append(_Watch(number, event, event.at_ms))

    @property
    def unmet(self) -> list[str]:
        """The events whose condition has not held so far, in words."""
        return list(map(occurrence, self._unmet.values()))

    def next_ms(self) -> float:
        """Return the time of the next step or look at a condition; infinite if nothing is left."""
        look_ms = self._look_ms if self._watches else math.inf
        return min(look_ms, self._queue[0].at_ms) if self._queue else look_ms

    def due(self, now_ms: float, group: WatchedGroup) -> Iterator[Primitive]:
        """Yield the events due by now; the caller must carry out each event before it asks for the next.

        Raises:
            ScenarioError: an event cannot happen as things are.
        """
        # Looks at conditions come before the steps of the same time, because a look may put an event into the
        # queue that is due now.
        if self._watches and self._look_ms <= now_ms:
            self._look(now_ms, group)
        while self._queue and self._queue[0].at_ms <= now_ms:
            entry = heappop(self._queue)
            if isinstance(entry.what, EventStep):
                yield from self._step(entry.what, entry.number, group)
            else:
                yield from self._begin(entry.what, entry.at_ms, entry.number, group)

    def reactions(self, group: WatchedGroup) -> Iterator[Primitive]:
        """Yield the events that a refused commit sets off, before its consumer does anything else.

        The caller must carry out each event before it asks for the next.
        """
        if not self._on_refusal:
            return
        now_ms, entries = group.now_ms, group.log[self._read :]
        self._read = len(group.log)
        # The names are listed first, since the caller carries out each event that is yielded, and that writes
        # more lines to this log.
        for name in [entry.subject for entry in entries if entry.what == REFUSED]:
            for number, event in self._on_refusal.items():
                if name and event.consumer in {name, ANYONE}:
                    self._unmet.pop(number, None)
                    self._add(now_ms, number, replace(event, at_ms=now_ms, consumer=name))
                    yield from self.due(now_ms, group)

    def _add(self, at_ms: float, number: int, what: Event | EventStep, *, last: bool = False) -> None:
        """Put an event or step into the queue; `last` puts it behind all others of its time."""
        rank = math.inf if last else number
        heappush(self._queue, _Entry(float(at_ms), rank, next(self._turns), number, what))

    def _look(self, now_ms: float, group: WatchedGroup) -> None:
        """Begin the events whose condition holds now, and set the time of the next look.

        An event whose condition held is no longer watched: a condition starts its event only once.
        """
        waiting = []
        for watch in self._watches:
            if watch.holds(now_ms, group):
                del self._unmet[watch.number]
                self._add(now_ms, watch.number, replace(watch.event, at_ms=now_ms))
            else:
                waiting.append(watch)
        self._watches = waiting
        self._look_ms = (now_ms // LOOK_MS + 1) * LOOK_MS

    def _lengths(self, number: int) -> Length:
        """Return a function that turns a duration of this event into milliseconds, by a draw if needed."""
        return lambda duration: (
            draw(duration, self._stream(number)) if isinstance(duration, Distribution) else float(duration)
        )

    def _stream(self, number: int) -> np.random.Generator:
        """Return the random number generator of one event.

        Its numbers depend on the seed and the event only. So the event lasts equally long under every
        assignor, whatever came before it.

        The counter-based generator gives each event number a stream far from all others, without any draw in
        between. The second word of the key is 1, so that these streams differ from `World.random`, whose key
        is the seed alone.
        """
        if number not in self._random:
            philox = np.random.Philox(key=np.array([self._seed, 1], np.uint64), counter=[0, 0, 0, number])
            self._random[number] = np.random.Generator(philox)
        return self._random[number]

    def _begin(self, event: Event, now_ms: float, number: int, group: WatchedGroup) -> Iterator[Primitive]:
        """Begin an event: yield it if it is a single step, else plan the steps that it consists of.

        An autoscaler plans its next look itself, so it never ends by itself; the run's `until_ms` ends it.
        """
        if isinstance(event, Autoscaler):
            self._scale_by_lag(event, now_ms, number, group)
        elif isinstance(event, GroupWide):
            self._roll_out(event, now_ms, number, group)
        elif isinstance(event, Restart | CrashLoop):
            consumer, length = self._running(event, number, group), self._lengths(number)
            if isinstance(event, Restart):
                self._plan(restart(event, now_ms, consumer, length), number)
            else:
                self._plan(crash_loop(event, now_ms, consumer, length), number)
        else:
            yield self._single(event, number, group)

    def _single(self, event: Primitive, number: int, group: WatchedGroup) -> Primitive:
        """Return an event of the scenario that is a single step, with its length drawn.

        The checks are those of `inputs.course`, made again against what has really happened in the run. If a
        consumer leaves or crashes, its planned steps are dropped, because a restart under way must not bring
        it back.

        Raises:
            ScenarioError: the event is impossible now.
        """
        if isinstance(event, ByName):
            self._running(event, number, group)
        if isinstance(event, Lasting):
            return replace(event, for_ms=self._lengths(number)(event.for_ms))
        match event:
            case Join(consumer=consumer):
                if group.is_running(consumer.name) or consumer.name in self._planned:
                    raise running_already(event, number)
                self._starts(consumer, number)
            case Leave() | Crash():
                self._forget(event.consumer)
            case Grow() | Create():
                self._cluster.change(event, number)
            case Failover():
                return replace(event, down_ms=self._lengths(number)(event.down_ms))
        return event

    def _running(self, event: ByName, number: int, group: WatchedGroup) -> Consumer:
        """Return the consumer that an event names; raise `ScenarioError` if it does not run."""
        if event.consumer not in self._consumers:
            raise no_consumer(event, number, self._consumers)
        if not group.is_running(event.consumer):
            raise not_running(event, number)
        consumer = self._consumers[event.consumer]
        check_instance(event, number, consumer)
        return consumer

    def _starts(self, consumer: Consumer, number: int) -> None:
        """Record a consumer that starts; raise `ScenarioError` if the run then has too many consumers."""
        self._consumers[consumer.name] = consumer
        check_members(len(self._consumers), partial(ScenarioError, path=f"$.events[{number}]"), "the run")

    def _plan(self, steps: Iterable[EventStep], number: int) -> None:
        """Put the steps of an event into the queue, and count them for their consumers."""
        for step in steps:
            self._planned[step.name] += 1
            self._add(step.at_ms, number, step)

    def _step(self, step: EventStep, number: int, group: WatchedGroup) -> Iterator[Primitive]:
        """Yield a step that is due, unless other steps have made it impossible.

        A start is made only if the consumer does not run; a close or a crash only if it runs. Any other step
        came too late because of another event, and is dropped without a message.
        """
        self._planned[step.name] -= 1
        if not self._planned[step.name]:
            del self._planned[step.name]
        if group.is_running(step.name) != isinstance(step.event, Join):
            if isinstance(step.event, Join):
                self._starts(step.event.consumer, number)
            yield step.event

    def _forget(self, name: str) -> None:
        """Drop the planned steps of a consumer.

        This rebuilds the queue, in linear time, but only if the consumer has planned steps.
        """
        if self._planned.pop(name, 0):
            self._queue = [
                entry
                for entry in self._queue
                if not (isinstance(entry.what, EventStep) and entry.what.name == name)
            ]
            heapify(self._queue)

    def _roll_out(self, event: Rollout, now_ms: float, number: int, group: WatchedGroup) -> None:
        """Plan a change of the whole group, or put it off until the change before it has ended.

        Two changes of the whole group never overlap. The second begins when the last step of the first is
        due, right after that step. So it sees the consumers as the first change left them.
        """
        if now_ms < self._ends_ms:
            self._add(self._ends_ms, number, event, last=True)
            return
        length = self._lengths(number)
        # `people` has the consumers in the order in which they first started, which a restart does not
        # change. A Deployment takes the order in which the running processes started.
        people = [consumer for name, consumer in self._consumers.items() if group.is_running(name)]
        match event:
            case RollingRestart():
                steps = rolling_restart(event, now_ms, people, length)
            case StatefulSetRoll():
                steps = stateful_set_roll(event, now_ms, people, length)
            case Deployment():
                steps = deployment(event, now_ms, group.running, self._consumers, length)
            case ScaleTo():
                steps = self._scale(event.consumers, event, now_ms, number, group)
        self._plan(steps, number)
        self._ends_ms = max((step.at_ms for step in steps), default=now_ms)

    def _scale_by_lag(self, event: Autoscaler, now_ms: float, number: int, group: WatchedGroup) -> None:
        """Plan the changes that an autoscaler decides on now, and its next look."""
        self._add(now_ms + event.polling_ms, number, event)
        present, partitions = len(self._future(group)), sum(self._cluster.counts.values())
        scaler = self._scalers.setdefault(number, Scaler(event))
        wanted = scaler.wanted_number(now_ms, group.lag(), present, partitions)
        self._plan(self._scale(wanted, event, now_ms, number, group), number)

    def _scale(
        self, wanted: int, event: ScaleTo | Autoscaler, now_ms: float, number: int, group: WatchedGroup
    ) -> list[EventStep]:
        """Return the steps that bring the group to `wanted` consumers, counted after all planned steps.

        The youngest consumers close first. If such a consumer has not started yet, its planned start is
        dropped, and its close is left out when it is due, since the consumer does not run.
        """
        future = self._future(group)
        if wanted < len(future):
            leaving = list(future)[wanted:]
            for name in leaving:
                self._forget(name)
            return [closes(now_ms, name) for name in reversed(leaving)]
        more = wanted - len(future)
        faulty = partial(ScenarioError, path=f"$.events[{number}]")
        check_members(len(self._consumers) + more, faulty, "the run")
        like = next(reversed((future or self._consumers).values()), Consumer("worker-0"))
        length = self._lengths(number)
        return [
            starts(now_ms + length(event.start_ms), consumer)
            for consumer in newcomers(more, like, future, self._consumers)
        ]

    def _future(self, group: WatchedGroup) -> dict[str, Consumer]:
        """Return the consumers that will run after all planned steps, by name, in the order of their starts.

        Planned steps are applied in the order in which they will happen. A consumer that is about to close
        and start again is in the result, after all consumers that stay.
        """
        future = {consumer.name: consumer for consumer in group.running}
        for entry in sorted(self._queue) if self._planned else ():
            if isinstance(entry.what, EventStep):
                if isinstance(entry.what.event, Join):
                    future.setdefault(entry.what.name, entry.what.event.consumer)
                else:
                    future.pop(entry.what.name, None)
        return future
