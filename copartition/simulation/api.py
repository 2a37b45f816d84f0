"""The names that the package has for everybody."""

from copartition.simulation.inputs.durations import Duration, Exponential, LogNormal, Uniform
from copartition.simulation.inputs.events import (
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
)
from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.inputs.settings import Costs, Load, Settings
from copartition.simulation.outcome.history import Rebalance
from copartition.simulation.outcome.result import LogEntry, Outage, RunSummary, SimulationResult
from copartition.simulation.outcome.summary import Runs
from copartition.simulation.outcome.timeline import Phase, Timeline
from copartition.simulation.records.flow import RecordsResult
from copartition.simulation.run import simulate, simulate_seeds
from copartition.simulation.size import Size, SizeTrial, size, size_trials

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
    "Size",
    "SizeTrial",
    "SlowPoll",
    "Stall",
    "StatefulSetRoll",
    "Timeline",
    "Uniform",
    "simulate",
    "simulate_seeds",
    "size",
    "size_trials",
]
