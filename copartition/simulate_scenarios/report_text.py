"""Print simulations in a terminal: comparisons, outages and rebalances as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from copartition.deploys.answer import UNIT, Stops, answer_sentence
from copartition.deploys.assumptions import run_assumptions
from copartition.kit.evidence import Missing
from copartition.kit.grid import cell, indent, note, print_table, table
from copartition.kit.words import Table as ReportTable
from copartition.kit.words import count, duration, visible
from copartition.simulate_scenarios.report import REBALANCES, causes, outage_rows, phases, titles
from copartition.simulation.inputs.scenario import PURPOSES
from copartition.simulation.outcome.timeline import PHASE_NAMES
from partitioning.kit.packages import read_toml

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from copartition.simulation import Runs, Scenario, SimulationResult

_NAME_WIDTH = 24
"""The largest width of a scenario's column, in characters."""
_SUMMED = {f"{name}_ms" for name in PHASE_NAMES.values()}
"""Names of the figures that are sums over partitions, in milliseconds: the parts of the partition-seconds."""
_FIGURES = read_toml(__package__, "figures.toml")
"""The figures of `figures.toml` by name, with their labels."""


_SUMS = f"{UNIT}; the longest is of one partition"


class _Column(NamedTuple):
    """Holds the column of a scenario in the comparison.

    Attributes:
        name: the parts of its title that differ from other columns, see `titles`.
        scenario: the scenario.
        figures: name of each of `_FIGURES` -> its text; None if the figure is not known.
        warnings: warnings of the scenario, as sentences.
        heading: a further line of the title; "" for none.
    """

    name: tuple[str, ...]
    scenario: Scenario
    figures: Mapping[str, str | None]
    warnings: Sequence[str]
    heading: str = ""


def print_simulation(
    results: Sequence[SimulationResult], console: Console, *, stops: Sequence[Stops | Missing] = ()
) -> None:
    """Print runs side by side, the outages of each, and the rebalances if there is one run.

    Args:
        results: the runs, in the order of the columns.
        console: where to print.
        stops: for how long each scenario of a captured group stops partitions, over several runs, or why this
            is not known; empty for scenario files.
    """
    _print_stops(stops, console)
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
            print_table(_outage_table(result), console)
    if any(result.outages for result in results):
        console.print(note("seconds, summed over N partitions; in catch-up they are read, but late"))
    if len(results) == 1 and results[0].rebalances:
        print_table(_rebalance_table(results[0]), console)
        if (more := len(results[0].rebalances) - REBALANCES) > 0:
            console.print(note(f"and {count(more, 'rebalance')} more"))
    _print_remarks(columns, console)


def print_runs(plans: Sequence[Runs], console: Console, *, stops: Sequence[Stops | Missing] = ()) -> None:
    """Print the median and the 95th percentile of every figure, scenarios side by side.

    Args:
        plans: the runs of each scenario, all with the same seeds.
        console: where to print.
        stops: for how long each scenario of a captured group stops partitions, or why this is not known;
            empty for scenario files.
    """
    _print_stops(stops, console)
    title, names = titles([runs.scenario for runs in plans])
    columns = [_percentiles(name, runs) for name, runs in zip(names, plans, strict=True)]
    _compare(title, columns, console)
    seeds = [summary.seed for summary in plans[0].summaries]
    console.print(note(f"{len(seeds):,} runs, seeds {seeds[0]} to {seeds[-1]}; {_SUMS}"))
    _print_remarks(columns, console)


def _print_stops(stops: Sequence[Stops | Missing], console: Console) -> None:
    """Print the answers for captured groups above the tables, and the definition of their unit."""
    for answer in stops:
        console.print(cell(answer_sentence(answer), "bold"))
    if stops:
        console.print(cell(f"{UNIT[0].upper()}{UNIT[1:]}."))
        console.print()


def print_ready(rows: Sequence[Mapping[str, str]], console: Console) -> None:
    """Print the scenarios of the package: name, summary, and their purpose."""
    for row in rows:
        console.print(cell(row["name"], "bold"))
        console.print(note(row["summary"], ""))
        for kind in filter(row.__contains__, PURPOSES):
            console.print(note(f"{kind}: {row[kind]}"))


def _figures(figures: Mapping[str, float | None]) -> dict[str, str | None]:
    """Return the text of each figure by its name, in the order of the table."""
    return {name: _figure(name, figures[name]) for name in _FIGURES}


def _figure(name: str, value: float | None) -> str | None:
    """Return the text of a figure: partition-seconds, a length of time (`_ms`), or a whole number."""
    if value is None:
        return None
    if name == "longest_pause_ms" and value == inf:
        return "no end"
    if name == "partition_seconds" or name in _SUMMED:
        return f"{value / (1_000 if name in _SUMMED else 1):,.1f}"
    return duration(value) if name.endswith("_ms") else f"{value:,.0f}"


