"""What changes between two assignments of a group: which partitions move, and how many had to."""

from assignors.diff.changes import Action, Change, Conflict, Flow
from assignors.diff.checks import Check, parse_check
from assignors.diff.compare import AssignmentDiff, diff
from assignors.diff.matching import MATCH_RULES, Matching, Rename
from assignors.diff.members import MemberChange, Presence
from assignors.diff.state import UNKNOWN_LAG, GroupState, MemberIdentity
from assignors.diff.stops import Stop
from assignors.diff.summary import Summary
from assignors.errors import DiffError

__all__ = [
    "MATCH_RULES",
    "UNKNOWN_LAG",
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
    "Presence",
    "Rename",
    "Stop",
    "Summary",
    "diff",
    "parse_check",
]
