"""Simulate deploys: run and show scenarios from files and captured groups, and search for a group's size.

A record is a file in which `copartition watch` has written the states of a group over time. `episodes` makes
scenarios of a record, `learned` learns from it how long a rebalance takes, and `replay` compares it with the
model. `size_search` decides how many consumers are enough. `report`, `report_text`, `size_report`, `page`
with its `lanes`, `command` and `size_command` present the answers.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.simulate_scenarios.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
