"""Picture 3: how one figure is spread over many runs, a histogram for each kind of run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copartition.reports.axis import WIDTH, Tick, Window, number_ticks, ticks
from copartition.reports.ranges import count, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

HEIGHT = 34.0
_BINS = 125


class Spread(NamedTuple):
    """The runs of one kind.

    Attributes:
        label: what kind.
        facts: how many they are, their median and their 95th percentile, in words.
        area: the histogram as an SVG path; each is as high as the picture allows.
        median: where the median is, in pixels; None where it is infinite.
        p95: where the 95th percentile is, likewise.
    """

    label: str
    facts: str
    area: str
    median: float | None
    p95: float | None


class Distribution(NamedTuple):
    """Histograms over one axis."""

    title: str
    width: float
    height: float
    spreads: tuple[Spread, ...]
    ticks: tuple[Tick, ...]
    summary: str


def distribution(figure: str, samples: Mapping[str, NDArray[np.float64]]) -> Distribution:
    """The picture of a figure of `RunSummary`, from what each run of each kind has there."""
    timed = figure.endswith("_ms")
    every = np.concatenate(list(samples.values()))
    finite = every[np.isfinite(every)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    # Nothing is as telling a beginning as zero, unless all that differs would be squeezed at the other end.
    low = 0.0 if low < high / 2 else low
    window = Window(low, high if high > low else low + 1)
    spreads = tuple(
        _spread(label, values, window, duration if timed else _number) for label, values in samples.items()
    )
    title = figure.removesuffix("_ms").replace("_", " ")
    return Distribution(
        title,
        WIDTH,
        HEIGHT,
        spreads,
        ticks(window) if timed else number_ticks(window),
        f"{title}. " + " ".join(f"{each.label}: {each.facts}." for each in spreads),
    )


def _spread(label: str, values: NDArray[np.float64], window: Window, words: Callable[[float], str]) -> Spread:
    median, p95 = np.percentile(values, [50, 95], method="inverted_cdf").tolist()
    facts = f"median {words(median)}, 95 % within {words(p95)}, {count(len(values), 'run')}"
    if endless := int(np.isinf(values).sum()):
        facts += f", {endless:,} of them without end"
    counts, _ = np.histogram(values[np.isfinite(values)], _BINS, window)
    tops = HEIGHT * (1 - counts / max(1, counts.max()))
    steps = "".join(f"V{top:.1f}h{WIDTH / _BINS:g}" for top in tops.tolist())

    def place(value: float) -> float | None:
        return float(window.x(value)) if np.isfinite(value) else None

    return Spread(label or "all runs", facts, f"M0 {HEIGHT:g}{steps}V{HEIGHT:g}z", place(median), place(p95))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
