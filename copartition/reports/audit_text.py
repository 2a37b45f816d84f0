"""Audits on a terminal and in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copartition.reports.audit import TITLES, remarks, rows, verdict
from copartition.reports.markdown import markdown_row, markdown_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from copartition.topics.audit.topic_audit import TopicAudit

MOST_ROWS = 40


def print_audits(audits: Sequence[TopicAudit], console: Console, *, every: bool) -> None:
    """The verdict of each topic, its ranges, and what else is to be known."""
    from copartition.reports.tables import cell, indent, note, table  # noqa: PLC0415 - needs rich

    for number, audit in enumerate(audits):
        if number:
            console.print()
        console.print(cell(f"{audit.topic}: {verdict(audit)} ({audit.certainty})", "bold"), soft_wrap=True)
        found = rows(audit.spans)
        shown = table([title.upper() for title in TITLES], right=range(5, 8))
        for row in found if every else found[:MOST_ROWS]:
            shown.add_row(*map(cell, row))
        if found:
            console.print(indent(shown))
        if len(found) > MOST_ROWS and not every:
            console.print(note(f"and {len(found) - MOST_ROWS:,} more ranges; --all shows them"))
        for remark in remarks(audit):
            console.print(note(remark), soft_wrap=True)


def audit_markdown(audits: Sequence[TopicAudit], *, every: bool) -> str:
    """Audits as GitHub Markdown: the verdicts in bold, small tables."""
    lines: list[str] = []
    for audit in audits:
        said = markdown_text(f"{audit.topic}: {verdict(audit)} ({audit.certainty})")
        lines += [f"**{said}**", ""]
        found = rows(audit.spans)
        if found:
            lines += [markdown_row(TITLES), markdown_row(["---"] * len(TITLES))]
            shown = found if every else found[:MOST_ROWS]
            lines += [markdown_row(map(markdown_text, row)) for row in shown]
            lines += [""]
        if len(found) > MOST_ROWS and not every:
            lines += [f"and {len(found) - MOST_ROWS:,} more ranges", ""]
        lines += [f"- {markdown_text(remark)}" for remark in remarks(audit)]
        lines += [""]
    return "\n".join(lines).rstrip("\n") + "\n"
