"""Where the two sides of a diff come from: snapshots, captured text, live groups, plans, simulations."""

from copartition.assignment_diff.planned_members import Joiner as Joiner
from copartition.assignment_diff.planned_members import WhatIf as WhatIf
from copartition.assignment_diff.planner import plan as plan
from copartition.groups.capture import parse_capture as parse_capture
from copartition.groups.live import read_live as read_live
from copartition.groups.snapshot import parse_snapshot as parse_snapshot
from copartition.groups.snapshot import snapshot_bytes as snapshot_bytes
from copartition.groups.source import Pair as Pair
from copartition.groups.source import Source as Source
from copartition.groups.source import given_weights as given_weights
from copartition.groups.source import read_pair as read_pair
from copartition.groups.source import read_source as read_source
from copartition.groups.source import step_state as step_state
from copartition.simulate_scenarios.captured import scenario_of as scenario_of
from copartition.simulate_scenarios.captured import scenarios_of_record as scenarios_of_record
from copartition.simulate_scenarios.captured import with_waiting as with_waiting
