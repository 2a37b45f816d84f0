"""Diffs for programs: JSON, rows as JSON lines, rows as CSV.

No clock and no path is in them, so equal inputs give equal bytes. JSON holds names as they are, in ASCII,
which every stream can take; CSV is opened by spreadsheets, so it holds them as people are shown them.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from copartition.diff.members import MemberChange
from copartition.reports.diff.verdict import verdict
from copartition.reports.diff.view import Shown, TopicChange, View
from copartition.reports.document import DIFF_FORMAT_VERSION, Change, Document, StopCost
from copartition.reports.json import check_results, dump
from copartition.reports.visible import visible

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping, Sequence

    from copartition.diff import AssignmentDiff, Check
    from copartition.diff import changes as diffs
    from copartition.diff.stops import Stop

_FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet takes for the beginning of a formula, in both widths."""


def diff_json(diff: AssignmentDiff, view: View | None = None, checks: Sequence[Check] = ()) -> str:
    """The whole diff as one object; the view can leave out partitions and members, and add those kept."""
    shown = Shown(diff, view)
    changes = [_change(change) for change in shown.changes()]
    stops = [_stop(stop) for stop in diff.stops]
    document: Document = {
        "format_version": DIFF_FORMAT_VERSION,
        "group": diff.after.name or diff.before.name,
        "statuses": {"before": diff.before.status, "after": diff.after.status},
        "verdict": verdict(diff),
        "summary": diff.summary,
        "checks": check_results(checks, diff.summary),
        "assumed": [*diff.assumed],
        "warnings": [*diff.warnings],
        "stops": stops,
        "matching": {"rule": diff.matching.rule, "renames": [*diff.matching.renames]},
        "filters": {"topic": _pattern(shown.view.topic), "member": _pattern(shown.view.member)},
        "members": shown.chosen_members,
        "topics": shown.topics,
        "flows": [
            {"from": flow.source, "to": flow.target, "partitions": len(flow.partitions)}
            for flow in shown.part.flows
        ],
        "changes": changes,
        "reasons": Counter(change["reason"] for change in changes if change["reason"] is not None),
        "conflicts": [*shown.part.conflicts],
    }
    return dump(document)


def diff_lines(diff: AssignmentDiff, view: View | None = None) -> Iterator[str]:
    """A partition, a member or a topic a line (ndjson)."""
    for row in _rows(Shown(diff, view))[1]:
        yield json.dumps(row) + "\n"


def diff_csv(diff: AssignmentDiff, view: View | None = None) -> str:
    """A partition, a member or a topic a row, under a header; an apostrophe precedes a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns, rows = _rows(Shown(diff, view))
    writer.writerow(columns)
    writer.writerows(map(_cell, row.values()) for row in rows)
    return text.getvalue()


def _rows(shown: Shown) -> tuple[list[str], Iterator[Mapping[str, Any]]]:
    """The columns, and what the view wants a row for; partitions unless it says."""
    if shown.view.by == "member":
        return [*MemberChange.__annotations__], map(asdict, shown.members)
    if shown.view.by == "topic":
        return [*TopicChange.__annotations__], map(asdict, shown.topics)
    return [*Change.__annotations__], map(_change, shown.changes())


def _change(change: diffs.Change) -> Change:
    return {
        "topic": change.topic,
        "partition": change.partition,
        "action": change.action.label,
        "from": change.source,
        "to": change.target,
        "lag": change.lag,
        "reason": None if change.reason is None else change.reason.value,
    }


def _stop(stop: Stop) -> StopCost:
    times = {name: None if value == math.inf else value for name, value in stop._asdict().items()}
    return cast("StopCost", times)


def _pattern(pattern: re.Pattern[str] | None) -> str | None:
    return None if pattern is None else pattern.pattern


def _cell(value: str | int | None) -> str | int | None:
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text
