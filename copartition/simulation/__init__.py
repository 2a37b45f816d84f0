"""Simulate a consumer group before you run it: pauses, moves and lag, and records read twice or lost.

`run` runs a scenario: `agenda` and `unfolding` plan its events, `autoscaler` decides how many consumers there
are, and `group` is the group at work. Every transition of a partition is written to `ledger`.
`partition_states` computes pauses from the transitions, and `records` computes lag. `inputs` defines what a
run gets, and `outcome` what it returns; `grid` makes many runs. `growth` estimates which records are skipped
when a topic grows.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.simulation.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
