"""Where the two sides of a diff come from: snapshots, captured text, live groups, plans, simulations."""

from copartition.groups.capture import parse_capture
from copartition.groups.live import read_live
from copartition.groups.plan import Joiner, WhatIf, plan
from copartition.groups.scenario import scenario_of
from copartition.groups.snapshot import parse_snapshot, snapshot_bytes
from copartition.groups.source import Pair, Source, given_weights, read_pair, read_source, step_state

__all__ = [
    "Joiner",
    "Pair",
    "Source",
    "WhatIf",
    "given_weights",
    "parse_capture",
    "parse_snapshot",
    "plan",
    "read_live",
    "read_pair",
    "read_source",
    "scenario_of",
    "snapshot_bytes",
    "step_state",
]
