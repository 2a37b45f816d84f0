"""Compute the order in which many Java HashMaps or HashSets iterate, for all of them at once.

The arithmetic is right unless a bin of a map becomes so crowded that Java builds a tree. `iteration_order`
returns the maps in which that may have happened; users of `map_order` call `crowded_maps`. Those maps must be
solved one by one. `grown_lengths` and `hash_set_lengths` of `hash_map` compute the lengths of the tables.

In these functions a *table* is one map's table, by its index. A *row* is one key of a table.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from partitioning.java.hash_map import TREEIFY, threshold
from partitioning.kit.columns import range_numbers, sort_positions


class Order(NamedTuple):
    """Holds the order of many tables' rows.

    Attributes:
        rows: indices of the rows, table after table, in iteration order; None if the rows are in that order.
        crowded: the tables in which Java may have built a tree. Their part of `rows` may be wrong.
    """

    rows: NDArray[np.intp] | None
    crowded: NDArray[np.intp]


def iteration_order(
    starts: NDArray[np.integer],
    sizes: NDArray[np.integer],
    hashes: NDArray[np.int32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> Order:
    """Return the order in which tables iterate over keys that were only added, each last in its bin.

    Args:
        starts: the first row of each table; table i has the rows from `starts[i]` on.
        sizes: number of rows of each table, 1 or more; its rows are in the order in which keys were added.
        hashes: `HashMap.hash` of each row's key, see `spread`.
        first: length of each table at the start, a power of two.
        last: length of each table at the end.

    Returns:
        The order, and the tables for which it may be wrong.
    """
    none = np.empty(0, np.intp)
    several = (sizes > 1).nonzero()[0]
    if len(several) == 0:
        return Order(None, none)
    # Tables with one row need no work. If most tables have one row, only the others are solved.
    if 2 * len(several) < len(sizes):
        picked = range_numbers(starts[several], sizes[several])
        some = sizes[several]
        inner = iteration_order(some.cumsum() - some, some, hashes[picked], first[several], last[several])
        rows = None
        if inner.rows is not None:
            rows = np.arange(len(hashes))
            rows[picked] = picked[inner.rows]
        return Order(rows, several[inner.crowded])
    # In a bin, keys stay in the order in which they were added. So a stable sort by bin gives the iteration
    # order.
    bucket = hashes & ((last - 1).astype(np.int32)).repeat(sizes)
    # Tables whose rows are sorted by bin already need no sort. Rows in the order of ascending partition
    # numbers are mostly sorted by bin, too.
    changed = _tables_where(bucket[1:] < bucket[:-1], starts)
    rows = None
    if 2 * len(changed) > len(sizes):
        rows = sort_positions(np.repeat(np.arange(len(sizes)), sizes), bucket)
    elif len(changed):
        moving = range_numbers(starts[changed], sizes[changed])
        order = moving[sort_positions(changed.repeat(sizes[changed]), bucket[moving])]
        rows = np.arange(len(hashes))
        rows[moving] = order
    if sizes.max() <= TREEIFY:
        return Order(rows, none)
    crowded = _find_crowded(bucket if rows is None else bucket[rows], starts, TREEIFY)
    growing = ((first < last) & (sizes > TREEIFY)).nonzero()[0]
    if len(growing):
        # Consecutive numbers go into consecutive bins, so no bin is crowded while such a table grows.
        leaping = np.zeros(len(sizes), np.bool_)
        leaping[_tables_where(hashes[1:] != hashes[:-1] + 1, starts)] = True
        growing = growing[leaping[growing]]
        crowded[
            growing[
                _crowded_while_growing(
                    starts[growing], sizes[growing], hashes, first[growing], last[growing], TREEIFY
                )
            ]
        ] = True
    return Order(rows, crowded.nonzero()[0])


def map_order(
    maps: NDArray[np.integer], hashes: NDArray[np.int32], lengths: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Return the positions of keys in the order in which their maps iterate, map after map.

    Keys of the same bin keep their order. So if keys were added by `computeIfAbsent`, which puts a new key
    first, give the keys in reverse order.

    Args:
        maps: the map of each key.
        hashes: `HashMap.hash` of each key, see `spread`.
        lengths: for each key, the length of its map's table at the end; 1 if the map's keys keep their order.
    """
    return sort_positions(maps, hashes & (lengths - 1))


