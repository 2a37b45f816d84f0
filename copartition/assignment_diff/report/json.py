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
# "from" cannot be the name of an attribute of a class statement, so the docstring is set by hand.
Change.__doc__ = """A partition in which something changed.

Attributes:
    topic: the topic's name.
    partition: the partition's number.
    action: what happened to the partition: keep, move, assign, unassign, added, removed or conflict.
    from: the name of its owner before; null if it had none.
    to: the name of its owner after; null if it has none.
    lag: the records that wait in it; null if no source shows them.
    reason: why the partition moves or stays; null if the side after is not a plan.
"""

Flow = TypedDict("Flow", {"from": str | None, "to": str | None, "partitions": int})
Flow.__doc__ = """Partitions that went from one owner to another.

Attributes:
    from: the name of the owner before; null if the partitions had none.
    to: the name of the owner after; null if the partitions have none.
    partitions: how many partitions went this way.
"""


class Statuses(TypedDict):
    """The state of the group on each side, such as Stable; null if the source does not show it.

    Attributes:
        before: the state before.
        after: the state after.
    """

    before: str | None
    after: str | None


class MatchingData(TypedDict):
    """The pairs of members before and after, and the rules that found them.

    Attributes:
        rule: the rules that made pairs, such as "client-id" or "client-id, overlap"; if no pair was made, the
            rule that was asked for.
        renames: the pairs that were made only because both members have mostly the same partitions.
    """

    rule: str
    renames: list[Rename]


class DetailData(TypedDict):
    """A sentence below the verdict, and what it is based on.

    Attributes:
        text: the sentence.
        evidence: the sources that the sentence was read from.
        assumed: what the sentence assumes because no source shows it.
        missing: the fact that is not known, and how to learn it; null if the sentence states a known fact.
    """

    text: str
    evidence: list[str]
    assumed: list[str]
    missing: Missing | None


class Filters(TypedDict):
    """The filters of `members`, `topics`, `flows`, `changes` and `conflicts`; other fields ignore them.

    Attributes:
        topic: the regular expression that the names of topics must match; null if all topics are shown.
        member: the regular expression that the names of members must match; null if all members are shown.
    """

    topic: str | None
    member: str | None


class DiffDocument(TypedDict):
    """The changes in a consumer group.

    Attributes:
        format_version: the version of this format; a minor version adds fields and never renames one.
        group: the name of the group; null if no source shows it.
        statuses: the state of the group on each side.
        verdict: the answer in one sentence of at most 160 characters.
        details: more sentences about the whole diff.
        separated: groups of topics that can no longer be joined by partition: before, one member had
            partition n of every topic of such a group, for each n; after, this is no longer so.
        summary: the numbers of the diff, on each of which --check can set a limit.
        checks: the limits of --check, and whether each holds.
        assumed: what was assumed because no source shows it.
        warnings: sentences to read before believing the numbers.
        protocols: the rebalance protocols that the group may use; only one if a source shows which.
        stops: what the change stops: first as it is planned and then, if members left, as if they had
            crashed. Empty if nothing happens to the group, or if it is unknown what stops.
        stops_missing: why it is unknown what the change stops; null if it is known.
        matching: how members were paired.
        filters: the filters that `members`, `topics`, `flows`, `changes` and `conflicts` have passed.
        members: the members; their numbers count partitions of the topics that match the filter.
        topics: the topics in which something changed; with --all, every topic.
        flows: the numbers of partitions that went from one owner to another.
        changes: the partitions in which something changed; with --all, every partition.
        reasons: reason -> how many of `changes` have it; empty if the side after is not a plan.
        conflicts: the partitions that have two owners on one side.
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
