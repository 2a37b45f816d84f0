"""The names that the package has for everybody."""

from copartition.diff import AssignmentDiff, diff
from copartition.simulation import Scenario, SimulationResult, simulate, simulate_seeds
from partitioning.errors import DiffError, ScenarioError, SourceError

__all__ = [
    "AssignmentDiff",
    "DiffError",
    "Scenario",
    "ScenarioError",
    "SimulationResult",
    "SourceError",
    "diff",
    "simulate",
    "simulate_seeds",
]
