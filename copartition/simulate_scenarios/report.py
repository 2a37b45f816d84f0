"""Simulated runs: what every report says of them, and their JSON; on a terminal see `report_text`.

Keys of the JSON are snake_case and stable: a minor version adds, never renames. No clock and no path is in
it, so equal inputs give equal bytes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from copartition.kit.json import attributes_of, dump, finite
from copartition.kit.words import duration, first_of
from copartition.simulation import (
    Costs,
    Duration,
    Exponential,
    Load,
    LogNormal,
    Outage,
    RecordsResult,
    Runs,
    Scenario,
    SimulationResult,
    Timeline,
    Uniform,
)
from copartition.simulation.outcome.timeline import PHASE_NAMES
from partitioning.kit.packages import read_toml

WORDS = read_toml(__package__, "words.toml")
"""The words of `words.toml`: phases, events and costs."""


def titles(scenarios: Sequence[Scenario]) -> tuple[str, list[tuple[str, ...]]]:
    """Return what scenarios have in common, and for each what tells it from the others.

    A title is a name, an assignor, or both.

    Args:
        scenarios: one or more.
    """
    names = dict.fromkeys(scenario.name for scenario in scenarios)
    if len(names) == 1:
        return scenarios[0].name, [(scenario.assignor,) for scenario in scenarios]
    if len({scenario.assignor for scenario in scenarios}) == 1:
        return scenarios[0].assignor, [(scenario.name,) for scenario in scenarios]
    return ", ".join(names), [(scenario.name, scenario.assignor) for scenario in scenarios]


def run_assumptions(scenario: Scenario) -> list[str]:
    """Return what the figures of a run take for granted, a sentence each."""
    quiet = f"quiet for {duration(scenario.settled_ms)}" if scenario.settled_ms else "a group just formed"
    sentences = [f"heartbeats in step, {quiet}", _costs(scenario.costs), _load(scenario)]
    if scenario.until_ms is not None:
        sentences.append(f"nothing after {duration(scenario.until_ms)} counts")
    return sentences


def _costs(costs: Costs) -> str:
    """Return the words for what takes time in the model."""
    named = [(what, getattr(costs, name)) for name, what in WORDS["costs"].items()]
    costs_taken = [f"{what} takes {_time(value)}" for what, value in named if value]
    return "; ".join([*costs_taken, f"nothing {'else ' if costs_taken else ''}but waiting takes time"])


def _time(value: Duration | str) -> str:
    """Return the words for a time in milliseconds, or for the distribution that it is drawn from."""
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


def _load(scenario: Scenario) -> str:
    """Return the words for the records that come and the consumers that process them."""
    load = scenario.load
    if load is None:
        return "no load given, so no lag, duplicates or losses"
    named = load.rate if isinstance(load.rate, Mapping) else {"": load.rate}
    rates = ", ".join(_rate(rate) + (f" ({topic})" if topic else "") for topic, rate in named.items())
    evenly = f"on average, by Zipf's law with exponent {load.zipf:g}" if load.zipf else "evenly"
    named_capacities = {
        consumer.capacity: None for consumer in scenario.consumers if consumer.capacity is not None
    }
    own = "".join(f", or {named_capacity:,g}" for named_capacity in sorted(named_capacities))
    capacity = "any number" if load.capacity == math.inf else f"{load.capacity:,g}{own}"
    return (
        f"{rates} records a second come to each partition, {evenly}, and a consumer can process {capacity}; "
        f"{_commits(load, scenario.settings.auto_commit_interval_ms)}"
    )


def _rate(rate: float | tuple[float, ...]) -> str:
    """Return the words for records a second: of all partitions, or from the least to the most."""
    least, most = (min(rate), max(rate)) if isinstance(rate, tuple) else (rate, rate)
    return f"{least:,g}" if least == most else f"{least:,g} to {most:,g}"


def _commits(load: Load, interval_ms: float) -> str:
    """Return the words for when offsets are committed."""
    where = " in the transaction of their results" if load.transactions else ""
    revoke = "on revoke" if load.commit_on_revoke else "not on revoke"
    return (
        f"offsets are committed {load.commit} processing{where}, every {duration(interval_ms)} and {revoke}"
    )


CAUSES = 20
"""The most causes of a run that have a row each."""
REBALANCES = 100
"""The most rebalances that have a row each."""
_CAUSES_EACH = 4
"""The most causes of a rebalance that are named."""


def outage_rows(result: SimulationResult) -> list[Outage]:
    """Return the causes that cost a run the most, in the order of time.

    All further causes are one row at the end, whose number of partitions is 0.
    """
    outages = [*result.outages]
    if len(outages) <= CAUSES + 1:
        return outages
    # By pause, and of equal pauses the earlier one first.
    longest = sorted(range(len(outages)), key=lambda number: -outages[number].pause_ms)
    shown = [outages[number] for number in sorted(longest[:CAUSES])]
    rest = [outages[number] for number in longest[CAUSES:]]
    lasted = {f"{name}_ms": sum(phases(outage)[name] for outage in rest) for name in PHASE_NAMES.values()}
    behind = [outage.catch_up_ms for outage in rest if outage.catch_up_ms is not None]
    others = Outage(f"{len(rest):,} other causes", 0, **lasted, catch_up_ms=sum(behind) if behind else None)
    return [*shown, others]


def phases(outage: Outage) -> dict[str, float]:
    """Return how many milliseconds partitions were not read for one cause, by what they waited for."""
    return {name: getattr(outage, f"{name}_ms") for name in PHASE_NAMES.values()}


def causes(names: Sequence[str]) -> str:
    """Return why there was a rebalance; only the first reasons if there are many."""
    return first_of(names, _CAUSES_EACH)


FORMAT_VERSION = "1.0"

_NEVER = {
    "longest_pause_ms": "a pause has no end: nobody read the partition when nothing was left to happen",
    "recovery_ms": "never: it was still further behind than before when the run ended",
}
"""The reason for a null in place of an infinite figure."""
_NO_LOAD = "the scenario has no load"


def simulation_json(results: Sequence[SimulationResult]) -> str:
    """Return every run: assumptions, summary, outages by cause, rebalances, records by partition.

    Args:
        results: in the order in which they are shown.
    """
    return dump({"format_version": FORMAT_VERSION, "runs": list(map(_json_run, results))})


def runs_json(plans: Sequence[Runs]) -> str:
    """Return every scenario: median and 95th percentile of each figure, and the summary of each seed.

    Args:
        plans: the runs of each scenario.
    """
    return dump(
        {
            "format_version": FORMAT_VERSION,
            "scenarios": [
                {
                    **_json_scenario(runs.scenario, runs.warnings),
                    "median": _json_figures(runs.percentile(50)),
                    "p95": _json_figures(runs.percentile(95)),
                    "summaries": [_json_figures(asdict(summary)) for summary in runs.summaries],
                }
                for runs in plans
            ],
        }
    )


def _json_run(result: SimulationResult) -> dict[str, Any]:
    """Return a run as plain values of JSON; times are milliseconds."""
    return {
        **_json_scenario(result.scenario, result.warnings),
        "summary": _json_figures(asdict(result.summary)),
        "outages": [{**asdict(outage), "pause_ms": outage.pause_ms} for outage in result.outages],
        "rebalances": [
            {
                **attributes_of(rebalance, "generation", "started_ms", "completed_ms"),
                "causes": list(rebalance.causes),
                "moved": rebalance.moved,
                "members": len(rebalance.consumers),
            }
            for rebalance in result.rebalances
        ],
        "records": None if result.records is None else _json_records(result.records, result.timeline),
    }


def _json_scenario(scenario: Scenario, warnings: Sequence[str]) -> dict[str, Any]:
    """Return a scenario as plain values of JSON."""
    return {
        "scenario": scenario.name,
        "assignor": scenario.assignor,
        "members": len(scenario.consumers),
        **attributes_of(scenario, "membership", "purpose"),
        "assumptions": run_assumptions(scenario),
        "warnings": list(warnings),
    }


def _json_figures(figures: Mapping[str, float | None]) -> dict[str, Any]:
    """Return figures, with null if one is infinite or unknown, and the reason of each null."""
    numbers = finite(figures)
    because = {
        name: _NO_LOAD if figures[name] is None else _NEVER[name]
        for name, value in numbers.items()
        if value is None
    }
    return {**numbers, "null_because": because}


def _json_records(records: RecordsResult, timeline: Timeline) -> dict[str, Any]:
    """Return the lag over time, and the figures of each partition in the order of topics and numbers."""
    values = {field.name: getattr(records, field.name) for field in fields(records)}
    columns = {
        name: value.tolist()
        for name, value in values.items()
        if isinstance(value, np.ndarray) and name not in {"lag_ms", "lag"}
    }
    places = [
        {"topic": topic, "partition": number}
        for topic, count in zip(timeline.topics, np.diff(timeline.first).tolist(), strict=True)
        for number in range(count)
    ]
    rows = zip(*columns.values(), strict=True)
    return {
        "lag": {"at_ms": records.lag_ms.tolist(), "records": records.lag.tolist()},
        "partitions": [
            {**place, **_json_figures(dict(zip(columns, row, strict=True)))}
            for place, row in zip(places, rows, strict=True)
        ],
    }
