"""What happened to the group, as lines across its lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from copartition.reports.axis import WIDTH
from copartition.reports.page import LETTER
from copartition.reports.ranges import clock, count
from copartition.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.reports.axis import Window
    from copartition.simulation import LogEntry

_SAID = {
    "join": "{} joins",
    "leave": "{} leaves",
    "crash": "{} crashes",
    "grow": "{} grows",
    "create": "{} is created",
    "slow-poll": "{} is slow to poll",
    "stall": "{} stalls",
    "failover": "coordinator fails over",
    "duplicate-instance": "second {}",
}
"""Entries of the log that are events: what comes from outside the group."""
ROWS = 2
"""Lines of text that labels are spread over."""
_NEAR = 4.0
"""Pixels within which marks are one."""
_LONGEST = 28
_LISTED = 8
_LINES = 40
"""More marks than these are ticks: so many lines would hide what they cross."""


class Mark(NamedTuple):
    """A line at a moment; `row` is that of its label, None where there is no room for one."""

    x: float
    hint: str
    label: str
    label_x: float
    row: int | None


def events(log: Sequence[LogEntry]) -> list[LogEntry]:
    """What was done to the group, in order of time."""
    return sorted((entry for entry in log if entry.what in _SAID), key=lambda entry: entry.at_ms)


def marks(happened: Sequence[LogEntry], window: Window) -> tuple[Mark, ...]:
    """Marks of these events, those that cannot be told apart as one."""
    groups: list[list[LogEntry]] = []
    beginning = -_NEAR
    for entry in happened:
        if not window.start <= entry.at_ms <= window.end:
            continue
        x = float(window.x(entry.at_ms))
        if x - beginning >= _NEAR:
            groups.append([])
            beginning = x
        groups[-1].append(entry)
    free = [0.0] * ROWS
    placed = []
    for group in groups:
        x = float(window.x(group[0].at_ms))
        label = _label(group)
        width = len(label) * LETTER
        left = min(x + 3, WIDTH - width)
        row = next((row for row in range(ROWS) if free[row] <= left), None)
        if row is not None:
            free[row] = left + width + LETTER
        placed.append(Mark(x, _hint(group), label, left, row))
    return tuple(placed)


def crowded(placed: Sequence[Mark]) -> bool:
    """Whether there are too many for lines."""
    return len(placed) > _LINES


def _label(group: list[LogEntry]) -> str:
    first = _said(group[0], longest=_LONGEST)
    if len(group) == 1:
        return first
    if len({entry.what for entry in group}) == 1:
        return f"{len(group)} times: {group[0].what}"
    return f"{first} +{len(group) - 1}"


def _said(entry: LogEntry, *, longest: int | None = None) -> str:
    name = visible(entry.subject or "")
    if longest is not None and len(name) > longest:
        name = "…" + name[1 - longest :]
    return _SAID[entry.what].format(name)


def _hint(group: list[LogEntry]) -> str:
    said = [f"{clock(entry.at_ms)}: {_said(entry)}" for entry in group[:_LISTED]]
    if len(group) > _LISTED:
        said.append(f"and {count(len(group) - _LISTED, 'more event')}")
    return "; ".join(said)
