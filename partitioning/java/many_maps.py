"""In which order many Java HashMaps or HashSets give back what was put into them, all at once.

Arithmetic holds while no map gets so crowded that Java builds trees in it. `iteration_order` tells which maps
may have been; with `map_order`, ask `crowded_maps`. `sizes` computes how long the tables become.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from partitioning.java.hash_map import TREEIFY, threshold
from partitioning.kit.columns import range_numbers, sort_positions


class Order(NamedTuple):
    """The order of many tables' entries, table after table; `rows` None: they are in order as they are.

    Java may have built trees in bins of the `crowded` tables; their part of `rows` may be wrong.
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
    """Return the order in which tables give back their entries.

    Table i has `sizes[i]` rows (1 or more) from `starts[i]`, in the order the entries were added at the tail.
    Its length is `first[i]` to begin with and `last[i]` in the end. `hashes` are the rows' `spread` hash
    codes.
    """
    none = np.empty(0, np.intp)
    several = (sizes > 1).nonzero()[0]
    if len(several) == 0:
        return Order(None, none)
    # Tables with one entry have no order to find. If most are such, the others are picked out and solved
    # alone.
    if 2 * len(several) < len(sizes):
        picked = range_numbers(starts[several], sizes[several])
        some = sizes[several]
        inner = iteration_order(some.cumsum() - some, some, hashes[picked], first[several], last[several])
        rows = None
        if inner.rows is not None:
            rows = np.arange(len(hashes))
            rows[picked] = picked[inner.rows]
        return Order(rows, several[inner.crowded])
    # Inside a bin, entries stay in the order of their coming: a stable sort by bin is the order of iteration.
    bucket = hashes & ((last - 1).astype(np.int32)).repeat(sizes)
    # Tables whose bins rise already keep their rows, as tables of partition numbers in order mostly do.
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
        # Numbers in a row fill one bin after the other.
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
    """Return positions of keys in the order in which maps give them back, map after map.

    `maps` is the map of each key. Keys that end up in one bin stay as they are; so the last one that
    `computeIfAbsent` brought comes first. `hashes` are `spread` hash codes; `lengths` are those of the table
    of each key's map in the end, 1 if a map's keys are in order.
    """
    return sort_positions(maps, hashes & (lengths - 1))


def crowded_maps(
    maps: NDArray[np.integer], hashes: NDArray[np.int32], lengths: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Return the maps in which Java may have built trees, however long their tables were to begin with.

    `maps` is the map of each key that was ever in one, keys in the order in which they came; `hashes` are
    `spread` hash codes; `lengths` are those of each map's table in the end.
    """
    # Keys that share a bin of a longer table share one of a short table.
    bins = np.bincount(maps * TREEIFY + (hashes & (TREEIFY - 1)), minlength=len(lengths) * TREEIFY)
    bins = bins.reshape(-1, TREEIFY)
    # A bin of the shortest table with fewer than eight keys stays below eight in every longer one, too.
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
        TREEIFY - 1,  # `computeIfAbsent` counts the new key
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
    """Return which tables had, before they had their last length, a bin with more than `most` entries."""
    crowded = np.zeros(len(sizes), np.bool_)
    length = TREEIFY  # a shorter table has grown before a bin is crowded
    while length < last.max(initial=0):
        tables = ((first <= length) & (length < last) & (sizes > most)).nonzero()[0]
        prefix = np.minimum(sizes[tables], threshold(length) + 2)  # it grows after that
        bins = (np.arange(len(tables)) * length).repeat(prefix)
        bins += hashes[range_numbers(starts[tables], prefix)] & (length - 1)
        full = (np.bincount(bins) > most).nonzero()[0]
        crowded[tables[full // length]] = True
        length *= 2
    return crowded


def _tables_where(between: NDArray[np.bool_], starts: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the tables in which something holds between a row and the next one."""
    # What stands between the last row of a table and the first of the next one says nothing.
    between[starts[1:] - 1] = False
    if not between.any():
        return np.empty(0, np.intp)
    return np.logical_or.reduceat(np.append(between, [False]), starts).nonzero()[0]


def _find_crowded(bucket: NDArray[np.integer], starts: NDArray[np.integer], most: int) -> NDArray[np.bool_]:
    """Return which tables have a bin with more than `most` entries.

    Rows are sorted by bucket in each table.
    """
    crowded = np.zeros(len(starts), np.bool_)
    # Rows are sorted by bin: if the row `most` places later has the same bin, so have all between.
    together = (bucket[most:] == bucket[:-most]).nonzero()[0]
    if len(together):
        table = starts.searchsorted(together, side="right")
        same = table == starts.searchsorted(together + most, side="right")
        crowded[table[same] - 1] = True
    return crowded
