"""The verdict on a join, for pull requests and tickets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copartition.reports.join.model import (
    MARKS,
    example_table,
    growth_table,
    plan_sentences,
    plan_table,
    topic_table,
)
from copartition.reports.markdown import Page, markdown_text
from copartition.reports.words import visible

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
    assumed = [markdown_text(f"assumed: {each}") for each in verdict.assumed]
    page.items(assumed, len(assumed), "assumption")
    return page.ended


def _code(text: str) -> str:
    """Text between backticks, which nothing in it ends."""
    return visible(text).replace("`", "'")
