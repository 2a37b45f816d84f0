"""Bin packing that knows the last assignment: heuristics of our own, which move less than a textbook's.

Consumers are numbered bins of one capacity, which are gone through from the fullest to the emptiest. A
consumer's partitions, the smallest first, go to consumers that already stay and have room. Once a partition
fits nowhere, this consumer stays as well and keeps of the rest, the largest first, what comes before one
that does not fit. What is left over goes, the largest first, to a consumer with room, or to a new one.
Where several have room, "worst fit" takes the emptiest and "best fit" the fullest.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Owners = list[int | None]
"""The consumer of each partition; None where it has none."""


def worst_fit_with_memory(rates: Sequence[float], owners: Owners, capacity: float) -> Owners:
    """The next owners under "worst fit with memory"."""
    return _fit_again(rates, owners, _Bins(capacity, lambda load: -load))


def best_fit_with_memory(rates: Sequence[float], owners: Owners, capacity: float) -> Owners:
    """The next owners under "best fit with memory"."""
    return _fit_again(rates, owners, _Bins(capacity, lambda load: load))


def best_fit_decreasing(rates: Sequence[float], owners: Owners, capacity: float) -> Owners:
    """The next owners under "best fit decreasing", which knows nothing of the last ones."""
    bins = _Bins(capacity, lambda load: load)
    bins.place(range(len(owners)), rates)
    return [bins.owners[partition] for partition in range(len(owners))]


class _Bins:
    """Consumers with what was given to them.

    Args:
        capacity: of each.
        liking: where several have room, the one with the greatest liking for its load gets a partition.
    """

    def __init__(self, capacity: float, liking: Callable[[float], float]) -> None:
        self._capacity = capacity
        self._liking = liking
        self.loads: dict[int, float] = {}
        self.owners: dict[int, int] = {}

    def give(self, partition: int, rate: float, consumer: int | None = None) -> bool:
        """Give a partition to a consumer, or to the best one with room; whether there was room."""
        if consumer is None:
            free = [candidate for candidate, load in self.loads.items() if load + rate <= self._capacity]
            if not free:
                return False
            consumer = max(free, key=lambda candidate: (self._liking(self.loads[candidate]), -candidate))
        elif self.loads.get(consumer, 0.0) + rate > self._capacity and self.loads.get(consumer):
            return False  # a partition beyond any capacity has a consumer of its own
        self.loads[consumer] = self.loads.get(consumer, 0.0) + rate
        self.owners[partition] = consumer
        return True

    def place(self, partitions: Sequence[int], rates: Sequence[float]) -> None:
        """Give each to a consumer with room, the largest first, or to a new one, the lowest free number."""
        for partition in sorted(partitions, key=lambda index: -rates[index]):
            if not self.give(partition, rates[partition]):
                lowest = next(number for number in count() if number not in self.loads)
                self.give(partition, rates[partition], lowest)


def _fit_again(rates: Sequence[float], owners: Owners, bins: _Bins) -> Owners:
    unread = [partition for partition, owner in enumerate(owners) if owner is None]
    has: dict[int, list[int]] = {}
    for partition, owner in enumerate(owners):
        if owner is not None:
            has.setdefault(owner, []).append(partition)
    for consumer in sorted(has, key=lambda holder: -sum(rates[partition] for partition in has[holder])):
        rest = sorted(has[consumer], key=lambda partition: -rates[partition])
        while rest and bins.give(rest[-1], rates[rest[-1]]):
            rest.pop()
        while rest and bins.give(rest[0], rates[rest[0]], consumer):
            del rest[0]
        unread += rest
    bins.place(unread, rates)
    return [bins.owners[partition] for partition in range(len(owners))]
