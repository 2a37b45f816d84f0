"""Draw an HTML page with runs over one time axis: marks of events, curves of the group, and `lanes`.

Times are milliseconds of the run; positions and sizes are pixels of the page, whose width is `WIDTH`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.deploys.answer import UNIT, Stops, answer_sentence
from copartition.deploys.assumptions import run_assumptions
from copartition.kit.evidence import Missing
from copartition.kit.page import COLOURS, LETTER, SHADES, WIDTH, Tick, Window, render, ticks
from copartition.kit.words import clock, count, duration, visible
from copartition.simulate_scenarios.lanes import Lanes, Shape, Strip
from copartition.simulate_scenarios.report import REBALANCES, WORDS, causes, outage_rows, phases
from copartition.simulation import LogEntry, RecordsResult, Scenario, SimulationResult, Timeline

_NAMED = 24
"""The most consumers with a legend; more consumers share colours, and tooltips distinguish them."""


def consumer_styles(results: Sequence[SimulationResult]) -> dict[str, str]:
    """Return the colour and shade of every consumer, the same in all runs."""
    # Consumers of all runs are numbered together, so that a consumer has the same colour on the whole page.
    names = dict.fromkeys(name for result in results for name in result.timeline.consumers)
    return {
        name: f"c{number % COLOURS} shade-{number // COLOURS % SHADES}" for number, name in enumerate(names)
    }


def phase_legend(results: Sequence[SimulationResult]) -> dict[str, str]:
    """Return the meaning of each style in the strips of phases."""
    legend = dict(WORDS["phases"])
    if any(len(result.timeline.zombies.partition) for result in results):
        legend["two"] = "two readers, one of which no longer owns it"
    return legend


def colour_legend(results: Sequence[SimulationResult]) -> dict[str, str]:
    """Return the consumer that each style means; empty if there are too many consumers for a legend."""
    styles = consumer_styles(results)
    return {} if len(styles) > _NAMED else {style: name for name, style in styles.items()}


ROWS = 2
"""The lines of text over which labels are spread."""
_NEAR = 4.0
"""Marks that are nearer to each other than this, in pixels, become one."""
_LONGEST = 28
"""The most characters of a name in a label; its end is kept, because members differ there."""
_LISTED = 8
"""The most events that the tooltip of a mark lists."""
_LINES = 40
"""The most marks that are drawn as lines; more are ticks, because so many lines would hide the picture."""


class Mark(NamedTuple):
    """Holds a line at a moment, with its tooltip and its label.

    Attributes:
        x: the place of the line.
        hint: its tooltip.
        label: its label.
        label_x: the left end of the label.
        row: the line of text in which the label stands, from 0; None if there is no room for it.
    """

    x: float
    hint: str
    label: str
    label_x: float
    row: int | None


def events(log: Sequence[LogEntry]) -> list[LogEntry]:
    """Return the events that came from outside of the group, in the order of time."""
    return sorted((entry for entry in log if entry.from_outside), key=lambda entry: entry.at_ms)


def marks(happened: Sequence[LogEntry], window: Window) -> tuple[Mark, ...]:
    """Return marks of these events; events too near to each other share one.

    Args:
        happened: the events, in order of time.
        window: the time that is shown; events outside it have no mark.
    """
    groups: list[list[LogEntry]] = []
    # This start value makes the first event open a group, even if the event is at the left border.
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
        # A label that would leave the picture on the right is moved to the left.
        left = min(x + 3, WIDTH - width)
        # The label goes to the first line of text on which it covers no earlier label.
        row = next((row for row in range(ROWS) if free[row] <= left), None)
        if row is not None:
            # One letter of space separates this label from the next one.
            free[row] = left + width + LETTER
        placed.append(Mark(x, _hint(group), label, left, row))
    return tuple(placed)


def _label(group: list[LogEntry]) -> str:
    """Return the label of a mark for one or more events."""
    first = _event_text(group[0], longest=_LONGEST)
    if len(group) == 1:
        return first
    if len({entry.what for entry in group}) == 1:
        return f"{len(group)} times: {group[0].what}"
    return f"{first} +{len(group) - 1}"


def _event_text(entry: LogEntry, *, longest: int | None = None) -> str:
    """Return the words for an event; a name that is too long loses its beginning."""
    name = visible(entry.subject or "")
    if longest is not None and len(name) > longest:
        name = "…" + name[1 - longest :]
    return str(WORDS["events"][entry.what]).format(name)


def _hint(group: list[LogEntry]) -> str:
    """Return the tooltip of a mark, which lists its events."""
    texts = [f"{clock(entry.at_ms)}: {_event_text(entry)}" for entry in group[:_LISTED]]
    if len(group) > _LISTED:
        texts.append(f"and {count(len(group) - _LISTED, 'more event')}")
    return "; ".join(texts)


_PIXELS = int(WIDTH)
_SPOT = 10
"""The pixels that share a tooltip."""


class Curve(NamedTuple):
    """Holds the area under a curve, and its stretches that have a tooltip each.

    Attributes:
        area: the area as an SVG path.
        spots: the beginning (in pixels) and the tooltip of each stretch.
        spot_width: the width of each stretch in pixels.
    """

    area: str
    spots: tuple[tuple[int, str], ...]
    spot_width: int


def reading(timeline: Timeline, born: NDArray[np.float64], window: Window, height: float) -> Curve:
    """Return the curve of the share of partitions that are read; each pixel shows its lowest share.

    Args:
        timeline: the phases of all partitions.
        born: when each partition began to exist; before that it does not count.
        window: the time that is shown.
        height: the height of the curve, in pixels.
    """
    if len(timeline.start) == 0:
        return Curve("", (), _SPOT)
    _, opens, closes = timeline.pauses()
    opens, closes, births = np.sort(opens), np.sort(closes), np.sort(born)

    def share(at: NDArray[np.float64]) -> NDArray[np.float64]:
        started, ended, existing = (np.searchsorted(times, at, "right") for times in (opens, closes, births))
        # The number of open pauses is the number of pauses that have begun minus the number that have ended.
        # Both columns are sorted by themselves, because it does not matter which end belongs to which
        # beginning.
        return 1 - (started - ended) / np.maximum(existing, 1)

    # The share falls only when a pause begins. So the lowest share in a pixel is that at the pixel's
    # beginning, or that at the beginning of a pause in the pixel.
    lowest = share(_edges(window, timeline.end.max())[:-1])
    # Many pauses begin at the same moment. To save time, each moment is looked at only once.
    moments = opens[np.diff(opens, prepend=-1.0) > 0]
    pixel, inside = _pixels(moments, window, len(lowest))
    np.minimum.at(lowest, pixel, share(moments[inside]))
    hints = [f"{low:.1%} read" for low in np.minimum.reduceat(lowest, range(0, len(lowest), _SPOT)).tolist()]
    return _curve(window, lowest, height, hints)


def lagging(records: RecordsResult, window: Window, end: float, height: float, most: float) -> Curve:
    """Return the curve of the records that the group is behind; each pixel shows its highest number.

    Args:
        records: the lag over time; it is linear between two of its moments.
        window: the time that is shown.
        end: when the run ends; the curve ends there.
        height: the height of the curve, in pixels.
        most: the lag that reaches the top, in records.
    """
    edges = _edges(window, end)
    at_edges = np.interp(edges, records.lag_ms, records.lag)
    highest = np.maximum(at_edges[:-1], at_edges[1:])
    pixel, inside = _pixels(records.lag_ms, window, len(highest))
    np.maximum.at(highest, pixel, records.lag[inside])
    tops = np.maximum.reduceat(highest, range(0, len(highest), _SPOT)).tolist()
    hints = [f"{high:,.0f} records behind" for high in tops]
    return _curve(window, highest / max(most, 1.0), height, hints)


def most_lag(records: RecordsResult, window: Window) -> float:
    """Return the highest number of records that the group is behind in a stretch of time."""
    inside = (records.lag_ms >= window.start) & (records.lag_ms <= window.end)
    at_edges = np.interp(window, records.lag_ms, records.lag)
    return float(max(at_edges.max(), records.lag[inside].max(initial=0.0)))


def _edges(window: Window, end: float) -> NDArray[np.float64]:
    """Return the times at which pixels begin and end, up to the end of the run; at least one pixel."""
    edges = np.linspace(window.start, window.end, _PIXELS + 1)
    return edges[: max(2, int(np.searchsorted(edges, end, side="left")) + 1)]


def _pixels(
    times: NDArray[np.float64], window: Window, pixels: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the pixel of every time that is in the picture, and the mask of these times."""
    inside = (times >= window.start) & (times < window.end)
    return np.minimum(window.x(times[inside]).astype(np.int64), pixels - 1), inside


