"""Make the page of a diff: verdict, pictures of owners and loads, what stops, and tables."""

from math import ceil, isfinite
from typing import NamedTuple

from copartition.assignment_diff.compare import AssignmentDiff
from copartition.assignment_diff.load_picture import HEIGHT, load
from copartition.assignment_diff.owner_pictures import FEW, heat, ownership
from copartition.assignment_diff.report.headline import headline
from copartition.assignment_diff.report.model import Shown, View, named_places, presence, reason
from copartition.assignment_diff.report.verdict import detail_lines, fates, heading, notes
from copartition.deploys.answer import UNIT, Stops
from copartition.kit.evidence import Missing
from copartition.kit.page import Tick, Window, render, ticks

_MARKS = 4
"""The most marks of the time axis, which is as narrow as a column of a table."""


class StopTimeline(NamedTuple):
    """The longest pause of each way in which the change may happen, drawn over one time axis.

    A pause without an end is drawn to the end of the axis.

    Attributes:
        window: the axis, in milliseconds, from 0.
        ways: the change as it is planned and, if members left, the same change with a crash of these members.
        ticks: the marks of the axis.
    """

    window: Window
    ways: tuple[Stops, ...]
    ticks: tuple[Tick, ...]


def timeline(diff: AssignmentDiff) -> StopTimeline | None:
    """Return what the change stops on one axis of time; None if nothing stops, or if that is unknown."""
    if isinstance(diff.stops, Missing) or not any(way.stopped for way in diff.stops):
        return None
    ends = [time for way in diff.stops for time in (way.longest_pause_ms.most, way.new_ms.most)]
    # The axis is 5 % longer than the longest bar, so that the end of that bar can be seen.
    window = Window(0.0, (max(filter(isfinite, ends), default=0.0) or 1_000.0) * 1.05)
    marks = ticks(window)
    return StopTimeline(window, diff.stops, marks[:: ceil(len(marks) / _MARKS)])


ROWS = 100
"""The most rows of a table."""
_RIBBONS = 150
"""The most ribbons of the picture of owners; with more, the page has a table of givers and takers instead."""


def diff_html(diff: AssignmentDiff, *, reasons: bool = False) -> str:
    """Return an HTML page about a diff: verdict, assumptions, owners, loads, and what the change stops.

    Args:
        diff: the diff.
        reasons: True to split flows by the reason why the plan moves their partitions.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    picture = ownership(diff) if 0 < len(diff.members) <= FEW else None
    # Nobody can follow many ribbons that lie over each other. The table shows the same moves as numbers.
    if picture is not None and len(picture.ribbons) > _RIBBONS:
        picture = None
    # Without filters: a page shows the whole group, whatever the text report shows.
    shown = Shown(diff, View(reasons=reasons))
    members = shown.largest_members(ROWS)
    has_moves = bool((diff.source != diff.target).any())
    return render(
        "assignment_diff/page.html.j2",
        diff=diff,
        heading=heading(diff),
        verdict=headline(diff),
        details=detail_lines(diff),
        fates=fates(diff),
        notes=notes(diff),
        picture=picture,
        heat=heat(diff) if has_moves and picture is None else None,
        load=load(diff),
        timeline=timeline(diff),
        unit=UNIT,
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
