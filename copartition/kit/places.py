"""Convert (topic, partition number) -> value into topic -> number -> value, which JSON can hold, and back."""

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Place: TypeAlias = tuple[str, int]
"""A topic and the number of one of its partitions."""


def by_place(numbers: Mapping[str, Mapping[int, T]] | None) -> dict[Place, T]:
    """Return (topic, partition) -> value, sorted; {} for None.

    >>> by_place({"orders": {1: 7, 0: 5}})
    {('orders', 0): 5, ('orders', 1): 7}
    """
    of_topics = sorted((numbers or {}).items())
    return {(topic, number): found[number] for topic, found in of_topics for number in sorted(found)}


def by_topic(places: Mapping[Place, T]) -> dict[str, dict[int, T]]:
    """Return topic -> partition number -> value, both levels sorted; the inverse of `by_place`."""
    found: dict[str, dict[int, T]] = {}
    for (topic, number), value in sorted(places.items(), key=lambda item: item[0]):
        found.setdefault(topic, {})[number] = value
    return found
