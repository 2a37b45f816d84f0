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
"""When a table grows, a part of a tree with at most this many keys becomes a list: `UNTREEIFY_THRESHOLD`."""

SHORTEST_WITH_TREES = 64
"""A table shorter than this grows instead of making a tree: `HashMap.MIN_TREEIFY_CAPACITY`."""

# A table of results, because most maps of a group are small and there are many of them.
_LENGTHS = np.array([1 << max(capacity - 1, 0).bit_length() for capacity in range(1 << 12)])


def table_length(capacity: int) -> int:
    """Return the table length of `new HashMap(capacity)`, as `HashMap.tableSizeFor`."""
    return 1 << max(capacity - 1, 0).bit_length()


def table_lengths(capacities: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return `table_length` of each capacity, int64."""
    lengths: NDArray[np.int64]
    # An IndexError shows that a capacity is too large. To search the largest capacity first would take as
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
    keys with the same hash, as their `compareTo`.

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
        """Yield the keys in the order in which Java iterates over them."""
        if self._has_ties:
            raise TreeBinError(
                "keys with one hash met in a bin of a Java HashMap that was a red-black tree: Java orders by "
                "System.identityHashCode there, which no two runs of a JVM have alike; change the names"
            )
        bins = self._bins
        # Java looks at every bin; where most are empty, the others are sorted instead.
        for index in range(self._length) if self._length < 4 * len(bins) else sorted(bins):
            yield from bins.get(index, ())

    def add(self, value: H) -> None:
        """`HashMap.put` or `HashSet.add`."""
        if value not in self._hashes:
            self._put(value, head=False)
            if len(self._hashes) > self._threshold:
                self._double()

    def add_first(self, key: H) -> None:
        """`HashMap.computeIfAbsent`: grows before it looks, and puts a new key first in its bin."""
        if len(self._hashes) > self._threshold:
            self._double()
        if key not in self._hashes:
            self._put(key, head=True)

    def discard(self, value: H) -> None:
        """`HashMap.remove` or `HashSet.remove`."""
        # The table never shrinks, so a key that goes changes nothing in other bins.
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
        """Return everything that its order depends on, now and after later calls."""
        bins = [
            (index, content.state() if isinstance(content, TreeBin) else tuple(content))
            for index, content in sorted(self._bins.items())
        ]
        return self._length, tuple(bins)

    def _put(self, key: H, *, head: bool) -> None:
        """Put a key that is not there yet into its bin, first or last.

        A bin that becomes crowded turns into a tree, or makes a short table double.
        """
        spread = self._hashes[key] = self._hash_of(key)
        index = spread & (self._length - 1)
        content = self._bins.get(index)
        if content is None:
            self._bins[index] = [key]
        elif isinstance(content, list):
            content.insert(0 if head else len(content), key)
            # `computeIfAbsent` counts the new key, `put` those before it.
            if len(content) > TREEIFY - head:
                if self._length < SHORTEST_WITH_TREES:
                    self._double()
                else:
                    self._bins[index] = self._tree(content)
        else:
            content.add(key, spread)
            self._has_ties |= content.has_ties

    def _tree(self, keys: Iterable[H]) -> TreeBin[H]:
        """Return a tree of these keys, which are in the order of the list that it replaces."""
        tree = TreeBin({key: self._hashes[key] for key in keys}, self._rank_of)
        self._has_ties |= tree.has_ties
        return tree

    def _double(self) -> None:
        """Double the table: the next bit of the hash splits each bin in two.

        Keys keep their order in both halves.
        """
        hashes, bit = self._hashes, self._length
        self._length *= 2
        self._threshold = threshold(self._length)
        bins: dict[int, list[H] | TreeBin[H]] = {}
        for index, content in self._bins.items():
            if len(content) == 1:
                (key,) = content
                # Most bins hold one key: to split them is the bulk of the work.
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
                    # A tree that was not split stays as it is, shape included; a part of it is built anew,
                    # which may change its order.
                    bins[where] = content if len(keys) == len(content) else self._tree(keys)
        self._bins = bins


class HashMap(HashTable[K], MutableMapping[K, V]):
    """`java.util.HashMap`; keys are texts, integers, UUIDs or `TopicPartition`s.

    Java cannot compare partitions. Where two share a hash, and a bin so crowded that it is a tree, it orders
    by `System.identityHashCode`, which every run of a JVM has anew. Such a map has no order, so it can be
    filled and asked, but not iterated over.

    Args:
        entries: `new HashMap(map)`: what it holds to begin with.
        capacity: `new HashMap(capacity)`, and then `putAll` where there are entries.

    Raises:
        TreeBinError: on iteration, if the order is nobody's.
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
        """`put`."""
        self.add(key)
        self._values[key] = value

    def __delitem__(self, key: K) -> None:
        """`remove`."""
        del self._values[key]
        self.discard(key)

    def compute_if_absent(self, key: K, make: Callable[[], V]) -> V:
        """`computeIfAbsent`, which puts a new key first in its bin where `put` puts it last."""
        self.add_first(key)
        if key not in self._values:
            self._values[key] = make()
        return self._values[key]


class HashSet(HashTable[K], MutableSet[K]):
    """`java.util.HashSet`, with keys as in `HashMap`.

    Args:
        elements: `new HashSet(collection)`: what it holds to begin with, in this order, repeats included.
        capacity: `new HashSet(capacity)`, and then `addAll` where there are elements.

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
    """In which order a `HashMap` or `HashSet` iterates over keys that were put one after the other.

    `hashes` are the `hashCode` of distinct keys in the order they were put; an integer's is its value.
    `capacity` is the argument of `new HashMap(capacity)`; 16 is what `new HashMap()` has. `keys` are the keys
    where Java can compare them: strings, or int64 of shape (n, k) with rows that compare as they do.

    Returns:
        intp array of shape (n,): positions in `hashes`, in iteration order.

    Raises:
        TreeBinError: the order is nobody's, as in `HashMap`.
    """
    signed = np.asarray(hashes, dtype=np.int32)
    if len(signed) < 2:
        return np.arange(len(signed))
    # Keys arrive one after the other and the table doubles on the way. A bin must not become crowded in any
    # of these tables, else a tree or an early doubling decides, and keys go one by one.
    mixed = spread(signed)
    length = table_length(capacity)
    while True:
        most = threshold(length)
        # The key that passes the threshold still meets this table.
        buckets = mixed[: most + 1] & np.int32(length - 1)
        if len(buckets) > TREEIFY and np.bincount(buckets).max() > TREEIFY:
            return _order_with_trees(mixed, capacity, keys)
        if len(buckets) <= most:
            break
        length *= 2
    if length <= 1 << 16:
        buckets = buckets.astype(np.uint16)  # NumPy sorts these by radix
    return buckets.argsort(kind="stable")


def _order_with_trees(
    mixed: NDArray[np.int32], capacity: int, keys: Sequence[str] | NDArray[np.int64] | None
) -> NDArray[np.intp]:
    """Return the order where a bin is so crowded that the table grows for it or has a tree: key by key."""

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
