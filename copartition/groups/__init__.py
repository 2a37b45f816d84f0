"""Read a group from any source: snapshots, records, captured text, live groups, steps of simulations.

Every reader returns a `GroupState` of `assignors.state`; for a KIP-848 group also its target assignment. This
package only reads: what is wrong with a group, or changes in it, is answered by other packages.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.groups.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
