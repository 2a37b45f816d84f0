"""What a group as a whole was like over time, as areas."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copartition.reports.axis import WIDTH
from copartition.reports.ranges import clock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copartition.reports.axis import Window
    from copartition.simulation import RecordsResult, Timeline

_PIXELS = int(WIDTH)
_SPOT = 10
"""Pixels that share a tooltip."""


class Spot(NamedTuple):
    """A stretch of a curve that tells of itself."""

    x: int
    hint: str


class Curve(NamedTuple):
    """A closed area under a curve, and the stretches that tell of it."""

    area: str
    spots: tuple[Spot, ...]
    spot_width: int


def reading(timeline: Timeline, born: NDArray[np.float64], window: Window, height: float) -> Curve:
    """The share of the partitions that is read, the lowest in each pixel."""
    if len(timeline.start) == 0:
        return Curve("", (), _SPOT)
    _, opens, closes = timeline.pauses()
    opens, closes, births = np.sort(opens), np.sort(closes), np.sort(born)

    def share(at: NDArray[np.float64]) -> NDArray[np.float64]:
        started, ended, existing = (np.searchsorted(each, at, "right") for each in (opens, closes, births))
        return 1 - (started - ended) / np.maximum(existing, 1)

    # The share falls when a pause begins, so a pixel is lowest then, or as it began.
    lowest = share(_edges(window, timeline.end.max())[:-1])
    moments = opens[np.diff(opens, prepend=-1.0) > 0]
    pixel, inside = _pixels(moments, window, len(lowest))
    np.minimum.at(lowest, pixel, share(moments[inside]))
    hints = [f"{low:.1%} read" for low in np.minimum.reduceat(lowest, _spots(lowest)).tolist()]
    return _curve(window, lowest, height, hints)


def lagging(records: RecordsResult, window: Window, end: float, height: float, most: float) -> Curve:
    """The records the group is behind, the most in each pixel; `most` reaches the top."""
    edges = _edges(window, end)
    at_edges = np.interp(edges, records.lag_ms, records.lag)
    highest = np.maximum(at_edges[:-1], at_edges[1:])
    pixel, inside = _pixels(records.lag_ms, window, len(highest))
    np.maximum.at(highest, pixel, records.lag[inside])
    hints = [f"{high:,.0f} records behind" for high in np.maximum.reduceat(highest, _spots(highest)).tolist()]
    return _curve(window, highest / max(most, 1.0), height, hints)


def most_lag(records: RecordsResult, window: Window) -> float:
    """The most records behind in a stretch of time."""
    inside = (records.lag_ms >= window.start) & (records.lag_ms <= window.end)
    at_edges = np.interp(window, records.lag_ms, records.lag)
    return float(max(at_edges.max(), records.lag[inside].max(initial=0.0)))


def _edges(window: Window, end: float) -> NDArray[np.float64]:
    """Where pixels begin and end, up to the end of the run."""
    edges = np.linspace(window.start, window.end, _PIXELS + 1)
    return edges[: max(2, int(np.searchsorted(edges, end, side="left")) + 1)]


def _pixels(
    times: NDArray[np.float64], window: Window, pixels: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The pixel of every time that is in the picture, and which are."""
    inside = (times >= window.start) & (times < window.end)
    return np.minimum(window.x(times[inside]).astype(np.int64), pixels - 1), inside


def _spots(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.arange(0, len(values), _SPOT)


def _curve(window: Window, values: NDArray[np.float64], height: float, hints: list[str]) -> Curve:
    turns = np.flatnonzero(np.concatenate([[True], np.diff(values) != 0]))
    steps = "".join(f"H{x}V{height * (1 - values[x]):.1f}" for x in turns.tolist())
    spots = tuple(
        Spot(
            spot * _SPOT,
            f"{clock(window.at(spot * _SPOT))} to {clock(window.at((spot + 1) * _SPOT))}: {hint}",
        )
        for spot, hint in enumerate(hints)
    )
    return Curve(f"M0 {height:g}{steps}H{len(values)}V{height:g}z", spots, _SPOT)
