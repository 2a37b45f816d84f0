"""Who owned what before and after: a row a member, and ribbons for what they kept and gave each other.

Ribbons can be drawn out to any width; words stand beside them and keep their size.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copartition.reports.diff.groups import FEW, Kind, exchanged, groups
from copartition.reports.page import LETTER
from copartition.reports.ranges import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from copartition.diff import AssignmentDiff

_LEAST_ROW = 17.0
_GAP = 9.0
_EACH, _LOWEST, _HIGHEST = 34.0, 150.0, 420.0
"""Height of all partitions together: for each member, at least, at most."""
_EDGE = 6.0


class Row(NamedTuple):
    """A member, or several; places are in pixels from above."""

    name: str
    numbers: str
    y: float
    before: float
    after: float
    middle: float


class Ribbon(NamedTuple):
    """Partitions that went one way, as an SVG path 100 wide."""

    style: str
    path: str


class Ownership(NamedTuple):
    """The picture.

    Attributes:
        height: in pixels.
        names_wide: room that the names take, in pixels.
        numbers_wide: room that the numbers take.
        rows: members.
        ribbons: what they gave each other, what was kept first.
        shared: what "…" stands for in names.
        keys: what the colours mean: style, number of partitions, words.
        summary: the picture in words.
    """

    height: float
    names_wide: int
    numbers_wide: int
    rows: tuple[Row, ...]
    ribbons: tuple[Ribbon, ...]
    shared: str
    keys: tuple[tuple[str, int, str], ...]
    summary: str


def ownership(diff: AssignmentDiff) -> Ownership:
    """Lay the picture out."""
    grouped = groups(diff, np.arange(len(diff.members)), FEW)
    went = exchanged(diff, grouped.of)
    before, after = went.sum(axis=(0, 2)), went.sum(axis=(0, 1))
    widest = np.maximum(before, after)
    shown = len(widest) if widest[-1] else len(widest) - 1
    total = min(max(_EACH * shown, _LOWEST), _HIGHEST)
    unit = total / max(1, int(widest.sum()))
    heights = np.maximum(widest[:shown] * unit, _LEAST_ROW)
    tops = _EDGE + np.concatenate([[0.0], np.cumsum(heights + _GAP)])
    names = grouped.names[:shown]
    numbers = [
        f"{one:,}" if one == other else f"{one:,} → {other:,}"
        for one, other in zip(before[:shown].tolist(), after[:shown].tolist(), strict=True)
    ]
    middle = tops[:-1] + heights / 2
    rows = tuple(
        Row(name, number, *places)
        for name, number, *places in zip(
            names,
            numbers,
            (middle - widest[:shown] * unit / 2).tolist(),
            (before[:shown] * unit).tolist(),
            (after[:shown] * unit).tolist(),
            middle.tolist(),
            strict=True,
        )
    )
    times = went.sum(axis=(1, 2)).tolist()
    facts = diff.summary
    return Ownership(
        float(tops[-1]),
        _width(names),
        _width(numbers),
        rows,
        tuple(_ribbons(went, np.array([row.y for row in rows]), unit)),
        grouped.shared,
        tuple((kind.style, times[kind], kind.label) for kind in Kind if times[kind]),
        f"{facts.kept:,} of {count(facts.partitions, 'partition')} keep their owner, {facts.moved:,} move "
        f"to another, {facts.assigned + facts.added:,} gain one, "
        f"{facts.unassigned + facts.removed:,} lose theirs.",
    )


def _width(words: Sequence[str]) -> int:
    """Room that these take, in pixels."""
    return ceil(1.15 * LETTER * max(map(len, words), default=0))


def _ribbons(went: NDArray[np.int64], tops: NDArray[np.float64], unit: float) -> list[Ribbon]:
    """Ribbons leave each row in the order of their ends, and arrive in that of their beginnings."""
    kind, source, target = np.nonzero(went)
    thick = (went[kind, source, target] * unit).astype(np.float64)
    leaves = _stacked(np.lexsort((kind, target, source)), source, thick) + tops[source]
    arrives = _stacked(np.lexsort((kind, source, target)), target, thick) + tops[target]
    # What was kept is the ground for the rest, and the thin lie on the thick.
    drawn = np.lexsort((-thick, kind != Kind.KEPT))
    return [
        Ribbon(Kind(one).style, _path(start, end, height))
        for one, start, end, height in zip(
            kind[drawn].tolist(),
            leaves[drawn].tolist(),
            arrives[drawn].tolist(),
            thick[drawn].tolist(),
            strict=True,
        )
    ]


def _stacked(
    order: NDArray[np.intp], row: NDArray[np.intp], thick: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far below the top of its row each begins, one after the other in this order."""
    until = np.cumsum(thick[order])
    begins = until - thick[order]
    opens = np.concatenate([[True], np.diff(row[order]) != 0])[: len(order)]
    base = np.maximum.accumulate(np.where(opens, begins, 0.0))
    place = np.empty(len(order))
    place[order] = begins - base
    return place


def _path(start: float, end: float, height: float) -> str:
    height = max(height, 0.6)
    low, high = end + height, start + height
    return (
        f"M0 {start:.1f}C50 {start:.1f} 50 {end:.1f} 100 {end:.1f}"
        f"V{low:.1f}C50 {low:.1f} 50 {high:.1f} 0 {high:.1f}z"
    )
