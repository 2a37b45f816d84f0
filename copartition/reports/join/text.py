"""The verdict on a join, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copartition.reports.grid import cell, indent, note, table
from copartition.reports.join.model import (
    GROW_TITLES,
    MARKS,
    PLAN_TITLES,
    TOPIC_TITLES,
    example_rows,
    example_titles,
    grow_rows,
    plan_rows,
    topic_rows,
)
from copartition.topics.join.planning import plan_told

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        _print_table(TOPIC_TITLES, topic_rows(report.audits), console, right=(1, 2, 3))
    examples = example_rows(verdict.proof)
    if examples:
        _print_table(
            example_titles(verdict.topics), examples, console, right=range(1, len(verdict.topics) + 1)
        )
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
    for told in plan_told(plan)[1:]:
        console.print(cell(told), soft_wrap=True)
    _print_table(PLAN_TITLES, plan_rows(plan), console, right=(1, 2))
    if plan.grow:
        _print_table(GROW_TITLES, grow_rows(plan), console, right=range(1, 5))


def _print_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], console: Console, *, right: Sequence[int]
) -> None:
    shown = table([cell(title.upper()) for title in titles], right=right)
    for row in rows:
        shown.add_row(*map(cell, row))
    console.print(indent(shown))
