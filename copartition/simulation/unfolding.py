"""Unfold an event of many consumers, or one that lasts for some time, into starts, closes and crashes.

The functions here neither look at the group nor draw at random. The argument `length` is a function that
turns each duration into milliseconds. Times are milliseconds of the run.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count, islice
from typing import NamedTuple

from copartition.simulation.inputs.durations import Duration
from copartition.simulation.inputs.events import (
    Consumer,
    Crash,
    CrashLoop,
    Deployment,
    Join,
    Leave,
    Restart,
    RollingRestart,
    StatefulSetRoll,
)

Length = Callable[[Duration], float]

# These patterns match names that the package made itself, such as "worker-3" and "worker-3-r2". Other names
# are kept whole.
_NUMBERED = re.compile("(.*)-[0-9]+(-r[0-9]+)?", re.DOTALL)
_REVISED = re.compile("(.*)-r([0-9]{1,9})", re.DOTALL)


class EventStep(NamedTuple):
    """A single event that is a part of another event.

    `at_ms` is in milliseconds of the run, and equals the time in `event`.
    """

    at_ms: float
    event: Join | Leave | Crash

    @property
    def name(self) -> str:
        """The name of the consumer that the event is about."""
        return self.event.consumer.name if isinstance(self.event, Join) else self.event.consumer


def starts(at_ms: float, consumer: Consumer, assignors: tuple[str, ...] | None = None) -> EventStep:
    """Return the step in which a consumer starts, with these strategies if they are given.

    Without `assignors` the consumer keeps its strategies; a rollout passes the strategies that it introduces.
    """
    return EventStep(at_ms, Join(at_ms, replace(consumer, assignors=assignors) if assignors else consumer))


def closes(at_ms: float, name: str) -> EventStep:
    """Return the step in which a consumer closes."""
    return EventStep(at_ms, Leave(at_ms, name))


def restart(
    event: Restart | RollingRestart | StatefulSetRoll, at_ms: float, consumer: Consumer, length: Length
) -> list[EventStep]:
    """Return the two steps in which one consumer closes and comes back, in the order of time.

    A drawn `down_ms` gets its length here, once for each call. So consumers that are restarted by one event
    are away for different lengths of time.

    Args:
        event: the event that says how long a consumer is away, and which strategies it comes back with.
        at_ms: the time at which the consumer closes, in milliseconds.
        consumer: the consumer as it runs now.
        length: turns a duration into milliseconds.
    """
    back_ms = at_ms + length(event.down_ms)
    return [closes(at_ms, consumer.name), starts(back_ms, consumer, event.assignors)]


def rolling_restart(
    event: RollingRestart, at_ms: float, running: Sequence[Consumer], length: Length
) -> list[EventStep]:
    """Return the steps in which each consumer closes and comes back, `every_ms` after the one before it.

    No consumer waits for the one before it: if `every_ms` is shorter than the time that a consumer is away,
    several consumers are away together.

    Args:
        event: the rolling restart.
        at_ms: the time of the first close, in milliseconds.
        running: the consumers that run now, in the order in which they are restarted.
        length: turns a duration into milliseconds.
    """
    return [
        step
        for turn, consumer in enumerate(running)
        for step in restart(event, at_ms + turn * event.every_ms, consumer, length)
    ]


def stateful_set_roll(
    event: StatefulSetRoll, at_ms: float, running: Sequence[Consumer], length: Length
) -> list[EventStep]:
    """Return the steps in which each consumer is restarted, the last one first.

    Each consumer waits until the one before is ready, so at most one consumer is away at a time. The highest
    ordinal goes first, as in a Kubernetes StatefulSet.

    Args:
        event: the roll.
        at_ms: the time of the first close, in milliseconds.
        running: the consumers that run now, the lowest ordinal first.
        length: turns a duration into milliseconds.
    """
    steps: list[EventStep] = []
    for consumer in reversed(running):
        steps += restart(event, at_ms, consumer, length)
        at_ms = steps[-1].at_ms + length(event.ready_ms)
    return steps


def deployment(
    event: Deployment,
    at_ms: float,
    running: Sequence[Consumer],
    names_in_use: Collection[str],
    length: Length,
) -> list[EventStep]:
    """Return the steps in which all consumers are replaced by new ones, as a Kubernetes Deployment rolls.

    An old consumer closes as soon as enough others are available, and a new one is created as soon as there
    is room. At most `event.surge` consumers more than their number exist at a time, and at most
    `event.unavailable` fewer are available. A consumer that closes is gone at once.

    Args:
        event: the deployment.
        at_ms: when it begins.
        running: the consumers to replace, the oldest first.
        names_in_use: names that no new consumer gets.
        length: turns a duration into milliseconds.
    """
    steps: list[EventStep] = []
    names = set(names_in_use)
    # `available` counts old consumers that run and new ones that are ready. `ready` is a heap of the times at
    # which new consumers will be ready. `closed` and `created` count the old consumers that have been closed
    # and replaced, from the start of `running`.
    size = available = len(running)
    ready: list[float] = []
    closed = created = 0
    while True:
        # Close as many old consumers as the number of available ones allows, the oldest first.
        while closed < size and available > size - event.unavailable:
            steps.append(closes(at_ms, running[closed].name))
            closed += 1
            available -= 1
        # A new consumer counts against the surge from its creation on, not only when it is ready.
        while created < size and created - closed < event.surge:
            start_ms = at_ms + length(event.start_ms)
            name = _next_revision(running[created].name, names)
            steps.append(starts(start_ms, replace(running[created], name=name), event.assignors))
            heappush(ready, start_ms + length(event.ready_ms))
            created += 1
        # If no new consumer is on its way, all consumers are replaced. At least one of surge and unavailable
        # is above 0 (`scenario._check_event`), so the loop cannot end before that.
        if not ready:
            return steps
        at_ms = heappop(ready)
        available += 1


def crash_loop(event: CrashLoop, at_ms: float, consumer: Consumer, length: Length) -> list[EventStep]:
    """Return the steps in which a consumer crashes and comes back, each time later than the time before.

    As in Kubernetes, the delay is the shortest again after the consumer ran for twice the longest delay.
    """
    steps: list[EventStep] = []
    away_ms = min(event.backoff_ms, event.most_ms)
    for _ in range(event.times):
        back_ms = at_ms + away_ms
        steps += [EventStep(at_ms, Crash(at_ms, consumer.name)), starts(back_ms, consumer)]
        # How long the consumer now runs decides the next delay, so this time is drawn first.
        up_ms = length(event.up_ms)
        away_ms = min(event.backoff_ms if up_ms >= 2 * event.most_ms else 2 * away_ms, event.most_ms)
        at_ms = back_ms + up_ms
    return steps


def newcomers(
    number: int, like: Consumer, present: Collection[str], all_so_far: Mapping[str, Consumer]
) -> list[Consumer]:
    """Return `number` more consumers like `like`, with the first free numbers in their names.

    A number is free if the name with this number is not in `present`. If a consumer had the name earlier, the
    new consumer gets that consumer's configuration, but the strategies of `like`.

    >>> [consumer.name for consumer in newcomers(2, Consumer("worker-1"), {"worker-0", "worker-1"}, {})]
    ['worker-2', 'worker-3']

    Args:
        number: how many consumers are added.
        like: the consumer whose configuration and whose name, up to its number, new consumers get.
        present: the names that are taken; no new consumer gets one of them.
        all_so_far: name -> the consumer that last had the name, of all consumers of the run so far.
    """
    named = _NUMBERED.fullmatch(like.name)
    stem, end = (named[1], named[2] or "") if named else (like.name, "")
    # Numbers are tried from 0, so the name of a consumer that left is used again.
    free = (name for turn in count() if (name := f"{stem}-{turn}{end}") not in present)
    return [
        replace(all_so_far.get(name, like), name=name, assignors=like.assignors)
        for name in islice(free, number)
    ]


def _next_revision(name: str, names: set[str]) -> str:
    """Return the name of the consumer that replaces another one, such as "worker-3-r2"; add it to `names`."""
    named = _REVISED.fullmatch(name)
    stem, revision = (named[1], int(named[2])) if named else (name, 1)
    new = next(new for turn in count(revision + 1) if (new := f"{stem}-r{turn}") not in names)
    names.add(new)
    return new
