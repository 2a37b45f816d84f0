"""Models Java's `HashMap` and `HashSet` operation by operation, so that they iterate in the JVM's order.

If keys are only added, `hash_map_order` computes the order by arithmetic.
"""

from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSet,
    Sequence,
)
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partitioning.errors import TreeBinError
from partitioning.java.hash_codes import Key, Rank, rank, spread, spread_hash, string_hashes, utf16_key
from partitioning.java.tree_bin import TreeBin

Size = TypeVar("Size", int, NDArray[np.integer])

DEFAULT_LENGTH = 16
"""The table length of `new HashMap()` and `new HashSet()`."""

TREEIFY = 8
"""Number of keys that a bin may hold before it becomes a tree: `HashMap.TREEIFY_THRESHOLD`."""

UNTREEIFY = 6
"""The most keys of a part of a tree that becomes a list when the table grows: `UNTREEIFY_THRESHOLD`."""

SHORTEST_WITH_TREES = 64
"""A table shorter than this grows instead of making a tree: `HashMap.MIN_TREEIFY_CAPACITY`."""

# `_LENGTHS` is a table of results, because a group has many maps and most of them are small.
_LENGTHS = np.array([1 << max(capacity - 1, 0).bit_length() for capacity in range(1 << 12)])


def table_length(capacity: int) -> int:
    """Return the table length of `new HashMap(capacity)`, as `HashMap.tableSizeFor` does."""
    return 1 << max(capacity - 1, 0).bit_length()


