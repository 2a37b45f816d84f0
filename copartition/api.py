"""Gather the names that the package `copartition` offers to its users.

`copartition.__init__` loads this module when one of these names is first asked for. Nothing inside the
project
imports from here.
"""

from copartition.assignment_diff.compare import AssignmentDiff, diff
from copartition.simulation import Scenario, SimulationResult, simulate, simulate_seeds
from partitioning.errors import DiffError, ScenarioError, SourceError

# In the order in which people need them.
__all__ = [  # noqa: RUF022
    "diff",
    "simulate",
    "Scenario",
    "AssignmentDiff",
    "SimulationResult",
    "simulate_seeds",
    "DiffError",
    "ScenarioError",
    "SourceError",
]
