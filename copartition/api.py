"""The names that the package has for everybody."""

from assignors.errors import DiffError, ScenarioError, SourceError
from copartition.diff import AssignmentDiff, diff
from copartition.simulation import Scenario, SimulationResult, simulate, simulate_seeds

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
