"""A consumer group before you run it: who pauses, for how long, what moves, lags, is read twice or lost."""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.simulation.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
