"""What `assignment-diff -o json` says: one definition, of which `--schema` is made.

Keys are stable: a minor version adds, never renames.
"""

from __future__ import annotations

from typing import Any, TypedDict

from copartition.diff.changes import Conflict
from copartition.diff.matching import Rename
from copartition.diff.members import MemberChange
from copartition.diff.summary import Summary
from copartition.reports.diff.view import TopicChange
from copartition.reports.json import CheckResult, json_schema

DIFF_FORMAT_VERSION = "1.1"

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
where an assignor planned it."""

Flow = TypedDict("Flow", {"from": str | None, "to": str | None, "partitions": int})
"""How many partitions went from one member to another; null is nobody."""


class Statuses(TypedDict):
    """The state of the group on each side, such as Stable; null where the source does not say.

    Attributes:
        before: before.
        after: after.
    """

    before: str | None
    after: str | None


class Matching(TypedDict):
    """How members before were found again after.

    Attributes:
        rule: the rules that found one.
        renames: members that were taken for one because of what they have.
    """

    rule: str
    renames: list[Rename]


class StopCost(TypedDict):
    """What the change costs when it comes about by one event, under one rebalance protocol.

    Attributes:
        event: what happens.
        protocol: the rebalance protocol.
        members: members that stop reading something for a while.
        partitions: partitions that nobody reads for a while.
        detection_ms: the mean time until the group knows.
        pause_ms: the mean time for which a stopped partition is not read, detection included; null: for ever.
        partition_seconds: the sum over all stopped partitions; null: without end.
    """

    event: str
    protocol: str
    members: int
    partitions: int
    detection_ms: float | None
    pause_ms: float | None
    partition_seconds: float | None


class Filters(TypedDict):
    """What is left out of members, topics, flows, changes and conflicts; the rest is of the whole group.

    Attributes:
        topic: the regular expression that topics match; null for all.
        member: the regular expression that members match; null for all.
    """

    topic: str | None
    member: str | None


class Document(TypedDict):
    """What changes in a consumer group.

    Attributes:
        format_version: of this document; a minor version adds fields, never renames any.
        group: its name; null where no source tells.
        statuses: the state of the group.
        verdict: the answer in a sentence.
        summary: the diff in numbers, each of which can be checked.
        checks: the limits that were given.
        assumed: what was taken for granted because no source tells.
        warnings: what to know before believing the numbers.
        stops: what the change costs.
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
    summary: Summary
    checks: list[CheckResult]
    assumed: list[str]
    warnings: list[str]
    stops: list[StopCost]
    matching: Matching
    filters: Filters
    members: list[MemberChange]
    topics: list[TopicChange]
    flows: list[Flow]
    changes: list[Change]
    reasons: dict[str, int]
    conflicts: list[Conflict]


_DESCRIBED: tuple[type, ...] = (CheckResult, Conflict, Document, Filters, Matching, MemberChange, Rename)
_DESCRIBED += (Statuses, StopCost, Summary, TopicChange)


def diff_schema() -> dict[str, Any]:
    """The JSON Schema of the document, of draft 2020-12."""
    return json_schema(Document, "assignment-diff", _DESCRIBED)