def table_lengths(capacities: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return `table_length` of each capacity, int64."""
    lengths: NDArray[np.int64]
    # An IndexError shows that a capacity is too large. Searching for the largest capacity first would take as
    # long as the lookup itself.
    try:
        lengths = _LENGTHS[capacities]
    except IndexError:
        lengths = np.ones_like(capacities, np.int64)
        # The exponent of capacity - 1/2 is the number of bits of capacity - 1, which is what `table_length`
        # shifts by.
        lengths <<= np.frexp(np.maximum(capacities, 1) - 0.5)[1]
    return lengths


def threshold(length: int) -> int:
    """Return how many keys a table may hold before it grows: three quarters of its length."""
    return length * 3 // 4


def grown_lengths(lengths: NDArray[np.int64], sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the lengths of tables after keys were added.

    Args:
        lengths: the length of each table at the start.
        sizes: the number of keys in each table afterwards.
    """
    # A table of n keys has at least n / 0.75 places; (4n + 2) // 3 is that, rounded up.
    return np.maximum(lengths, table_lengths((4 * sizes + 2) // 3))


def hash_map_capacity(size: Size) -> Size:
    """Return the capacity of `new HashMap(map)`, and of `new HashMap((int) (size / 0.75f + 1))`.

    For a copy this holds in Java 8 to 18. Java 19 and newer differ only at 3, 6, 12, 24, ... entries
    (JDK-8281631).
    """
    return size * 4 // 3 + 1


def hash_set_capacity(size: int) -> int:
    """Return the capacity of `new HashSet(collection)`, by the size of the collection.

    This holds in Java 8 to 18. Java 19 and newer differ only at 12, 24, 48, ... elements (JDK-8284780).
    """
    return max(hash_map_capacity(size), DEFAULT_LENGTH)


def hash_set_lengths(sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the table length of `new HashSet(collection)`, for collections of these sizes."""
    return np.maximum(table_lengths(hash_map_capacity(sizes)), DEFAULT_LENGTH)


K = TypeVar("K", bound=Key)
V = TypeVar("V")
H = TypeVar("H", bound=Hashable)


class HashTable(Generic[H]):
    """Keeps keys in the order of Java's `HashMap` and `HashSet`; a key can be any object.

    `hash_of` returns `HashMap.hash` of a key, `h ^ (h >>> 16)`, signed. `rank_of` returns the sort key among
    keys with the same hash, which orders them as `compareTo` does.

    Attributes:
        _length: the length of the table, a power of two; it only grows.
        _threshold: number of keys that the table may hold before it doubles.
        _hashes: each key with its hash, in the order of insertion.
        _bins: index in the table to the keys there; bins without keys are left out.
        _has_ties: whether a tree ever compared two keys that nothing orders. From then on there is no order.
    """

    def __init__(self, capacity: int, hash_of: Callable[[H], int], rank_of: Callable[[H], Rank]) -> None:
        self._length = table_length(capacity)
        self._threshold = threshold(self._length)
        self._hash_of = hash_of
        self._rank_of = rank_of
        self._hashes: dict[H, int] = {}
        self._bins: dict[int, list[H] | TreeBin[H]] = {}
        self._has_ties = False

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, key: object) -> bool:
        return key in self._hashes

    def __iter__(self) -> Iterator[H]:
        """Yield the keys in the order in which Java iterates over them.

        Raises:
            TreeBinError: a tree has compared two keys that nothing orders.
        """
        if self._has_ties:
            raise TreeBinError(
                "keys with one hash met in a bin of a Java HashMap that was a red-black tree: Java orders by "
                "System.identityHashCode there, which no two runs of a JVM have alike; change the names"
            )
        bins = self._bins
        # Java visits every bin. If most bins are empty, it is faster to sort the bins that have keys.
        for index in range(self._length) if self._length < 4 * len(bins) else sorted(bins):
            yield from bins.get(index, ())

    def add(self, value: H) -> None:
        """Add a key as `HashMap.put` and `HashSet.add` do; do nothing if it is there already.

        A new key comes last in its bin. The table doubles after that, if it exceeds its threshold.
        """
        if value not in self._hashes:
            self._put(value, head=False)
            if len(self._hashes) > self._threshold:
                self._double()

    def add_first(self, key: H) -> None:
        """Add a key as `HashMap.computeIfAbsent` does, which puts a new key first in its bin.

        If the table exceeds its threshold, it doubles before that, even if the key is there already.
        """
        if len(self._hashes) > self._threshold:
            self._double()
        if key not in self._hashes:
            self._put(key, head=True)

    def discard(self, value: H) -> None:
        """Remove a key as `HashMap.remove` and `HashSet.remove` do; do nothing if it is not there."""
        # The table never shrinks, so a removal changes no other bin.
        spread = self._hashes.pop(value, None)
        if spread is None:
            return
        index = spread & (self._length - 1)
        content = self._bins[index]
        if len(content) == 1:
            del self._bins[index]
        elif isinstance(content, list):
            content.remove(value)
        else:
            rest = content.remove(value)
            if rest is not None:
                self._bins[index] = rest

    def state(self) -> Hashable:
        """Return a value that is equal for two tables if they iterate alike, now and after the same calls."""
        bins = [
            (index, content.state() if isinstance(content, TreeBin) else tuple(content))
            for index, content in sorted(self._bins.items())
        ]
        return self._length, tuple(bins)

    def _put(self, key: H, *, head: bool) -> None:
        """Put a key that is not there yet into its bin.

        A bin that becomes crowded turns into a tree. In a table shorter than `SHORTEST_WITH_TREES` it makes
        the table double instead.

        Args:
            key: the new key.
            head: whether it comes first in its bin, otherwise last. A tree ignores this.
        """
        spread = self._hashes[key] = self._hash_of(key)
        index = spread & (self._length - 1)
        content = self._bins.get(index)
        if content is None:
            self._bins[index] = [key]
        elif isinstance(content, list):
            content.insert(0 if head else len(content), key)
            # Quirk: `computeIfAbsent` counts the new key, too, but `put` counts only the keys before it.
            if len(content) > TREEIFY - head:
                if self._length < SHORTEST_WITH_TREES:
                    self._double()
                else:
                    self._bins[index] = self._tree(content)
        else:
            content.add(key, spread)
            self._has_ties |= content.has_ties

    def _tree(self, keys: Iterable[H]) -> TreeBin[H]:
        """Return a tree of these keys, which come in the order of the list that the tree replaces."""
        tree = TreeBin({key: self._hashes[key] for key in keys}, self._rank_of)
        self._has_ties |= tree.has_ties
        return tree

    def _double(self) -> None:
        """Double the table; the next bit of the hash splits each bin in two, which keep the keys' order."""
        hashes, bit = self._hashes, self._length
        self._length *= 2
        self._threshold = threshold(self._length)
        bins: dict[int, list[H] | TreeBin[H]] = {}
        for index, content in self._bins.items():
            if len(content) == 1:
                (key,) = content
                # Most bins have one key, so this shortcut for them saves time.
                bins[index + (hashes[key] & bit)] = content
                continue
            low: list[H] = []
            high: list[H] = []
            for key in content:
                (high if hashes[key] & bit else low).append(key)
            for keys, where in ((low, index), (high, index + bit)):
                if not keys:
                    continue
                if isinstance(content, list) or len(keys) <= UNTREEIFY:
                    bins[where] = keys
                else:
                    # If all keys of a tree go into the same new bin, Java keeps the tree with its shape.
                    # Otherwise it builds a new tree of each part, which may change the order.
                    bins[where] = content if len(keys) == len(content) else self._tree(keys)
        self._bins = bins


class HashMap(HashTable[K], MutableMapping[K, V]):
    """Models `java.util.HashMap`; keys are texts, integers, UUIDs or `TopicPartition`s.

    Java cannot compare `TopicPartition`s. If two of them have the same hash in a bin that is a tree, Java
    orders them by `System.identityHashCode`, which differs between runs of a JVM. Such a map has no order. It
    can be changed and looked up, but not iterated over.

    Args:
        entries: the entries at the start, as in `new HashMap(map)`.
        capacity: as in `new HashMap(capacity)`, followed by `putAll` of the entries. None: the capacity that
            Java chooses for the entries.

    Raises:
        TreeBinError: on iteration, if the map has no order.
    """

    def __init__(self, entries: Mapping[K, V] | None = None, *, capacity: int | None = None) -> None:
        if capacity is None:
            capacity = hash_map_capacity(len(entries)) if entries else DEFAULT_LENGTH
        super().__init__(capacity, spread_hash, rank)
        self._values: dict[K, V] = {}
        self.update(entries or {})

    def __getitem__(self, key: K) -> V:
        return self._values[key]

    def __setitem__(self, key: K, value: V) -> None:
        """Set the value of a key as `put` does; a new key comes last in its bin."""
        self.add(key)
        self._values[key] = value

    def __delitem__(self, key: K) -> None:
        """Remove a key as `remove` does, but raise KeyError if it is not there."""
        del self._values[key]
        self.discard(key)

    def compute_if_absent(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key; if it has none, set the one that `make()` returns (`computeIfAbsent`).

        A new key comes first in its bin, while `put` puts it last.
        """
        self.add_first(key)
        if key not in self._values:
            self._values[key] = make()
        return self._values[key]


class HashSet(HashTable[K], MutableSet[K]):
    """Models `java.util.HashSet`; keys are as in `HashMap`.

    Args:
        elements: the elements at the start, as in `new HashSet(collection)`: in the order of the collection,
            whose size with repeats decides the capacity.
        capacity: as in `new HashSet(capacity)`, followed by `addAll` of the elements. None: the capacity that
            Java chooses for the collection.

    Raises:
        TreeBinError: on iteration, as in `HashMap`.
    """

    def __init__(self, elements: Collection[K] | None = None, *, capacity: int | None = None) -> None:
        if capacity is None:
            capacity = hash_set_capacity(len(elements or ()))
        super().__init__(capacity, spread_hash, rank)
        for element in elements or ():
            self.add(element)


def hash_map_order(
    hashes: ArrayLike,
    *,
    capacity: int = DEFAULT_LENGTH,
    keys: Sequence[str] | NDArray[np.int64] | None = None,
) -> NDArray[np.intp]:
    """Return the order in which a `HashMap` or `HashSet` iterates over keys that were added one by one.

    Args:
        hashes: the `hashCode` of each key, in the order in which the keys are added; the keys are distinct.
            The hash code of an Integer is its value.
        capacity: the argument of `new HashMap(capacity)`; 16 for `new HashMap()`.
        keys: the keys, if Java can compare them: strings, or int64 of shape (n, k) whose rows compare like
            the keys. None if Java cannot compare them.

    Returns:
        intp of shape (n,): positions in `hashes`, in iteration order.

    Raises:
        TreeBinError: Java itself has no fixed order, as in `HashMap`.
    """
    signed = np.asarray(hashes, dtype=np.int32)
    if len(signed) < 2:
        return np.arange(len(signed))
    # Keys are added one after the other, and the table doubles on the way. If a bin becomes crowded in any of
    # these tables, Java makes a tree of it or doubles the table early: then keys must be added one by one.
    mixed = spread(signed)
    length = table_length(capacity)
    while True:
        most = threshold(length)
        # The key with which the table exceeds the threshold is added before the table doubles, so it counts.
        buckets = mixed[: most + 1] & np.int32(length - 1)
        if len(buckets) > TREEIFY and np.bincount(buckets).max() > TREEIFY:
            return _order_with_trees(mixed, capacity, keys)
        if len(buckets) <= most:
            break
        length *= 2
    if length <= 1 << 16:
        buckets = buckets.astype(np.uint16)  # NumPy sorts 16-bit integers by radix
    return buckets.argsort(kind="stable")


def _order_with_trees(
    mixed: NDArray[np.int32], capacity: int, keys: Sequence[str] | NDArray[np.int64] | None
) -> NDArray[np.intp]:
    """Return the same order as `hash_map_order`, by adding the keys to a model of the map one by one.

    This is needed if a bin becomes so crowded that the table doubles early or has a tree.

    Args:
        mixed: `HashMap.hash` of each key.
        capacity: as in `hash_map_order`.
        keys: as in `hash_map_order`.
    """

    def rank_of(row: int) -> Rank:
        key = () if keys is None else keys[row]
        return (utf16_key(key),) if isinstance(key, str) else tuple(map(int, key))

    table: HashTable[int] = HashTable(capacity, mixed.tolist().__getitem__, rank_of)
    for row in range(len(mixed)):
        table.add(row)
    return np.fromiter(table, np.intp, len(mixed))


def hash_map_keys(keys: Sequence[str]) -> list[str]:
    """Return distinct strings in the iteration order of a `HashMap` or `HashSet` to which they are added."""
    order = hash_map_order(string_hashes(keys), keys=keys)
    return [keys[i] for i in order.tolist()]
