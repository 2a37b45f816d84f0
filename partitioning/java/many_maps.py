"""In which order many Java hash tables give back what was put into them, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partitioning.columns import ranges, sort_positions
from partitioning.java.sizes import TREEIFY, threshold

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CrowdedTablesError(Exception):
    """Some table may have had a bin that Java made a tree of, so arithmetic cannot tell its order."""


def iteration_order(
    starts: NDArray[np.integer],
    sizes: NDArray[np.integer],
    hashes: NDArray[np.int32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> NDArray[np.intp] | None:
    """The order in which tables give back their entries.

    Args:
        starts: first row of each table; rows of a table are in the order the entries were added at the tail.
        sizes: rows of each table, 1 or more.
        hashes: what `spread` makes of each row's hash code.
        first: length of each table to begin with.
        last: length of each table in the end.

    Returns:
        The entries' rows, table after table; None where they are in order as they are.

    Raises:
        CrowdedTablesError: some table may have a tree.
    """
    several = np.flatnonzero(sizes > 1)
    if len(several) == 0:
        return None
    if 2 * len(several) < len(sizes):
        picked = ranges(starts[several], sizes[several])
        some = sizes[several]
        inner = iteration_order(np.cumsum(some) - some, some, hashes[picked], first[several], last[several])
        if inner is None:
            return None
        rows = np.arange(len(hashes))
        rows[picked] = picked[inner]
        return rows
    bucket = hashes & np.repeat((last - 1).astype(np.int32), sizes)
    changed = _tables_where(bucket[1:] < bucket[:-1], starts)
    rows = None
    if 2 * len(changed) > len(sizes):
        rows = sort_positions(np.repeat(np.arange(len(sizes)), sizes), bucket)
    elif len(changed):
        moving = ranges(starts[changed], sizes[changed])
        order = moving[sort_positions(np.repeat(changed, sizes[changed]), bucket[moving])]
        rows = np.arange(len(hashes))
        rows[moving] = order
    if sizes.max() > TREEIFY:
        _refuse_trees(starts, sizes, hashes, bucket if rows is None else bucket[rows], first, last)
    return rows


def map_order(
    table: NDArray[np.integer], hashes: NDArray[np.int32], lengths: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Positions of entries, table after table, each as its table gives it back; ties stay as they are.

    Args:
        table: which table each entry is in.
        hashes: what `spread` makes of each entry's hash code.
        lengths: length of the table of each entry; 1 leaves the entries of a table as they are.
    """
    return sort_positions(table, hashes & (lengths - 1))


def refuse_crowded(
    table: NDArray[np.integer], hashes: NDArray[np.int32], lengths: NDArray[np.int64]
) -> None:
    """Makes sure that no table has had a tree, however long it was to begin with.

    Args:
        table: which table each entry is in.
        hashes: what `spread` makes of each entry's hash code.
        lengths: the last length of each table.

    Raises:
        CrowdedTablesError: some table may have a tree.
    """
    # Entries that share a bin of a longer table share one of a short table.
    bins = np.bincount(table * TREEIFY + (hashes & (TREEIFY - 1)), minlength=len(lengths) * TREEIFY)
    bins = bins.reshape(-1, TREEIFY)
    tables = np.flatnonzero(bins.max(axis=1) >= TREEIFY)
    if len(tables):
        entries = bins.sum(axis=1)
        _refuse_trees_while_growing(
            (np.cumsum(entries) - entries)[tables],
            entries[tables],
            hashes[np.argsort(table, kind="stable")],
            np.full(len(tables), TREEIFY),
            lengths[tables] * 2,
            TREEIFY - 1,  # `computeIfAbsent` makes a tree one key earlier than `put`
        )


def _refuse_trees(
    starts: NDArray[np.integer],
    sizes: NDArray[np.integer],
    hashes: NDArray[np.int32],
    bucket: NDArray[np.integer],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> None:
    """The same for `iteration_order`; `bucket` is sorted in each table."""
    together = np.flatnonzero(bucket[TREEIFY:] == bucket[:-TREEIFY])
    if len(together):
        table = np.searchsorted(starts, together, side="right")
        if (table == np.searchsorted(starts, together + TREEIFY, side="right")).any():
            raise CrowdedTablesError
    growing = np.flatnonzero((first < last) & (sizes > TREEIFY))
    if len(growing):
        # Numbers in a row fill one bin after the other.
        leaping = np.zeros(len(sizes), np.bool_)
        leaping[_tables_where(hashes[1:] != hashes[:-1] + 1, starts)] = True
        growing = growing[leaping[growing]]
        _refuse_trees_while_growing(
            starts[growing], sizes[growing], hashes, first[growing], last[growing], TREEIFY
        )


def _refuse_trees_while_growing(
    starts: NDArray[np.integer],
    sizes: NDArray[np.integer],
    hashes: NDArray[np.int32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    most: int,
) -> None:
    """Makes sure that no table had a bin with more than `most` entries before it had its last length.

    Args:
        starts: first row of each table; its rows are in the order they were added.
        sizes: rows of each table.
        hashes: what `spread` makes of each row's hash code.
        first: length of each table to begin with.
        last: length of each table in the end.
        most: entries a bin may have.
    """
    length = int(first.min(initial=1))
    while length < last.max(initial=0):
        tables = np.flatnonzero((first <= length) & (length < last) & (sizes > most))
        taken = np.minimum(sizes[tables], threshold(length) + 2)  # it grows after that
        bins = np.repeat(np.arange(len(tables)) * length, taken)
        bins += hashes[ranges(starts[tables], taken)] & (length - 1)
        if np.bincount(bins).max(initial=0) > most:
            raise CrowdedTablesError
        length *= 2


def _tables_where(between: NDArray[np.bool_], starts: NDArray[np.integer]) -> NDArray[np.intp]:
    """The tables in which something holds between a row and the next one."""
    between[starts[1:] - 1] = False
    if not between.any():
        return np.empty(0, np.intp)
    return np.flatnonzero(np.logical_or.reduceat(np.append(between, [False]), starts))
