"""The rows of a diff that somebody will read: the largest, and how many more there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.partition_list import PartitionList
from copartition.reports.diff.verdict import reason
from copartition.reports.diff.view import Shown, View
from copartition.reports.ranges import partition_ranges

if TYPE_CHECKING:
    from copartition.diff import AssignmentDiff, MemberChange

ROWS = 100
"""The most rows of a table."""
_RUNS = 24
"""The most runs of neighbouring partitions that a row names."""


class MemberRows(NamedTuple):
    """Members that changed: those shown, how many more, and how many did not."""

    shown: list[MemberChange]
    more: int
    unchanged: int


class FlowRow(NamedTuple):
    """Partitions that went from one member to another, and how many of them are not named."""

    source: str
    target: str
    because: str
    number: int
    places: str
    unnamed: int


class FlowRows(NamedTuple):
    """Flows: those shown, how many more, and how many partitions are in those."""

    shown: list[FlowRow]
    more: int
    partitions: int


def member_rows(diff: AssignmentDiff) -> MemberRows:
    """The members that came, went, lost or gained."""
    shown = Shown(diff)
    rows = shown.largest_members(ROWS)
    return MemberRows(rows, len(shown.members) - len(rows), shown.unchanged)


def flow_rows(diff: AssignmentDiff, *, reasons: bool) -> FlowRows:
    """The flows, apart by what set them in motion where that is asked for."""
    flows, more, partitions = Shown(diff, View(reasons=reasons)).largest_flows(ROWS)
    rows = [
        FlowRow(
            flow.source or "nobody",
            flow.target or "nobody",
            reason(flow),
            len(flow.partitions),
            *_places(flow.partitions),
        )
        for flow in flows
    ]
    return FlowRows(rows, more, partitions)


def _places(partitions: PartitionList) -> tuple[str, int]:
    """Which partitions, and how many more than there is room for."""
    breaks = np.flatnonzero((np.diff(partitions.partitions) != 1) | (np.diff(partitions.topics) != 0)) + 1
    end = len(partitions) if len(breaks) < _RUNS else int(breaks[_RUNS - 1])
    first = PartitionList(partitions.names, partitions.topics[:end], partitions.partitions[:end])
    return partition_ranges(first), len(partitions) - end
