"""The verdict on a join, for pull requests and tickets."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from copartition.reports.markdown import Page, markdown_text
from copartition.reports.words import visible
from copartition.topics.join.planning import plan_told

if TYPE_CHECKING:
    from copartition.reports.join.model import JoinReport


def join_markdown(report: JoinReport) -> str:
    """The verdict as GitHub Markdown: in bold, its reasons, the long part folded.

    Args:
        report: the verdict, and what it rests on.
    """
    page = Page()
    page.add("**", markdown_text(report.headline), "**\n")
    if report.plan is not None:
        told = plan_told(report.plan)[1:]
        page.items(map(markdown_text, told), len(told), "remark")
        joins, grow = plan_rows(report.plan), grow_rows(report.plan)
        page.table("Joins", PLAN_TITLES, joins, len(joins), "join", share=2)
        if grow:
            page.table("What must grow", GROW_TITLES, grow, len(grow), "topic")
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
        rows = topic_rows(report.audits)
        page.table("Topics", TOPIC_TITLES, rows, len(rows), "topic", share=2)
    examples = example_rows(verdict.proof)
    if examples:
        titles = [markdown_text(title) for title in example_titles(verdict.topics)]
        page.table("Keys that are apart", titles, examples, len(examples), "key", share=2)
    assumed = [markdown_text(f"assumed: {each}") for each in verdict.assumed]
    page.items(assumed, len(assumed), "assumption")
    return page.ended


def _code(text: str) -> str:
    """Text between backticks, which nothing in it ends."""
    return visible(text).replace("`", "'")
