"""What changes between two assignments of a group: which partitions move, and how many had to."""

from copartition.diff.changes import MATCH_RULES as MATCH_RULES
from copartition.diff.changes import Action as Action
from copartition.diff.changes import Change as Change
from copartition.diff.changes import Conflict as Conflict
from copartition.diff.changes import Flow as Flow
from copartition.diff.changes import Matching as Matching
from copartition.diff.changes import MemberChange as MemberChange
from copartition.diff.changes import Presence as Presence
from copartition.diff.changes import Rename as Rename
from copartition.diff.compare import AssignmentDiff as AssignmentDiff
from copartition.diff.compare import diff as diff
from copartition.diff.stops import Stop as Stop
from copartition.diff.summary import Check as Check
from copartition.diff.summary import Summary as Summary
from copartition.diff.summary import parse_check as parse_check
from partitioning.errors import DiffError as DiffError
