"""Simulate deploys: run and show scenarios from files and captured groups, and search for a group's size."""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.simulate_scenarios.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
