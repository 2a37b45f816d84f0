"""Runs side by side over one time axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copartition.reports.axis import WIDTH, Tick, Window, ticks
from copartition.reports.ranges import clock, count, duration
from copartition.reports.simulation.curves import Curve, lagging, most_lag, reading
from copartition.reports.simulation.lanes import Lanes, Shape, Strip
from copartition.reports.simulation.legend import consumer_styles
from copartition.reports.simulation.marks import Mark, crowded, events, marks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from copartition.simulation import LogEntry, SimulationResult

DRAWN = 12
"""The most runs that a page draws."""
_SHAPES = 12_000
"""Rectangles of one kind in a chart: what keeps a page of any group small enough to send."""
_SHAPES_EACH = (480, 4_000)
"""The fewest and the most of them in a panel."""
_SECOND_READERS = 300


class Heights(NamedTuple):
    """Where the strips of a panel begin, and how high they are, in pixels."""

    curve: float = 34.0
    lanes: float = 120.0
    lag: float = 48.0
    curve_y: float = 56.0
    lanes_y: float = 110.0
    readers_y: float = 250.0
    lag_y: float = 390.0

    def axis_y(self, *, lag: bool) -> float:
        """Where the time axis is."""
        return (self.lag_y + self.lag if lag else self.readers_y + self.lanes) + 6


HEIGHTS = Heights()


class Panel(NamedTuple):
    """One run over one stretch of time.

    Attributes:
        title: which run.
        facts: what this stretch of time cost it.
        label: what the picture is, for those who do not see it.
        marks: events.
        crowded: whether there are too many for lines.
        reading: share of the partitions that is read.
        existing: partitions from their first moment on, as an SVG path.
        phases: partitions that stand still.
        readers: who reads.
        second_readers: partitions with two readers.
        lag: records behind; None without a load.
        most_lag: records at the top of it.
    """

    title: str
    facts: str
    label: str
    marks: tuple[Mark, ...]
    crowded: bool
    reading: Curve
    existing: str
    phases: Strip
    readers: Strip
    second_readers: tuple[Shape, ...]
    lag: Curve | None
    most_lag: float


class Chart(NamedTuple):
    """Panels over one time axis; `name` tells the charts of a page apart."""

    name: str
    title: str
    width: float
    heights: Heights
    axis_y: float
    panels: tuple[Panel, ...]
    ticks: tuple[Tick, ...]


def whole_run(results: Sequence[SimulationResult]) -> Chart:
    """The runs from beginning to end."""
    return _chart("whole", "The whole run", results, _whole(results))


def charts(results: Sequence[SimulationResult]) -> list[Chart]:
    """The whole of the runs, and their first disturbance up close where that is much shorter."""
    whole = _whole(results)
    near = first_disturbance(results)
    drawn = [whole_run(results)]
    if near is not None and near.end - near.start < whole.end / 4:
        drawn.append(_chart("near", "The first disturbance up close", results, near))
    return drawn


def run_title(result: SimulationResult, results: Sequence[SimulationResult]) -> str:
    """What tells a run from the others."""
    title = f"{result.scenario.assignor}, {result.scenario.membership} members"
    several = len({each.scenario.name for each in results}) > 1
    return f"{result.scenario.name}: {title}" if several else title


def first_disturbance(results: Sequence[SimulationResult]) -> Window | None:
    """From a little before the first event to a little after all that follows from it, over all runs.

    What follows are the pauses and rebalances that begin before the next event, and follow-up rebalances even
    after it. A consumer that comes back is no event of its own, and neither is the follow-up that a rebalance
    asks for.
    """
    happened = [events(result.log) for result in results]
    moments = sorted({at for entries in happened for at in _beginnings(entries)})
    if not moments:
        return None
    first = moments[0]
    following = moments[1] if len(moments) > 1 else np.inf
    last = max(_settled(result, first, following) for result in results)
    if last == first:
        return None
    margin = 0.1 * (last - first)
    return Window(max(0.0, first - margin), last + margin)


def _beginnings(happened: Sequence[LogEntry]) -> list[float]:
    """When something new happens to the group: all events but the return of those who are away."""
    moments = []
    away = set()
    for entry in happened:
        if entry.what in ("leave", "crash"):
            away.add(entry.subject)
        elif entry.what == "join" and entry.subject in away:
            away.remove(entry.subject)
            continue
        moments.append(entry.at_ms)
    return moments


def _settled(result: SimulationResult, first: float, following: float) -> float:
    """When a run is done with what begins between two moments."""
    _, opens, closes = result.timeline.pauses()
    last = float(closes[(opens >= first) & (opens < following)].max(initial=first))
    for rebalance in result.rebalances:
        if first <= rebalance.started_ms < following:
            last = max(last, rebalance.completed_ms)
        elif following <= rebalance.started_ms <= last and "partitions revoked" in rebalance.causes:
            waiting = closes[(opens >= first) & (opens <= rebalance.started_ms)]
            last = max(last, rebalance.completed_ms, float(waiting.max(initial=last)))
    return last


def _whole(results: Sequence[SimulationResult]) -> Window:
    return Window(0.0, max(1.0, *(result.summary.duration_ms for result in results)))


def _chart(name: str, title: str, results: Sequence[SimulationResult], window: Window) -> Chart:
    styles = consumer_styles(results)
    most = int(np.clip(_SHAPES // len(results), *_SHAPES_EACH))
    loads = [result.records for result in results if result.records is not None and len(result.records.lag)]
    top = max((most_lag(each, window) for each in loads), default=0.0)
    panels = tuple(_panel(result, results, window, styles, most, top) for result in results)
    return Chart(name, title, WIDTH, HEIGHTS, HEIGHTS.axis_y(lag=bool(loads)), panels, ticks(window))


def _panel(
    result: SimulationResult,
    results: Sequence[SimulationResult],
    window: Window,
    styles: Mapping[str, str],
    most: int,
    most_behind: float,
) -> Panel:
    lanes = Lanes(result.timeline, HEIGHTS.lanes)
    placed = marks(events(result.log), window)
    title = run_title(result, results)
    partitions = count(int(result.timeline.first[-1]), "partition")
    records, end = result.records, result.summary.duration_ms
    return Panel(
        title=title,
        facts=_facts(result, window),
        label=f"{partitions} over time, {clock(window.start)} to {clock(window.end)}: {title}",
        marks=placed,
        crowded=crowded(placed),
        reading=reading(result.timeline, lanes.born, window, HEIGHTS.curve),
        existing=lanes.existing(window),
        phases=lanes.phases(window, most),
        readers=lanes.readers(window, most, styles),
        second_readers=lanes.second_readers(window, _SECOND_READERS),
        lag=None
        if records is None or not len(records.lag)
        else lagging(records, window, end, HEIGHTS.lag, most_behind),
        most_lag=most_behind,
    )


def _facts(result: SimulationResult, window: Window) -> str:
    """The stretch in numbers."""
    _, opens, closes = result.timeline.pauses()
    lasted = np.maximum(0.0, np.minimum(closes, window.end) - np.maximum(opens, window.start))
    rebalances = sum(window.start <= each.started_ms < window.end for each in result.rebalances)
    return (
        f"{count(rebalances, 'rebalance')}, {lasted.sum() / 1_000:,.1f} partition-seconds not read, "
        f"{duration(float(lasted.max(initial=0.0)))} at most"
    )
