"""In which order the `TimelineHashMap` of Kafka's coordinators gives its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

H = TypeVar("H", bound="Hashable")

_GOLDEN = 0x9E3779B97F4A7C15
"""The multiplier of Knuth's Fibonacci hashing."""
_LONG = 2**64 - 1
_MAX_LOAD_FACTOR = 0.75


class TimelineKeys(Generic[H]):
    """The keys of a `TimelineHashMap` that was made for no particular number of them.

    Slots are the highest bits of a product, so a longer table has much the same order; within a slot the key
    that came last is first. The table never becomes shorter.

    Args:
        hash_of: the key's `hashCode`, a signed 32-bit number.
    """

    def __init__(self, hash_of: Callable[[H], int]) -> None:
        self._hash_of = hash_of
        self._slots: list[list[H]] = [[], []]
        self._size = 0

    def __iter__(self) -> Iterator[H]:
        return (key for slot in self._slots for key in reversed(slot))

    def put(self, key: H) -> None:
        """`put`; a key that is there already stays where it is."""
        # Java's quirk: it looks whether there is room before it looks whether the key is there already.
        if (self._size + 1) * _MAX_LOAD_FACTOR > len(self._slots):
            before, self._slots = self._slots, [[] for _ in range(2 * len(self._slots))]
            for slot in before:
                for each in slot:
                    self._slot(each).append(each)
        slot = self._slot(key)
        if key not in slot:
            slot.append(key)
            self._size += 1

    def remove(self, key: H) -> None:
        """`remove`.

        Raises:
            ValueError: it is not there.
        """
        self._slot(key).remove(key)
        self._size -= 1

    def _slot(self, key: H) -> list[H]:
        bits = len(self._slots).bit_length() - 1
        return self._slots[(self._hash_of(key) * _GOLDEN & _LONG) >> (64 - bits)]
