"""Gather the names that the package `copartition` offers to its users.

`copartition.__init__` loads this module when one of these names is first asked for. Nothing inside the
project
imports from here.
"""

from copartition.assignment_diff.compare import diff as diff
from copartition.simulation import simulate as simulate
from copartition.simulation import Scenario as Scenario
from copartition.assignment_diff.compare import AssignmentDiff as AssignmentDiff
from copartition.simulation import SimulationResult as SimulationResult
from copartition.simulation import simulate_seeds as simulate_seeds
from partitioning.errors import DiffError as DiffError
from partitioning.errors import ScenarioError as ScenarioError
from partitioning.errors import SourceError as SourceError
