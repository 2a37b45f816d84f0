"""A page with a diff."""

from __future__ import annotations

from math import ceil, isfinite
from typing import NamedTuple

from copartition.diff import AssignmentDiff
from copartition.diff.stops import Stop
from copartition.reports.diff.model import Shown, View, named_places, presence, reason
from copartition.reports.diff.pictures import FEW, HEIGHT, heat, load, ownership
from copartition.reports.diff.verdict import answer, fates, heading, notes, stop_remark
from copartition.reports.page import WIDTH, Tick, Window, render, ticks

_MARKS = 4
"""The most marks of the axis: a column of a table has room for few."""
_EVENTS = {
    "join": "when members join",
    "leave": "when members leave",
    "crash": "when members crash",
    "growth": "when topics grow",
    "rebalance": "when the group rebalances",
}


class Lane(NamedTuple):
    """A stop and its two stretches, in percent of the axis: unnoticed, then noticed."""

    stop: Stop
    unnoticed: float
    noticed: float


class Timeline(NamedTuple):
    """Stops by what happens, over one time axis; whether any is unnoticed for a while."""

    events: tuple[tuple[str, tuple[Lane, ...]], ...]
    ticks: tuple[Tick, ...]
    unnoticed: bool


def timeline(diff: AssignmentDiff) -> Timeline | None:
    """Lay the stops out; None where nothing stops."""
    stops = diff.own_stops
    if not stops:
        return None
    longest = max((stop.longest_ms for stop in stops if isfinite(stop.longest_ms)), default=0.0) or 1_000.0
    window = Window(0.0, longest * 1.05)
    events: dict[str, list[Lane]] = {}
    for stop in stops:
        noticed, over = (float(window.x(at)) * 100 / WIDTH for at in (stop.detection_ms, stop.longest_ms))
        events.setdefault(_EVENTS.get(stop.event, stop.event), []).append(
            Lane(stop, min(noticed, over), max(0.0, over - noticed))
        )
    marks = ticks(window)
    return Timeline(
        tuple((event, tuple(lanes)) for event, lanes in events.items()),
        marks[:: ceil(len(marks) / _MARKS)],
        any(stop.detection_ms > 0 for stop in stops),
    )


ROWS = 100
"""The most rows of a table."""
_RIBBONS = 150
"""More ribbons than this are a tangle."""


def diff_html(diff: AssignmentDiff, *, reasons: bool = False) -> str:
    """A page with a diff: verdict, assumptions, owners, loads, the stop; `reasons` splits flows by cause."""
    picture = ownership(diff) if 0 < len(diff.members) <= FEW else None
    if picture is not None and len(picture.ribbons) > _RIBBONS:
        picture = None
    shown = Shown(diff, View(reasons=reasons))
    members = shown.largest_members(ROWS)
    has_moves = bool((diff.source != diff.target).any())
    return render(
        "diff.html.j2",
        diff=diff,
        heading=heading(diff),
        verdict=answer(diff),
        fates=fates(diff),
        notes=notes(diff),
        picture=picture,
        heat=heat(diff) if has_moves and picture is None else None,
        load=load(diff),
        timeline=timeline(diff),
        stop_remark=stop_remark(diff),
        members=members,
        more_members=len(shown.members) - len(members),
        unchanged=shown.unchanged,
        flows=shown.largest_flows(ROWS),
        reasons=reasons,
        reason=reason,
        presence=presence,
        named_places=named_places,
        spread_height=HEIGHT,
    )
