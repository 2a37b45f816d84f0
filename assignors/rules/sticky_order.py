"""Who has the fewest partitions: the order in which the general sticky case looks at consumers.

Kafka: `AbstractStickyAssignor.sortedCurrentSubscriptions` and its `SubscriptionComparator` in clients 4.4.0
(as 4.1 to 4.4).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heapify, heappush, heapreplace
from typing import TYPE_CHECKING

from partitioning.java import utf16_key

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sized

# A consumer's size and its place by id; out of date once the consumer has another size.
Entry = tuple[int, int]
Heap = list[Entry]


class SortedSubscriptions:
    """Consumers in ascending order of how many partitions they have, then of id.

    Java searches a TreeSet from its start for a consumer that subscribes to a topic. Here those that do are
    in a heap of their own, one for each rack; topics with the same consumers share it.

    Args:
        current_assignment: the consumers in the order, and what they have.
        topic_to_all_potential_consumers: who subscribes to what.
        consumer_racks: racks of consumers.
    """

    def __init__(
        self,
        current_assignment: Mapping[str, Sized],
        topic_to_all_potential_consumers: Mapping[str, Iterable[str]],
        consumer_racks: Mapping[str, str],
    ) -> None:
        self._current_assignment = current_assignment
        self._consumers = sorted(current_assignment, key=utf16_key)
        self._places = {consumer: place for place, consumer in enumerate(self._consumers)}
        self._sizes = sorted(map(len, current_assignment.values()))
        self._heaps_with: dict[str, list[Heap]] = {consumer: [] for consumer in self._consumers}
        shared: dict[tuple[str, ...], list[tuple[str | None, Heap]]] = {}
        self._heaps: dict[str, list[tuple[str | None, Heap]]] = {}
        for topic, potential_consumers in topic_to_all_potential_consumers.items():
            consumers = tuple(potential_consumers)
            if consumers not in shared:
                shared[consumers] = self._heaps_by_rack(consumers, consumer_racks)
            self._heaps[topic] = shared[consumers]

    @property
    def difference(self) -> int:
        """How many partitions more the last one has than the first one."""
        return self._sizes[-1] - self._sizes[0]

    def ascending(self) -> list[str]:
        """The consumers in this order."""
        return sorted(self._consumers, key=lambda consumer: len(self._current_assignment[consumer]))

    def first(self, topic: str, racks: Container[str] | None = None) -> str | None:
        """The first subscriber of the topic; with racks, of those in one of them or without a rack."""
        entries = [
            self._first(heap)
            for rack, heap in self._heaps[topic]
            if racks is None or rack is None or rack in racks
        ]
        return self._consumers[min(entries)[1]] if entries else None

    def resized(self, consumer: str, before: int) -> None:
        """Puts a consumer where it belongs now; it had so many partitions before."""
        entry = self._entry(consumer)
        del self._sizes[bisect_left(self._sizes, before)]
        insort(self._sizes, entry[0])
        if entry[0] < before:
            for heap in self._heaps_with[consumer]:
                heappush(heap, entry)

    def _heaps_by_rack(
        self, consumers: Iterable[str], consumer_racks: Mapping[str, str]
    ) -> list[tuple[str | None, Heap]]:
        heaps: dict[str | None, Heap] = {}
        for consumer in consumers:
            if consumer in self._places:
                heap = heaps.setdefault(consumer_racks.get(consumer), [])
                heap.append(self._entry(consumer))
                self._heaps_with[consumer].append(heap)
        for heap in heaps.values():
            heapify(heap)
        return list(heaps.items())

    def _entry(self, consumer: str) -> Entry:
        return len(self._current_assignment[consumer]), self._places[consumer]

    def _first(self, heap: Heap) -> Entry:
        """The least entry of a heap. What is out of date is brought up to date when it comes to the top."""
        while True:
            entry = self._entry(self._consumers[heap[0][1]])
            if heap[0] == entry:
                return entry
            heapreplace(heap, entry)
