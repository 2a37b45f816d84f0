"""Deploys as simulated: scenarios from files and captured groups, run, shown, and searched for a size."""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.simulate_scenarios.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