def crowded_maps(
    maps: NDArray[np.integer], hashes: NDArray[np.int32], lengths: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Return the maps in which Java may have built a tree, whatever the lengths of their tables at the start.

    Args:
        maps: the map of each key that was ever in one, in the order in which the keys were added.
        hashes: `HashMap.hash` of each key, see `spread`.
        lengths: the length of each map's table at the end.
    """
    # Keys that share a bin of a long table also share a bin of a shorter table, because the index of a bin is
    # the last bits of the hash. The shortest table that matters has `TREEIFY` bins.
    bins = np.bincount(maps * TREEIFY + (hashes & (TREEIFY - 1)), minlength=len(lengths) * TREEIFY)
    bins = bins.reshape(-1, TREEIFY)
    # If no bin of this table has eight keys, no bin of a longer table has.
    suspects = np.flatnonzero((bins >= TREEIFY).any(axis=1))
    if len(suspects) == 0:
        return suspects
    sizes = bins.sum(axis=1)
    crowded = _crowded_while_growing(
        (sizes.cumsum() - sizes)[suspects],
        sizes[suspects],
        hashes[maps.argsort(kind="stable")],
        np.full(len(suspects), TREEIFY),
        lengths[suspects] * 2,
        TREEIFY - 1,  # one less, because `computeIfAbsent` counts the new key, too
    )
    return suspects[crowded]


def _crowded_while_growing(
    starts: NDArray[np.integer],
    sizes: NDArray[np.integer],
    hashes: NDArray[np.int32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    most: int,
) -> NDArray[np.bool_]:
    """Return which tables had a bin with more than `most` keys before they reached their last length.

    Args:
        starts: as in `iteration_order`.
        sizes: as in `iteration_order`.
        hashes: as in `iteration_order`.
        first: length of each table at the start.
        last: length of each table at the end.
        most: number of keys that a bin may have without becoming crowded.
    """
    crowded = np.zeros(len(sizes), np.bool_)
    length = TREEIFY  # a shorter table grows before it has enough keys for a crowded bin
    while length < last.max(initial=0):
        tables = ((first <= length) & (length < last) & (sizes > most)).nonzero()[0]
        # Look only at the keys that are added before the table grows beyond this length.
        prefix = np.minimum(sizes[tables], threshold(length) + 2)
        bins = (np.arange(len(tables)) * length).repeat(prefix)
        bins += hashes[range_numbers(starts[tables], prefix)] & (length - 1)
        full = (np.bincount(bins) > most).nonzero()[0]
        crowded[tables[full // length]] = True
        length *= 2
    return crowded


def _tables_where(between: NDArray[np.bool_], starts: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the tables in which a condition holds between at least one row and the next one.

    Args:
        between: for each row but the last, whether the condition holds between that row and the next. This
            function changes the array.
        starts: the first row of each table.
    """
    # Ignore the condition between the last row of a table and the first row of the next table.
    between[starts[1:] - 1] = False
    if not between.any():
        return np.empty(0, np.intp)
    return np.logical_or.reduceat(np.append(between, [False]), starts).nonzero()[0]


def _find_crowded(bucket: NDArray[np.integer], starts: NDArray[np.integer], most: int) -> NDArray[np.bool_]:
    """Return which tables have a bin with more than `most` keys.

    Args:
        bucket: the bin of each row; the rows of a table are sorted by it.
        starts: the first row of each table.
        most: number of keys that a bin may have.
    """
    crowded = np.zeros(len(starts), np.bool_)
    # Rows are sorted by bin. So if a row and the row `most` places later are in the same bin, all rows
    # between them are, too, and the bin has more than `most` keys.
    together = (bucket[most:] == bucket[:-most]).nonzero()[0]
    if len(together):
        table = starts.searchsorted(together, side="right")
        # Both rows must be of the same table: neighbouring tables may have equal bin numbers.
        same = table == starts.searchsorted(together + most, side="right")
        crowded[table[same] - 1] = True
    return crowded
