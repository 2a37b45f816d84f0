"""Runs for programs, as JSON; of diffs see `copartition.reports.diff.json`.

Keys are snake_case and stable: a minor version adds, never renames. No clock and no path is in them, so equal
inputs give equal bytes. JSON holds names as they are, in ASCII, which every stream can take.
"""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.reports.json import dump
from copartition.reports.simulation.model import assumptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from copartition.simulation import RecordsResult, Runs, Scenario, SimulationResult, Timeline

FORMAT_VERSION = "1.0"

_NEVER = {
    "longest_pause_ms": "a pause has no end: nobody read the partition when nothing was left to happen",
    "recovery_ms": "never: it was still further behind than before when the run ended",
}
_NO_LOAD = "the scenario has no load"


def simulation_json(results: Sequence[SimulationResult]) -> str:
    """Every run: assumptions, summary, outages by cause, rebalances, records by partition."""
    return dump({"format_version": FORMAT_VERSION, "runs": list(map(_run, results))})


def runs_json(plans: Sequence[Runs]) -> str:
    """Every scenario: the median and the 95th percentile of each figure, and the summary of each seed."""
    return dump(
        {
            "format_version": FORMAT_VERSION,
            "scenarios": [
                {
                    **_scenario(runs.scenario),
                    "median": _figures(runs.percentile(50)),
                    "p95": _figures(runs.percentile(95)),
                    "summaries": [_figures(asdict(summary)) for summary in runs.summaries],
                }
                for runs in plans
            ],
        }
    )


def _run(result: SimulationResult) -> dict[str, Any]:
    return {
        **_scenario(result.scenario),
        "summary": _figures(asdict(result.summary)),
        "outages": [{**asdict(outage), "pause_ms": outage.pause_ms} for outage in result.outages],
        "rebalances": [
            {
                "generation": rebalance.generation,
                "started_ms": rebalance.started_ms,
                "completed_ms": rebalance.completed_ms,
                "causes": list(rebalance.causes),
                "moved": rebalance.moved,
                "members": len(rebalance.consumers),
            }
            for rebalance in result.rebalances
        ],
        "records": None if result.records is None else _records(result.records, result.timeline),
    }


def _scenario(scenario: Scenario) -> dict[str, Any]:
    return {
        "scenario": scenario.name,
        "assignor": scenario.assignor,
        "members": len(scenario.consumers),
        "membership": scenario.membership,
        "assumptions": assumptions(scenario),
        "warnings": list(scenario.warnings),
    }


def _figures(figures: Mapping[str, float | None]) -> dict[str, Any]:
    """Figures, with null for those that JSON cannot say or that there are not, and why."""
    numbers = {name: None if value == math.inf else value for name, value in figures.items()}
    because = {
        name: _NO_LOAD if figures[name] is None else _NEVER[name]
        for name, value in numbers.items()
        if value is None
    }
    return {**numbers, "null_because": because}


def _records(records: RecordsResult, timeline: Timeline) -> dict[str, Any]:
    values = {field.name: getattr(records, field.name) for field in fields(records)}
    columns = {
        name: value.tolist()
        for name, value in values.items()
        if isinstance(value, np.ndarray) and name not in {"lag_ms", "lag"}
    }
    places = [
        {"topic": topic, "partition": number}
        for topic, count in zip(timeline.topics, np.diff(timeline.first).tolist(), strict=True)
        for number in range(count)
    ]
    rows = zip(*columns.values(), strict=True)
    return {
        "lag": {"at_ms": records.lag_ms.tolist(), "records": records.lag.tolist()},
        "partitions": [
            {**place, **_figures(dict(zip(columns, row, strict=True)))}
            for place, row in zip(places, rows, strict=True)
        ],
    }
