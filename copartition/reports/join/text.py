"""The verdict on a join as text and as Markdown."""

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
from copartition.reports.markdown import Page, markdown_text
from copartition.words import visible

if TYPE_CHECKING:
    from rich.console import Console

    from copartition.reports.join.model import JoinReport
    from copartition.topics.join.planned import GrowthPlan
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
    for assumption in verdict.assumed:
        console.print(note(f"assumed: {assumption}"), soft_wrap=True)


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


def join_markdown(report: JoinReport) -> str:
    """The verdict as GitHub Markdown: in bold, its reasons, the long part folded.

    Args:
        report: the verdict, and what it rests on.
    """
    page = Page()
    page.add("**", markdown_text(report.headline), "**\n")
    if report.plan is not None:
        remarks = plan_sentences(report.plan)[1:]
        page.items(map(markdown_text, remarks), len(remarks), "remark")
        page.whole_table("Joins", plan_table(report.plan), "join", share=2)
        if report.plan.grow:
            page.whole_table("What must grow", growth_table(report.plan), "topic")
        return page.ended
    verdict = report.verdict
    assert verdict is not None
    reasons = [markdown_text(f"{MARKS[reason.weight]} {reason.text}") for reason in verdict.reasons]
    page.items(reasons, len(reasons), "reason")
    if verdict.remedies:
        page.add("\nWhat to do:\n")
        remedies = [
            markdown_text(remedy.text) + (f": `{_code(remedy.command)}`" if remedy.command else "")
            for remedy in verdict.remedies
        ]
        page.items(remedies, len(remedies), "remedy")
    if report.audits:
        page.whole_table("Topics", topic_table(report.audits), "topic", share=2)
    examples = example_table(verdict)
    if examples.rows:
        page.whole_table("Keys that are apart", examples, "key", share=2)
    assumed = [markdown_text(f"assumed: {assumption}") for assumption in verdict.assumed]
    page.items(assumed, len(assumed), "assumption")
    return page.ended


def _code(text: str) -> str:
    """Text between backticks, which nothing in it ends."""
    return visible(text).replace("`", "'")
