"""Gather the names that the package `copartition.assignment_diff` offers to its users."""

from copartition.assignment_diff.changes import MATCH_RULES as MATCH_RULES
from copartition.assignment_diff.changes import Action as Action
from copartition.assignment_diff.changes import Change as Change
from copartition.assignment_diff.changes import Conflict as Conflict
from copartition.assignment_diff.changes import Flow as Flow
from copartition.assignment_diff.changes import Matching as Matching
from copartition.assignment_diff.changes import MemberChange as MemberChange
from copartition.assignment_diff.changes import Presence as Presence
from copartition.assignment_diff.changes import Rename as Rename
from copartition.assignment_diff.compare import AssignmentDiff as AssignmentDiff
from copartition.assignment_diff.compare import diff as diff
from copartition.assignment_diff.pair import Pair as Pair
from copartition.assignment_diff.pair import given_weights as given_weights
from copartition.assignment_diff.pair import read_pair as read_pair
from copartition.assignment_diff.planner import plan as plan
from copartition.assignment_diff.summary import Summary as Summary
from copartition.assignment_diff.summary import parse_check as parse_check
from copartition.deploys.answer import Range as Range
from copartition.deploys.answer import Stops as Stops
from copartition.deploys.pace import Pace as Pace
from copartition.groups.planned_members import Joiner as Joiner
from copartition.groups.planned_members import WhatIf as WhatIf
from copartition.kit.evidence import Missing as Missing
from copartition.kit.number_checks import NumberCheck as NumberCheck
from partitioning.errors import DiffError as DiffError
