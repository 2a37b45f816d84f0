"""Diffs in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.diff.members import Presence
from assignors.extras import needs
from assignors.reports.ranges import count, partition_ranges
from assignors.reports.tables import cell, indent, table
from assignors.reports.verdict import heading, movement, reason, renames, verdict
from assignors.reports.visible import visible

with needs("a text report", "cli"):
    from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from assignors.diff import AssignmentDiff, MemberChange

BAR = 40
"""Widest bar, in characters."""


_NOTES = {Presence.STAYED: "", Presence.JOINED: "new", Presence.LEFT: "gone"}


def print_diff(diff: AssignmentDiff, console: Console, *, every: bool = False, reasons: bool = False) -> None:
    """A diff as a table of members, a table of flows and a verdict.

    Args:
        diff: the diff.
        console: where to print it.
        every: show unchanged members too.
        reasons: show flows by what set their partitions in motion.
    """
    first, *rest = map(visible, heading(diff))
    console.print(Text.assemble((first, "bold"), *(f"   {part}" for part in rest)), soft_wrap=True)
    members = [each for each in diff.members if every or _changed(each)]
    if members:
        console.print(indent(_member_table(diff, members)))
    if len(members) < len(diff.members) and not diff.same:
        rest_count = len(diff.members) - len(members)
        console.print(f"  [dim]{count(rest_count, 'member')} unchanged[/]")
    if diff.flows:
        console.print(indent(_flow_table(diff, reasons=reasons)))
    for conflict in diff.conflicts:
        before, after = (", ".join(side) or "nobody" for side in (conflict.before, conflict.after))
        console.print(
            cell(f"! {conflict.topic}-{conflict.partition} has two owners: {before} -> {after}", "bold red"),
            soft_wrap=True,
        )
    for line in renames(diff):
        console.print(cell(f"  {line}"), soft_wrap=True)
    if not diff.same:
        style = "yellow" if diff.summary.avoidable_moves else ""
        console.print()
        console.print(cell(movement(diff), style), soft_wrap=True)
    console.print(cell(verdict(diff), "bold"), soft_wrap=True)
    for warning in diff.warnings:
        console.print(cell(f"note: {warning}", "dim"), soft_wrap=True)


def _changed(member: MemberChange) -> bool:
    return member.presence is not Presence.STAYED or not member.before == member.after == member.kept


def _member_table(diff: AssignmentDiff, members: Sequence[MemberChange]) -> Table:
    widest = max([1, *(max(each.before, each.after) for each in diff.members)])
    shown = table(["MEMBER", "BEFORE", "AFTER", "DELTA", "KEPT", "", ""], right=range(1, 5))
    for member in members:
        delta = member.after - member.before
        note = _NOTES.get(member.presence, str(member.presence))
        shown.add_row(
            cell(member.name),
            str(member.before),
            str(member.after),
            f"{delta:+d}" if delta else "0",
            str(member.kept),
            _bar(member, min(1.0, BAR / widest)),
            cell(note or ("idle" if member.after == 0 else ""), "yellow"),
        )
    return shown


def _bar(member: MemberChange, scale: float) -> Text:
    """Kept, lost and gained partitions as = - +; any is at least one character."""
    return Text.assemble(
        *(
            (sign * max(1, round(number * scale)), style)
            for sign, number, style in (
                ("=", member.kept, "dim"),
                ("-", member.before - member.kept, "red"),
                ("+", member.after - member.kept, "green"),
            )
            if number
        )
    )


def _flow_table(diff: AssignmentDiff, *, reasons: bool) -> Table:
    because = ["BECAUSE"] if reasons else []
    shown = table(["FROM", "TO", *because, "N", "PARTITIONS"], right=[2 + reasons])
    for flow in diff.flows_by_reason if reasons else diff.flows:
        shown.add_row(
            cell(flow.source or "nobody"),
            cell(flow.target or "nobody"),
            *([reason(flow)] if reasons else []),
            str(len(flow.partitions)),
            cell(partition_ranges(flow.partitions)),
        )
    return shown
