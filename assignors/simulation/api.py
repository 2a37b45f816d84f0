"""The names that the package has for everybody."""

from assignors.simulation.inputs.durations import Duration, Exponential, LogNormal, Uniform
from assignors.simulation.inputs.events import (
    Autoscaler,
    Condition,
    Consumer,
    Crash,
    CrashLoop,
    Create,
    Deployment,
    DuplicateInstance,
    Event,
    Failover,
    Grow,
    Join,
    Leave,
    Restart,
    RollingRestart,
    ScaleTo,
    SlowPoll,
    Stall,
    StatefulSetRoll,
    rolling_restart,
)
from assignors.simulation.inputs.scenario import Scenario
from assignors.simulation.inputs.settings import Costs, Load, Settings
from assignors.simulation.outcome.history import Rebalance
from assignors.simulation.outcome.percentiles import Runs
from assignors.simulation.outcome.result import LogEntry, Outage, RunSummary, SimulationResult
from assignors.simulation.outcome.timeline import Phase, Timeline
from assignors.simulation.records.flow import RecordsResult
from assignors.simulation.run import simulate, simulate_seeds

__all__ = [
    "Autoscaler",
    "Condition",
    "Consumer",
    "Costs",
    "Crash",
    "CrashLoop",
    "Create",
    "Deployment",
    "DuplicateInstance",
    "Duration",
    "Event",
    "Exponential",
    "Failover",
    "Grow",
    "Join",
    "Leave",
    "Load",
    "LogEntry",
    "LogNormal",
    "Outage",
    "Phase",
    "Rebalance",
    "RecordsResult",
    "Restart",
    "RollingRestart",
    "RunSummary",
    "Runs",
    "ScaleTo",
    "Scenario",
    "Settings",
    "SimulationResult",
    "SlowPoll",
    "Stall",
    "StatefulSetRoll",
    "Timeline",
    "Uniform",
    "rolling_restart",
    "simulate",
    "simulate_seeds",
]
