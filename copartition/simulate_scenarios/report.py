"""Report simulated runs as JSON, and hold the words that all reports share; `report_text` prints them.

Keys of the JSON are in snake_case and stable: a minor version adds keys and never renames any. The JSON
contains no time of day and no path, so equal inputs give equal bytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from copartition.deploys.answer import Stops, stops_json
from copartition.deploys.assumptions import run_assumptions
from copartition.kit.evidence import Missing
from copartition.kit.json import attributes_of, dump, finite
from copartition.kit.words import first_of
from copartition.simulation import Outage, RecordsResult, Runs, Scenario, SimulationResult, Timeline
from copartition.simulation.outcome.timeline import PHASE_NAMES
from partitioning.kit.packages import read_toml

WORDS = read_toml(__package__, "words.toml")
"""The words of `words.toml`: phases and events."""


def titles(scenarios: Sequence[Scenario]) -> tuple[str, list[tuple[str, ...]]]:
    """Return the part of the title that scenarios have in common, and each scenario's part that differs.

    The differing part is the name, the assignor, or both.

    Args:
        scenarios: one or more.
    """
    names = dict.fromkeys(scenario.name for scenario in scenarios)
    if len(names) == 1:
        return scenarios[0].name, [(scenario.assignor,) for scenario in scenarios]
    if len({scenario.assignor for scenario in scenarios}) == 1:
        return scenarios[0].assignor, [(scenario.name,) for scenario in scenarios]
    return ", ".join(names), [(scenario.name, scenario.assignor) for scenario in scenarios]


CAUSES = 20
"""The most causes of a run that have a row each."""
REBALANCES = 100
"""The most rebalances that have a row each."""
_CAUSES_EACH = 4
"""The most causes of a rebalance that are named in its row."""


def outage_rows(result: SimulationResult) -> list[Outage]:
    """Return the causes with the longest pauses of a run, in the order of time.

    All further causes share one row at the end, whose number of partitions is 0.
    """
    outages = [*result.outages]
    if len(outages) <= CAUSES + 1:
        return outages
    # The longest pause comes first; of equal pauses, the earlier outage comes first.
    longest = sorted(range(len(outages)), key=lambda number: -outages[number].pause_ms)
    shown = [outages[number] for number in sorted(longest[:CAUSES])]
    rest = [outages[number] for number in longest[CAUSES:]]
    lasted = {f"{name}_ms": sum(phases(outage)[name] for outage in rest) for name in PHASE_NAMES.values()}
    # Without a load, the time of catching up is unknown for all outages, so their sum is unknown, too.
    behind = [outage.catch_up_ms for outage in rest if outage.catch_up_ms is not None]
    # Partitions are not added up, because one partition may have stood still for several causes.
    others = Outage(f"{len(rest):,} other causes", 0, **lasted, catch_up_ms=sum(behind) if behind else None)
    return [*shown, others]


def phases(outage: Outage) -> dict[str, float]:
    """Return the milliseconds for which partitions were not read for one cause, by the name of the phase."""
    return {name: getattr(outage, f"{name}_ms") for name in PHASE_NAMES.values()}


def causes(names: Sequence[str]) -> str:
    """Return the causes of a rebalance as text; if there are many, only the first ones are named."""
    return first_of(names, _CAUSES_EACH)


FORMAT_VERSION = "2.0"

_NEVER = {
    "longest_pause_ms": "a pause has no end: nobody read the partition when nothing was left to happen",
    "recovery_ms": "never: it was still further behind than before when the run ended",
}
"""Figure -> the reason why it is null if its value is infinite."""
_NO_LOAD = "the scenario has no load"


def simulation_json(results: Sequence[SimulationResult], stops: Sequence[Stops | Missing] = ()) -> str:
    """Return every run as JSON: assumptions, summary, outages by cause, rebalances, records by partition.

    Args:
        results: the runs, in the order in which they are shown.
        stops: for how long each scenario of a captured group stops partitions, over many runs, or why this is
            not known; empty for scenario files.
    """
    runs = [
        _json_run(result) | answer
        for result, answer in zip(results, _json_stops(stops, results), strict=True)
    ]
    return dump({"format_version": FORMAT_VERSION, "runs": runs})


def runs_json(plans: Sequence[Runs], stops: Sequence[Stops | Missing] = ()) -> str:
    """Return every scenario as JSON: median and 95th percentile of each figure, and each seed's summary.

    Args:
        plans: the runs of each scenario.
        stops: see `simulation_json`.
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
                    **answer,
                }
                for runs, answer in zip(plans, _json_stops(stops, plans), strict=True)
            ],
        }
    )


def _json_stops(stops: Sequence[Stops | Missing], scenarios: Sequence[object]) -> list[dict[str, Any]]:
    """Return the fields with each scenario's `Stops`, or why they are missing; none for scenario files."""
    if not stops:
        return [{} for _ in scenarios]
    return [
        {"stops": None, "stops_missing": asdict(answer)}
        if isinstance(answer, Missing)
        else {"stops": stops_json(answer), "stops_missing": None}
        for answer in stops
    ]


def _json_run(result: SimulationResult) -> dict[str, Any]:
    """Return a run as values for JSON, by field; times are milliseconds."""
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
    """Return a scenario as values for JSON, by field."""
    return {
        "scenario": scenario.name,
        "assignor": scenario.assignor,
        "members": len(scenario.consumers),
        **attributes_of(scenario, "membership", "purpose"),
        "assumptions": run_assumptions(scenario),
        "warnings": list(warnings),
    }


def _json_figures(figures: Mapping[str, float | None]) -> dict[str, Any]:
    """Return figures for JSON, with `null_because`: the reason for each figure that is null."""
    # A figure becomes null because JSON has no infinity, or because it is unknown (None).
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
        # `lag_ms` and `lag` have an entry for each time; all other arrays have an entry for each partition.
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
