"""Picture 2: when each partition was read during a simulation, and when not, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.reports.ranges import count, duration
from assignors.simulation import Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.simulation import SimulationResult, Timeline

WIDTH = 1000.0
LANES = 132.0
CURVE = 34.0
_THINNEST = 0.7


class Tick(NamedTuple):
    """A mark of the time axis."""

    x: float
    text: str


class Panel(NamedTuple):
    """One run over one stretch of time, as SVG paths in pixels.

    Attributes:
        title: strategy and membership.
        facts: the run in numbers.
        exists: partitions that exist, from their first moment on.
        paused: partitions nobody reads while the group rebalances.
        unnoticed: partitions nobody reads because nobody has noticed.
        curve: share of the partitions that is read, the lowest in each pixel, as a closed area.
    """

    title: str
    facts: str
    exists: str
    paused: str
    unnoticed: str
    curve: str


class Chart(NamedTuple):
    """Panels over one time axis; `name` tells the charts of a page apart."""

    name: str
    title: str
    width: float
    lanes: float
    curve: float
    panels: tuple[Panel, ...]
    ticks: tuple[Tick, ...]
    summary: str


def availability(results: Sequence[SimulationResult]) -> list[Chart]:
    """The whole of the runs, and their first disturbance up close where that is much shorter."""
    end = max(1.0, *(result.summary.duration_ms for result in results))
    charts = [_chart("whole", "The whole run", results, 0.0, end)]
    near = _first_disturbance(results)
    if near is not None and near[1] - near[0] < end / 4:
        charts.append(_chart("near", "The first disturbance up close", results, *near))
    return charts


def _chart(name: str, title: str, results: Sequence[SimulationResult], start: float, end: float) -> Chart:
    summary = " ".join(f"{_title(result)}: {_facts(result)}." for result in results)
    return Chart(
        name,
        title,
        WIDTH,
        LANES,
        CURVE,
        tuple(_panel(result, start, end) for result in results),
        _ticks(start, end),
        summary,
    )


def _title(result: SimulationResult) -> str:
    return f"{result.scenario.assignor}, {result.scenario.membership} members"


def _facts(result: SimulationResult) -> str:
    run = result.summary
    return (
        f"{count(run.rebalances, 'rebalance')}, longest pause {duration(run.longest_pause_ms)}, "
        f"{run.partition_pause_ms / 1_000:,.0f} partition-seconds paused, {run.moved_partitions} moved"
    )


def _panel(result: SimulationResult, start: float, end: float) -> Panel:
    timeline = result.timeline
    rank = _ranks(timeline)
    scale = (WIDTH / (end - start), LANES / max(1, len(rank)))
    born = np.full(len(rank), np.inf)
    np.minimum.at(born, timeline.partition, timeline.start)
    exists = np.isfinite(born)

    def still(phase: Phase) -> str:
        rows = timeline.phase == phase
        lane = rank[timeline.partition[rows]]
        return _path(lane, timeline.start[rows], timeline.end[rows], start, end, scale)

    return Panel(
        title=_title(result),
        facts=_facts(result),
        exists=_path(rank[exists], born[exists], np.full(int(exists.sum()), end), start, end, scale),
        paused=still(Phase.PAUSED),
        unnoticed=still(Phase.UNNOTICED),
        curve=_curve(timeline, born, start, end),
    )


def _ranks(timeline: Timeline) -> NDArray[np.int64]:
    """The lane of every partition: those of one consumer are neighbours."""
    first_reader = np.full(int(timeline.first[-1]), len(timeline.consumers), np.int64)
    read = np.flatnonzero(timeline.phase == Phase.CONSUMING)[::-1]
    first_reader[timeline.partition[read]] = timeline.consumer[read]
    rank = np.empty(len(first_reader), np.int64)
    rank[np.argsort(first_reader, kind="stable")] = np.arange(len(rank))
    return rank


def _path(
    rank: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    start: float,
    end: float,
    scale: tuple[float, float],
) -> str:
    """Rectangles as one path; neighbouring lanes with equal times become one rectangle."""
    inside = (starts < end) & (ends > start)
    rank, starts, ends = rank[inside], np.maximum(starts[inside], start), np.minimum(ends[inside], end)
    order = np.lexsort((rank, ends, starts))
    rank, starts, ends = rank[order], starts[order], ends[order]
    if len(rank) == 0:
        return ""
    joins = (np.diff(rank) == 1) & (np.diff(starts) == 0) & (np.diff(ends) == 0)
    opens = np.flatnonzero(np.concatenate([[True], ~joins]))
    closes = np.append(opens[1:], len(rank)) - 1
    pieces = zip(
        ((starts[opens] - start) * scale[0]).tolist(),
        (rank[opens] * scale[1]).tolist(),
        np.maximum((ends - starts)[opens] * scale[0], _THINNEST).tolist(),
        ((rank[closes] - rank[opens] + 1) * scale[1]).tolist(),
        strict=True,
    )
    return "".join(
        f"M{x:.2f} {y:.2f}h{width:.2f}v{height:.2f}h-{width:.2f}z" for x, y, width, height in pieces
    )


def _curve(timeline: Timeline, born: NDArray[np.float64], start: float, end: float) -> str:
    if len(timeline.start) == 0:
        return ""
    _, opens, closes = timeline.pauses()
    births = born[np.isfinite(born)]
    times = np.concatenate([opens, closes, births])
    still = np.repeat([1.0, -1.0, 0.0], [len(opens), len(closes), len(births)])
    alive = np.repeat([0.0, 1.0], [2 * len(opens), len(births)])
    moments, place = np.unique(times, return_inverse=True)
    standing = np.cumsum(np.bincount(place, weights=still, minlength=len(moments)))
    existing = np.cumsum(np.bincount(place, weights=alive, minlength=len(moments)))
    share = 1 - standing / np.maximum(existing, 1)
    # The lowest share in a pixel: that of every moment in it, and what it began with.
    pixels = int(WIDTH)
    edges = np.linspace(start, end, pixels + 1)
    lowest = share[np.maximum(np.searchsorted(moments, edges[:-1], side="right") - 1, 0)]
    inside = (moments >= start) & (moments < end)
    pixel = np.minimum(((moments[inside] - start) / (end - start) * pixels).astype(np.int64), pixels - 1)
    np.minimum.at(lowest, pixel, share[inside])
    turns = np.flatnonzero(np.concatenate([[True], np.diff(lowest) != 0]))
    steps = "".join(f"H{x}V{CURVE * (1 - lowest[x]):.1f}" for x in turns.tolist())
    return f"M0 {CURVE:g}{steps}H{WIDTH:g}V{CURVE:g}z"


def _first_disturbance(results: Sequence[SimulationResult]) -> tuple[float, float] | None:
    """From a little before the first event to a little after the pauses it brings, over all runs."""
    moments = sorted({event.at_ms for result in results for event in result.scenario.events})
    if not moments:
        return None
    following = moments[1] if len(moments) > 1 else np.inf
    last = moments[0]
    for result in results:
        _, opens, closes = result.timeline.pauses()
        last = max([last, *closes[(opens >= moments[0]) & (opens < following)].tolist()])
    if last == moments[0]:
        return None
    margin = 0.1 * (last - moments[0])
    return max(0.0, moments[0] - margin), last + margin


def _ticks(start: float, end: float) -> tuple[Tick, ...]:
    """About ten round times."""
    span = (end - start) / 10
    steps = [
        base * unit
        for unit in (1, 1_000, 60_000, 3_600_000)
        for base in (1, 2, 5, 10, 15, 20, 30, 100, 200, 500)
    ]
    step = next((each for each in sorted(steps) if each >= span), 3_600_000.0)
    marks = np.arange(np.ceil(start / step), np.floor(end / step) + 1) * step
    return tuple(
        Tick(float((mark - start) / (end - start) * WIDTH), _clock(float(mark), step)) for mark in marks
    )


def _clock(milliseconds: float, step: float) -> str:
    if step < 1_000:
        return f"{milliseconds / 1_000:.1f} s" if step >= 100 else f"{milliseconds:.0f} ms"
    if step < 60_000:
        return f"{milliseconds / 1_000:.0f} s"
    return f"{milliseconds / 60_000:.0f} min"
