"""The names that the package has for everybody."""

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
