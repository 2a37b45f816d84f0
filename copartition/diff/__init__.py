"""What changes between two assignments of a group: which partitions move, and how many had to."""

from copartition.diff.changes import (
    MATCH_RULES,
    Action,
    Change,
    Conflict,
    Flow,
    Matching,
    MemberChange,
    Presence,
    Rename,
)
from copartition.diff.compare import AssignmentDiff, diff
from copartition.diff.stops import Stop
from copartition.diff.summary import Check, Summary, parse_check
from partitioning.errors import DiffError

__all__ = [
    "MATCH_RULES",
    "Action",
    "AssignmentDiff",
    "Change",
    "Check",
    "Conflict",
    "DiffError",
    "Flow",
    "Matching",
    "MemberChange",
    "Presence",
    "Rename",
    "Stop",
    "Summary",
    "diff",
    "parse_check",
]