def _curve(window: Window, values: NDArray[np.float64], height: float, hints: list[str]) -> Curve:
    """Return the area under values of 0 to 1, one for each pixel.

    `hints` has a text for each `_SPOT` pixels.
    """
    # The path has a point only for a pixel whose value differs from that of the pixel before, so that it is
    # short: most values do not differ.
    turns = np.flatnonzero(np.concatenate([[True], np.diff(values) != 0]))
    steps = "".join(f"H{x}V{height * (1 - values[x]):.1f}" for x in turns.tolist())
    at = [clock(window.at(spot * _SPOT)) for spot in range(len(hints) + 1)]
    spots = tuple((spot * _SPOT, f"{at[spot]} to {at[spot + 1]}: {hint}") for spot, hint in enumerate(hints))
    return Curve(f"M0 {height:g}{steps}H{len(values)}V{height:g}z", spots, _SPOT)


DRAWN = 12
"""The most runs that a page draws."""
_SHAPES = 12_000
"""The approximate limit of rectangles of one kind in a chart, so that a page is small enough to send."""
_SHAPES_EACH = (480, 4_000)
"""The lowest and the highest limit of rectangles of one kind in a panel."""
_SECOND_READERS = 300
"""The most rectangles of second readers in a panel."""


class Heights(NamedTuple):
    """Holds the heights of a panel's strips, and their places (`..._y`) in pixels from the panel's top."""

    curve: float = 34.0
    lanes: float = 120.0
    lag: float = 48.0
    curve_y: float = 56.0
    lanes_y: float = 110.0
    readers_y: float = 250.0
    lag_y: float = 390.0

    def axis_y(self, *, lag: bool) -> float:
        """Return the place of the time axis; with `lag` it is below the curve of the lag."""
        return (self.lag_y + self.lag if lag else self.readers_y + self.lanes) + 6


