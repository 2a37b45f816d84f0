"""A consumer group before you run it: who pauses, for how long, and what moves."""

from assignors.simulation.result import Rebalance, RunSummary, SimulationResult
from assignors.simulation.run import simulate, simulate_seeds
from assignors.simulation.scenario import (
    Consumer,
    Crash,
    Event,
    Grow,
    Join,
    Leave,
    Restart,
    Scenario,
    Settings,
    rolling_restart,
)
from assignors.simulation.timeline import Phase, Timeline

__all__ = [
    "Consumer",
    "Crash",
    "Event",
    "Grow",
    "Join",
    "Leave",
    "Phase",
    "Rebalance",
    "Restart",
    "RunSummary",
    "Scenario",
    "Settings",
    "SimulationResult",
    "Timeline",
    "rolling_restart",
    "simulate",
    "simulate_seeds",
]
