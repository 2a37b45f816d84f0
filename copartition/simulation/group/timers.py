"""Keep timers, times that recur, and the heartbeats of a consumer group (KIP-848).

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
    """An action at a time; `action` is None once it is done or cancelled.

    A cancelled timer stays in its heap, where taking it out would cost a search; whoever comes across it
    skips it.
    """

    __slots__ = ("action", "at_ms")

    def __init__(self, at_ms: float, action: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.action: Callable[[], None] | None = action

    @property
    def is_done(self) -> bool:
        """True if nothing is left to do, as the action is done or cancelled."""
        return self.action is None

    def cancel(self) -> None:
        """Leave the action undone; nothing happens if it is done already."""
        self.action = None


DONE = Timer(-math.inf, lambda: None)
"""A timer that stands for none."""
DONE.cancel()


class Timers:
    """Timers in the order of time; those of one time in the order in which they were set.

    No timer may be set for a time in the past: the main loop sets `World.now_ms` to `next_ms` before it calls
    `run`, and that must not go back. `soon` is for times that may be past.
    """

    def __init__(self) -> None:
        # The turn in the middle is unique, so timers themselves are never compared.
        self._heap: list[tuple[float, int, Timer]] = []
        self._turns = itertools.count()

    def at(self, at_ms: float, action: Callable[[], None]) -> Timer:
        """Return a new timer that does this at `at_ms`."""
        timer = Timer(at_ms, action)
        heapq.heappush(self._heap, (at_ms, next(self._turns), timer))
        return timer

    def soon(self, at_ms: float, now_ms: float, action: Callable[[], None]) -> Timer:
        """Return a new timer that does this at `at_ms`; do it now and return `DONE` if that time is past.

        Code that holds the result must be ready for the action to have happened already, before `soon`
        returns.
        """
        if at_ms > now_ms:
            return self.at(at_ms, action)
        action()
        return DONE

    def next_ms(self) -> float:
        """Return the time of the next timer; infinite if there is none."""
        heap = self._heap
        # Cancelled timers stay in the heap until they come first.
        while heap and heap[0][2].action is None:
            heapq.heappop(heap)
        return heap[0][0] if heap else math.inf

    def run(self) -> None:
        """Do the next timer's action; `next_ms` must be finite."""
        _, _, timer = heapq.heappop(self._heap)
        # Marked as done before it acts: what the action calls may ask whether this timer is done.
        action, timer.action = timer.action, None
        if action is not None:
            action()


def last_until(phase_ms: float, every_ms: float, at_ms: float) -> float:
    """Return the last of `phase_ms + k * every_ms` up to `at_ms`.

    k may be negative, so `phase_ms` need not be before `at_ms`. All three are milliseconds, and `every_ms` is
    above 0.
    """
    return phase_ms + _turn(phase_ms, every_ms, at_ms) * every_ms


def first_after(phase_ms: float, every_ms: float, at_ms: float) -> float:
    """Return the first of `phase_ms + k * every_ms` later than `at_ms`.

    A time that falls on `at_ms` exactly does not count, so calling this with its own result leads to the next
    time and never stands still.
    """
    return phase_ms + (_turn(phase_ms, every_ms, at_ms) + 1) * every_ms


