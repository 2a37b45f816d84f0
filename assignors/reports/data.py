"""Reports for programs: JSON, one change a line, CSV.

Keys are snake_case and stable: a minor version adds, never renames. No clock and no path is in them, so equal
inputs give equal bytes. JSON holds names as they are, in ASCII, which every stream can take; CSV is opened by
spreadsheets, so it holds them as people are shown them.
"""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from assignors.reports.scenarios import assumptions
from assignors.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assignors.diff import AssignmentDiff, Change
    from assignors.simulation import RecordsResult, Runs, Scenario, SimulationResult, Timeline

FORMAT_VERSION = "1.0"

_NEVER = {
    "longest_pause_ms": "a pause has no end: nobody read the partition when nothing was left to happen",
    "recovery_ms": "never: it was still further behind than before when the run ended",
}
_NO_LOAD = "the scenario has no load"

_FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet takes for the beginning of a formula, in both widths."""


def diff_json(diff: AssignmentDiff, *, every: bool = False) -> str:
    """The whole diff as one object; `every` lists kept partitions too."""
    return _dump(
        {
            "format_version": FORMAT_VERSION,
            "group": diff.after.name or diff.before.name,
            "summary": asdict(diff.summary),
            "matching": {
                "rule": diff.matching.rule,
                "renames": [asdict(rename) for rename in diff.matching.renames],
            },
            "members": [member._asdict() for member in diff.members],
            "flows": [
                {"from": flow.source, "to": flow.target, "partitions": len(flow.partitions)}
                for flow in diff.flows
            ],
            "changes": [_change(change) for change in diff.changes(every=every)],
            "conflicts": [conflict._asdict() for conflict in diff.conflicts],
            "warnings": list(diff.warnings),
        }
    )


def diff_lines(diff: AssignmentDiff, *, every: bool = False) -> Iterator[str]:
    """One change a line (ndjson)."""
    for change in diff.changes(every=every):
        yield json.dumps(_change(change)) + "\n"


def diff_csv(diff: AssignmentDiff, *, every: bool = False) -> str:
    """One change a row, under a header; an apostrophe precedes what a spreadsheet would compute."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["topic", "partition", "action", "from", "to", "lag", "reason"])
    writer.writerows(map(_cell, _change(change).values()) for change in diff.changes(every=every))
    return text.getvalue()


def simulation_json(results: Sequence[SimulationResult]) -> str:
    """Every run: assumptions, summary, outages by cause, rebalances, records by partition."""
    return _dump({"format_version": FORMAT_VERSION, "runs": list(map(_run, results))})


def runs_json(plans: Sequence[Runs]) -> str:
    """Every scenario: the median and the 95th percentile of each figure, and the summary of each seed."""
    return _dump(
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
                "generation": each.generation,
                "started_ms": each.started_ms,
                "completed_ms": each.completed_ms,
                "causes": list(each.causes),
                "moved": each.moved,
                "members": len(each.consumers),
            }
            for each in result.rebalances
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


def _change(change: Change) -> dict[str, Any]:
    return {
        "topic": change.topic,
        "partition": change.partition,
        "action": change.action.label,
        "from": change.source,
        "to": change.target,
        "lag": change.lag,
        "reason": None if change.reason is None else change.reason.value,
    }


def _cell(value: str | int | None) -> str | int | None:
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text


def _dump(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
