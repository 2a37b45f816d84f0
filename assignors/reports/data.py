"""Reports for programs: JSON, one change a line, CSV.

Keys are snake_case and stable: a minor version adds, never renames. No clock and no path is in them, so equal
inputs give equal bytes. JSON holds names as they are, in ASCII, which every stream can take; CSV is opened by
spreadsheets, so it holds them as people are shown them.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from assignors.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assignors.diff import AssignmentDiff, Change
    from assignors.simulation import SimulationResult

FORMAT_VERSION = "1.0"

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
    """Every run with its summary and its rebalances."""
    return _dump(
        {
            "format_version": FORMAT_VERSION,
            "runs": [
                {
                    "scenario": result.scenario.name,
                    "assignor": result.scenario.assignor,
                    "summary": asdict(result.summary),
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
                }
                for result in results
            ],
        }
    )


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
    return json.dumps(value, indent=2) + "\n"