HEIGHTS = Heights()


class Panel(NamedTuple):
    """Holds the picture of one run over a stretch of time.

    Attributes:
        title: the words that identify the run.
        facts: what happened in this stretch of time, in a few words.
        label: a description of the picture, for people who do not see it.
        marks: the events.
        crowded: whether there are too many marks to draw them as lines.
        reading: the share of the partitions that is read.
        existing: the partitions from their first moment on, as an SVG path.
        phases: the partitions that stand still.
        readers: the consumers that read each partition.
        second_readers: the partitions with two readers.
        lag: the number of records that the group is behind; None if there is no load.
        most_lag: the number of records at the top of the curve of the lag.
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
    """Holds panels over one time axis; `name` identifies the chart on its page."""

    name: str
    title: str
    width: float
    heights: Heights
    axis_y: float
    panels: tuple[Panel, ...]
    ticks: tuple[Tick, ...]


def whole_run(results: Sequence[SimulationResult]) -> Chart:
    """Return the chart of the runs from beginning to end."""
    return _chart("whole", "The whole run", results, results, _longest_run(results))


def charts(results: Sequence[SimulationResult]) -> list[Chart]:
    """Return the chart of the whole runs, and a chart of each scenario's busiest disturbance up close.

    A disturbance that takes a quarter of the run or more has no chart of its own.
    """
    drawn = [whole_run(results)]
    names = dict.fromkeys(result.scenario.name for result in results)
    for name in names:
        runs = [result for result in results if result.scenario.name == name]
        near = busiest_disturbance(runs)
        if near is not None and near.end - near.start < _longest_run(runs).end / 4:
            title = "The busiest disturbance up close" + (f": {visible(name)}" if len(names) > 1 else "")
            drawn.append(_chart(f"near-{len(drawn)}", title, runs, results, near))
    return drawn


def run_title(result: SimulationResult, results: Sequence[SimulationResult]) -> str:
    """Return the words that distinguish a run from the others."""
    title = f"{result.scenario.assignor}, {result.scenario.membership} members"
    several = len({run.scenario.name for run in results}) > 1
    return f"{result.scenario.name}: {title}" if several else title


def busiest_disturbance(results: Sequence[SimulationResult]) -> Window | None:
    """Return the time around the event that causes the most pauses, over all runs; None if none causes any.

    An event counts as the cause of the pauses that begin after it and before the next event; their lengths
    are summed over partitions and runs. The return of a consumer is not an event here. The window begins a
    little before the event. It ends a little after the last of these pauses, of the rebalances that begin
    before the next event, and of the follow-up rebalances of these.

    Args:
        results: runs of one scenario.
    """
    moments = np.unique([at for result in results for at in _beginnings(events(result.log))])
    if not len(moments):
        return None
    # Index 0 stands for the time before the first event, and is never chosen.
    stopped = np.zeros(len(moments) + 1)
    for result in results:
        _, opens, closes = result.timeline.pauses()
        np.add.at(stopped, np.searchsorted(moments, opens, "right"), closes - opens)
    chosen = int(stopped[1:].argmax())
    # No event follows the last one, so the time until the next event is infinite.
    first, following = [*moments.tolist(), np.inf][chosen : chosen + 2]
    last = max(_end_of_disturbance(result, first, following) for result in results)
    if last == first:
        return None
    margin = 0.1 * (last - first)
    return Window(max(0.0, first - margin), last + margin)


def _beginnings(happened: Sequence[LogEntry]) -> list[float]:
    """Return the times of all events except those of consumers that return after they left or crashed."""
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


def _end_of_disturbance(result: SimulationResult, first: float, following: float) -> float:
    """Return when a run is done with everything that begins between two moments.

    Args:
        result: the run.
        first: when the event happens.
        following: when the next event happens; infinite if there is none.
    """
    _, opens, closes = result.timeline.pauses()
    last = float(closes[(opens >= first) & (opens < following)].max(initial=first))
    for rebalance in result.rebalances:
        if first <= rebalance.started_ms < following:
            last = max(last, rebalance.completed_ms)
        # A follow-up belongs to the rebalance that caused it, even if an event came between the two.
        elif following <= rebalance.started_ms <= last and "partitions revoked" in rebalance.causes:
            waiting = closes[(opens >= first) & (opens <= rebalance.started_ms)]
            last = max(last, rebalance.completed_ms, float(waiting.max(initial=last)))
    return last


def _longest_run(results: Sequence[SimulationResult]) -> Window:
    """Return the time from 0 to the end of the longest run, at least a millisecond."""
    return Window(0.0, max(1.0, *(result.summary.duration_ms for result in results)))


def _chart(
    name: str,
    title: str,
    runs: Sequence[SimulationResult],
    results: Sequence[SimulationResult],
    window: Window,
) -> Chart:
    """Return a chart of some results, in the colours and with the titles that they have among all results.

    Args:
        name: the chart's id on the page.
        title: the chart's heading.
        runs: the results that are drawn.
        results: all results of the page.
        window: the time that is shown.
    """
    styles = consumer_styles(results)
    most = int(np.clip(_SHAPES // len(results), *_SHAPES_EACH))
    loads = [result.records for result in runs if result.records is not None and len(result.records.lag)]
    # All panels have one scale, so that they can be compared by eye.
    top = max((most_lag(load, window) for load in loads), default=0.0)
    panels = []
    for result in runs:
        lanes = Lanes(result.timeline, HEIGHTS.lanes)
        placed = marks(events(result.log), window)
        run = run_title(result, results)
        partitions = count(int(result.timeline.first[-1]), "partition")
        records, end = result.records, result.summary.duration_ms
        panels.append(
            Panel(
                title=run,
                facts=_facts(result, window),
                label=f"{partitions} over time, {clock(window.start)} to {clock(window.end)}: {run}",
                marks=placed,
                crowded=len(placed) > _LINES,
                reading=reading(result.timeline, lanes.born, window, HEIGHTS.curve),
                existing=lanes.existing(window),
                phases=lanes.phases(window, most),
                readers=lanes.readers(window, most, styles),
                second_readers=lanes.second_readers(window, _SECOND_READERS),
                lag=None
                if records is None or not len(records.lag)
                else lagging(records, window, end, HEIGHTS.lag, top),
                most_lag=top,
            )
        )
    return Chart(name, title, WIDTH, HEIGHTS, HEIGHTS.axis_y(lag=bool(loads)), tuple(panels), ticks(window))


def _facts(result: SimulationResult, window: Window) -> str:
    """Return a few words on the rebalances and pauses of a run in a stretch of time."""
    _, opens, closes = result.timeline.pauses()
    # `lasted` is the part of each pause that is in the window; it is 0 for a pause outside the window.
    lasted = np.maximum(0.0, np.minimum(closes, window.end) - np.maximum(opens, window.start))
    rebalances = sum(window.start <= rebalance.started_ms < window.end for rebalance in result.rebalances)
    return (
        f"{count(rebalances, 'rebalance')}, {lasted.sum() / 1_000:,.1f} partition-seconds not read, "
        f"{duration(float(lasted.max(initial=0.0)))} at most"
    )


_TOPICS = 8
"""The most topics that a page's head names."""


