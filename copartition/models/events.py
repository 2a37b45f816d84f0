"""Keep the events of a model in the order of time: the clock and the queue that drive every model."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class EventQueue:
    """Events that will happen, and the clock in milliseconds, which never goes back.

    Events of one time happen in the order in which they were planned. A counter sees to that, since a heap
    does not keep the order of equal entries.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[[], object]]] = []
        self._turn = count()

    def __bool__(self) -> bool:
        return bool(self._heap)

    def at(self, time: float, event: Callable[[], object]) -> None:
        """Plan an event at a time in milliseconds."""
        heappush(self._heap, (time, next(self._turn), event))

    def is_due(self, time: float) -> bool:
        """Return whether an event is planned up to this time."""
        return bool(self._heap) and self._heap[0][0] <= time

    def let_next_happen(self) -> None:
        """Move the clock to the next event, and let it happen."""
        self.now, _, event = heappop(self._heap)
        event()
