"""The rows of a diff that somebody will read, those that tell most first."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.diff import Presence
from assignors.partition_list import PartitionList
from assignors.reports.ranges import partition_ranges
from assignors.reports.verdict import reason

if TYPE_CHECKING:
    from assignors.diff import AssignmentDiff, MemberChange

ROWS = 100
"""The most rows of a table."""
_RUNS = 24
"""The most runs of neighbouring partitions that a row names."""


class MemberRows(NamedTuple):
    """Members that changed, by how much: those shown, how many more, and how many did not."""

    shown: tuple[MemberChange, ...]
    more: int
    unchanged: int


class FlowRow(NamedTuple):
    """Partitions that went from one member to another."""

    source: str
    target: str
    because: str
    number: int
    places: str
    more: int


class FlowRows(NamedTuple):
    """The largest flows: those shown, how many more, and how many partitions are in those."""

    shown: tuple[FlowRow, ...]
    more: int
    partitions: int


def member_rows(diff: AssignmentDiff) -> MemberRows:
    """The members that came, went, lost or gained."""
    changed = [member for member in diff.members if _change(member) or member.presence is not Presence.STAYED]
    shown = tuple(nlargest(ROWS, changed, key=_change))
    return MemberRows(shown, len(changed) - len(shown), len(diff.members) - len(changed))


def flow_rows(diff: AssignmentDiff, *, reasons: bool) -> FlowRows:
    """The flows, apart by what set them in motion where that is asked for."""
    flows = diff.flows_by_reason if reasons else diff.flows
    largest = nlargest(ROWS, flows, key=lambda flow: len(flow.partitions))
    shown = tuple(
        FlowRow(
            flow.source or "nobody",
            flow.target or "nobody",
            reason(flow),
            len(flow.partitions),
            *_places(flow.partitions),
        )
        for flow in largest
    )
    partitions = sum(len(flow.partitions) for flow in flows) - sum(row.number for row in shown)
    return FlowRows(shown, len(flows) - len(shown), partitions)


def _change(member: MemberChange) -> int:
    return member.before + member.after - 2 * member.kept


def _places(partitions: PartitionList) -> tuple[str, int]:
    """Which partitions, and how many more than there is room for."""
    breaks = np.flatnonzero((np.diff(partitions.partitions) != 1) | (np.diff(partitions.topics) != 0)) + 1
    end = len(partitions) if len(breaks) < _RUNS else int(breaks[_RUNS - 1])
    first = PartitionList(partitions.names, partitions.topics[:end], partitions.partitions[:end])
    return partition_ranges(first), len(partitions) - end
