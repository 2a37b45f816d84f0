"""Find the tables of a capture and the notices between them, and the group that each is about."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from copartition.groups.capture.columns import COMMAND, HEADERS, NOTICE, head_columns
from copartition.groups.capture.others import NO_OUTPUT
from copartition.groups.capture.table import AGAIN, CapturedTable
from partitioning.errors import SourceError
from partitioning.kit.limits import MAX_ID

MOST_NOTICES = 1_000
"""The most lines before the first header, such as warnings of the tool."""
_SHORTEST_LINE = 16
"""The shortest average length of a capture's lines, in characters; a header is four times as long."""
_LONGEST_NOTICE = 2 * MAX_ID
"""Number of characters at the start of a notice in which it must name its group."""
_NOTICES = ("Consumer group ", "Warning: ", "Error: ", "java.", "org.", "\tat ", "\t... ", "Caused by: ")
_MARKS = (*HEADERS, *_NOTICES, "```", "~~~")
_INITIALS = {"", " ", *(start[0] for start in _MARKS)}
_STATUSES = (
    (re.compile(r"Consumer group '(.*)' has no active members"), "Empty"),
    (re.compile(r"Warning: Consumer group '(.*)' is rebalancing"), "rebalancing"),
    (re.compile(r"Error: .*onsumer group '(.*)' does not exist"), "Dead"),
    (re.compile(r".*GroupIdNotFoundException: Group (.*) not found"), "Dead"),
)


@dataclass(slots=True)
class GroupTables:
    """Holds the part of a capture that is about one group at one time.

    Attributes:
        tables: kind of table ("offsets", "members" or "state") -> the table.
        status: Kafka's name of the group's state; None if no notice or summary tells it.
    """

    tables: dict[str, CapturedTable] = field(default_factory=dict)
    status: str | None = None


def refuse_short_lines(text: str) -> None:
    """Raise `SourceError` if a text has more lines than a capture of its length can have.

    Without this check a very long text of very short lines would be read line by line before it is refused.
    """
    if (count := text.count("\n")) > MOST_NOTICES + len(text) // _SHORTEST_LINE:
        raise SourceError(f"the {count:,} lines are too short for rows; {NO_OUTPUT}")


def scan(text: str) -> dict[str | None, list[GroupTables]]:
    """Return group -> its captures, in the order of the text; the key None stands for an unnamed group.

    If a group was captured several times, it has a part for each time: a second table of the same kind begins
    the next part. But a table that is exactly equal to the one before was only pasted twice, and is skipped.

    Raises:
        SourceError: the text ends within a header.
    """
    times = _Times()
    found = _Scanner(text.split("\n")).found
    several = sum(isinstance(part, _NoticedTable) for part in found) > 1
    for part in found:
        if isinstance(part, _NoticedTable):
            _pad_without_members(part.table)
            times.add(part, several=several)
        else:
            times.say(*part)
    return times.by_group()


def _pad_without_members(table: CapturedTable) -> None:
    """Add the blanks at the end of rows that rpk has printed for a group without members.

    The last columns of such rows are blank, and tickets and editors remove blanks at a line's end. Without
    them the rows would look as if they were cut off.
    """
    if table.rpk and table.facts.get("MEMBERS") == "0":
        last = table.columns["MEMBER-ID"]
        # A row that ends before the column LAG is cut off all the same, so it is not padded.
        table.lines = [
            line.ljust(table.width) if table.columns["LAG"] < len(line) <= last else line
            for line in table.lines
        ]


class _NoticedTable(NamedTuple):
    """Holds a table, its kind, and the group that the last notice before it names; None if there is none."""

    kind: str
    table: CapturedTable
    noticed: str | None


class _Times:
    """Collects the captures of each group, in the order of the text.

    Attributes:
        _groups: group -> its captures so far.
        _said: group -> the status in its last notice. The notice is about the table that follows it, so it is
            kept until that table comes.
    """

    def __init__(self) -> None:
        self._groups: dict[str | None, list[GroupTables]] = {}
        self._said: dict[str | None, str | None] = {}

    def say(self, group: str, status: str | None) -> None:
        """Note that the text names a group, and its status; None if the text does not tell it."""
        self._groups.setdefault(group, [GroupTables()])
        self._said[group] = status

    def add(self, found: _NoticedTable, *, several: bool) -> None:
        """Add the rows of a table to their groups.

        Args:
            found: the table.
            several: whether the text has more than one table.
        """
        # Before Kafka 2.4 tables do not name their group, but a notice before them does. If that group has a
        # table of this kind already, and no new notice was seen, the table may be another group's.
        noticed = found.noticed
        if noticed not in self._said and found.kind in self._groups.get(noticed, [GroupTables()])[-1].tables:
            noticed = None
        for name, part in _by_group(found.table, noticed):
            if name is None and not part.lines and several:
                # The header of a group without members. Its name is only in a notice on the standard error,
                # which was not captured.
                continue
            times = self._groups.setdefault(name, [GroupTables()])
            earlier = times[-1].tables.get(found.kind)
            # A table that was pasted twice is not a second capture, which would show that nothing changed.
            if earlier is not None and (earlier.lines, earlier.facts) == (part.lines, part.facts):
                continue
            if earlier is not None:
                times.append(GroupTables())
            times[-1].tables[found.kind] = part
            if name in self._said:
                times[-1].status = self._said.pop(name)

    def by_group(self) -> dict[str | None, list[GroupTables]]:
        """Return group -> its captures; a notice that no table follows is about the group's last capture."""
        for name, status in self._said.items():
            last = self._groups[name][-1]
            last.status = last.status or status
        # Groups without a table or status are left out: the text only has a command that names them, or that
        # names a variable of the shell.
        return {name: times for name, times in self._groups.items() if times[0].tables or times[0].status}


