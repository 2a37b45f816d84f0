"""Lay out who owns what before and after: as ribbons between members, or as a table of givers and takers.

Ribbons are laid out here in pixels; the template only prints them. Colours are classes of the style sheet.
"""

import re
from collections.abc import Sequence
from enum import IntEnum
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.assignment_diff.changes import Action, MemberChange, Presence
from copartition.assignment_diff.compare import AssignmentDiff
from copartition.assignment_diff.report.model import presence
from copartition.kit.words import shared_start, visible

FEW = 30
"""The most members that a picture shows one by one."""

_ROOM = 24
"""The most letters of a name; more would leave no room for the picture on a phone."""

_FIRST = 14
"""The most letters of the first name of a range."""

_LEAST = 12
"""The number of letters for which a name always has room, even beside a word such as "new" or "gone"."""


class OwnerReason(IntEnum):
    """The kinds of change of a partition's owner, told apart by the members that joined or left."""

    KEPT = 0
    LEFT = 1
    JOINED = 2
    BETWEEN = 3
    FREE = 4
    CONFLICT = 5

    @property
    def style(self) -> str:
        """The class in the style sheet."""
        return self.name.lower()


_LABELS = {
    OwnerReason.KEPT: "kept",
    OwnerReason.LEFT: "from a member that left",
    OwnerReason.JOINED: "to a member that joined",
    OwnerReason.BETWEEN: "between members",
    OwnerReason.FREE: "from or to nobody",
    OwnerReason.CONFLICT: "with two owners",
}


class Groups(NamedTuple):
    """Ranges of members, each with a name; the last group is nobody."""

    names: tuple[str, ...]  # nobody comes last
    shared: str  # the common beginning of all names, for which they have "…"; "" if names are whole
    size: int  # the number of members of the largest group
    of: NDArray[np.int64]  # the group of each member, 0 if it is in none; at index -1 the group of nobody


def member_groups(diff: AssignmentDiff, which: NDArray[np.integer], most: int) -> Groups:
    """Return at most `most` groups of these members, all of the same size except the last.

    Args:
        diff: the diff.
        which: the places of these members, in the order of the picture.
        most: the most groups, not counting nobody.
    """
    # Equal ranges keep the order of names, so a reader finds a member by its name.
    size = max(1, ceil(len(which) / max(1, most)))
    names = [visible(diff.members[index].name) for index in which.tolist()]
    room = _ROOM if size == 1 else _FIRST
    shared = _beginning(names) if any(len(name) > room for name in names[::size]) else ""
    ends = [f"…{name[len(shared) :]}" for name in names] if shared else names
    if size > 1:
        labels = [_range(ends[at : at + size]) for at in range(0, len(ends), size)]
    else:
        members = (diff.members[index] for index in which.tolist())
        labels = [_label(name, member) for name, member in zip(ends, members, strict=True)]
    of = np.zeros(len(diff.members) + 1, np.int64)
    of[which] = np.arange(len(which)) // size
    of[-1] = len(labels)
    return Groups((*labels, "nobody"), shared, size, of)


def _label(name: str, member: MemberChange) -> str:
    """Return the name of a member, cut if it is too long, with a word such as "new" if there is one.

    Args:
        name: the member's name, in which "…" may stand for the beginning that all names share.
        member: the member, which tells whether it joined or left.

    Returns:
        The name in at most `_ROOM` letters. With a word after it, the name gets fewer letters, but at least
        `_LEAST`.
    """
    status = presence(member)
    return f"{_cut(name, max(_LEAST, _ROOM - len(status)))} ({status})" if status else _cut(name, _ROOM)


def _range(names: Sequence[str]) -> str:
    """Return a label for a range of names: "FIRST to LAST". LAST lacks the beginning that both share.

    Args:
        names: at least one name, in order. A single name is returned as it is, cut to `_ROOM` letters.
    """
    first, last = names[0], names[-1]
    if len(names) == 1:
        return _cut(first, _ROOM)
    return f"{_cut(first, _FIRST)} to {_cut(last[len(_beginning([first, last])) :], _ROOM - _FIRST)}"


