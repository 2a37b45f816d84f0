"""A page with simulated runs over one time axis, and their picture as a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copartition.reports.page import WIDTH, render
from copartition.reports.simulation.chart import (
    DRAWN,
    charts,
    colour_legend,
    phase_legend,
    run_title,
    whole_run,
)
from copartition.reports.simulation.model import REBALANCES, assumptions, causes, outage_rows
from copartition.words import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.simulation import Scenario, SimulationResult

_TOPICS = 8
"""The most topics that a page's head names."""


def simulation_html(results: Sequence[SimulationResult]) -> str:
    """A page with one or more runs over the same time axis."""
    drawn = results[:DRAWN]
    outages = [outage_rows(result) for result in drawn]
    return render(
        "simulation.html.j2",
        results=results,
        names=list(dict.fromkeys(result.scenario.name for result in results)),
        groups=list(dict.fromkeys(_group(result.scenario) for result in results)),
        drawn=drawn,
        charts=charts(drawn),
        phase_keys=phase_legend(drawn, WIDTH),
        colour_keys=colour_legend(drawn, WIDTH),
        outages=outages,
        longest=max((row.total_ms for rows in outages for row in rows if row.partitions), default=0.0),
        rebalances=REBALANCES,
        assumed=_assumptions_by_run(results),
        causes=causes,
        run_title=run_title,
    )


def availability_svg(results: Sequence[SimulationResult]) -> str:
    """When each partition was read, whole runs, as a file of its own."""
    chart = whole_run(results)
    return render(
        "availability.svg.j2",
        chart=chart,
        keys=phase_legend(results, WIDTH),
        patterns={"detection": "unnoticed", "two": "two"},
        summary=" ".join(f"{panel.title}: {panel.facts}." for panel in chart.panels),
    )


def _assumptions_by_run(results: Sequence[SimulationResult]) -> list[tuple[str, list[str]]]:
    """What the figures take for granted: of each run, or of all where it is the same."""
    said = {run_title(result, results): assumptions(result.scenario) for result in results}
    first = next(iter(said.values()))
    return [("", first)] if all(sentence == first for sentence in said.values()) else list(said.items())


def _group(scenario: Scenario) -> str:
    """What there is at the start, and how much happens to it."""
    topics = [f"{topic.name} with {count(topic.partitions, 'partition')}" for topic in scenario.topics]
    if len(topics) > _TOPICS:
        topics[_TOPICS:] = [count(len(topics) - _TOPICS, "more topic")]
    members, happens = count(len(scenario.consumers), "consumer"), count(len(scenario.events), "event")
    return " · ".join([members, *topics, happens, f"seed {scenario.seed}"])
