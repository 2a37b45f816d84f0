"""Read a group from any source: snapshots, records, captured text, live groups, steps of simulations.

- `source` reads a group, given the name of its source. It leaves files of ours to `snapshot`, text that tools
  printed to `capture`, and groups of a cluster to `live`. `rows` builds a group state row by row.
- `kinds` reads share groups and Streams groups.
- `planned_members` decides who is in a group after a change, `offers` which strategies its members offer, and
  `names` gives members short names.

Readers of groups with owners return a `GroupState` of `assignors.state`; for a KIP-848 group also its target
assignment. This package only reads. Other packages find out what is wrong with a group, and what changes.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.groups.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
