"""Report on the number of consumers that a scenario needs, as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import inf
from typing import TYPE_CHECKING, Any

from copartition.deploys.assumptions import run_assumptions
from copartition.kit.grid import cell, indent, note, table
from copartition.kit.json import attributes_of, dump, finite
from copartition.kit.words import count, duration, first_of
from copartition.simulate_scenarios.report import FORMAT_VERSION
from copartition.simulate_scenarios.size_search import Size, SizeTrial, numbers_to_try
from copartition.simulation.inputs.course import occurrence

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = 5
"""The most trials that a table shows."""


def sizes_json(sizes: Sequence[Size]) -> str:
    """Return the answer, the trials and the assumptions of each scenario as JSON; an infinite time is null.

    Args:
        sizes: the results, in the order in which they are shown.
    """
    scenarios = [
        {
            "scenario": answer.scenario.name,
            "assignor": answer.scenario.assignor,
            **attributes_of(
                answer, "max_lag_ms", "runs", "finished", "fewest", "autoscaler", "partitions_needed"
            ),
            "trials": [finite(asdict(trial)) for trial in answer.trials],
            "assumed": _assumptions(answer),
            "warnings": list(answer.warnings),
        }
        for answer in sizes
    ]
    return dump({"format_version": FORMAT_VERSION, "scenarios": scenarios})


def print_sizes(sizes: Sequence[Size], console: Console) -> None:
    """Print for each scenario the answer, then the trials and the assumptions.

    Args:
        sizes: the results, in the order in which they are shown.
        console: where to print.
    """
    for number, answer in enumerate(sizes):
        # There is an empty line between scenarios, but none before the first.
        if number:
            console.print()
        scenario = answer.scenario
        console.print(cell(f"{scenario.name} with {scenario.assignor}: {_conclusion(answer)}", "bold"))
        if answer.trials:
            shown = table(["CONSUMERS", "LONGEST WAIT", "HIGHEST LAG", "RECOVERY", ""], right=range(4))
            for trial in _rows_to_show(answer):
                shown.add_row(*_row(trial))
            console.print(indent(shown))
        for topic, partitions in answer.partitions_needed.items():
            console.print(
                note(f"{topic}: one partition gets more than a consumer can process; {partitions:,} would do")
            )
        if answer.autoscaler:
            settings = ", ".join(f"{name} {value}" for name, value in answer.autoscaler.items())
            console.print(note(f"KEDA: {settings}; it adds consumers only beyond the bound"))
        console.print(note(f"assumed: {'; '.join(_assumptions(answer))}"))
        for warning in answer.warnings:
            console.print(note(f"warning: {warning}", "yellow"))


def _rows_to_show(answer: Size) -> Sequence[SizeTrial]:
    """Return the last trials; if there is no answer, those with the shortest waits, the shortest first.

    Args:
        answer: the result for one scenario.
    """
    if answer.fewest is not None:
        return answer.trials[-_SHOWN:]
    # No number of consumers is the answer, so the trials that came nearest to the bound are shown.
    return sorted(answer.trials, key=lambda trial: (trial.lag_ms, trial.consumers))[:_SHOWN]


def _conclusion(answer: Size) -> str:
    """Return the answer as a sentence."""
    bound = duration(answer.max_lag_ms)
    if answer.fewest is None:
        tried = numbers_to_try(answer.scenario)
        numbers = f" from {tried[0]:,} to {tried[-1]:,}" if tried else ""
        if not answer.finished:
            done = len(answer.trials)
            return f"interrupted after {done:,} of the numbers of consumers{numbers}; no answer yet"
        return f"no number of consumers{numbers} keeps every record within {bound}"
    keep = "keeps" if answer.fewest == 1 else "keep"
    return f"{count(answer.fewest, 'consumer')} {keep} every record within {bound}"


def _row(trial: SizeTrial) -> tuple[Any, ...]:
    """Return the cells of a trial; a number of consumers that fits is green."""
    # A time is infinite if a partition never catches up.
    wait = "no end" if trial.lag_ms == inf else duration(trial.lag_ms)
    recovery = "never" if trial.recovery_ms == inf else duration(trial.recovery_ms)
    style = "green" if trial.fits else ""
    lag = f"{trial.lag:,.0f}"
    return cell(str(trial.consumers), style), cell(wait, style), lag, recovery, cell(trial.why)


def _assumptions(answer: Size) -> list[str]:
    """Return the events, the assumptions of the model, and those about the captured group, as sentences."""
    events = [occurrence(event) for event in answer.scenario.events]
    happens = f"through {first_of(events, 3)}" if events else "nothing happens: no deploy and no crash"
    return [happens, *run_assumptions(answer.scenario), *answer.assumed]