def first_after_each(
    phase_ms: NDArray[np.float64], every_ms: NDArray[np.float64], at_ms: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return `first_after` of each element; the arguments are columns that broadcast.

    Times are milliseconds. The two corrections settle what the rounded quotient gets wrong by one, so that
    the result equals the scalar function's to the last bit: the two are compared with each other as times of
    events.
    """
    turn = np.floor((at_ms - phase_ms) / every_ms)  # or one beside it, as the quotient is rounded
    turn -= phase_ms + turn * every_ms > at_ms
    turn += phase_ms + (turn + 1) * every_ms <= at_ms
    return phase_ms + (turn + 1) * every_ms


def _turn(phase_ms: float, every_ms: float, at_ms: float) -> int:
    """Return the highest k with `phase_ms + k * every_ms <= at_ms`."""
    turn = math.floor((at_ms - phase_ms) / every_ms)  # or one beside it, as the quotient is rounded
    # The products themselves are compared, as they are what both functions return.
    while phase_ms + turn * every_ms > at_ms:
        turn -= 1
    while phase_ms + (turn + 1) * every_ms <= at_ms:
        turn += 1
    return turn


RETRY_MS = 100
"""Interval at which clients ask again after a failure (`retry.backoff.ms`), in milliseconds."""


class Beats:
    """The heartbeats of a consumer group's members, as columns by the number of their membership.

    A member's heartbeats are at `_base_ms + k * _every_ms`. `_speaks` is False for a silent member, `_moves`
    for one whose heartbeats only tell that it lives. `rows` are the members of the group, in the order they
    joined; other rows have no meaning.

    `GroupCoordinator` owns this object and is told by clients when a heartbeat moves. A heartbeat that
    changes nothing is never an event of the run; it follows from these columns when somebody asks for it.
    """

    def __init__(self) -> None:
        self.rows: NDArray[np.int64] = np.empty(0, np.int64)  # the members of the group
        # Both are doubled when they are full. An interval of 1 in unused rows keeps the arithmetic from
        # dividing by 0.
        self._times, self._flags = np.ones((2, 64)), np.zeros((2, 64), np.bool_)
        self._base_ms, self._every_ms = self._times
        self._speaks, self._moves = self._flags

    def add(self, member: int, base_ms: float, every_ms: float, *, moves: bool) -> None:
        """Add a member with a heartbeat at `base_ms` and one every `every_ms`.

        `moves`: True if the coordinator does more than answer it, as for the consumer protocol.
        """
        while member >= len(self._base_ms):
            self._times = np.concatenate([self._times, np.ones_like(self._times)], axis=1)
            self._flags = np.concatenate([self._flags, np.zeros_like(self._flags)], axis=1)
            self._base_ms, self._every_ms = self._times
            self._speaks, self._moves = self._flags
        self.rows = np.append(self.rows, member)
        self._every_ms[member] = every_ms
        self._moves[member] = moves
        self.restart(member, base_ms)

    def remove(self, member: int) -> None:
        """Remove a member."""
        self.rows = self.rows[self.rows != member]

    def restart(self, member: int, at_ms: float) -> None:
        """Let a member send a heartbeat at `at_ms`, and the next one a whole interval later."""
        self._base_ms[member] = at_ms
        self._speaks[member] = True

    def silence(self, member: int) -> None:
        """Let a member send no more heartbeats."""
        self._speaks[member] = False

    def speak(self, member: int) -> None:
        """Let a silent member go on at the times it had before."""
        self._speaks[member] = True

    def speaks(self, member: int) -> bool:
        """Return whether a member sends heartbeats."""
        return bool(self._speaks[member])

    def next_ms(self, member: int, after_ms: float) -> float:
        """Return a member's first heartbeat after `after_ms`."""
        return first_after(float(self._base_ms[member]), float(self._every_ms[member]), after_ms)

    def last_ms(self, member: int, until_ms: float) -> float:
        """Return a member's last heartbeat up to `until_ms`."""
        return last_until(float(self._base_ms[member]), float(self._every_ms[member]), until_ms)

    def first_of_all(self, after_ms: float) -> tuple[float, int]:
        """Return the first heartbeat after `after_ms` that moves the group, and its member.

        Infinite and -1 if there is none.
        """
        rows = self.rows[self._speaks[self.rows] & self._moves[self.rows]]
        if len(rows) == 0:
            return math.inf, -1
        times = first_after_each(self._base_ms[rows], self._every_ms[rows], after_ms)
        place = int(times.argmin())
        return float(times[place]), int(rows[place])

    def last_of_all(self, after_ms: float, besides: Collection[int]) -> float:
        """Return when all members that speak, except `besides`, have sent a heartbeat since `after_ms`.

        It is the time by which a target is known to everybody that need not be watched one by one; `after_ms`
        itself if there is no such member.
        """
        looked_at = self._speaks.copy()
        looked_at[list(besides)] = False
        rows = self.rows[looked_at[self.rows]]
        times = first_after_each(self._base_ms[rows], self._every_ms[rows], after_ms)
        return float(times.max(initial=after_ms))

    def postpone(self, from_ms: float, until_ms: float, random: Generator) -> None:
        """Move heartbeats due in between to the end, within `RETRY_MS` of it, as each member asks again.

        The new base lies one interval before the delayed heartbeat, and all later ones follow that one
        regularly. Heartbeats that are due after `until_ms` stay where they are. Times are milliseconds.
        """
        rows = self.rows
        late = rows[first_after_each(self._base_ms[rows], self._every_ms[rows], from_ms) < until_ms]
        self._base_ms[late] = until_ms + random.uniform(0, RETRY_MS, len(late)) - self._every_ms[late]