def _beginning(names: Sequence[str]) -> str:
    """Return the longest beginning that all names share and that ends with a sign between words, such as "-".

    Returns "" if there is no such beginning, or for a single name.
    """
    if len(names) < 2:
        return ""
    words = re.match(r".*[^A-Za-z0-9]", shared_start(names))
    return words[0] if words else ""


def _cut(name: str, room: int) -> str:
    """Return a name of at most `room` letters; a longer name is cut to its beginning, "…" and its end."""
    tail = room // 2
    return name if len(name) <= room else f"{name[: room - tail - 1]}…{name[-tail:]}"


def count_exchanged(diff: AssignmentDiff, of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of partitions of each kind that go from each group to each group.

    Args:
        diff: the diff.
        of: the group of each member, by place, and at index -1 that of nobody; see `Groups.of`.

    Returns:
        An int64 array whose axes are `OwnerReason`, group before and group after. Partitions without an owner
        on both sides are not counted.
    """
    left, joined = (
        np.array([*(member.presence is there for member in diff.members), False], np.bool_)
        for there in (Presence.LEFT, Presence.JOINED)
    )
    source, target = diff.source, diff.target
    # `np.select` takes the first condition that holds, so a partition with two owners is always a conflict.
    kind = np.select(
        [
            diff.action == Action.CONFLICT,
            source == target,
            (source < 0) | (target < 0),
            left[source],
            joined[target],
        ],
        [OwnerReason.CONFLICT, OwnerReason.KEPT, OwnerReason.FREE, OwnerReason.LEFT, OwnerReason.JOINED],
        OwnerReason.BETWEEN,
    )
    number = int(of[-1]) + 1
    owned = (source >= 0) | (target >= 0)
    # One number for each (kind, source, target), so that one bincount fills the whole array.
    place = ((kind * number + of[source]) * number + of[target])[owned]
    return np.bincount(place, minlength=len(OwnerReason) * number**2).reshape(
        len(OwnerReason), number, number
    )


_LEAST_ROW = 17.0
"""The least height of a row in pixels, so that its text fits."""

_GAP = 9.0
"""Pixels between two rows."""

_EACH, _LOWEST, _HIGHEST = 34.0, 150.0, 420.0
"""The height of all partitions together, in pixels: `_EACH` for each row, within the two limits."""

_EDGE = 6.0
"""Pixels above the first row."""


class Row(NamedTuple):
    """A member or a range of members in the picture.

    Attributes:
        name: the label.
        numbers: the number of partitions before and after, as text.
        y: the top of its partitions, in pixels from the top of the picture.
        before: the height of its partitions before, in pixels.
        after: the height of its partitions after, in pixels.
        middle: the vertical middle of its name, in pixels from the top of the picture.
    """

    name: str
    numbers: str
    y: float
    before: float
    after: float
    middle: float


class Ribbon(NamedTuple):
    """The partitions of one kind that go from one row to another, as an SVG path that is 100 units wide."""

    style: str
    path: str


class Ownership(NamedTuple):
    """The picture of owners before and after, `height` pixels high."""

    height: float
    rows: tuple[Row, ...]
    ribbons: tuple[Ribbon, ...]  # in the order in which they are drawn, those of kept partitions first
    shared: str  # what "…" stands for in names
    keys: tuple[tuple[str, int, str], ...]  # what the colours mean: style, number of partitions, words


def ownership(diff: AssignmentDiff) -> Ownership:
    """Return the picture of owners: before on the left, after on the right, ribbons between.

    Args:
        diff: the diff. If it has more than `FEW` members, ranges of members share rows.

    Returns:
        The picture. The heights of all partitions together are between `_LOWEST` and `_HIGHEST` pixels, to
        which gaps and rows at the least height are added.
    """
    grouped = member_groups(diff, np.arange(len(diff.members)), FEW)
    went = count_exchanged(diff, grouped.of)
    before, after = went.sum(axis=(0, 2)), went.sum(axis=(0, 1))
    widest = np.maximum(before, after)
    # "nobody" has a row only if a partition has no owner on one side.
    shown = len(widest) if widest[-1] else len(widest) - 1
    # Two members need no tall picture, and thirty must fit on a screen.
    total = min(max(_EACH * shown, _LOWEST), _HIGHEST)
    unit = total / max(1, int(widest.sum()))
    # A member with few partitions still needs room for its name.
    heights = np.maximum(widest[:shown] * unit, _LEAST_ROW)
    tops = _EDGE + np.concatenate([[0.0], np.cumsum(heights + _GAP)])
    numbers = [
        f"{one:,}" if one == other else f"{one:,} → {other:,}"
        for one, other in zip(before[:shown].tolist(), after[:shown].tolist(), strict=True)
    ]
    middle = tops[:-1] + heights / 2
    places = (middle - widest[:shown] * unit / 2, before[:shown] * unit, after[:shown] * unit, middle)
    rows = tuple(map(Row, grouped.names[:shown], numbers, *(place.tolist() for place in places)))
    times = went.sum(axis=(1, 2)).tolist()
    return Ownership(
        float(tops[-1]),
        rows,
        tuple(_ribbons(went, np.array([row.y for row in rows]), unit)),
        grouped.shared,
        tuple((kind.style, times[kind], label) for kind, label in _LABELS.items() if times[kind]),
    )


def _ribbons(went: NDArray[np.int64], tops: NDArray[np.float64], unit: float) -> list[Ribbon]:
    """Return the ribbons, in the order in which they are drawn.

    The ribbons of a row leave it in the order of the rows where they end, and arrive in the order of the rows
    where they begin, so that ribbons of one row do not cross.

    Args:
        went: the result of `count_exchanged`.
        tops: the top of each group's partitions, in pixels from the top of the picture.
        unit: the height of one partition, in pixels.
    """
    kind, source, target = np.nonzero(went)
    thick = (went[kind, source, target] * unit).astype(np.float64)
    leaves = _stack(np.lexsort((kind, target, source)), source, thick) + tops[source]
    arrives = _stack(np.lexsort((kind, source, target)), target, thick) + tops[target]
    # Kept partitions are drawn first, below the rest. Thin ribbons are drawn last, so that none is hidden.
    drawn = np.lexsort((-thick, kind != OwnerReason.KEPT))
    columns = (column[drawn].tolist() for column in (kind, leaves, arrives, thick))
    return [
        Ribbon(OwnerReason(one).style, _path(start, end, height))
        for one, start, end, height in zip(*columns, strict=True)
    ]


def _stack(order: NDArray[np.intp], row: NDArray[np.intp], thick: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of each ribbon from the top of its row, in pixels; ribbons lie below each other.

    Args:
        order: the ribbons from the first row to the last, and within a row from top to bottom.
        row: the row of each ribbon.
        thick: the thickness of each ribbon, in pixels.
    """
    until = np.cumsum(thick[order])
    begins = until - thick[order]
    opens = np.concatenate([[True], np.diff(row[order]) != 0])[: len(order)]
    # The thickness of all ribbons of earlier rows: the sum where each row opens, repeated along the row.
    base = np.maximum.accumulate(np.where(opens, begins, 0.0))
    place = np.empty(len(order))
    place[order] = begins - base
    return place


def _path(start: float, end: float, height: float) -> str:
    """Return the SVG path of a ribbon, at least 0.6 pixels thick so that it can be seen.

    Args:
        start: where it begins on the left, in pixels from the top of the picture.
        end: where it ends on the right, in pixels from the top of the picture.
        height: its thickness, in pixels.
    """
    height = max(height, 0.6)
    low, high = end + height, start + height
    return (
        f"M0 {start:.1f}C50 {start:.1f} 50 {end:.1f} 100 {end:.1f}"
        f"V{low:.1f}C50 {low:.1f} 50 {high:.1f} 0 {high:.1f}z"
    )


_HEAT_ROWS, _HEAT_COLUMNS = 40, 30
"""The most members that have a row of their own, and a column of their own."""

_RANGES = 20
"""The most rows, and the most columns, of a table with more members: each then stands for a range of them."""

SHADES = 5
"""The number of shades that a cell can have; the largest number has the darkest shade."""


class HeatRow(NamedTuple):
    """The partitions that a member, or a range of members, gave to each column."""

    name: str
    cells: tuple[tuple[int, int], ...]  # (number of partitions, shade from 0 for none to `SHADES`)
    total: int


class Heat(NamedTuple):
    """The table of givers (rows) and takers (columns) of partitions."""

    columns: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    totals: tuple[int, ...]  # what each column got
    ranges: tuple[int, int]  # how many members share a row, and a column
    shared: tuple[str, ...]  # what "…" stands for in names


def heat(diff: AssignmentDiff) -> Heat:
    """Return the partitions that have another owner after, by members before and after.

    Returns:
        The table. Rows and columns of single members are sorted by their partitions, the most first; those of
        ranges are sorted by name. The shade of a cell is 0 without partitions; otherwise it is 1 to `SHADES`,
        in proportion to the largest cell.
    """
    rows = diff.source != diff.target
    source, target = diff.source[rows], diff.target[rows]
    givers, takers = _axis(diff, source, _HEAT_ROWS), _axis(diff, target, _HEAT_COLUMNS)
    shape = len(givers.names), len(takers.names)
    place = givers.of[source] * shape[1] + takers.of[target]
    went = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape)
    down, across = _order(givers, went.sum(axis=1)), _order(takers, went.sum(axis=0))
    went = went[np.ix_(down, across)]
    # Rounded up, so that a single partition is never white.
    shades = -(-went * SHADES // max(1, int(went.max(initial=0))))
    return Heat(
        tuple(takers.names[column] for column in across),
        tuple(
            HeatRow(givers.names[row], tuple(zip(numbers, shade, strict=True)), sum(numbers))
            for row, numbers, shade in zip(down, went.tolist(), shades.tolist(), strict=True)
        ),
        tuple(went.sum(axis=0).tolist()),
        (givers.size, takers.size),
        tuple(dict.fromkeys(shared for shared in (givers.shared, takers.shared) if shared)),
    )


def _axis(diff: AssignmentDiff, members: NDArray[np.int32], alone: int) -> Groups:
    """Return the groups of the members that occur; each is a group of its own if there are at most `alone`.

    Args:
        diff: the diff.
        members: the giver or the taker of each partition, by place; -1 for nobody.
        alone: the most members that have a row or a column of their own. If there are more, they share at
            most `_RANGES` ranges.
    """
    # Members that give or take nothing have no row or column.
    used = np.unique(members[members >= 0])
    return member_groups(diff, used, len(used) if len(used) <= alone else _RANGES)


def _order(grouped: Groups, partitions: NDArray[np.int64]) -> list[int]:
    """Return the order of rows or columns: single members by their partitions, ranges by name.

    Nobody comes last, and is left out if it has no partition.

    Args:
        grouped: the rows or the columns.
        partitions: the number of partitions of each group, nobody last; int64 of shape (groups + 1,).

    Returns:
        Indices into `grouped.names`.
    """
    everybody = np.arange(len(partitions) - 1)
    if grouped.size == 1:
        everybody = np.argsort(-partitions[:-1], kind="stable")
    return [*everybody.tolist(), *([len(everybody)] if partitions[-1] else [])]
