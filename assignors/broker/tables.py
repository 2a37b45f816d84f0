"""In which order many Java hash tables give back what was put into them, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.broker.hash_table import TREEIFY

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORTEST_SET = 16


class Order(NamedTuple):
    """The order of many tables' entries.

    Attributes:
        rows: the entries' rows, table after table; None where they are in order as they are.
        crowded: tables with bins in which Java may have built trees; their part of `rows` may be wrong.
    """

    rows: NDArray[np.intp] | None
    crowded: NDArray[np.intp]


def spread(hashes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Hash codes as `HashMap` uses them: the upper half mixed into the lower."""
    if len(hashes) == 0 or (hashes.min() >= 0 and hashes.max() < 1 << 16):
        return hashes
    return hashes ^ (hashes.view(np.uint32) >> np.uint32(16)).view(np.int32)


def table_length(capacity: NDArray[np.integer] | int) -> NDArray[np.int64]:
    """Length of the table of `new HashMap(capacity)`."""
    return 1 << np.ceil(np.log2(np.maximum(capacity, 1))).astype(np.int64)


def grown(length: NDArray[np.int64], size: NDArray[np.integer]) -> NDArray[np.int64]:
    """Length of a table that was `length` long, once there have been `size` entries in it."""
    return np.maximum(length, table_length(-(-4 * size // 3)))


def copy_length(size: NDArray[np.integer]) -> NDArray[np.int64]:
    """Length of the table of `new HashSet(collection)`."""
    return np.maximum(table_length(size * 4 // 3 + 1), SHORTEST_SET)


def iteration_order(
    starts: NDArray[np.integer],
    sizes: NDArray[np.integer],
    hashes: NDArray[np.int32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> Order:
    """The order in which tables give back their entries.

    Args:
        starts: first row of each table; rows of a table are in the order the entries were added at the tail.
        sizes: rows of each table, 1 or more.
        hashes: what `spread` makes of each row's hash code.
        first: length of each table to begin with.
        last: length of each table in the end.
    """
    nothing = np.empty(0, np.intp)
    if len(hashes) == 0:
        return Order(None, nothing)
    bucket = hashes & np.repeat((last - 1).astype(np.int32), sizes)
    falls = bucket[1:] < bucket[:-1]
    falls[starts[1:] - 1] = False
    table = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    rows = None
    if falls.any():
        unsorted = np.zeros(len(sizes), np.bool_)
        unsorted[table[1:][falls]] = True
        moving = np.flatnonzero(unsorted[table])
        rows = np.arange(len(hashes))
        rows[moving] = moving[sort_positions(table[moving], bucket[moving])]
        bucket = bucket[rows]
    if sizes.max() <= TREEIFY:
        return Order(rows, nothing)
    crowded = _crowded(table, bucket, len(sizes), TREEIFY)
    # Numbers in a row fill one bin after the other.
    leaps = hashes[1:] != hashes[:-1] + 1
    leaps[starts[1:] - 1] = False
    leaping = np.zeros(len(sizes), np.bool_)
    leaping[table[1:][leaps]] = True
    growing = np.flatnonzero(leaping & (first < last) & (sizes > TREEIFY))
    crowded[
        growing[
            crowded_while_growing(
                starts[growing], sizes[growing], hashes, first[growing], last[growing], TREEIFY
            )
        ]
    ] = True
    return Order(rows, np.flatnonzero(crowded))


def crowded_while_growing(
    starts: NDArray[np.integer],
    sizes: NDArray[np.integer],
    hashes: NDArray[np.int32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    most: int,
) -> NDArray[np.bool_]:
    """Which tables had, before they had their last length, a bin with more than `most` entries.

    Args:
        starts: first row of each table; its rows are in the order they were added.
        sizes: rows of each table.
        hashes: what `spread` makes of each row's hash code.
        first: length of each table to begin with.
        last: length of each table in the end.
        most: entries a bin may have.
    """
    crowded = np.zeros(len(sizes), np.bool_)
    length = int(first.min(initial=1))
    while length < last.max(initial=0):
        tables = np.flatnonzero((first <= length) & (length < last) & (sizes > most))
        taken = np.minimum(sizes[tables], length * 3 // 4 + 2)  # the entry that makes it grow was still added
        rows = ranges(starts[tables], taken)
        table = np.repeat(tables, taken)
        bucket = hashes[rows] & (length - 1)
        order = sort_positions(table, bucket)
        crowded |= _crowded(table[order], bucket[order], len(sizes), most)
        length *= 2
    return crowded


def sort_positions(high: NDArray[np.integer], low: NDArray[np.integer]) -> NDArray[np.intp]:
    """Positions of the rows (high, low) in ascending order; ties stay as they are. Numbers are 0 or more."""
    lows = int(low.max(initial=0)) + 1
    bits = len(high).bit_length()
    if (int(high.max(initial=0)) + 1) * lows << bits >= 1 << 63:
        return np.lexsort([low, high])
    key = high.astype(np.int64)
    key *= lows
    key += low
    key <<= bits
    key |= np.arange(len(key))
    key.sort()
    key &= (1 << bits) - 1
    return key


def ranges(starts: NDArray[np.integer], sizes: NDArray[np.integer]) -> NDArray[np.intp]:
    """The numbers of ranges, one after the other; they begin at `starts` and have `sizes` numbers."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    shifts: NDArray[np.intp] = np.repeat(starts - (ends - sizes), sizes)
    shifts += np.arange(total)
    return shifts


def _crowded(
    table: NDArray[np.integer], bucket: NDArray[np.integer], tables: int, most: int
) -> NDArray[np.bool_]:
    """Which tables have a bin with more than `most` entries; rows are sorted by table and bucket."""
    together = (bucket[most:] == bucket[:-most]) & (table[most:] == table[:-most])
    crowded = np.zeros(tables, np.bool_)
    crowded[table[most:][together]] = True
    return crowded
