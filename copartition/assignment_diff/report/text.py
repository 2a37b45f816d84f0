"""Print diffs in a terminal.

A bar consists of "=" for kept, "-" for lost and "+" for gained partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from copartition.assignment_diff.changes import MemberChange
from copartition.assignment_diff.compare import AssignmentDiff
from copartition.assignment_diff.report.headline import headline
from copartition.assignment_diff.report.model import (
    FATES,
    SHOWN,
    Shown,
    View,
    conflicts,
    presence,
    reason,
    renames,
)
from copartition.assignment_diff.report.verdict import (
    detail_lines,
    diff_assumptions,
    heading,
    movement,
    reason_counts,
)
from copartition.kit.grid import Grid, GridColumn, cell
from copartition.kit.words import CUT, common_prefix, count, number, partition_ranges, visible, without_ids
from partitioning.kit.packages import needs

with needs("a text report", "cli"):
    from rich.cells import cell_len
    from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console


BAR = 40
"""The most characters of a bar."""

_NARROWEST_BAR = 8
"""The least room for bars, in characters; with less room a table has none."""
_BESIDE_BAR = 32
"""Columns of the terminal that the numbers of a member take, beside its name and its bar."""

_STATISTICS = 9
"""Columns of the terminal that a line of `print_stat` takes beside a name, a number and a bar."""


def print_diff(diff: AssignmentDiff, console: Console, view: View | None = None) -> None:
    """Print a diff: its verdict, a table, what the change costs, what was assumed.

    Args:
        diff: the diff.
        console: prints in its own width and colours.
        view: chooses rows, and whether a row is a member, a topic or a partition; None for changed members.
    """
    shown = Shown(diff, view)
    _print_answer(diff, console)
    _fill(console, [*map(visible, heading(diff))], "dim")
    if not diff.alone or shown.view.every:  # a single state has no changes, only partitions with two owners
        _TABLES[shown.view.by or "member"](shown, console)
    lines = [f"! {text}" for text in conflicts(shown.part, "->")]
    _first(console, lines, "conflict", "bold red", full=shown.view.every)
    _first(console, [f"  {line}" for line in renames(diff)], "renamed member", full=shown.view.every)
    if not diff.same:
        console.print()
        style = "yellow" if diff.summary.avoidable_moves else ""
        because = reason_counts(diff) if shown.view.reasons else []
        _fill(console, [*movement(diff), *because], style, bold=0)
    _print_remarks(shown, console)


def _print_answer(diff: AssignmentDiff, console: Console) -> None:
    """Print the headline, and below it everything else that is said of the whole."""
    console.print(cell(headline(diff), "bold"))
    for line in detail_lines(diff):
        console.print(cell(f"  {line}"))


def print_stat(diff: AssignmentDiff, console: Console, view: View | None = None) -> None:
    """Print a diff with one line for each member or topic: how many partitions changed, as `git diff --stat`.

    Args:
        diff: the diff.
        console: prints in its own width and colours.
        view: chooses rows. A row is a topic if `by` is "topic", else a member.
    """
    shown = Shown(diff, view)
    _print_answer(diff, console)
    if shown.view.by == "topic":
        sizes = [
            (topic.name, topic.changed - topic.assigned - topic.added, topic.assigned + topic.added)
            for topic in shown.largest_topics()
        ]
        left_out = len(shown.topics) - len(sizes)
    else:
        sizes = [
            (member.name, member.before - member.kept, member.after - member.kept)
            for member in shown.largest_members()
        ]
        left_out = len(shown.members) - len(sizes)
    # The scale never enlarges: one character is at least one partition, as in `git diff --stat`.
    widest = max((lost + gained for _, lost, gained in sizes), default=0)
    digits = len(f"{widest:,}")
    names = [visible(name) for name, *_ in sizes]
    # The width of names is counted in columns of the terminal, because a wide letter takes two columns.
    longest = max(map(cell_len, names), default=0)
    room = max(_NARROWEST_BAR, min(BAR, console.width - longest - digits - _STATISTICS))
    rows = [
        (name, "|", f"{lost + gained:,}", _bar(0, lost, gained, min(1.0, room / max(widest, 1))))
        for name, (_, lost, gained) in zip(names, sizes, strict=True)
    ]
    columns = [GridColumn("", "name"), GridColumn("", "word"), GridColumn(""), GridColumn("", "bar")]
    if rows:
        console.print(Grid(columns, rows), crop=False)
    _print_left_out(console, left_out, shown.view.by or "member")
    _first(console, [f"  {line}" for line in renames(diff)], "renamed member", full=shown.view.every)
    _print_remarks(shown, console)


def _print_remarks(shown: Shown, console: Console) -> None:
    """Print the assumptions, the filters and the warnings, a line each."""
    for assumption in diff_assumptions(shown.diff):
        console.print(cell(f"assumed: {assumption}", "yellow"))
    for remark in (*([shown.filters] if shown.filters else []), *shown.diff.warnings):
        console.print(cell(f"note: {remark}", "dim"))


def _print_members(shown: Shown, console: Console) -> None:
    """Print the table of members and the table of flows."""
    members = shown.largest_members()
    flows, more_flows, more_partitions = shown.largest_flows()
    # Both tables shorten names in the same way, so one object serves both.
    names = _Names(shown.part.members, console.width)
    if members:
        names.tell(console)
        widest = max(1, *(member.before + member.after - member.kept for member in members))
        longest = max(cell_len(names.short(member.name)) for member in members)
        # The word about a member stands behind the bar and takes room from it.
        noted = max(len(presence(member)) for member in members)
        # Bars share one scale, so that their lengths can be compared.
        room = min(BAR, console.width - longest - _BESIDE_BAR - (noted and noted + 2))
        scale = min(1.0, room / widest) if room >= _NARROWEST_BAR else 0.0
        columns = [GridColumn("MEMBER", "name"), *map(GridColumn, ("BEFORE", "AFTER", "DELTA", "KEPT"))]
        columns += [GridColumn("", "bar"), GridColumn("", "word", "yellow")]
        rows = [_member_row(member, names, scale) for member in members]
        _show(console, Grid(columns, rows))
    _print_left_out(console, len(shown.members) - len(members), "member")
    if shown.unchanged and not shown.view.every and not shown.diff.same:
        console.print(f"  [dim]{count(shown.unchanged, 'member')} unchanged[/]")
    if flows:
        columns = [
            GridColumn("FROM", "name"),
            GridColumn("TO", "name"),
            GridColumn("BECAUSE", "word"),
            GridColumn("N"),
        ]
        rows = [
            (
                names.short(flow.source),
                names.short(flow.target),
                reason(flow) if shown.view.reasons else "",
                f"{len(flow.partitions):,}",
                partition_ranges(flow.partitions),
            )
            for flow in flows
        ]
        _show(console, Grid([*columns, GridColumn("PARTITIONS", "list")], rows, full=shown.view.every))
    if more_flows:
        _print_left_out(console, more_flows, "flow", f" of {count(more_partitions, 'partition')}")


def _member_row(member: MemberChange, names: _Names, scale: float) -> tuple[str, ...]:
    """Return the cells of a member.

    Args:
        member: the change of the member.
        names: shortens the member's name.
        scale: characters for each partition in the bar; 0 for no bar.
    """
    delta = member.after - member.before
    return (
        names.short(member.name),
        f"{member.before:,}",
        f"{member.after:,}",
        f"{delta:+,}" if delta else "0",
        f"{member.kept:,}",
        _bar(member.kept, member.before - member.kept, member.after - member.kept, scale),
        presence(member),
    )


def _print_topics(shown: Shown, console: Console) -> None:
    """Print the table of topics.

    A column in which all numbers are 0 is left out, and so is the lag if no topic's lag is known.
    """
    topics = shown.largest_topics()
    titles = ("partitions", *FATES)
    # The first three columns are always there. Any other column needs a topic whose number is not 0.
    used = [
        title for title in titles if title in titles[:3] or any(getattr(topic, title) for topic in topics)
    ]
    # If the lag of every topic is unknown, the column would contain nothing else.
    lag = any(topic.lag_moved is not None for topic in topics)
    columns = [GridColumn(title.upper()) for title in (*used, "lag moved")]
    rows = [
        (
            topic.name,
            *(f"{getattr(topic, title):,}" for title in used),
            number(topic.lag_moved) if lag else "",
        )
        for topic in topics
    ]
    if rows:
        _show(console, Grid([GridColumn("TOPIC", "name"), *columns], rows))
    _print_left_out(console, len(shown.topics) - len(topics), "topic")


def _print_partitions(shown: Shown, console: Console) -> None:
    """Print the table of partitions."""
    changes = shown.first_changes()
    names = _Names(shown.part.members, console.width)
    if changes:
        names.tell(console)
    columns = [
        GridColumn("TOPIC", "name"),
        GridColumn("PARTITION"),
        GridColumn("CHANGE", "word"),
        GridColumn("FROM", "name"),
    ]
    columns += [GridColumn("TO", "name"), GridColumn("LAG"), GridColumn("BECAUSE", "word")]
    rows = [
        (
            change.topic,
            str(change.partition),
            change.action.label,
            names.short(change.source),
            names.short(change.target),
            "" if shown.part.lag is None else number(change.lag),
            reason(change) if shown.view.reasons else "",
        )
        for change in changes
    ]
    if rows:
        _show(console, Grid(columns, rows))
    _print_left_out(console, shown.partitions - len(changes), "partition")


_TABLES: dict[str, Callable[[Shown, Console], None]] = {
    "member": _print_members,
    "topic": _print_topics,
    "partition": _print_partitions,
}


class _Names:
    """Shortens the names of members for tables: cuts the start that all share, and most of each UUID.

    Names stay unique within one report.

    Args:
        members: the members.
        width: the width of the console, in columns.
    """

    def __init__(self, members: Sequence[MemberChange], width: int) -> None:
        names = {member.name for member in members}
        self._prefix = common_prefix(names)
        rests = {name: name.removeprefix(self._prefix) for name in names}
        # Ids are shortened only if names would take more than a quarter of the width.
        if max(map(len, rests.values()), default=0) > width // 4:
            rests = without_ids(rests)
        self._shown = {name: visible(CUT + rest if self._prefix else rest) for name, rest in rests.items()}

    def tell(self, console: Console) -> None:
        """Print the start that is left out, if there is one."""
        if self._prefix:
            console.print()
            console.print(cell(f"  {CUT} stands for {self._prefix}", "dim"))

    def short(self, name: str | None) -> str:
        """Return the text of a cell for this name; None stands for nobody."""
        return "nobody" if name is None else self._shown[name]


def _first(console: Console, lines: Sequence[str], noun: str, style: str = "", *, full: bool) -> None:
    """Print the first of many lines of the same kind, and how many more there are.

    Args:
        console: where to print.
        lines: the lines, of which the first `SHOWN` are printed.
        noun: what a line is about, in the singular.
        style: the style of the lines, in rich's words.
        full: True to print all lines.
    """
    for line in lines if full else lines[:SHOWN]:
        console.print(cell(line, style))
    _print_left_out(console, 0 if full else len(lines) - SHOWN, noun)


def _print_left_out(console: Console, left_out: int, noun: str, whose: str = "") -> None:
    """Print how many rows are left out, if any are.

    Args:
        console: where to print.
        left_out: number of rows; nothing is printed for 0 or less.
        noun: what a row is about, in the singular.
        whose: words behind the noun, such as " of 12 partitions".
    """
    if left_out > 0:
        nouns = noun if left_out == 1 else f"{noun}s"
        console.print(f"  [dim]{left_out:,} more {nouns}{whose} (--all shows them)[/]")


def _show(console: Console, grid: Grid) -> None:
    """Print a table below an empty line; a line that is too wide for the console is not cut."""
    console.print()
    console.print(grid, crop=False)


def _fill(console: Console, parts: Sequence[str], style: str, *, bold: int = 1) -> None:
    """Print parts of a line with three blanks between them, in as many lines as they need.

    A part is never split.

    Args:
        console: where to print.
        parts: plain texts.
        style: the style, in rich's words.
        bold: how many parts, from the first on, have the style; 0 gives it to all parts.
    """
    lines: list[list[Text]] = [[]]
    used = 0
    for place, part in enumerate(parts):
        # Lengths are counted in columns of the terminal, because a wide letter takes two columns.
        text = cell(part, style if place < bold or not bold else "")
        if lines[-1] and used + 3 + text.cell_len > console.width:
            lines.append([])
        used = text.cell_len if not lines[-1] else used + 3 + text.cell_len
        lines[-1].append(text)
    for line in lines:
        console.print(Text("   ").join(line))


def _bar(kept: int, lost: int, gained: int, scale: float) -> str:
    """Return a bar: "=" for kept, "-" for lost and "+" for gained partitions.

    A number above 0 gets at least one sign.

    Args:
        kept: how many partitions the member kept.
        lost: how many partitions it lost.
        gained: how many partitions it gained.
        scale: signs for each partition; 0 for no bar.
    """
    if not scale:
        return ""
    sizes = (("=", kept), ("-", lost), ("+", gained))
    return "".join(sign * max(1, round(size * scale)) for sign, size in sizes if size)
