"""Draw partitions as lanes over time: the phases of each partition, and the consumers that read it.

If few enough rectangles are needed, each rectangle is exact, and neighbouring lanes that are equal share one.
Otherwise the picture becomes a grid with fewer lanes and, if that is still too much, with coarser time. So
the size of a page is bounded, however large the group is and however long the run lasts.

There are three index spaces. A partition's *flat index* counts the partitions of all topics, in the order of
`Timeline.first`. Its *rank* is its place from the top of the picture. A *lane* is a rank or, in a grid, a
group of neighbouring ranks. Times are milliseconds of the run; positions and sizes are pixels of the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.partition_list import PartitionList
from copartition.kit.page import DEPTHS, WIDTH, Window
from copartition.kit.words import clock, count, duration, partition_ranges
from copartition.simulation import Phase, Timeline
from copartition.simulation.outcome.timeline import PHASE_NAMES


class Block(NamedTuple):
    """Holds one rectangle.

    Attributes:
        top: the first lane.
        bottom: the last lane, included.
        start: the beginning in ms, or the first column of a grid.
        end: the end in ms, or the column after the last one.
        row: the index of one of the rows that the rectangle was made from.
    """

    top: int
    bottom: int
    start: float
    end: float
    row: int

    def at_times(self, window: Window, columns: int) -> Block:
        """Return a block of a grid with times in ms in place of its columns; `columns` is their number."""
        start, end = (window.at(column * WIDTH / columns) for column in (self.start, self.end))
        return self._replace(start=start, end=end)


class Rectangles(NamedTuple):
    """Holds rectangles as columns of shape (blocks,); see `Block` for what the columns mean."""

    top: NDArray[np.int64]
    bottom: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    row: NDArray[np.int64]

    def blocks(self) -> Iterator[Block]:
        """Yield the rectangles one after the other, as Python numbers."""
        return map(Block, *(column.tolist() for column in self))


def merge(
    grain: float,
    lane: NDArray[np.int64],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    *same: NDArray[np.integer],
) -> Rectangles:
    """Merge rows of neighbouring lanes with equal times and equal values of `same` into rectangles.

    Times count as equal if they are in the same multiple of `grain`. All columns have shape (rows,).

    Args:
        grain: the length of time below which a difference cannot be seen, above 0.
        lane: the lane of each row.
        start: when each row begins.
        end: when each row ends.
        same: columns of whole numbers that must be equal within a rectangle.
    """
    alike = (np.floor(start / grain), np.floor(end / grain), *same)
    # `lexsort` takes its last key as the most important one, so rows that are alike come together, in the
    # order of their lanes.
    order = np.lexsort((lane, *alike))
    joins = np.diff(lane[order]) == 1
    for column in alike:
        joins &= np.diff(column[order]) == 0
    # `reduceat` below does not accept empty columns.
    if len(order) == 0:
        return Rectangles(lane, lane, start, end, order)
    opens = np.flatnonzero(np.append(True, ~joins))
    closes = np.append(opens[1:], len(order)) - 1
    return Rectangles(
        lane[order[opens]],
        lane[order[closes]],
        np.minimum.reduceat(start[order], opens),
        np.maximum.reduceat(end[order], opens),
        order[opens],
    )


def merged_cells(label: NDArray[np.int64]) -> Rectangles:
    """Merge equal neighbouring cells of a grid into rectangles; cells with 0 are left out.

    Args:
        label: the value of each cell, shape (lanes, columns); 0 for an empty cell.

    Returns:
        Rectangles whose times are columns of the grid, and whose `row` is a flat index into `label`.
    """
    lanes, columns = label.shape
    opens = np.ones(label.shape, np.bool_)
    opens[:, 1:] = label[:, 1:] != label[:, :-1]
    place = np.flatnonzero(opens)
    # A value ends where the next value begins. The first cell of each lane begins a value, so no value runs
    # into the next lane.
    until = np.append(place[1:], lanes * columns)
    filled = label.flat[place] != 0
    lane, column = np.divmod(place[filled], columns)
    blocks = merge(
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
    """Return how many stretches of time are under way in each cell of a grid, on average over the cell.

    Args:
        window: the time that the grid shows.
        lane: the lane of each stretch in the grid, shape (stretches,).
        start: when each stretch begins; a time outside the window counts as that of the window's edge.
        end: when each stretch ends, as `start`; may be infinite.
        shape: number of lanes and columns of the grid.

    Returns:
        Averages, float64 of that shape.
    """
    lanes, columns = shape
    # The differences between neighbouring cells are added up first, and their running sum is the average. One
    # extra column takes the differences behind the last column; it is cut off at the end.
    total = np.zeros(lanes * (columns + 1))
    for at, sign in ((start, 1.0), (end, -1.0)):
        place = window.x(at) * (columns / WIDTH)
        column = np.minimum(place.astype(np.int64), columns - 1)
        part = place - column
        cell = lane * (columns + 1) + column
        # A stretch that begins within a cell fills the rest of it and all following cells.
        total += sign * np.bincount(cell, 1 - part, len(total))
        total += sign * np.bincount(cell + 1, part, len(total))
    return np.cumsum(total.reshape(lanes, columns + 1), axis=1)[:, :columns]


GRID_LANES = 60
"""The most lanes of a grid."""
_COLUMNS = 512
"""Number of columns of a grid before it is made coarser; a power of two, because it is halved."""
_FEWEST_COLUMNS = 8
"""Number of columns at which a grid is not made coarser any more."""
_THINNEST = 0.7
"""The least width of a rectangle, in pixels."""
_HAIRLINE = 0.3
"""The least width of the phase "computing", in pixels; it must not hide the phases next to it."""
_FLATTEST = 0.5
"""The least height of an exact rectangle, in pixels."""
_SEEN = 2.0
"""The least width and height of a rectangle that must not be overlooked, in pixels."""
_SEEN_PART = 0.25
"""The largest part of the height of all lanes that the rectangles enlarged to `_SEEN` may take together."""
_NAMED = 40
"""The most partitions that a tooltip names."""
_LEAST = 1e-7
"""The least average of a phase in a cell, in partitions; a lower value is only an error of rounding."""

PHASES = (Phase.COMPUTING, Phase.HANDOVER, Phase.PAUSED, Phase.UNNOTICED)
"""Phases in which a partition stands still; if several share a pixel, the last of them is visible."""


class Shape(NamedTuple):
    """Holds a rectangle as an SVG path, and the text of its tooltip."""

    path: str
    hint: str


class Strip(NamedTuple):
    """Holds layers over the same lanes, as style -> shapes, and a caption that explains a lane."""

    layers: dict[str, list[Shape]]
    caption: str


class Lanes:
    """Draws a timeline as lanes, in which the partitions of one consumer are neighbours.

    Attributes:
        timeline: the phases of all partitions.
        born: when each partition began to exist, in ms, by flat index; infinite if it never did.
        _order: the flat index of each rank.
        _rank: the rank of each flat index.
    """

    def __init__(self, timeline: Timeline, height: float) -> None:
        """Sort the partitions by their first reader.

        Args:
            timeline: the phases of all partitions.
            height: the height of all lanes together, in pixels.
        """
        self.timeline = timeline
        self._height = height
        self._count = int(timeline.first[-1])
        # Partitions that are never read have a number beyond all consumers, so they come last.
        first_reader = np.full(self._count, len(timeline.consumers), np.int64)
        # Rows are written backwards, so that the first reader of a partition is written last and stays.
        read = np.flatnonzero(timeline.phase == Phase.CONSUMING)[::-1]
        first_reader[timeline.partition[read]] = timeline.consumer[read]
        self._order = np.argsort(first_reader, kind="stable")
        self._rank = np.empty(self._count, np.int64)
        self._rank[self._order] = np.arange(self._count)
        self.born = np.full(self._count, np.inf)
        # Rows are sorted by partition and time, so a partition's first row is where the number changes.
        opens = np.flatnonzero(np.diff(timeline.partition, prepend=-1))
        self.born[timeline.partition[opens]] = timeline.start[opens]

    def existing(self, window: Window) -> str:
        """Return partitions from their first moment to the end of the run, as one SVG path."""
        alive = np.flatnonzero(self.born < window.end)
        blocks = merge(
            window.grain,
            self._rank[alive],
            self.born[alive],
            np.full(len(alive), self.timeline.end.max(initial=0.0)),
        )
        return "".join(self._path(window, self._count, block) for block in blocks.blocks())

    def phases(self, window: Window, most: int) -> Strip:
        """Return the partitions that stand still, with the reasons, in about `most` rectangles."""
        life = self.timeline
        rows = np.flatnonzero((life.phase != Phase.CONSUMING) & window.overlaps(life.start, life.end))
        lane, start, end = self._rank[life.partition[rows]], life.start[rows], life.end[rows]
        blocks = merge(window.grain, lane, start, end, life.phase[rows], life.cause[rows])
        if not self._exact(blocks, most):
            return self._shares(window, rows, most)
        shapes: dict[str, list[Shape]] = {PHASE_NAMES[phase]: [] for phase in PHASES}
        for block in blocks.blocks():
            row = rows[block.row]
            style, cause = PHASE_NAMES[Phase(life.phase[row])], life.cause[row]
            because = f", {life.causes[cause]}" if cause >= 0 else ""
            thinnest = _HAIRLINE if style == "compute" else _THINNEST
            path = self._path(window, self._count, block, thinnest=thinnest)
            hint = f"{self._names(block.top, block.bottom)}: {style} {_stretch(block)}{because}"
            shapes[style].append(Shape(path, hint))
        return Strip(shapes, "what each partition waits for")

    def readers(self, window: Window, most: int, colours: Mapping[str, str]) -> Strip:
        """Return the readers of partitions.

        Args:
            window: the time that is shown.
            most: about how many rectangles there may be; beyond that a grid is drawn.
            colours: the style of each consumer.
        """
        life = self.timeline
        rows = np.flatnonzero((life.phase == Phase.CONSUMING) & window.overlaps(life.start, life.end))
        lane, start, end = self._rank[life.partition[rows]], life.start[rows], life.end[rows]
        blocks = merge(window.grain, lane, start, end, life.consumer[rows])
        if not self._exact(blocks, most):
            return self._sample(window, most, colours)
        shapes: dict[str, list[Shape]] = {}
        for block in blocks.blocks():
            reader = life.consumers[life.consumer[rows[block.row]]]
            when = f"{clock(block.start)} to {clock(block.end)}"
            hint = f"{self._names(block.top, block.bottom)}: read by {reader}, {when}"
            shapes.setdefault(colours[reader], []).append(Shape(self._path(window, self._count, block), hint))
        return Strip(shapes, "who reads each partition")

    def second_readers(self, window: Window, most: int) -> tuple[Shape, ...]:
        """Return the longest stretches in which a partition has two readers, at most `most` of them."""
        life = self.timeline.zombies
        rows = np.flatnonzero(window.overlaps(life.start, life.end))
        lane = self._rank[life.partition[rows]]
        blocks = merge(window.grain, lane, life.start[rows], life.end[rows], life.consumer[rows])
        longest = np.argsort(blocks.start - blocks.end, kind="stable")[:most]
        # Stretches that are enlarged to be seen must not together hide the rest of the picture.
        least = min(_SEEN, _SEEN_PART * self._height / max(1, len(longest)))
        return tuple(
            Shape(
                self._path(window, self._count, block, thinnest=least, flattest=least),
                f"{self._names(block.top, block.bottom)}: two readers {_stretch(block)}, "
                f"{self.timeline.consumers[life.consumer[rows[block.row]]]} no longer owns it",
            )
            for block in map([*blocks.blocks()].__getitem__, longest.tolist())
        )

    def _shares(self, window: Window, rows: NDArray[np.intp], most: int) -> Strip:
        """Return phases as a grid, in which each cell shows one phase.

        Of the partitions of a cell that stand still, most are in that phase. The more of the cell's
        partitions stand still, the deeper is its colour.

        Args:
            window: the time that is shown.
            rows: the rows of the timeline in that time in which a partition stands still.
            most: the highest number of rectangles. The number of columns is halved until there are not more,
                or until there are `_FEWEST_COLUMNS`.
        """
        life = self.timeline
        lanes = self._grid_lanes()
        grid_lane = self._rank[life.partition] * lanes // self._count
        # A partition that never exists has no part in any cell.
        alive = np.isfinite(self.born)
        alive_lane = self._rank[alive] * lanes // self._count
        shape = (lanes, _COLUMNS)
        existing = coverage(window, alive_lane, self.born[alive], np.full(len(alive_lane), np.inf), shape)
        standing = np.stack(
            [
                coverage(window, grid_lane[which], life.start[which], life.end[which], shape)
                for which in (rows[life.phase[rows] == phase] for phase in PHASES)
            ]
        )
        while True:
            standing[standing < _LEAST] = 0
            share = standing.sum(axis=0) / np.maximum(existing, 1e-9)
            depth = np.searchsorted(DEPTHS, share - 1e-9).clip(max=len(DEPTHS) - 1)
            # One number from 1 on stands for phase and depth. 0 stands for a cell in which no partition
            # stands still.
            label = np.where(share > 0, standing.argmax(axis=0) * len(DEPTHS) + depth + 1, 0)
            blocks = merged_cells(label)
            columns = label.shape[1]
            if len(blocks.row) <= most or columns == _FEWEST_COLUMNS:
                break
            # Each pair of neighbouring columns becomes one column with the mean of the two.
            halves = (grid.reshape(*grid.shape[:-1], -1, 2) for grid in (existing, standing))
            existing, standing = (pairs.mean(axis=-1) for pairs in halves)
        example = self._examples(window, rows, grid_lane[rows], label.shape)
        shapes: dict[str, list[Shape]] = {}
        for block in blocks.blocks():
            phase, depth = divmod(int(label.flat[block.row]) - 1, len(DEPTHS))
            area = (slice(block.top, block.bottom + 1), slice(int(block.start), int(block.end)))
            cause_here = int(example[area].max())
            because = f", for example: {life.causes[cause_here]}" if cause_here >= 0 else ""
            style = PHASE_NAMES[PHASES[phase]]
            timed = block.at_times(window, columns)
            # The tooltip has the mean share of the whole block: all its cells have the same depth, but their
            # shares may still differ.
            average = standing[:, *area].sum() / existing[area].sum()
            # Rank r is in lane r * lanes // count, so lane k begins at k * count / lanes, rounded up.
            first, after = (-(-lane * self._count // lanes) for lane in (block.top, block.bottom + 1))
            hint = (
                f"{self._names(first, after - 1)}: {average:.2%} not read, mostly {style}, "
                f"{clock(timed.start)} to {clock(timed.end)}{because}"
            )
            shapes.setdefault(f"{style} depth-{depth}", []).append(
                Shape(self._path(window, lanes, timed), hint)
            )
        scale = f", in {lanes} lanes of about {self._count / lanes:.0f}" if lanes < self._count else ""
        return Strip(
            shapes,
            f"what partitions wait for{scale}; the deeper the colour, the more of them stand still",
        )

    def _examples(
        self, window: Window, rows: NDArray[np.intp], lane: NDArray[np.int64], shape: tuple[int, ...]
    ) -> NDArray[np.int64]:
        """Return the last cause of a phase that begins or ends in each cell of a grid, -1 if there is none.

        Causes are indexes into `Timeline.causes`.
        """
        life = self.timeline
        example = np.full(shape, -1, np.int64)
        for at in (life.start[rows], life.end[rows]):
            column = np.minimum((window.x(at) * (shape[1] / WIDTH)).astype(np.int64), shape[1] - 1)
            np.maximum.at(example, (lane, column), life.cause[rows])
        return example

    def _sample(self, window: Window, most: int, colours: Mapping[str, str]) -> Strip:
        """Return readers as a grid: the reader of one partition of each lane, at one moment of each column.

        Pauses that are shorter than a column are left out. Otherwise it would be chance which of them show.
        """
        life = self.timeline
        lanes = self._grid_lanes()
        # A cell shows one partition at one time: the partition in the middle of its lane, at the middle of
        # its column.
        chosen = self._order[((np.arange(lanes) + 0.5) * self._count / lanes).astype(np.int64)]
        column = (window.end - window.start) / _COLUMNS
        moments = window.start + (np.arange(_COLUMNS) + 0.5) * column
        label = np.zeros((lanes, _COLUMNS), np.int64)
        for lane, partition in enumerate(chosen.tolist()):
            rows = slice(*np.searchsorted(life.partition, np.array((partition, partition + 1), np.int32)))
            read = np.flatnonzero(life.phase[rows] == Phase.CONSUMING) + rows.start
            if len(read) == 0:
                continue
            start, end = life.start[read], life.end[read]
            # A pause that is shorter than a column is not shown: the reader before the pause counts until the
            # next reader begins.
            closed = np.append(np.where(start[1:] - end[:-1] < column, start[1:], end[:-1]), end[-1])
            place = np.searchsorted(start, moments, side="right") - 1
            lives = (place >= 0) & (moments < closed[place])
            label[lane, lives] = life.consumer[read[place[lives]]] + 1
        blocks = merged_cells(label)
        while len(blocks.row) > most and label.shape[1] > _FEWEST_COLUMNS:
            # Every other moment is left out, because readers cannot be averaged as shares can.
            label = label[:, ::2]
            blocks = merged_cells(label)
        shapes: dict[str, list[Shape]] = {}
        for block in blocks.blocks():
            reader = life.consumers[int(label.flat[block.row]) - 1]
            timed = block.at_times(window, label.shape[1])
            names = self._list_partitions(chosen[block.top : block.bottom + 1])
            hint = f"{names}: read by {reader} about {clock(timed.start)} to {clock(timed.end)}"
            shapes.setdefault(colours[reader], []).append(Shape(self._path(window, lanes, timed), hint))
        scale = (
            f"one partition in about {self._count / lanes:.0f}" if lanes < self._count else "every partition"
        )
        return Strip(shapes, f"who reads, {scale}")

    def _exact(self, blocks: Rectangles, most: int) -> bool:
        """Return whether there are few enough blocks, and each is high enough, to draw them as they are."""
        flattest = (blocks.bottom - blocks.top + 1).min(initial=self._count) * self._height
        return len(blocks.row) <= most and flattest >= _FLATTEST * self._count

    def _grid_lanes(self) -> int:
        """Return the number of lanes of a grid, which is not more than the number of partitions."""
        return min(self._count, GRID_LANES)

    def _names(self, top: int, bottom: int) -> str:
        """Return the words for the partitions of these ranks, both ends included."""
        return self._list_partitions(self._order[top : bottom + 1])

    def _list_partitions(self, partitions: NDArray[np.int64]) -> str:
        """Return the number of partitions and their names, of which at most `_NAMED` are listed.

        `partitions` are flat indexes, in any order.
        """
        shown = np.sort(partitions)[:_NAMED]
        topic = np.searchsorted(self.timeline.first, shown, side="right") - 1
        numbers = (shown - self.timeline.first[topic]).astype(np.int32)
        names = partition_ranges(PartitionList(self.timeline.topics, topic.astype(np.int32), numbers))
        return f"{count(len(partitions), 'partition')}, {names}" + ("…" if len(partitions) > _NAMED else "")

    def _path(
        self,
        window: Window,
        lanes: int,
        block: Block,
        *,
        thinnest: float = _THINNEST,
        flattest: float = 0.0,
    ) -> str:
        """Return the SVG path of a rectangle that is at least `thinnest` wide and `flattest` high.

        Args:
            window: the time that is shown.
            lanes: the number of lanes into which the height is divided.
            block: the rectangle, with its beginning and end in ms.
            thinnest: the least width in pixels.
            flattest: the least height in pixels.
        """
        left, right = (float(window.x(at)) for at in (block.start, block.end))
        width = max(right - left, thinnest)
        height = max((block.bottom - block.top + 1) * self._height / lanes, flattest)
        return f"M{left:.1f} {block.top * self._height / lanes:.2f}h{width:.1f}v{height:.2f}h-{width:.1f}z"


def _stretch(block: Block) -> str:
    """Return the words for the time that a block covers, with its length."""
    return f"{clock(block.start)} to {clock(block.end)} ({duration(block.end - block.start)})"
