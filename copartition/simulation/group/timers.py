"""What is to happen at a time of its own."""

from __future__ import annotations

import heapq
import itertools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Timer:
    """Something that will be done, unless it is cancelled."""

    __slots__ = ("action", "at_ms")

    def __init__(self, at_ms: float, action: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Leave it undone; one that is done already may be told, too."""
        self.action = None


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

    def soon(self, at_ms: float, now_ms: float, action: Callable[[], None]) -> None:
        """Do this at that time, or now where it is."""
        if at_ms <= now_ms:
            action()
        else:
            self.at(at_ms, action)

    def next_ms(self) -> float:
        """When the next one is due; infinite where there is none."""
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
