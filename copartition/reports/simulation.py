"""Simulated runs: what every report says of them, and their JSON.

Keys of the JSON are snake_case and stable: a minor version adds, never renames. No clock and no path is in
it, so equal inputs give equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copartition.reports.grid import cell, indent, note, table
from copartition.reports.json import dump, finite
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
from copartition.words import count, duration
from partitioning.kit.data import read_toml
from partitioning.kit.extras import needs
from partitioning.kit.words import first_of

with needs("a text report", "cli"):
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from copartition.simulation import Runs, Scenario, SimulationResult

_NAME_WIDTH = 24
_FIGURES = read_toml(__package__, "simulation_figures.toml")


_SUMS = "pauses are summed over members and over partitions, the longest is of one partition"


class _Column(NamedTuple):
    """A scenario in the comparison: what tells it from the others, and its figures, None where unknown."""

    name: tuple[str, ...]
    scenario: Scenario
    figures: Mapping[str, str | None]
    warnings: Sequence[str]
    heading: str = ""


def print_simulation(results: Sequence[SimulationResult], console: Console) -> None:
    """Runs side by side, the outages of each, and the rebalances of a single one."""
    title, names = titles([result.scenario for result in results])
    columns = [
        _Column(name, result.scenario, _figures(asdict(result.summary)), result.warnings)
        for name, result in zip(names, results, strict=True)
    ]
    _compare(title, columns, console)
    console.print(note(_SUMS))
    for name, result in zip(names, results, strict=True):
        if result.outages:
            if len(results) > 1:
                console.print()
                console.print(cell(" with ".join(name), "bold"))
            console.print(indent(_outage_table(result)))
    if any(result.outages for result in results):
        console.print(note("seconds, summed over N partitions; in catch-up they are read, but late"))
    if len(results) == 1 and results[0].rebalances:
        console.print(indent(_rebalance_table(results[0])))
        if (more := len(results[0].rebalances) - REBALANCES) > 0:
            console.print(note(f"and {count(more, 'rebalance')} more"))
    _print_remarks(columns, console)


def print_runs(plans: Sequence[Runs], console: Console) -> None:
    """The median and the 95th percentile of every figure, scenarios side by side."""
    title, names = titles([runs.scenario for runs in plans])
    columns = [_percentiles(name, runs) for name, runs in zip(names, plans, strict=True)]
    _compare(title, columns, console)
    seeds = [summary.seed for summary in plans[0].summaries]
    console.print(note(f"{len(seeds):,} runs, seeds {seeds[0]} to {seeds[-1]}; {_SUMS}"))
    _print_remarks(columns, console)


def print_ready(rows: Sequence[Mapping[str, str]], console: Console) -> None:
    """The scenarios that come with the package: name and summary, and what they are for."""
    for row in rows:
        name, summary, *purpose = row.items()
        console.print(cell(name[1], "bold"))
        console.print(note(summary[1], ""))
        for kind, text in purpose:
            console.print(note(f"{kind}: {text}"))


def _figures(figures: Mapping[str, float | None]) -> dict[str, str | None]:
    return {name: _figure(name, figures[name]) for name in _FIGURES}


def _figure(name: str, value: float | None) -> str | None:
    if value is None:
        return None
    if name == "longest_pause_ms" and value == inf:
        return "no end"
    return duration(value) if name.endswith("_ms") else f"{value:,.0f}"


def _percentiles(name: tuple[str, ...], runs: Runs) -> _Column:
    middle, high = _figures(runs.percentile(50)), _figures(runs.percentile(95))
    widest = max(len(value) for value in high.values() if value is not None)
    figures = {
        figure: None if value is None else f"{value}  {high[figure]:>{widest}}"
        for figure, value in middle.items()
    }
    return _Column(name, runs.scenario, figures, runs.scenario.warnings, f"MEDIAN  {'95 %':>{widest}}")


def _compare(title: str, columns: Sequence[_Column], console: Console) -> None:
    """A table of figures, one row each; as many tables below one another as the width asks for."""
    console.print(cell(title, "bold"))
    for kind in ("question", "source", "conclusion"):
        by_scenario = _by_scenario(columns, lambda column: filter(None, [column.scenario.purpose.get(kind)]))  # noqa: B023
        for whom, texts in by_scenario.items():
            console.print(note(f"{kind}{whom}: {'; '.join(texts)}", ""))
    while columns:
        for end in range(len(columns), 0, -1):
            shown = _comparison(columns[:end])
            if Measurement.get(console, console.options, shown).maximum + 2 <= console.width:
                break
        console.print(indent(shown))
        columns = columns[end:]


def _comparison(columns: Sequence[_Column]) -> Table:
    headings = [
        Text("\n").join(map(cell, filter(None, (*column.name, column.heading)))) for column in columns
    ]
    shown = table(["", *headings], right=range(1, len(columns) + 1))
    for each in shown.columns[1:]:
        each.max_width = _NAME_WIDTH
    members = [f"{len(column.scenario.consumers)} {column.scenario.membership}" for column in columns]
    shown.add_row("members at the start", *members)
    for name, label in _FIGURES.items():
        values = [column.figures[name] for column in columns]
        if any(values):
            shown.add_row(label, *(value or "-" for value in values))
    return shown


def _outage_table(result: SimulationResult) -> Table:
    columns = ["OUTAGE", "N", "PAUSE", "DETECTION", "BARRIER", "COMPUTE", "HANDOVER", "CATCH-UP"]
    shown = table(columns, right=range(1, len(columns)))
    for row in outage_rows(result):
        partitions = "" if row.partitions is None else f"{row.partitions:,}"
        times = (row.total_ms, *(lasted for _, lasted in row.phases), row.catch_up_ms)
        shown.add_row(cell(row.cause), partitions, *map(_seconds, times))
    return shown


def _seconds(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "-"
    return f"{milliseconds / 1_000:,.1f}" if milliseconds else "0"


def _rebalance_table(result: SimulationResult) -> Table:
    shown = table(["AT", "TOOK", "GENERATION", "MOVED", "BECAUSE"], right=range(4))
    for rebalance in result.rebalances[:REBALANCES]:
        shown.add_row(
            duration(rebalance.started_ms),
            duration(rebalance.completed_ms - rebalance.started_ms),
            str(rebalance.generation),
            str(rebalance.moved),
            cell(causes(rebalance.causes)),
        )
    return shown


def _print_remarks(columns: Sequence[_Column], console: Console) -> None:
    console.print()
    for whom, sentences in _by_scenario(columns, lambda column: assumptions(column.scenario)).items():
        console.print(note(f"assumed{whom}: {'; '.join(sentences)}"))
    for whom, sentences in _by_scenario(columns, lambda column: column.warnings).items():
        for sentence in sentences:
            console.print(note(f"warning{whom}: {sentence}", "yellow"))


def _by_scenario(
    columns: Sequence[_Column], tell: Callable[[_Column], Iterable[str]]
) -> dict[str, list[str]]:
    """What there is to say of scenarios, by whom it is said of; of all where that is left open."""
    where: dict[str, list[str]] = {}
    for column in columns:
        for each in tell(column):
            where.setdefault(each, []).append(" with ".join(column.name))
    lines_by_scenario: dict[str, list[str]] = {}
    for each, names in where.items():
        lines_by_scenario.setdefault(
            "" if len(names) == len(columns) else f" for {', '.join(names)}", []
        ).append(each)
    return lines_by_scenario


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
    sentences = [f"heartbeats in step, {quiet}", _costs(scenario.costs), _load(scenario)]
    if scenario.until_ms is not None:
        sentences.append(f"nothing after {duration(scenario.until_ms)} counts")
    return sentences


def _costs(costs: Costs) -> str:
    costs_taken = [
        f"{what} takes {_time(value)}" for name, what in _COSTS.items() if (value := getattr(costs, name))
    ]
    return "; ".join([*costs_taken, f"nothing {'else ' if costs_taken else ''}but waiting takes time"])


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


def _load(scenario: Scenario) -> str:
    load = scenario.load
    if load is None:
        return "no load given, so no lag, duplicates or losses"
    named = load.rate if isinstance(load.rate, Mapping) else {"": load.rate}
    rates = ", ".join(_rate(rate) + (f" ({topic})" if topic else "") for topic, rate in named.items())
    evenly = f"on average, by Zipf's law with exponent {load.zipf:g}" if load.zipf else "evenly"
    named_capacities = {each.capacity: None for each in scenario.consumers if each.capacity is not None}
    own = "".join(f", or {each:,g}" for each in sorted(named_capacities))
    capacity = "any number" if load.capacity == math.inf else f"{load.capacity:,g}{own}"
    return (
        f"{rates} records a second come to each partition, {evenly}, and a consumer can process {capacity}; "
        f"{_commits(load, scenario.settings.auto_commit_interval_ms)}"
    )


def _rate(rate: float | tuple[float, ...]) -> str:
    return f"{min(rate):,g} to {max(rate):,g}" if isinstance(rate, tuple) else f"{rate:,g}"


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
    names = ("detection", "barrier", "compute", "handover")
    return tuple((name, sum(getattr(outage, f"{name}_ms") for outage in outages)) for name in names)


FORMAT_VERSION = "1.0"

_NEVER = {
    "longest_pause_ms": "a pause has no end: nobody read the partition when nothing was left to happen",
    "recovery_ms": "never: it was still further behind than before when the run ended",
}
_NO_LOAD = "the scenario has no load"


def simulation_json(results: Sequence[SimulationResult]) -> str:
    """Every run: assumptions, summary, outages by cause, rebalances, records by partition."""
    return dump({"format_version": FORMAT_VERSION, "runs": list(map(_json_run, results))})


def runs_json(plans: Sequence[Runs]) -> str:
    """Every scenario: the median and the 95th percentile of each figure, and the summary of each seed."""
    return dump(
        {
            "format_version": FORMAT_VERSION,
            "scenarios": [
                {
                    **_json_scenario(runs.scenario),
                    "median": _json_figures(runs.percentile(50)),
                    "p95": _json_figures(runs.percentile(95)),
                    "summaries": [_json_figures(asdict(summary)) for summary in runs.summaries],
                }
                for runs in plans
            ],
        }
    )


def _json_run(result: SimulationResult) -> dict[str, Any]:
    return {
        **_json_scenario(result.scenario),
        "warnings": list(result.warnings),
        "summary": _json_figures(asdict(result.summary)),
        "outages": [{**asdict(outage), "pause_ms": outage.pause_ms} for outage in result.outages],
        "rebalances": [
            {
                "generation": rebalance.generation,
                "started_ms": rebalance.started_ms,
                "completed_ms": rebalance.completed_ms,
                "causes": list(rebalance.causes),
                "moved": rebalance.moved,
                "members": len(rebalance.consumers),
            }
            for rebalance in result.rebalances
        ],
        "records": None if result.records is None else _json_records(result.records, result.timeline),
    }


def _json_scenario(scenario: Scenario) -> dict[str, Any]:
    return {
        "scenario": scenario.name,
        "assignor": scenario.assignor,
        "members": len(scenario.consumers),
        "membership": scenario.membership,
        "purpose": scenario.purpose,
        "assumptions": assumptions(scenario),
        "warnings": list(scenario.warnings),
    }


def _json_figures(figures: Mapping[str, float | None]) -> dict[str, Any]:
    """Figures, with null where JSON has no number or there is none, and why."""
    numbers = finite(figures)
    because = {
        name: _NO_LOAD if figures[name] is None else _NEVER[name]
        for name, value in numbers.items()
        if value is None
    }
    return {**numbers, "null_because": because}


def _json_records(records: RecordsResult, timeline: Timeline) -> dict[str, Any]:
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
