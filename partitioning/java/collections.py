"""Models the order of iteration of collections that Kafka's brokers use, other than `HashMap`.

- `TimelineKeys`: the `TimelineHashMap` in which coordinators keep their members.
- `scala_set_order`: Scala's immutable `Set[String]`, in which brokers list the topics that a client asks for.
- `PriorityQueue`: `java.util.PriorityQueue`. Its heap decides the order of equal elements, and no sort gives
  the same order.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from typing import Any, Generic, TypeVar

from partitioning.java.hash_codes import string_hash

H = TypeVar("H", bound="Hashable")

_GOLDEN = 0x9E3779B97F4A7C15
"""The multiplier of Knuth's Fibonacci hashing."""
_LONG = 2**64 - 1
_MAX_LOAD_FACTOR = 0.75


class TimelineKeys(Generic[H]):
    """Models the keys of a `TimelineHashMap` that is created without an expected size.

    The slot of a key is the highest bits of a product, so a longer table has nearly the same order. In a
    slot, the key that was added last is first. The table never becomes shorter.

    Args:
        hash_of: the key's `hashCode`, a signed 32-bit number.

    Attributes:
        _slots: the table; its length is a power of two and at least 2. A slot is a chain, the newest key
            first.
        _size: how many keys there are.
    """

    def __init__(self, hash_of: Callable[[H], int]) -> None:
        self._hash_of = hash_of
        # Kafka's table begins with two slots if no number of keys is expected.
        self._slots: list[list[H]] = [[], []]
        self._size = 0

    def __iter__(self) -> Iterator[H]:
        return chain.from_iterable(self._slots)

    def put(self, key: H) -> None:
        """Add a key (`put`); a key that is there already keeps its place."""
        # Quirk: Java first checks whether there is room, even if the key is there already.
        if (self._size + 1) * _MAX_LOAD_FACTOR > len(self._slots):
            before, self._slots = self._slots, [[] for _ in range(2 * len(self._slots))]
            # The keys of a slot are appended one by one, so each of the two slots that they go to keeps their
            # order.
            for slot in before:
                for entry in slot:
                    self._slot(entry).append(entry)
        slot = self._slot(key)
        if key not in slot:
            slot.insert(0, key)
            self._size += 1

    def remove(self, key: H) -> None:
        """Remove a key (`remove`).

        Raises:
            ValueError: the key is not there.
        """
        self._slot(key).remove(key)
        self._size -= 1

    def _slot(self, key: H) -> list[H]:
        """Return the chain of a key, by the top bits of its hash code times the multiplier, in 64 bits."""
        bits = len(self._slots).bit_length() - 1
        return self._slots[(self._hash_of(key) * _GOLDEN & _LONG) >> (64 - bits)]


_KEPT_AS_THEY_COME = 4
_BITS = 5
_WORD = 0xFFFFFFFF


def scala_set_order(names: Iterable[str]) -> list[str]:
    """Return each name once, in the order in which a Scala set of them iterates."""
    once = list(dict.fromkeys(names))
    if len(once) <= _KEPT_AS_THEY_COME:
        return once
    return _in_order([(_improve(string_hash(name)), name) for name in once])


def _in_order(entries: list[tuple[int, str]]) -> list[str]:
    """Return the names in the order of Scala's trie, which uses five bits of the hash code on each level.

    Args:
        entries: (the rest of the hash code, name). Names with equal codes are in the order of insertion.
    """
    if len({code for code, _ in entries}) == 1:
        return [name for _, name in entries]  # a single name, or equal hashes in the order of insertion
    nodes: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for code, name in entries:
        nodes[code & (1 << _BITS) - 1].append((code >> _BITS, name))
    # A node has single names before subtrees. Both are in the order of their five bits.
    in_place = sorted(nodes.items(), key=lambda node: (len(node[1]) > 1, node[0]))
    return [name for _, node in in_place for name in _in_order(node)]


def _improve(code: int) -> int:
    """Return a hash code after its bits are mixed as `scala.collection.Hashing.improve` does."""
    code = (code + ~(code << 9)) & _WORD
    code ^= code >> 14
    code = (code + (code << 4)) & _WORD
    return code ^ (code >> 10)


E = TypeVar("E")


class PriorityQueue(Generic[E]):
    """Models `java.util.PriorityQueue`, to which `elements` are added one by one.

    `key` is called at each comparison.

    Attributes:
        heap: the elements in the order of Java's array, in which a PriorityQueue also iterates.
    """

    def __init__(self, key: Callable[[E], Any], elements: Iterable[E] = ()) -> None:
        self._key = key
        self.heap: list[E] = []
        for element in elements:
            self.add(element)

    def add(self, element: E) -> None:
        """Add an element as Java's `add`: it is put at the end of the heap and moved up (`siftUp`)."""
        self.heap.append(element)
        self._sift_up(len(self.heap) - 1, element)

    def poll(self) -> E | None:
        """Remove and return the first element (`poll`); None if the queue is empty."""
        if not self.heap:
            return None
        first, last = self.heap[0], self.heap.pop()
        if self.heap:
            self._sift_down(0, last)
        return first

    def remove(self, element: E) -> None:
        """Remove an element as Java's `remove`, if it is there. No two elements may be equal."""
        if element in self.heap:
            place, last = self.heap.index(element), self.heap.pop()
            if place < len(self.heap):
                self._sift_down(place, last)
                # As in Java, an element that did not move down may still have to move up, if it comes from
                # another branch of the heap.
                if self.heap[place] is last:
                    self._sift_up(place, last)

    def _sift_up(self, place: int, element: E) -> None:
        """Move an element from a free place towards the root, as long as its parent is strictly greater."""
        heap, key = self.heap, self._key(element)
        while place > 0:
            parent = (place - 1) >> 1
            if key >= self._key(heap[parent]):
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = element

    def _sift_down(self, place: int, element: E) -> None:
        """Move an element from a free place towards the leaves, as long as a child is strictly smaller."""
        heap, key = self.heap, self._key(element)
        half = len(heap) >> 1
        while place < half:
            child = 2 * place + 1
            # If both children are equal, the left one counts, as in Java.
            if child + 1 < len(heap) and self._key(heap[child]) > self._key(heap[child + 1]):
                child += 1
            if key <= self._key(heap[child]):
                break
            heap[place] = heap[child]
            place = child
        heap[place] = element
