"""From whom to whom partitions went, as numbers and shades: for more members than ribbons can tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copartition.reports.diff.groups import groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copartition.diff import AssignmentDiff
    from copartition.reports.diff.groups import Groups

_ROWS, _COLUMNS = 40, 30
"""The most members with a row, with a column each."""
_RANGES = 20
"""The rows or columns of more."""
SHADES = 5


class Cell(NamedTuple):
    """Partitions that went from the row to the column, and how dark that is: 0 for none."""

    number: int
    shade: int


class HeatRow(NamedTuple):
    """What a member, or a range of them, gave to each."""

    name: str
    cells: tuple[Cell, ...]
    given: int


class Heat(NamedTuple):
    """The table.

    Attributes:
        columns: who got something.
        rows: who gave something, and what to each.
        taken: what each column got.
        ranges: how many members share a row, and a column.
        shared: what "…" stands for in names.
    """

    columns: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    taken: tuple[int, ...]
    ranges: tuple[int, int]
    shared: tuple[str, ...]


def heat(diff: AssignmentDiff) -> Heat:
    """Partitions with another owner after, by members before and after."""
    rows = diff.source != diff.target
    source, target = diff.source[rows], diff.target[rows]
    givers, takers = _axis(diff, source, _ROWS), _axis(diff, target, _COLUMNS)
    shape = len(givers.names), len(takers.names)
    place = givers.of[source] * shape[1] + takers.of[target]
    went = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape)
    down, across = _order(givers, went.sum(axis=1)), _order(takers, went.sum(axis=0))
    went = went[np.ix_(down, across)]
    shades = -(-went * SHADES // max(1, int(went.max(initial=0))))
    return Heat(
        tuple(takers.names[column] for column in across),
        tuple(
            HeatRow(givers.names[row], tuple(map(Cell, numbers, shade)), sum(numbers))
            for row, numbers, shade in zip(down, went.tolist(), shades.tolist(), strict=True)
        ),
        tuple(went.sum(axis=0).tolist()),
        (givers.size, takers.size),
        tuple(dict.fromkeys(shared for shared in (givers.shared, takers.shared) if shared)),
    )


def _axis(diff: AssignmentDiff, members: NDArray[np.int32], alone: int) -> Groups:
    used = np.unique(members[members >= 0])
    return groups(diff, used, len(used) if len(used) <= alone else _RANGES)


def _order(grouped: Groups, partitions: NDArray[np.int64]) -> list[int]:
    """Single members by how many partitions, ranges by name; nobody last, where it has to do with any."""
    everybody = np.arange(len(partitions) - 1)
    if grouped.size == 1:
        everybody = np.argsort(-partitions[:-1], kind="stable")
    return [*everybody.tolist(), *([len(everybody)] if partitions[-1] else [])]
