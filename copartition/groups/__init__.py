"""Read a group from any source: snapshots, records, captured text, live groups, steps of simulations.

- `source` reads a group from the name of its source: `snapshot` from files of ours, `capture` from what tools
  printed, `live` from a cluster. `rows` is how they build a state row by row.
- `kinds` reads share groups and Streams groups.
- `planned_members` decides who is in a group after a change, `offers` which strategies its members offer, and
  `names` gives members short names.

Every reader returns a `GroupState` of `assignors.state`; for a KIP-848 group also its target assignment. This
package only reads: what is wrong with a group, or changes in it, is answered by other packages.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.groups.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
