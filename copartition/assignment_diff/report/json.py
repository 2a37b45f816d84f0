"""Write diffs for programs: as JSON, as rows of JSON lines, and as rows of CSV.

`DiffDocument` says what the JSON is, and `--schema` is made of it. Keys are stable: a minor version adds keys
and renames none. No time and no path is in the output, so equal inputs give equal bytes. JSON has names as
they are, escaped to ASCII, which every stream can take. CSV is opened by spreadsheets, so control characters
in names are made visible.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from inspect import get_annotations
from typing import Any, TypedDict

from copartition.assignment_diff import changes as diffs
from copartition.assignment_diff.changes import Conflict, MemberChange, Rename
from copartition.assignment_diff.compare import AssignmentDiff
from copartition.assignment_diff.report.headline import headline
from copartition.assignment_diff.report.model import Shown, TopicChange, View
from copartition.assignment_diff.report.verdict import details
from copartition.assignment_diff.summary import Summary
from copartition.deploys.answer import Span, Stops, StopsJson, stops_json  # noqa: F401 - the schema describes all
from copartition.kit.evidence import Missing
from copartition.kit.json import (
    CheckResult,
    attributes,
    check_results,
    dump,
    ground_fields,
    json_schema,
)
from copartition.kit.number_checks import NumberCheck
from copartition.kit.words import visible

DIFF_FORMAT_VERSION = "3.0"

Change = TypedDict(
    "Change",
    {
        "topic": str,
        "partition": int,
        "action": str,
        "from": str | None,
        "to": str | None,
        "lag": int | None,
        "reason": str | None,
    },
)
"""A partition of which something changed: its owners, the records that wait in it, and what set it in motion
if an assignor planned it."""

Flow = TypedDict("Flow", {"from": str | None, "to": str | None, "partitions": int})
"""The number of partitions that went from one member to another; null is nobody."""


class Statuses(TypedDict):
    """The state of the group on each side, such as Stable; null if the source does not say.

    Attributes:
        before: before.
        after: after.
    """

    before: str | None
    after: str | None


class MatchingData(TypedDict):
    """The pairs of members before and after, and the rules that found them.

    Attributes:
        rule: the rules that found one.
        renames: members that were taken for one because of what they have.
    """

    rule: str
    renames: list[Rename]


class DetailData(TypedDict):
    """A sentence below the verdict, and what it stands on.

    Attributes:
        text: the sentence.
        evidence: the sources that it was read from.
        assumed: what it takes for granted because no source shows it.
        missing: what would have to be known, and the way to get it; null if the sentence says what is known.
    """

    text: str
    evidence: list[str]
    assumed: list[str]
    missing: Missing | None


class Filters(TypedDict):
    """The filters of members, topics, flows, changes and conflicts; the rest is of the whole group.

    Attributes:
        topic: the regular expression that topics match; null for all.
        member: the regular expression that members match; null for all.
    """

    topic: str | None
    member: str | None


class DiffDocument(TypedDict):
    """The changes in a consumer group.

    Attributes:
        format_version: of this document; a minor version adds fields, never renames any.
        group: its name; null where no source tells.
        statuses: the state of the group.
        verdict: the answer in one sentence of at most 160 characters.
        details: what else there is to say of the whole.
        separated: groups of topics of which one member had each number before and no longer has after, so
            that they cannot be joined by partition any more.
        summary: the diff in numbers, each of which can be checked.
        checks: the limits that were given.
        assumed: what was taken for granted because no source tells.
        warnings: what to know before believing the numbers.
        protocols: the rebalance protocols that the group may use; one where a source tells.
        stops: what the change stops: as it is meant, and where members left, as if they had crashed; empty if
            nothing happens to the group, or if it is unknown.
        stops_missing: why what the change stops is unknown; null if it is known.
        matching: how members were paired.
        filters: what is left out below.
        members: the members.
        topics: the topics of which something changed.
        flows: partitions that went from one member to another.
        changes: the partitions of which something changed.
        reasons: how many of these changes each reason set in motion, where an assignor planned them.
        conflicts: the partitions with two owners.
    """

    format_version: str
    group: str | None
    statuses: Statuses
    verdict: str
    details: list[DetailData]
    separated: list[list[str]]
    summary: Summary
    checks: list[CheckResult]
    assumed: list[str]
    warnings: list[str]
    protocols: list[str]
    stops: list[StopsJson]
    stops_missing: Missing | None
    matching: MatchingData
    filters: Filters
    members: list[MemberChange]
    topics: list[TopicChange]
    flows: list[Flow]
    changes: list[Change]
    reasons: dict[str, int]
    conflicts: list[Conflict]


def diff_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document, of draft 2020-12."""
    return json_schema(DiffDocument, "assignment-diff", {StopsJson: Stops})


_FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The signs with which a formula begins in a spreadsheet; the last four are their full-width forms."""


def diff_json(diff: AssignmentDiff, view: View | None = None, checks: Sequence[NumberCheck] = ()) -> str:
    """Return the whole diff as one JSON object, see `DiffDocument`.

    Args:
        diff: the diff.
        view: leaves out partitions and members, or adds those without a change.
        checks: the limits of --check, whose results are added.
    """
    shown = Shown(diff, view)
    # A list, because the changes are needed twice: they are written, and their reasons are counted.
    changes = [_change(change) for change in shown.changes()]
    # Each key that is not named here is the attribute of the diff with the same name.
    document = attributes(
        DiffDocument,
        diff,
        format_version=DIFF_FORMAT_VERSION,
        group=diff.after.name or diff.before.name,
        statuses={"before": diff.before.status, "after": diff.after.status},
        verdict=headline(diff),
        details=[{"text": detail.text, **ground_fields(detail.ground)} for detail in details(diff)],
        checks=check_results(checks, diff.summary),
        stops=[] if isinstance(diff.stops, Missing) else [stops_json(way) for way in diff.stops],
        stops_missing=diff.stops if isinstance(diff.stops, Missing) else None,
        matching=attributes(MatchingData, diff.matching),
        filters={"topic": _pattern(shown.view.topic), "member": _pattern(shown.view.member)},
        members=shown.chosen_members,
        topics=shown.topics,
        flows=[
            {"from": flow.source, "to": flow.target, "partitions": len(flow.partitions)}
            for flow in shown.part.flows
        ],
        changes=changes,
        reasons=Counter(change["reason"] for change in changes if change["reason"] is not None),
        conflicts=shown.part.conflicts,
    )
    return dump(document)


def diff_lines(diff: AssignmentDiff, view: View | None = None) -> Iterator[str]:
    """Yield one line of JSON for each partition, member or topic (ndjson), as `View.by` says."""
    for row in _rows(Shown(diff, view))[1]:
        yield json.dumps(row) + "\n"


def diff_csv(diff: AssignmentDiff, view: View | None = None) -> str:
    """Return a row for each partition, member or topic, under a header; an apostrophe precedes a formula."""
    # Unix line ends, so that equal diffs give equal bytes on every system.
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns, rows = _rows(Shown(diff, view))
    writer.writerow(columns)
    writer.writerows(map(_cell, row.values()) for row in rows)
    return text.getvalue()


def _rows(shown: Shown) -> tuple[list[str], Iterator[Mapping[str, Any]]]:
    """Return the names of the columns, and the rows that `View.by` asks for: partitions if it is None."""
    if shown.view.by == "member":
        return [field.name for field in fields(MemberChange)], map(asdict, shown.members)
    if shown.view.by == "topic":
        return [field.name for field in fields(TopicChange)], map(asdict, shown.topics)
    return [*get_annotations(Change)], map(_change, shown.changes())


def _change(change: diffs.Change) -> Change:
    """Return a change with the keys of JSON. One key, "from", cannot be the name of a field in Python."""
    return {
        "topic": change.topic,
        "partition": change.partition,
        "action": change.action.label,
        "from": change.source,
        "to": change.target,
        "lag": change.lag,
        "reason": None if change.reason is None else change.reason.value,
    }


def _pattern(pattern: re.Pattern[str] | None) -> str | None:
    """Return the text of a regular expression; None if there is no expression."""
    return None if pattern is None else pattern.pattern


def _cell(value: str | int | None) -> str | int | None:
    """Return a value as a cell of CSV, with control characters made visible.

    A text that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    if not isinstance(value, str):
        return value
    text = visible(value)
    # Names come from clients, so a member could be called "=HYPERLINK(...)".
    return f"'{text}" if text.startswith(_FORMULAS) else text
