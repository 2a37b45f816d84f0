"""When things happen: timers, times that recur, and the heartbeats of a consumer group (KIP-848).

A recurring time is `phase_ms + k * every_ms` for a whole k, computed in one way and then compared, so the
first one after some time is also the last one up to itself. Remainders of floats do not agree on that.
"""

import heapq
import itertools
import math
from collections.abc import Callable, Collection

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray


class Timer:
    """Something that will be done, unless it is cancelled."""

    __slots__ = ("action", "at_ms")

    def __init__(self, at_ms: float, action: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.action: Callable[[], None] | None = action

    @property
    def is_done(self) -> bool:
        """Whether nothing is to be done any more."""
        return self.action is None

    def cancel(self) -> None:
        """Leave it undone; nothing happens where it is done already."""
        self.action = None


DONE = Timer(-math.inf, lambda: None)
"""Stands for a timer where none is set."""
DONE.cancel()


class Timers:
    """Timers in the order of time, those of one time in the order they were set."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._turns = itertools.count()

    def at(self, at_ms: float, action: Callable[[], None]) -> Timer:
        """Do this at that time."""
        timer = Timer(at_ms, action)
        heapq.heappush(self._heap, (at_ms, next(self._turns), timer))
        return timer

    def soon(self, at_ms: float, now_ms: float, action: Callable[[], None]) -> Timer:
        """Do this at that time, or now where it is."""
        if at_ms > now_ms:
            return self.at(at_ms, action)
        action()
        return DONE

    def next_ms(self) -> float:
        """Return when the next one is due; infinite where there is none."""
        heap = self._heap
        while heap and heap[0][2].action is None:
            heapq.heappop(heap)
        return heap[0][0] if heap else math.inf

    def run(self) -> None:
        """Do the next one."""
        _, _, timer = heapq.heappop(self._heap)
        action, timer.action = timer.action, None
        if action is not None:
            action()


def last_until(phase_ms: float, every_ms: float, at_ms: float) -> float:
    """Return the last of `phase_ms + k * every_ms` up to `at_ms`."""
    return phase_ms + _turn(phase_ms, every_ms, at_ms) * every_ms


def first_after(phase_ms: float, every_ms: float, at_ms: float) -> float:
    """Return the first of `phase_ms + k * every_ms` later than `at_ms`."""
    return phase_ms + (_turn(phase_ms, every_ms, at_ms) + 1) * every_ms


def first_after_each(
    phase_ms: NDArray[np.float64], every_ms: NDArray[np.float64], at_ms: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the same for many at once."""
    turn = np.floor((at_ms - phase_ms) / every_ms)  # or one beside it, as the quotient is rounded
    turn -= phase_ms + turn * every_ms > at_ms
    turn += phase_ms + (turn + 1) * every_ms <= at_ms
    return phase_ms + (turn + 1) * every_ms


def _turn(phase_ms: float, every_ms: float, at_ms: float) -> int:
    """Return the highest k with `phase_ms + k * every_ms <= at_ms`."""
    turn = math.floor((at_ms - phase_ms) / every_ms)  # or one beside it, as the quotient is rounded
    while phase_ms + turn * every_ms > at_ms:
        turn -= 1
    while phase_ms + (turn + 1) * every_ms <= at_ms:
        turn += 1
    return turn


RETRY_MS = 100
"""How often clients ask again after a failure (`retry.backoff.ms`)."""


class Beats:
    """The members as columns, by the number of their membership."""

    def __init__(self) -> None:
        self.rows: NDArray[np.int64] = np.empty(0, np.int64)  # the members of the group
        self._base_ms = np.zeros(64)
        self._every_ms = np.ones(64)
        self._speaks = np.zeros(64, np.bool_)
        self._moves = np.zeros(64, np.bool_)

    def add(self, member: int, base_ms: float, every_ms: float, *, moves: bool) -> None:
        """A member joins with a heartbeat at `base_ms`, and sends one every `every_ms`.

        `moves`: the coordinator does more than to answer it, as for the consumer protocol.
        """
        while member >= len(self._base_ms):
            for column in ("_base_ms", "_every_ms", "_speaks", "_moves"):
                old = getattr(self, column)
                setattr(self, column, np.concatenate([old, np.ones_like(old)]))
        self.rows = np.append(self.rows, member)
        self._every_ms[member] = every_ms
        self._moves[member] = moves
        self.restart(member, base_ms)

    def remove(self, member: int) -> None:
        """A member is gone."""
        self.rows = self.rows[self.rows != member]

    def restart(self, member: int, at_ms: float) -> None:
        """A member sends one at this time, and the next a whole interval later."""
        self._base_ms[member] = at_ms
        self._speaks[member] = True

    def silence(self, member: int) -> None:
        """A member sends no more."""
        self._speaks[member] = False

    def speak(self, member: int) -> None:
        """A silent member goes on where it was."""
        self._speaks[member] = True

    def speaks(self, member: int) -> bool:
        """Return whether a member sends heartbeats."""
        return bool(self._speaks[member])

    def next_ms(self, member: int, after_ms: float) -> float:
        """Return a member's first one after some time."""
        return first_after(float(self._base_ms[member]), float(self._every_ms[member]), after_ms)

    def last_ms(self, member: int, until_ms: float) -> float:
        """Return a member's last one up to some time."""
        return last_until(float(self._base_ms[member]), float(self._every_ms[member]), until_ms)

    def first_of_all(self, after_ms: float) -> tuple[float, int]:
        """Return the first one after some time that moves the group, and whose it is.

        Infinite where none does.
        """
        rows = self.rows[self._speaks[self.rows] & self._moves[self.rows]]
        if len(rows) == 0:
            return math.inf, -1
        times = first_after_each(self._base_ms[rows], self._every_ms[rows], after_ms)
        place = int(times.argmin())
        return float(times[place]), int(rows[place])

    def last_of_all(self, after_ms: float, besides: Collection[int]) -> float:
        """Return when everybody who sends any, but these, has sent one after some time."""
        looked_at = self._speaks.copy()
        looked_at[list(besides)] = False
        rows = self.rows[looked_at[self.rows]]
        times = first_after_each(self._base_ms[rows], self._every_ms[rows], after_ms)
        return float(times.max(initial=after_ms))

    def postpone(self, from_ms: float, until_ms: float, random: Generator) -> None:
        """Whatever is due in between is sent after it, as soon as each has asked again."""
        rows = self.rows
        late = rows[first_after_each(self._base_ms[rows], self._every_ms[rows], from_ms) < until_ms]
        self._base_ms[late] = until_ms + random.uniform(0, RETRY_MS, len(late)) - self._every_ms[late]
