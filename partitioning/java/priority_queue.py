"""Java's `PriorityQueue`: among equals its heap decides, which no sort does alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

E = TypeVar("E")


class PriorityQueue(Generic[E]):
    """`java.util.PriorityQueue`, filled by one `add` after the other.

    Args:
        key: what is compared; asked again at each comparison, as a `Comparator` is.
        elements: added one by one.
    """

    def __init__(self, key: Callable[[E], float], elements: Iterable[E] = ()) -> None:
        self._key = key
        self._heap: list[E] = []
        for element in elements:
            self.add(element)

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, element: E) -> None:
        """`add`: `siftUp` from the end."""
        heap, key = self._heap, self._key(element)
        heap.append(element)
        place = len(heap) - 1
        while place > 0:
            parent = (place - 1) >> 1
            if key >= self._key(heap[parent]):
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = element

    def poll(self) -> E | None:
        """`poll`: the first element, out of the queue; None where it is empty. `siftDown` of the last one."""
        heap = self._heap
        if not heap:
            return None
        first, last = heap[0], heap.pop()
        if not heap:
            return first
        key, place, half = self._key(last), 0, len(heap) >> 1
        while place < half:
            child = 2 * place + 1
            if child + 1 < len(heap) and self._key(heap[child]) > self._key(heap[child + 1]):
                child += 1
            if key <= self._key(heap[child]):
                break
            heap[place] = heap[child]
            place = child
        heap[place] = last
        return first
