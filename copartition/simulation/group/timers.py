"""Keep timers, the plans of a process, times that recur, and the heartbeats of a consumer group (KIP-848).

A recurring time is `phase_ms + k * every_ms` for a whole number k. It is always computed in this way before
it is compared, so that the first time after a moment and the last time up to it agree exactly. Remainders of
floats would not agree exactly.
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

    A cancelled timer stays in its heap, because removing it would cost a search. It is skipped when it comes
    first.
    """

    __slots__ = ("action", "at_ms")

    def __init__(self, at_ms: float, action: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.action: Callable[[], None] | None = action

    @property
    def is_done(self) -> bool:
        """True if the action is done or cancelled."""
        return self.action is None

    def cancel(self) -> None:
        """Drop the action; nothing happens if it is done already."""
        self.action = None


DONE = Timer(-math.inf, lambda: None)
"""A timer that is always done, which is used where there is no timer."""
DONE.cancel()


class Timers:
    """Timers in the order of time; timers of the same time run in the order in which they were set.

    No timer may be set for a time in the past. The main loop sets `World.now_ms` to `next_ms` before it calls
    `run`, and this time must not go back. `soon` accepts times that may be past.
    """

    def __init__(self) -> None:
        # The number in the middle is unique, so timers themselves are never compared.
        self._heap: list[tuple[float, int, Timer]] = []
        self._turns = itertools.count()

    def at(self, at_ms: float, action: Callable[[], None]) -> Timer:
        """Return a new timer that runs the action at `at_ms`."""
        timer = Timer(at_ms, action)
        heapq.heappush(self._heap, (at_ms, next(self._turns), timer))
        return timer

    def soon(self, at_ms: float, now_ms: float, action: Callable[[], None]) -> Timer:
        """Return a new timer for `at_ms`; if that time is past, run the action now and return `DONE`.

        The caller must expect that the action has already happened when `soon` returns.
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
        """Run the next timer's action; `next_ms` must be finite."""
        _, _, timer = heapq.heappop(self._heap)
        # The timer counts as done before its action runs, because the action may ask whether it is done.
        action, timer.action = timer.action, None
        if action is not None:
            action()


class Plans:
    """The timers of what one process will do by itself, to be postponed or cancelled together.

    Timers that are done stay in the list until `forget`; nothing here happens to them any more. Requests and
    answers on their way are no plans, because a message arrives whatever happens to its sender.
    """

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._planned: list[Timer] = []

    def at(self, at_ms: float, action: Callable[[], None]) -> None:
        """Let the process do this at `at_ms`, which may be the present time, but not a past one."""
        self._planned.append(self._timers.at(at_ms, action))

    def soon(self, at_ms: float, now_ms: float, action: Callable[[], None]) -> None:
        """Let the process do this at `at_ms`; at once if that time is past."""
        self._planned.append(self._timers.soon(at_ms, now_ms, action))

    def times_ms(self) -> list[float]:
        """Return the times of everything that the process will still do, in milliseconds."""
        return [timer.at_ms for timer in self._planned if timer.action is not None]

    def postpone(self, until_ms: float) -> None:
        """Let the process do nothing before `until_ms`; what it planned for earlier happens at that time.

        A plan for a later time keeps it. Timers that are done or cancelled are dropped.
        """
        self._planned = [timer for timer in self._planned if timer.action is not None]
        for timer in [*self._planned]:
            if timer.action is not None and timer.at_ms < until_ms:
                self.at(until_ms, timer.action)
                timer.cancel()

    def forget(self) -> None:
        """Cancel everything that the process would do by itself."""
        for timer in self._planned:
            timer.cancel()
        self._planned.clear()


def last_until(phase_ms: float, every_ms: float, at_ms: float) -> float:
    """Return the last of `phase_ms + k * every_ms` up to `at_ms`.

    k may be negative, so `phase_ms` may be after `at_ms`. All three are milliseconds, and `every_ms` is above
    0.
    """
    return phase_ms + _turn(phase_ms, every_ms, at_ms) * every_ms


def first_after(phase_ms: float, every_ms: float, at_ms: float) -> float:
    """Return the first of `phase_ms + k * every_ms` later than `at_ms`.

    A time equal to `at_ms` does not count. So a call with its own result gives the next time.
    """
    return phase_ms + (_turn(phase_ms, every_ms, at_ms) + 1) * every_ms


def first_after_each(
    phase_ms: NDArray[np.float64], every_ms: NDArray[np.float64], at_ms: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return `first_after` of each element; the arguments are columns that broadcast.

    Times are milliseconds. The rounded quotient may be wrong by one, which the two corrections set right. So
    the result equals that of the scalar function to the last bit, and both can be compared as times of
    events.
    """
    turn = np.floor((at_ms - phase_ms) / every_ms)  # may be wrong by one, since the quotient is rounded
    turn -= phase_ms + turn * every_ms > at_ms
    turn += phase_ms + (turn + 1) * every_ms <= at_ms
    return phase_ms + (turn + 1) * every_ms


def _turn(phase_ms: float, every_ms: float, at_ms: float) -> int:
    """Return the highest k with `phase_ms + k * every_ms <= at_ms`."""
    turn = math.floor((at_ms - phase_ms) / every_ms)  # may be wrong by one, since the quotient is rounded
    # The products themselves are compared, because both functions return them.
    while phase_ms + turn * every_ms > at_ms:
        turn -= 1
    while phase_ms + (turn + 1) * every_ms <= at_ms:
        turn += 1
    return turn


RETRY_MS = 100
"""Interval at which clients ask again after a failure (`retry.backoff.ms`), in milliseconds."""


class Beats:
    """The heartbeats of a consumer group's members, as columns by membership.

    A member's heartbeats are at `_base_ms + k * _every_ms`. `_speaks` is False for a silent member. `_moves`
    is False for a member whose heartbeats only show that it is alive. `rows` are the members of the group, in
    the order in which they joined; elements of other memberships have no meaning.

    `GroupCoordinator` owns this object, and clients notify it when a heartbeat moves. A heartbeat that
    changes nothing is no event of the run; it is computed from these columns when it is needed.
    """

    def __init__(self) -> None:
        self.rows: NDArray[np.int64] = np.empty(0, np.int64)  # the members of the group
        # Both are doubled when they are full. Unused elements have an interval of 1, so that nothing is
        # divided by 0.
        self._times, self._flags = np.ones((2, 64)), np.zeros((2, 64), np.bool_)
        self._base_ms, self._every_ms = self._times
        self._speaks, self._moves = self._flags

    def add(self, member: int, base_ms: float, every_ms: float, *, moves: bool) -> None:
        """Add a member with a heartbeat at `base_ms` and then one every `every_ms`.

        `moves` is True if the coordinator does more than answer its heartbeats, as for the consumer protocol.
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
        """Let a silent member send heartbeats again, at the times it had before."""
        self._speaks[member] = True

    def speaks(self, member: int) -> bool:
        """Return whether a member sends heartbeats."""
        return bool(self._speaks[member])

    def next_ms(self, member: int, after_ms: float) -> float:
        """Return the time of a member's first heartbeat after `after_ms`."""
        return first_after(float(self._base_ms[member]), float(self._every_ms[member]), after_ms)

    def last_ms(self, member: int, until_ms: float) -> float:
        """Return the time of a member's last heartbeat up to `until_ms`."""
        return last_until(float(self._base_ms[member]), float(self._every_ms[member]), until_ms)

    def first_of_all(self, after_ms: float) -> tuple[float, int]:
        """Return the time of the first heartbeat after `after_ms` that moves the group, and its member.

        Without such a heartbeat the result is infinity and -1.
        """
        rows = self.rows[self._speaks[self.rows] & self._moves[self.rows]]
        if len(rows) == 0:
            return math.inf, -1
        times = first_after_each(self._base_ms[rows], self._every_ms[rows], after_ms)
        place = int(times.argmin())
        return float(times[place]), int(rows[place])

    def last_of_all(self, after_ms: float, besides: Collection[int]) -> float:
        """Return when all members that speak, except `besides`, have sent a heartbeat since `after_ms`.

        By that time all members that need not be watched one by one know a new target. Without such members
        the result is `after_ms`.
        """
        looked_at = self._speaks.copy()
        looked_at[list(besides)] = False
        rows = self.rows[looked_at[self.rows]]
        times = first_after_each(self._base_ms[rows], self._every_ms[rows], after_ms)
        return float(times.max(initial=after_ms))

    def postpone(self, from_ms: float, until_ms: float, random: Generator) -> None:
        """Move heartbeats that are due between the two times to at most `RETRY_MS` after the end.

        Each member asks again by itself, so the delays are drawn. A member's later heartbeats follow the
        delayed one regularly. Heartbeats that are due after `until_ms` stay where they are. Times are
        milliseconds.
        """
        rows = self.rows
        late = rows[first_after_each(self._base_ms[rows], self._every_ms[rows], from_ms) < until_ms]
        self._base_ms[late] = until_ms + random.uniform(0, RETRY_MS, len(late)) - self._every_ms[late]
