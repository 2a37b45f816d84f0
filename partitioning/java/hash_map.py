"""Java's `HashMap` and `HashSet`, called one by one: they iterate as the JVM's do."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, MutableMapping, MutableSet
from functools import lru_cache
from typing import TypeVar

from partitioning.java import (
    hash_map_capacity,
    hash_set_capacity,
    string_hash,
    utf16_key,
    uuid_hash,
)
from partitioning.java_maps.hash_table import HashTable, spread_number
from partitioning.java_maps.tree_bin import Rank

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class HashMap(MutableMapping[K, V]):
    """`java.util.HashMap`; keys are texts, integers, UUIDs or `TopicPartition`s.

    Args:
        entries: `new HashMap(map)`: what it holds to begin with.
        capacity: `new HashMap(capacity)`.

    Raises:
        TreeBinError: keys that Java cannot compare share a hash and a bin that is a red-black tree, so that
            every run of a JVM has another order.
    """

    def __init__(self, entries: Mapping[K, V] | None = None, *, capacity: int = 16) -> None:
        if entries:
            capacity = hash_map_capacity(len(entries))
        self._table: HashTable = HashTable(capacity)
        self._values: dict[K, V] = {}
        self.update(entries or {})

    def __getitem__(self, key: K) -> V:
        return self._values[key]

    def __setitem__(self, key: K, value: V) -> None:
        """`put`."""
        if key not in self._values:
            self._table.add(key, *_hashed(key))
        self._values[key] = value

    def __delitem__(self, key: K) -> None:
        """`remove`."""
        del self._values[key]
        self._table.remove(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def compute_if_absent(self, key: K, make: Callable[[], V]) -> V:
        """`computeIfAbsent`, which puts a new key first in its bin where `put` puts it last."""
        self._table.compute_if_absent(key, *_hashed(key))
        if key not in self._values:
            self._values[key] = make()
        return self._values[key]

    def state(self) -> Hashable:
        """Everything that the order of its keys depends on, now and after later calls."""
        return self._table.state()


class HashSet(MutableSet[K]):
    """`java.util.HashSet`, with keys as in `HashMap`.

    Args:
        elements: `new HashSet(collection)`: what it holds to begin with, in this order, repeats included.
        capacity: `new HashSet(capacity)`.
    """

    def __init__(self, elements: Collection[K] | None = None, *, capacity: int = 16) -> None:
        if elements is not None:
            capacity = hash_set_capacity(len(elements))
        self._map: HashMap[K, None] = HashMap(capacity=capacity)
        for element in elements or ():
            self.add(element)

    def __contains__(self, element: object) -> bool:
        return element in self._map

    def __iter__(self) -> Iterator[K]:
        return iter(self._map)

    def __len__(self) -> int:
        return len(self._map)

    def add(self, value: K) -> None:
        """`add`."""
        self._map[value] = None

    def discard(self, value: K) -> None:
        """`remove`."""
        self._map.pop(value, None)

    def state(self) -> Hashable:
        """Everything that its order depends on, now and after later calls."""
        return self._map.state()


def _hashed(key: Hashable) -> tuple[int, Rank]:
    """A key's hash as `HashMap` uses it, and what orders keys with the same one."""
    if isinstance(key, str):
        return _hashed_text(key)
    if isinstance(key, uuid.UUID):
        halves = (key.int >> 64, key.int & 0xFFFFFFFFFFFFFFFF)
        signed = tuple(half - (1 << 64) if half >= 1 << 63 else half for half in halves)
        return spread_number(uuid_hash(key)), signed
    if isinstance(key, tuple):
        topic, partition = key
        code = (31 * (31 + partition) + string_hash(topic)) & 0xFFFFFFFF
        return spread_number(code - (1 << 32) if code >= 1 << 31 else code), ()
    assert isinstance(key, int)
    return spread_number(key), (key,)


@lru_cache(maxsize=1 << 16)
def _hashed_text(text: str) -> tuple[int, Rank]:
    return spread_number(string_hash(text)), utf16_key(text)
