"""Hold the clock and the queue of events that drive every model."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class EventQueue:
    """Holds the events that are planned, and the clock, which never goes back.

    Attributes:
        now: the time in milliseconds from the beginning of the run.
        _heap: the planned events, each as (time, number, function); a heap, the next event first.
        _turn: numbers events in the order in which they are planned. Events with equal times happen in that
            order, which a heap alone would not keep.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[[], object]]] = []
        self._turn = count()

    def __bool__(self) -> bool:
        return bool(self._heap)

    def at(self, time: float, event: Callable[[], object]) -> None:
        """Plan an event at a time in milliseconds, which must not be before `now`."""
        heappush(self._heap, (time, next(self._turn), event))

    def is_due(self, time: float) -> bool:
        """Return whether an event is planned for this time or an earlier one."""
        return bool(self._heap) and self._heap[0][0] <= time

    def let_next_happen(self) -> None:
        """Set the clock to the time of the next event, and call the event; it may plan further ones."""
        self.now, _, event = heappop(self._heap)
        event()
