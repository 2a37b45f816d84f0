"""Reports for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.extras import needs
from assignors.reports.ranges import count, duration, partition_ranges
from assignors.reports.verdict import heading, movement, reason, renames, verdict
from assignors.reports.visible import visible

with needs("a text report", "cli"):
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from assignors.diff import AssignmentDiff, MemberChange
    from assignors.simulation import SimulationResult

BAR = 40
"""Widest bar, in characters."""


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
        console.print(_indent(_member_table(diff, members)))
    if len(members) < len(diff.members) and not diff.same:
        rest_count = len(diff.members) - len(members)
        console.print(f"  [dim]{count(rest_count, 'member')} unchanged[/]")
    if diff.flows:
        console.print(_indent(_flow_table(diff, reasons=reasons)))
    for conflict in diff.conflicts:
        before, after = (", ".join(side) or "nobody" for side in (conflict.before, conflict.after))
        console.print(
            _text(f"! {conflict.topic}-{conflict.partition} has two owners: {before} -> {after}", "bold red"),
            soft_wrap=True,
        )
    for line in renames(diff):
        console.print(_text(f"  {line}"), soft_wrap=True)
    if not diff.same:
        style = "yellow" if diff.summary.avoidable_moves else ""
        console.print()
        console.print(_text(movement(diff), style), soft_wrap=True)
    console.print(_text(verdict(diff), "bold"), soft_wrap=True)
    for warning in diff.warnings:
        console.print(_text(f"note: {warning}", "dim"), soft_wrap=True)


def print_simulation(results: Sequence[SimulationResult], console: Console) -> None:
    """Runs side by side, and the rebalances of a single one."""
    console.print(_text(results[0].scenario.name, "bold"))
    console.print(_indent(_run_table(results)))
    console.print(
        "  [dim]pauses are summed over members and over partitions; LONGEST is that of one partition[/]"
    )
    if len(results) == 1 and results[0].rebalances:
        console.print(_indent(_rebalance_table(results[0])))


def _text(text: str, style: str = "") -> Text:
    return Text(visible(text), style)


def _changed(member: MemberChange) -> bool:
    return (
        member.before_id is None
        or member.after_id is None
        or not member.before == member.after == member.kept
    )


def _table(*columns: tuple[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name, justify in columns:
        table.add_column(name, justify="right" if justify == "right" else "left", overflow="fold")
    return table


def _indent(table: Table) -> Padding:
    return Padding(table, (1, 0, 0, 2))


def _member_table(diff: AssignmentDiff, members: Sequence[MemberChange]) -> Table:
    widest = max([1, *(max(each.before, each.after) for each in diff.members)])
    table = _table(
        ("MEMBER", ""),
        ("BEFORE", "right"),
        ("AFTER", "right"),
        ("DELTA", "right"),
        ("KEPT", "right"),
        ("", ""),
        ("", ""),
    )
    for member in members:
        delta = member.after - member.before
        note = "new" if member.before_id is None else "gone" if member.after_id is None else ""
        table.add_row(
            _text(member.name),
            str(member.before),
            str(member.after),
            f"{delta:+d}" if delta else "0",
            str(member.kept),
            _bar(member, min(1.0, BAR / widest)),
            _text(note or ("idle" if member.after == 0 else ""), "yellow"),
        )
    return table


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
    because = [("BECAUSE", "")] if reasons else []
    table = _table(("FROM", ""), ("TO", ""), *because, ("N", "right"), ("PARTITIONS", ""))
    for flow in diff.flows_by_reason if reasons else diff.flows:
        table.add_row(
            _text(flow.source or "nobody"),
            _text(flow.target or "nobody"),
            *([reason(flow)] if reasons else []),
            str(len(flow.partitions)),
            _text(partition_ranges(flow.partitions)),
        )
    return table


def _run_table(results: Sequence[SimulationResult]) -> Table:
    table = _table(
        ("ASSIGNOR", ""),
        ("MEMBERS", ""),
        ("REBALANCES", "right"),
        ("IN REBALANCE", "right"),
        ("MEMBER PAUSE", "right"),
        ("PARTITION PAUSE", "right"),
        ("LONGEST", "right"),
        ("MOVED", "right"),
        ("UNREAD AT END", "right"),
    )
    for result in results:
        run = result.summary
        table.add_row(
            _text(result.scenario.assignor),
            result.scenario.membership,
            str(run.rebalances),
            duration(run.rebalancing_ms),
            duration(run.member_pause_ms),
            duration(run.partition_pause_ms),
            duration(run.longest_pause_ms),
            str(run.moved_partitions),
            str(run.unassigned_partitions),
        )
    return table


def _rebalance_table(result: SimulationResult) -> Table:
    table = _table(
        ("AT", "right"), ("TOOK", "right"), ("GENERATION", "right"), ("MOVED", "right"), ("BECAUSE", "")
    )
    for each in result.rebalances:
        table.add_row(
            duration(each.started_ms),
            duration(each.completed_ms - each.started_ms),
            str(each.generation),
            str(each.moved),
            _text(", ".join(each.causes)),
        )
    return table