def simulation_html(results: Sequence[SimulationResult], stops: Sequence[Stops | Missing] = ()) -> str:
    """Return a page with one or more runs over the same time axis.

    Args:
        results: the runs; the first `DRAWN` have pictures and tables.
        stops: for how long each scenario of a captured group stops partitions, over many runs, or why this is
            not known; empty for scenario files.
    """
    drawn = results[:DRAWN]
    outages = [outage_rows(result) for result in drawn]
    return render(
        "simulate_scenarios/page.html.j2",
        results=results,
        names=list(dict.fromkeys(result.scenario.name for result in results)),
        groups=list(dict.fromkeys(_group(result.scenario) for result in results)),
        drawn=drawn,
        charts=charts(drawn),
        phase_keys=phase_legend(drawn),
        colour_keys=colour_legend(drawn),
        outages=outages,
        phases=phases,
        longest=max((row.pause_ms for rows in outages for row in rows if row.partitions), default=0.0),
        rebalances=REBALANCES,
        assumed=_assumptions_by_run(results),
        causes=causes,
        run_title=run_title,
        answers=[answer_sentence(answer) for answer in stops],
        unit=UNIT,
    )


def _assumptions_by_run(results: Sequence[SimulationResult]) -> list[tuple[str, list[str]]]:
    """Return (run, assumptions of its figures); if they are the same for all runs, only once, with run ""."""
    by_run = {run_title(result, results): run_assumptions(result.scenario) for result in results}
    first = next(iter(by_run.values()))
    return [("", first)] if all(sentence == first for sentence in by_run.values()) else list(by_run.items())


def _group(scenario: Scenario) -> str:
    """Return the words for a scenario's group, events and seed."""
    topics = [f"{topic.name} with {count(topic.partitions, 'partition')}" for topic in scenario.topics]
    if len(topics) > _TOPICS:
        topics[_TOPICS:] = [count(len(topics) - _TOPICS, "more topic")]
    members, happens = count(len(scenario.consumers), "consumer"), count(len(scenario.events), "event")
    return " · ".join([members, *topics, happens, f"seed {scenario.seed}"])