class _Scanner:
    """Reads the lines of a capture from mark to mark; marks are blank lines, headers, notices and summaries.

    Lines between two marks belong to the last table, or to rpk's summary. Numbers in `_rows` and `_mark`
    count lines from 0; tables hold line numbers from 1.

    Attributes:
        found: the tables, and a pair (group, status) for each notice, summary or command that names a group.
        _table: the last table.
        _noticed: the group that the last notice names.
        _facts: the facts of rpk's last summary, by name.
        _in_summary: whether the next lines belong to a summary.
    """

    def __init__(self, lines: list[str]) -> None:
        self.found: list[_NoticedTable | tuple[str, str | None]] = []
        self._table: CapturedTable | None = None
        self._noticed: str | None = None
        self._facts: dict[str, str] = {}
        self._in_summary = False
        row = 0
        # Few lines are marks. So rows are added many at a time, which is fast for large captures.
        marks = (
            number
            for number, line in enumerate(lines)
            if (line[:1] in _INITIALS and (line.startswith(_MARKS) or not line.strip())) or "describe" in line
        )
        for mark in [*marks, len(lines)]:
            self._rows(row, lines[row:mark])
            # A long text without a header is given up here, before all of it is read.
            if mark > MOST_NOTICES and not any(isinstance(found, _NoticedTable) for found in self.found):
                break
            if mark < len(lines):
                self._mark(mark, lines[mark])
            row = mark + 1
        if lines[-1]:
            self._end(len(lines))
        if self._in_summary:
            self._end_summary()

    def _end(self, line: int) -> None:
        """Note that the last line has no newline, so that it may be cut off.

        Raises:
            SourceError: the line is a header or part of a summary.
        """
        table = self._table
        if self._in_summary or (table is not None and table.header == line):
            raise SourceError(f"line {line}: the file ends within a header: it is cut off; {AGAIN}")
        if table is not None and table.numbers[-1:] == [line]:
            table.unfinished = True

    def _rows(self, start: int, lines: list[str]) -> None:
        """Add lines to the summary or table that they belong to; lines before the first table are dropped.

        Args:
            start: the index of the first line.
            lines: the lines.
        """
        if self._in_summary:
            for line in lines:
                name, _, value = line.partition(" ")
                self._facts[name] = value.strip()
        elif self._table is not None:
            self._table.lines.extend(lines)
            self._table.numbers.extend(range(start + 1, start + 1 + len(lines)))

    def _mark(self, number: int, line: str) -> None:
        """Begin or end a table or a summary, or note the status that a notice tells.

        Args:
            number: the index of the line.
            line: a line that may be a mark.
        """
        if NOTICE.match(line):
            # Only the beginning of a notice is searched, because a hostile one may be very long.
            for pattern, status in _STATUSES:
                if notice := pattern.match(line, 0, _LONGEST_NOTICE):
                    self._say(notice[1], status)
            return
        if command := COMMAND.match(line):
            self._noticed = command[1]
            self.found.append((command[1], None))
            return
        kind, columns = head_columns(line)
        summary = line.startswith("GROUP ") and not (self._table and "GROUP" in self._table.columns)
        if self._in_summary and (kind or summary):
            self._end_summary()
        if kind:
            self._table = CapturedTable(columns, number + 1, len(line), "MEMBER-ID" in columns, self._facts)
            self.found.append(_NoticedTable(kind, self._table, self._noticed))
            self._facts = {}
        # The header of a table of all groups begins with GROUP, too. A summary of rpk begins only outside of
        # such a table.
        elif summary:
            self._in_summary = True
            self._facts = {"GROUP": line.removeprefix("GROUP ").strip()}
        # The beginning of a row may look like that of a mark. The line is a row all the same.
        elif columns:
            self._rows(number, [line])

    def _end_summary(self) -> None:
        """Note the status that rpk's summary of a group tells."""
        self._in_summary = False
        if "STATE" in self._facts:
            self._say(self._facts["GROUP"], self._facts["STATE"])

    def _say(self, group: str, status: str) -> None:
        """Note the status of a group; later tables that name no group belong to it."""
        self._noticed = group
        self.found.append((group, status or None))


def _by_group(table: CapturedTable, noticed: str | None) -> Iterable[tuple[str | None, CapturedTable]]:
    """Return (group, its rows as a table) for each group of a table, in the order of their first rows.

    Args:
        table: the table.
        noticed: the group that the last notice named, for a table that names none.
    """
    if "GROUP" not in table.columns:
        return [(table.facts.get("GROUP", noticed), table)]
    groups = table.texts("GROUP")
    for row in np.flatnonzero(groups.codes < 0)[:1].tolist():
        raise table.fault(row, f"GROUP is missing; {AGAIN}")
    if len(groups.values) < 2:  # the tools print a table for each group
        return [(groups.values[0] if groups.values else noticed, table)]
    rows: dict[str, list[int]] = {name: [] for name in groups.values}
    second = [*table.columns.values()][1]
    for row, code in enumerate(groups.codes.tolist()):
        if len(table.lines[row].rstrip()) < second:  # a remark, or a cut name, would count as another group
            raise table.fault(
                row, f"the row ends before its second column: it is cut off, or no row; {AGAIN}"
            )
        rows[groups.values[code]].append(row)
    return [(name, table.part(part)) for name, part in rows.items()]
