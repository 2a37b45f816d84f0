"""Runs in words and rows: what tells scenarios apart, what figures take for granted, what outages cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from copartition.simulation import Exponential, LogNormal, Uniform
from copartition.words import duration
from partitioning.kit.words import first_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.simulation import Costs, Duration, Load, Outage, Scenario, SimulationResult


_COSTS = {
    "poll_ms": "the work between two polls",
    "revoke_ms": "the revoke callback",
    "assign_ms": "the assign callback",
    "partition_ms": "opening a partition",
    "first_fetch_ms": "the first fetch",
    "assignor_ms": "the assignor",
    "network_ms": "a request and its answer",
}


def titles(scenarios: Sequence[Scenario]) -> tuple[str, list[tuple[str, ...]]]:
    """What scenarios have in common, and for each what tells it from the others: name, assignor or both."""
    names = dict.fromkeys(scenario.name for scenario in scenarios)
    if len(names) == 1:
        return scenarios[0].name, [(scenario.assignor,) for scenario in scenarios]
    if len({scenario.assignor for scenario in scenarios}) == 1:
        return scenarios[0].assignor, [(scenario.name,) for scenario in scenarios]
    return ", ".join(names), [(scenario.name, scenario.assignor) for scenario in scenarios]


def assumptions(scenario: Scenario) -> list[str]:
    """What the figures of a run take for granted."""
    quiet = f"quiet for {duration(scenario.settled_ms)}" if scenario.settled_ms else "a group just formed"
    said = [f"heartbeats in step, {quiet}", _costs(scenario.costs), _records(scenario)]
    if scenario.until_ms is not None:
        said.append(f"nothing after {duration(scenario.until_ms)} counts")
    return said


def _costs(costs: Costs) -> str:
    given = [
        f"{what} takes {_time(value)}" for name, what in _COSTS.items() if (value := getattr(costs, name))
    ]
    return "; ".join([*given, f"nothing {'else ' if given else ''}but waiting takes time"])


def _time(value: Duration | str) -> str:
    match value:
        case Uniform(low, high):
            return f"{duration(low)} to {duration(high)}"
        case Exponential(mean):
            return f"{duration(mean)} on average (exponential)"
        case LogNormal(median, p95):
            return f"{duration(median)} in the middle and {duration(p95)} at the 95th percentile (log-normal)"
        case str():
            return "what it takes on this machine, so no two runs are alike"
    return duration(value)


def _records(scenario: Scenario) -> str:
    load = scenario.load
    if load is None:
        return "no load given, so no lag, duplicates or losses"
    if isinstance(load.rate, int | float):
        rate = f"{load.rate:,g}"
    else:
        rate = ", ".join(f"{each:,g} ({topic})" for topic, each in load.rate.items())
    capacity = "any number" if load.capacity == math.inf else f"{load.capacity:,g}"
    return (
        f"{rate} records a second come to each partition, evenly, and a consumer can process {capacity}; "
        f"{_commits(load, scenario.settings.auto_commit_interval_ms)}"
    )


def _commits(load: Load, interval_ms: float) -> str:
    where = " in the transaction of their results" if load.transactions else ""
    revoke = "on revoke" if load.commit_on_revoke else "not on revoke"
    return (
        f"offsets are committed {load.commit} processing{where}, every {duration(interval_ms)} and {revoke}"
    )


CAUSES = 20
"""The most causes of a run that have a row each."""
REBALANCES = 100
"""The most rebalances that have one."""
_CAUSES_EACH = 4


class OutageRow(NamedTuple):
    """What one cause cost, or all that have no row of their own; times are summed over partitions."""

    cause: str
    partitions: int | None
    phases: tuple[tuple[str, float], ...]
    catch_up_ms: float | None

    @property
    def total_ms(self) -> float:
        """All phases together."""
        return sum(lasted for _, lasted in self.phases)


def outage_rows(result: SimulationResult) -> list[OutageRow]:
    """The causes that cost a run the most, in the order of time, and the rest as one row."""
    rows = [
        OutageRow(outage.cause, outage.partitions, _phases([outage]), outage.catch_up_ms)
        for outage in result.outages
    ]
    longest = sorted(range(len(rows)), key=lambda number: -rows[number].total_ms)
    if len(rows) <= CAUSES + 1:
        return rows
    shown = [rows[number] for number in sorted(longest[:CAUSES])]
    rest = [result.outages[number] for number in longest[CAUSES:]]
    behind = [outage.catch_up_ms for outage in rest if outage.catch_up_ms is not None]
    others = OutageRow(f"{len(rest):,} other causes", None, _phases(rest), sum(behind) if behind else None)
    return [*shown, others]


def causes(names: Sequence[str]) -> str:
    """Why there was a rebalance; the first reasons where there are many."""
    return first_of(names, _CAUSES_EACH)


def _phases(outages: Sequence[Outage]) -> tuple[tuple[str, float], ...]:
    return (
        ("detection", sum(outage.detection_ms for outage in outages)),
        ("barrier", sum(outage.barrier_ms for outage in outages)),
        ("compute", sum(outage.compute_ms for outage in outages)),
        ("handover", sum(outage.handover_ms for outage in outages)),
    )
