"""What changes between two assignments of a group: which partitions move, and how many had to."""

from assignors.diff.changes import Action, Change, Conflict, Flow
from assignors.diff.checks import Check, parse_check
from assignors.diff.compare import AssignmentDiff, MemberChange, diff
from assignors.diff.matching import MATCH_RULES, Matching, Rename
from assignors.diff.state import GroupState, MemberIdentity
from assignors.diff.summary import Summary
from assignors.errors import DiffError

__all__ = [
    "MATCH_RULES",
    "Action",
    "AssignmentDiff",
    "Change",
    "Check",
    "Conflict",
    "DiffError",
    "Flow",
    "GroupState",
    "Matching",
    "MemberChange",
    "MemberIdentity",
    "Rename",
    "Summary",
    "diff",
    "parse_check",
]