def _percentiles(name: tuple[str, ...], runs: Runs) -> _Column:
    """Return the column of a scenario that ran with several seeds.

    The text of each figure is its median and its 95th percentile, side by side.
    """
    middle, high = _figures(runs.percentile(50)), _figures(runs.percentile(95))
    # The second number is padded within its cell, so that the second numbers of all rows line up.
    widest = max(len(value) for value in high.values() if value is not None)
    figures = {
        figure: None if value is None else f"{value}  {high[figure]:>{widest}}"
        for figure, value in middle.items()
    }
    return _Column(name, runs.scenario, figures, runs.warnings, f"MEDIAN  {'95 %':>{widest}}")


def _compare(title: str, columns: Sequence[_Column], console: Console) -> None:
    """Print a table with a row for each figure; if it is too wide, it is divided into several tables.

    Args:
        title: the part of the title that the scenarios have in common.
        columns: the column of each scenario.
        console: where to print; its width decides how many columns stand side by side.
    """
    console.print(cell(title, "bold"))
    # Questions and other texts that explain the figures come before the table.
    for kind in PURPOSES:
        texts_by_scenario = _by_scenario(columns, partial(_purpose, kind))
        for whom, texts in texts_by_scenario.items():
            console.print(note(f"{kind}{whom}: {'; '.join(texts)}", ""))
    while columns:
        # Show as many columns as fit; a single column is shown even if it is too wide.
        for end in range(len(columns), 0, -1):
            shown = _comparison(columns[:end])
            if console.measure(shown).maximum + 2 <= console.width:
                break
        console.print(indent(shown))
        columns = columns[end:]


def _comparison(columns: Sequence[_Column]) -> Table:
    """Return the table of figures; a figure that is unknown or empty for all scenarios has no row."""
    headings = ["\n".join(map(visible, filter(None, (*column.name, column.heading)))) for column in columns]
    shown = table(["", *headings], right=range(1, len(columns) + 1))
    # The first column has the labels, which are never cut.
    for column in shown.columns[1:]:
        column.max_width = _NAME_WIDTH
    members = [f"{len(column.scenario.consumers)} {column.scenario.membership}" for column in columns]
    shown.add_row("members at the start", *members)
    for name, label in _FIGURES.items():
        values = [column.figures[name] for column in columns]
        if any(values):
            shown.add_row(label, *(value or "-" for value in values))
    return shown


def _outage_table(result: SimulationResult) -> ReportTable:
    """Return a table of the outages of a run; times are in seconds."""
    columns = ["outage", "n", "pause", "detection", "barrier", "compute", "handover", "catch-up"]
    rows = []
    for row in outage_rows(result):
        # The row of all other causes has 0 partitions, and its cell stays empty.
        partitions = f"{row.partitions:,}" if row.partitions else ""
        times = (row.pause_ms, *phases(row).values(), row.catch_up_ms)
        rows.append((row.cause, partitions, *map(_seconds, times)))
    return ReportTable(columns, rows, range(1, len(columns)))


def _seconds(milliseconds: float | None) -> str:
    """Return milliseconds as seconds; "-" if unknown."""
    if milliseconds is None:
        return "-"
    return f"{milliseconds / 1_000:,.1f}" if milliseconds else "0"


def _rebalance_table(result: SimulationResult) -> ReportTable:
    """Return a table of the first `REBALANCES` rebalances of a run."""
    rows = [
        (
            duration(rebalance.started_ms),
            duration(rebalance.completed_ms - rebalance.started_ms),
            str(rebalance.generation),
            str(rebalance.moved),
            causes(rebalance.causes),
        )
        for rebalance in result.rebalances[:REBALANCES]
    ]
    return ReportTable(("at", "took", "generation", "moved", "because"), rows, range(4))


def _print_remarks(columns: Sequence[_Column], console: Console) -> None:
    """Print the assumptions and warnings, each only once for all scenarios that it concerns."""
    console.print()
    for whom, sentences in _by_scenario(columns, lambda column: run_assumptions(column.scenario)).items():
        console.print(note(f"assumed{whom}: {'; '.join(sentences)}"))
    for whom, sentences in _by_scenario(columns, lambda column: column.warnings).items():
        for sentence in sentences:
            console.print(note(f"warning{whom}: {sentence}", "yellow"))


def _purpose(kind: str, column: _Column) -> list[str]:
    """Return the text of a scenario under one of `PURPOSES`; an empty list if it has none."""
    text = column.scenario.purpose.get(kind)
    return [] if text is None else [text]


def _by_scenario(
    columns: Sequence[_Column], tell: Callable[[_Column], Iterable[str]]
) -> dict[str, list[str]]:
    """Return sentences, grouped by the scenarios that they concern.

    The key of a group is " for NAMES", or "" for sentences that concern all scenarios.

    Args:
        columns: the scenarios.
        tell: returns the sentences of one scenario.
    """
    where: dict[str, list[str]] = {}
    for column in columns:
        for text in tell(column):
            where.setdefault(text, []).append(" with ".join(column.name))
    lines_by_scenario: dict[str, list[str]] = {}
    for text, names in where.items():
        lines_by_scenario.setdefault(
            "" if len(names) == len(columns) else f" for {', '.join(names)}", []
        ).append(text)
    return lines_by_scenario
