"""What a test expects of a run: longest_pause="<5s", duplicates=0."""

from __future__ import annotations

import re
from dataclasses import fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.comparison import COMPARISON, COMPARISONS
from copartition.reports.words import count, duration
from partitioning.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from copartition.simulation.outcome.result import RunSummary, SimulationResult
    from copartition.simulation.outcome.timeline import Timeline

_UNITS = {"ms": 1.0, "s": 1_000.0, "min": 60_000.0, "h": 3_600_000.0}
_LIMIT = re.compile(rf"\s*({COMPARISON})?\s*(\d+(?:_\d+)*(?:\.\d+)?)\s*({'|'.join(_UNITS)})?\s*")
_BLAMED = {
    "partition_pause_ms": "pause_ms",
    "detection_ms": "detection_ms",
    "barrier_ms": "barrier_ms",
    "compute_ms": "compute_ms",
    "handover_ms": "handover_ms",
}
"""Figures that are sums over outages, and the part of an outage they add up."""


class _Limit(NamedTuple):
    figure: str
    comparison: str
    value: float


def check(result: SimulationResult, expected: Mapping[str, str | float]) -> None:
    """Raise unless all is as expected; see `SimulationResult.assert_`."""
    limits = {name: _limit(name, asked, result.summary) for name, asked in expected.items()}
    failed = [
        f"  {name} is {_shown(limit.figure, value)}, expected {expected[name]}{_blame(result, limit.figure)}"
        for name, limit in limits.items()
        if not COMPARISONS[limit.comparison](value := getattr(result.summary, limit.figure), limit.value)
    ]
    if failed:
        run = f"{result.scenario.name} with {result.scenario.assignor}, seed {result.scenario.seed}"
        raise AssertionError("\n".join([f"{run}:", *failed]))


def _limit(name: str, asked: str | float, summary: RunSummary) -> _Limit:
    names = {field.name.removesuffix("_ms"): field.name for field in fields(summary)}
    figure = name if name in names.values() else names.get(name)
    if figure is None:
        close = get_close_matches(name, names, 1) or names
        raise ScenarioError(f"a run has no figure {name!r}; did you mean {', '.join(close)}?")
    if getattr(summary, figure) is None:
        raise ScenarioError(f"{name} needs records; give the scenario a load")
    found = _LIMIT.fullmatch(str(asked))
    if found is None:
        raise ScenarioError(f"{name}={asked!r} is no limit; give one such as '<5s', '<=10' or 0")
    comparison, digits, unit = found.groups()
    value = float(digits) * _UNITS.get(unit, 1.0)
    if figure.endswith("_ms") and value and unit is None:
        raise ScenarioError(f"{name}={asked!r}: {name} is a time; give a unit, {', '.join(_UNITS)}")
    if unit is not None and not figure.endswith("_ms"):
        raise ScenarioError(f"{name}={asked!r}: {name} is no time; leave {unit!r} out")
    return _Limit(figure, comparison or "==", value)


def _shown(figure: str, value: float) -> str:
    if not figure.endswith("_ms"):
        return f"{value:,.12g}"
    return duration(value) if value == np.inf else f"{duration(value)} ({value:.12g} ms)"


def _blame(result: SimulationResult, figure: str) -> str:
    """The outage that a pause is mostly due to."""
    if figure == "longest_pause_ms":
        return _longest(result.timeline, result.summary.longest_pause_ms)
    part = _BLAMED.get(figure)
    if part is None or not result.outages:
        return ""
    worst = max(result.outages, key=lambda outage: float(getattr(outage, part)))
    share = duration(getattr(worst, part))
    return f"; {share} of it over {count(worst.partitions, 'partition')}: {worst.cause}"


def _longest(timeline: Timeline, longest_ms: float) -> str:
    partitions, starts, ends = timeline.pauses()
    if len(starts) == 0:
        return ""
    endless = longest_ms == np.inf
    worst = int(np.argmax(np.where(ends == np.max(ends), ends - starts, 0) if endless else ends - starts))
    partition, start, end = partitions[worst], starts[worst], ends[worst]
    rows = (timeline.partition == partition) & (timeline.start >= start) & (timeline.end <= end)
    causes = dict.fromkeys(timeline.causes[cause] for cause in timeline.cause[rows].tolist() if cause >= 0)
    topic = int(np.searchsorted(timeline.first, partition, side="right")) - 1
    which = f"{timeline.topics[topic]}-{partition - timeline.first[topic]}"
    until = "on" if endless else f"to {duration(float(end))}"
    because = f": {', '.join(causes)}" if causes else ""
    return f"; {which} from {duration(float(start))} {until}{because}"
