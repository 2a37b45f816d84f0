"""Read a group from any source: snapshots, records, captured text, live groups, steps of simulations.

Every reader returns a `GroupState` of `assignors.state`, and for KIP-848 the target beside it. No question is
answered here.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.groups.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
