"""Reports for pull requests and tickets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.reports.ranges import partition_ranges
from assignors.reports.verdict import heading, movement, reason, renames, verdict
from assignors.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assignors.diff import AssignmentDiff


def diff_markdown(diff: AssignmentDiff, *, reasons: bool = False) -> str:
    """A diff as GitHub Markdown: the verdict in bold, small tables, the long part folded.

    Args:
        diff: the diff.
        reasons: show flows by what set their partitions in motion.
    """
    lines = [f"**{_text(verdict(diff))}**", "", _text(" · ".join(heading(diff)))]
    if not diff.same:
        lines += ["", _text(movement(diff).replace("   ", " · "))]
    for conflict in diff.conflicts:
        before, after = (", ".join(side) or "nobody" for side in (conflict.before, conflict.after))
        place = f"{conflict.topic}-{conflict.partition}"
        lines += ["", f"⚠️ {_text(place)} has two owners: {_text(before)} → {_text(after)}"]
    lines += ["", *(f"- {_text(line)}" for line in (*renames(diff), *diff.warnings))]
    if not diff.same:
        members = [
            (member.name, member.before, member.after, f"{member.after - member.before:+d}", member.kept)
            for member in diff.members
        ]
        flows = [
            (
                flow.source or "nobody",
                flow.target or "nobody",
                *([reason(flow)] if reasons else []),
                len(flow.partitions),
                partition_ranges(flow.partitions),
            )
            for flow in (diff.flows_by_reason if reasons else diff.flows)
        ]
        because = ["because"] if reasons else []
        lines += _folded("Members", ("member", "before", "after", "delta", "kept"), members)
        lines += _folded("Flows", ("from", "to", *because, "partitions", "which"), flows)
    return "\n".join(lines).rstrip("\n") + "\n"


def _folded(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    return [
        "",
        f"<details><summary>{title}</summary>",
        "",
        _row(columns),
        _row(["---"] * len(columns)),
        *(_row([_text(str(cell)) for cell in row]) for row in rows),
        "",
        "</details>",
    ]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Names are shown as they are: nothing in them is markup."""
    text = visible(text)
    for sign in "\\`*_[]|":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("&", "&amp;").replace("<", "&lt;")
