"""Picture 3: how one figure is spread over many runs, a histogram for each kind of run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

WIDTH = 720.0
HEIGHT = 34.0
_BINS = 120


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


class Mark(NamedTuple):
    """A mark of the axis."""

    x: float
    text: str


class Distribution(NamedTuple):
    """Histograms over one axis."""

    title: str
    width: float
    height: float
    spreads: tuple[Spread, ...]
    marks: tuple[Mark, ...]
    summary: str


def distribution(figure: str, samples: Mapping[str, NDArray[np.float64]]) -> Distribution:
    """The picture of a figure of `RunSummary`, from what each run of each kind has there."""
    name, unit = figure, ""
    if figure.endswith("_ms"):
        name, unit = figure.removesuffix("_ms"), "s"
        samples = {label: values / 1_000 for label, values in samples.items()}
    every = np.concatenate(list(samples.values()))
    finite = every[np.isfinite(every)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    # Nothing is as telling a beginning as zero, unless all that differs would be squeezed at the other end.
    low = 0.0 if low < high / 2 else low
    high = high if high > low else low + 1.0
    spreads = tuple(_spread(label, values, unit, low, high) for label, values in samples.items())
    title = name.replace("_", " ") + (", seconds" if unit else "")
    summary = f"{title}. " + " ".join(f"{each.label}: {each.facts}." for each in spreads)
    return Distribution(title, WIDTH, HEIGHT, spreads, _marks(low, high), summary)


def _spread(label: str, values: NDArray[np.float64], unit: str, low: float, high: float) -> Spread:
    median, p95 = (float(each) for each in np.percentile(values, [50, 95], method="inverted_cdf"))
    runs, endless = len(values), int(np.isinf(values).sum())
    facts = f"median {_words(median, unit)}, 95 % within {_words(p95, unit)}, {runs:,} run{'s' * (runs != 1)}"
    facts += f", {endless:,} of them without end" if endless else ""
    counts, _ = np.histogram(values[np.isfinite(values)], _BINS, (low, high))
    tops = HEIGHT * (1 - counts / max(1, counts.max()))
    steps = "".join(f"V{top:.1f}h{WIDTH / _BINS:g}" for top in tops.tolist())

    def place(value: float) -> float | None:
        return (value - low) / (high - low) * WIDTH if np.isfinite(value) else None

    return Spread(label or "all runs", facts, f"M0 {HEIGHT:g}{steps}V{HEIGHT:g}z", place(median), place(p95))


def _marks(low: float, high: float) -> tuple[Mark, ...]:
    """About six round numbers."""
    rough = (high - low) / 6
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(base * power for base in (1, 2, 5, 10) if base * power >= rough)
    marks = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    return tuple(Mark(float((mark - low) / (high - low) * WIDTH), f"{mark:,.10g}") for mark in marks)


def _words(value: float, unit: str) -> str:
    if not np.isfinite(value):
        return "never"
    number = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{number} {unit}".rstrip()
