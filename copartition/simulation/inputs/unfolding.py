"""What people do to a group, as the single events it comes down to once it is known who runs.

Nothing here looks at the group or draws at random: `length` gives each duration its length.
"""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count, islice
from typing import TYPE_CHECKING, NamedTuple

from copartition.simulation.inputs.events import Crash, Join, Leave

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from copartition.simulation.inputs.durations import Duration
    from copartition.simulation.inputs.events import (
        Autoscaler,
        Consumer,
        CrashLoop,
        Deployment,
        Restart,
        RollingRestart,
        StatefulSetRoll,
    )

    Length = Callable[[Duration], float]

_NUMBERED = re.compile("(.*)-[0-9]+(-r[0-9]+)?", re.DOTALL)
_REVISED = re.compile("(.*)-r([0-9]{1,9})", re.DOTALL)
TOLERANCE = 0.1
"""How far lag may be from what the consumers stand for before Kubernetes' autoscaler does anything."""


class Step(NamedTuple):
    """A single event that another one comes down to."""

    at_ms: float
    event: Join | Leave | Crash

    @property
    def name(self) -> str:
        """The consumer's."""
        return self.event.consumer.name if isinstance(self.event, Join) else self.event.consumer


def starts(at_ms: float, consumer: Consumer, assignors: tuple[str, ...] | None = None) -> Step:
    """A consumer starts, with these strategies if they are given."""
    return Step(at_ms, Join(at_ms, replace(consumer, assignors=assignors) if assignors else consumer))


def closes(at_ms: float, name: str) -> Step:
    """A consumer closes."""
    return Step(at_ms, Leave(at_ms, name))


def restart(event: Restart, at_ms: float, consumer: Consumer, length: Length) -> list[Step]:
    """One consumer closes and comes back."""
    back_ms = at_ms + length(event.down_ms)
    return [closes(at_ms, consumer.name), starts(back_ms, consumer, event.assignors)]


def rolling_restart(
    event: RollingRestart, at_ms: float, running: Sequence[Consumer], length: Length
) -> list[Step]:
    """Each consumer closes and comes back, at fixed times."""
    steps: list[Step] = []
    for turn, consumer in enumerate(running):
        close_ms = at_ms + turn * event.every_ms
        steps.append(closes(close_ms, consumer.name))
        steps.append(starts(close_ms + length(event.down_ms), consumer, event.assignors))
    return steps


def stateful_set_roll(
    event: StatefulSetRoll, at_ms: float, running: Sequence[Consumer], length: Length
) -> list[Step]:
    """The last consumer closes and comes back; when it is ready, so does the one before it."""
    steps: list[Step] = []
    for consumer in reversed(running):
        steps.append(closes(at_ms, consumer.name))
        at_ms += length(event.down_ms)
        steps.append(starts(at_ms, consumer, event.assignors))
        at_ms += length(event.ready_ms)
    return steps


def deployment(
    event: Deployment, at_ms: float, running: Sequence[Consumer], taken: Collection[str], length: Length
) -> list[Step]:
    """Consumers are replaced by new ones, as many at a time as may run beyond their number or be missing.

    As in Kubernetes, an old one closes as soon as enough others are available, and a new one is created as
    soon as there is room; those that close are gone at once.
    """
    steps: list[Step] = []
    names = set(taken)
    size = available = len(running)
    ready: list[float] = []
    closed = created = 0
    while True:
        while closed < size and available > size - event.unavailable:
            steps.append(closes(at_ms, running[closed].name))
            closed += 1
            available -= 1
        while created < size and created - closed < event.surge:
            start_ms = at_ms + length(event.start_ms)
            name = _next_revision(running[created].name, names)
            steps.append(starts(start_ms, replace(running[created], name=name), event.assignors))
            heappush(ready, start_ms + length(event.ready_ms))
            created += 1
        if not ready:
            return steps
        at_ms = heappop(ready)
        available += 1


def crash_loop(event: CrashLoop, at_ms: float, consumer: Consumer, length: Length) -> list[Step]:
    """A consumer crashes and comes back, each time later; not so much later after it ran for long."""
    steps: list[Step] = []
    away_ms = min(event.backoff_ms, event.most_ms)
    for _ in range(event.times):
        back_ms = at_ms + away_ms
        steps += [Step(at_ms, Crash(at_ms, consumer.name)), starts(back_ms, consumer)]
        up_ms = length(event.up_ms)
        away_ms = min(event.backoff_ms if up_ms >= 2 * event.most_ms else 2 * away_ms, event.most_ms)
        at_ms = back_ms + up_ms
    return steps


def newcomers(
    number: int, like: Consumer, present: Collection[str], known: Mapping[str, Consumer]
) -> list[Consumer]:
    """So many more consumers, with the first numbers that nobody present has.

    Args:
        number: how many.
        like: what new ones are like; one that is known comes back as it was, but for its strategies.
        present: names that are taken.
        known: every consumer there ever was.
    """
    named = _NUMBERED.fullmatch(like.name)
    stem, end = (named[1], named[2] or "") if named else (like.name, "")
    free = (name for turn in count() if (name := f"{stem}-{turn}{end}") not in present)
    return [
        replace(known.get(name, like), name=name, assignors=like.assignors) for name in islice(free, number)
    ]


class Scaler:
    """An autoscaler, and what it found right lately."""

    def __init__(self, event: Autoscaler) -> None:
        self._event = event
        # The highest number found within the cool-down, then the highest after that one, and so on.
        self._recent: deque[tuple[float, int]] = deque()

    def wanted(self, now_ms: float, lag: float, present: int, partitions: int) -> int:
        """How many consumers it wants now that there are so many."""
        event, recent = self._event, self._recent
        most = partitions if event.most is None else event.most
        wanted = lag / event.lag_per_consumer
        near = present > 0 and abs(wanted / present - 1) <= TOLERANCE
        found = min(present if near else math.ceil(wanted), most)
        if not recent:
            recent.append((now_ms, present))
        while recent and recent[-1][1] <= found:
            recent.pop()
        recent.append((now_ms, found))
        while recent[0][0] < now_ms - event.cooldown_ms:
            recent.popleft()
        held = min(recent[0][1], present)
        allowed = max(2 * present, present + 4)
        return min(max(min(max(found, held), allowed), event.fewest), most)


def _next_revision(name: str, taken: set[str]) -> str:
    """The name of what takes a consumer's place; it is taken from then on."""
    named = _REVISED.fullmatch(name)
    stem, revision = (named[1], int(named[2])) if named else (name, 1)
    new = next(new for turn in count(revision + 1) if (new := f"{stem}-r{turn}") not in taken)
    taken.add(new)
    return new
