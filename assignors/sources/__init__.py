"""Where the two sides of a diff come from: snapshots, captured text, live groups, plans, simulations."""

from assignors.sources.capture import parse_capture
from assignors.sources.live import read_live
from assignors.sources.plan import Joiner, WhatIf, plan
from assignors.sources.replay import step_state
from assignors.sources.snapshot import parse_snapshot, snapshot_bytes
from assignors.sources.source import Pair, Source, read_pair, read_source

__all__ = [
    "Joiner",
    "Pair",
    "Source",
    "WhatIf",
    "parse_capture",
    "parse_snapshot",
    "plan",
    "read_live",
    "read_pair",
    "read_source",
    "snapshot_bytes",
    "step_state",
]
