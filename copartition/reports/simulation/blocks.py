"""Rectangles made of what neighbours have in common, over lanes and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copartition.reports.axis import WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from copartition.reports.axis import Window


class Blocks(NamedTuple):
    """Rectangles as columns: first and last lane, beginning and end, and one of the rows they are made of."""

    top: NDArray[np.int64]
    bottom: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    row: NDArray[np.int64]

    def these(self, which: NDArray[np.intp]) -> Blocks:
        """Some of them."""
        return Blocks(
            self.top[which], self.bottom[which], self.start[which], self.end[which], self.row[which]
        )

    def each(self) -> Iterator[tuple[int, int, float, float, int]]:
        """One after the other, in Python's numbers."""
        return zip(*(column.tolist() for column in self), strict=True)


def merged(
    grain: float,
    lane: NDArray[np.int64],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    *same: NDArray[np.integer],
) -> Blocks:
    """Neighbouring lanes with the same times, and whatever else must be the same, as one block.

    Args:
        grain: times are the same that lie in the same multiple of it.
        lane: the lane of each row.
        start: when it begins.
        end: when it ends.
        same: what it is.
    """
    alike = (np.floor(start / grain), np.floor(end / grain), *same)
    order = np.lexsort((lane, *alike))
    joins = np.diff(lane[order]) == 1
    for column in alike:
        joins &= np.diff(column[order]) == 0
    if len(order) == 0:
        return Blocks(lane, lane, start, end, order)
    opens = np.flatnonzero(np.append(True, ~joins))
    closes = np.append(opens[1:], len(order)) - 1
    return Blocks(
        lane[order[opens]],
        lane[order[closes]],
        np.minimum.reduceat(start[order], opens),
        np.maximum.reduceat(end[order], opens),
        order[opens],
    )


def cells(label: NDArray[np.int64]) -> Blocks:
    """Equal neighbours of a grid as blocks, zeros left out; times are columns, rows indices into it."""
    lanes, columns = label.shape
    opens = np.ones(label.shape, np.bool_)
    opens[:, 1:] = label[:, 1:] != label[:, :-1]
    place = np.flatnonzero(opens)
    until = np.append(place[1:], lanes * columns)
    filled = label.flat[place] != 0
    lane, column = np.divmod(place[filled], columns)
    blocks = merged(
        1.0,
        lane,
        column.astype(np.float64),
        (until[filled] - lane * columns).astype(np.float64),
        label.flat[place[filled]],
    )
    return blocks._replace(row=place[filled][blocks.row])


def coverage(
    window: Window,
    lane: NDArray[np.int64],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    """How many of these stretches are going on, on average over each cell of a grid."""
    lanes, columns = shape
    total = np.zeros(lanes * (columns + 1))
    for at, sign in ((start, 1.0), (end, -1.0)):
        place = window.x(at) * (columns / WIDTH)
        column = np.minimum(place.astype(np.int64), columns - 1)
        part = place - column
        cell = lane * (columns + 1) + column
        # A stretch that begins within a cell fills the rest of it, and all that follow.
        total += sign * np.bincount(cell, 1 - part, len(total))
        total += sign * np.bincount(cell + 1, part, len(total))
    return np.cumsum(total.reshape(lanes, columns + 1), axis=1)[:, :columns]


def coarser(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the columns."""
    pairs: NDArray[np.float64] = grid.reshape(*grid.shape[:-1], -1, 2).mean(axis=-1)
    return pairs
