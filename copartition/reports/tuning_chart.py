"""Picture 4: what each pair of a producer's settings costs in requests, and in latency."""

from __future__ import annotations

from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING, NamedTuple

from copartition.reports.axis import WIDTH, Tick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partitioning.producer import Trial, Tuning

HEIGHT = 320.0


class Spot(NamedTuple):
    """A trial: its place, whether it keeps the limit, whether it is the best one, and what it is."""

    x: float
    y: float
    keeps: bool
    best: bool
    label: str


class TuningChart(NamedTuple):
    """Trials over latency and requests a second, both on logarithmic axes."""

    width: float
    height: float
    limit: float
    clients: tuple[tuple[str, tuple[Spot, ...]], ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    summary: str


class _Scale(NamedTuple):
    """A logarithmic axis between two numbers."""

    low: float
    high: float
    length: float

    def place(self, value: float) -> float:
        share = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return self.length * share

    def ticks(self) -> tuple[Tick, ...]:
        marks = [
            digit * 10.0**decade
            for decade in range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
            for digit in (1, 2, 5)
        ]
        return tuple(
            Tick(self.place(mark), f"{mark:,.10g}") for mark in marks if self.low <= mark <= self.high
        )


def tuning_chart(tunings: Sequence[Tuning]) -> TuningChart:
    """The picture of what was tried for one client or more; a trial without an answer is left out."""
    shown = [
        trial
        for tuning in tunings
        for trial in tuning.trials
        if isfinite(trial.latency_ms) and trial.latency_ms > 0
    ]
    limit = tunings[0].limit_ms
    across = _scale([trial.latency_ms for trial in shown] + [limit], WIDTH)
    up = _scale([trial.requests_per_s for trial in shown] or [1.0], HEIGHT)

    def spot(trial: Trial, tuning: Tuning) -> Spot:
        return Spot(
            across.place(trial.latency_ms),
            HEIGHT - up.place(trial.requests_per_s),
            trial.keeps,
            trial == tuning.best,
            f"{tuning.client}, linger.ms={trial.linger_ms:g} batch.size={trial.batch_size}: "
            f"{trial.latency_ms:.1f} ms, {trial.requests_per_s:,.1f} requests/s",
        )

    return TuningChart(
        WIDTH,
        HEIGHT,
        across.place(limit),
        tuple(
            (tuning.client, tuple(spot(trial, tuning) for trial in tuning.trials if trial in shown))
            for tuning in tunings
        ),
        across.ticks(),
        tuple(Tick(HEIGHT - tick.x, tick.text) for tick in up.ticks()),
        f"Requests a second over the {tunings[0].percentile:g}th percentile of latency, "
        f"with the limit of {limit:g} ms",
    )


def _scale(values: Sequence[float], length: float) -> _Scale:
    return _Scale(min(values) / 1.15, max(values) * 1.15, length)
