"""The verdict on a join, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copartition.reports.grid import cell, note, print_table
from copartition.reports.join.model import (
    MARKS,
    example_table,
    growth_table,
    plan_sentences,
    plan_table,
    topic_table,
)

if TYPE_CHECKING:
    from rich.console import Console

    from copartition.reports.join.model import JoinReport
    from copartition.topics.join.planning import GrowthPlan
    from copartition.topics.join.verdict import JoinVerdict

_COLOURS = {"yes": "bold green", "no": "bold red", "unknown": "bold yellow"}
_WEIGHTS = {"against": "red", "open": "yellow", "for": "green"}


def print_join(report: JoinReport, console: Console) -> None:
    """The verdict first, then reasons, topics, keys that are apart, ways out, and what was assumed."""
    console.print(cell(report.headline, _COLOURS[report.answer]), soft_wrap=True)
    if report.plan is not None:
        _print_plan(report.plan, console)
        return
    verdict = report.verdict
    assert verdict is not None
    console.print()
    for reason in verdict.reasons:
        console.print(
            cell(f"  {MARKS[reason.weight]} {reason.text}", _WEIGHTS[reason.weight]), soft_wrap=True
        )
    if report.audits:
        print_table(topic_table(report.audits), console)
    examples = example_table(verdict)
    if examples.rows:
        print_table(examples, console)
    _print_remedies(verdict, console)
    console.print()
    for each in verdict.assumed:
        console.print(note(f"assumed: {each}"), soft_wrap=True)


def _print_remedies(verdict: JoinVerdict, console: Console) -> None:
    if verdict.remedies:
        console.print()
        console.print("what to do")
    for remedy in verdict.remedies:
        console.print(cell(f"  - {remedy.text}"), soft_wrap=True)
        if remedy.command is not None:
            console.print(cell(f"      {remedy.command}", "bold"), soft_wrap=True)


def _print_plan(plan: GrowthPlan, console: Console) -> None:
    for sentence in plan_sentences(plan)[1:]:
        console.print(cell(sentence), soft_wrap=True)
    print_table(plan_table(plan), console)
    if plan.grow:
        print_table(growth_table(plan), console)
