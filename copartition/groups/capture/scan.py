"""Find the tables of a capture and the notices between them, and the group that each is about."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from copartition.groups.capture.columns import COMMAND, HEADERS, NOTICE, head_columns
from copartition.groups.capture.others import NO_OUTPUT
from copartition.groups.capture.table import AGAIN, Table
from partitioning.errors import SourceError
from partitioning.kit.limits import MAX_ID

MOST_NOTICES = 1_000
"""Lines, such as warnings of the tool, in which the first header is looked for."""
_SHORTEST_LINE = 16
"""Characters that lines have at least, on average; headers alone have four times as many."""
_LONGEST_NOTICE = 2 * MAX_ID
"""Characters in which a notice must name its group."""
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
    """The part of a capture that is about one group.

    Attributes:
        tables: by kind: "offsets", "members" or "state".
        status: Kafka's name of the group's state, if a notice or a summary tells it.
    """

    tables: dict[str, Table] = field(default_factory=dict)
    status: str | None = None


def refuse_short_lines(text: str) -> None:
    """Raise `SourceError` if a text has more lines than a capture of its length can have.

    Countless short lines would else be looked at one by one before it shows that none is a row.
    """
    if (count := text.count("\n")) > MOST_NOTICES + len(text) // _SHORTEST_LINE:
        raise SourceError(f"the {count:,} lines are too short for rows; {NO_OUTPUT}")


def scan(text: str) -> dict[str | None, list[GroupTables]]:
    """Return the content of a capture by group, in its order; the key None is a group that it does not name.

    A group that was captured more than once has a part for each time, in the order of the text: a second
    table of one kind begins the next part. A table that repeats an earlier one to the letter is no other
    time.

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


def _pad_without_members(table: Table) -> None:
    """Give the rows of an empty group, as rpk prints them, the blanks of their last columns back.

    In a group without members these columns are blank, and tickets and editors take blanks at the end of a
    line away; the rows would look cut.
    """
    if table.rpk and table.facts.get("MEMBERS") == "0":
        last = table.columns["MEMBER-ID"]
        # A row that does not reach beyond the column before is cut, whatever else was lost.
        table.lines = [
            line.ljust(table.width) if table.columns["LAG"] < len(line) <= last else line
            for line in table.lines
        ]


class _NoticedTable(NamedTuple):
    """A table, its kind, and the group that the last notice before it names."""

    kind: str
    table: Table
    noticed: str | None


class _Times:
    """The captures of each group, in the order of the text.

    A notice is about the table that follows it; `_said` keeps the statuses of groups whose tables follow.
    """

    def __init__(self) -> None:
        self._groups: dict[str | None, list[GroupTables]] = {}
        self._said: dict[str | None, str | None] = {}

    def say(self, group: str, status: str | None) -> None:
        """Note that the text names a group, and its status if it tells that."""
        self._groups.setdefault(group, [GroupTables()])
        self._said[group] = status

    def add(self, found: _NoticedTable, *, several: bool) -> None:
        """Add a table to the groups of its rows; `several`: the text has more than one table."""
        # Before Kafka 2.4 no table names its group; a notice before it does. A table of a kind that the
        # named group has already got may be another group's.
        noticed = found.noticed
        if noticed not in self._said and found.kind in self._groups.get(noticed, [GroupTables()])[-1].tables:
            noticed = None
        for name, part in _by_group(found.table, noticed):
            if name is None and not part.lines and several:
                continue  # the header of an empty group, which is named on the other stream only
            times = self._groups.setdefault(name, [GroupTables()])
            earlier = times[-1].tables.get(found.kind)
            # A table that was pasted twice is no second capture: the group would seem to have stood still.
            if earlier is not None and (earlier.lines, earlier.facts) == (part.lines, part.facts):
                continue
            if earlier is not None:
                times.append(GroupTables())
            times[-1].tables[found.kind] = part
            if name in self._said:
                times[-1].status = self._said.pop(name)

    def by_group(self) -> dict[str | None, list[GroupTables]]:
        """Return the captures; a notice without a table of its own is about the last one before it."""
        for name, status in self._said.items():
            last = self._groups[name][-1]
            last.status = last.status or status
        # A command that was typed names a group, or a variable of the shell, of which nothing may follow.
        return {name: times for name, times in self._groups.items() if times[0].tables or times[0].status}


class _Scanner:
    """Read the lines of a capture one mark after the other: a blank line, a header, a notice, a summary.

    Lines between two marks belong to the last table, or to rpk's summary. Numbers in `_rows` and `_mark`
    count lines from 0; tables hold line numbers from 1.
    """

    def __init__(self, lines: list[str]) -> None:
        # Tables, and a pair (group, status) for each notice or summary that tells a group's status.
        self.found: list[_NoticedTable | tuple[str, str | None]] = []
        self._table: Table | None = None  # the last one
        self._noticed: str | None = None
        self._facts: dict[str, str] = {}
        self._in_summary = False
        row = 0
        # Few lines are marks, so that rows are taken many at a time.
        marks = (
            number
            for number, line in enumerate(lines)
            if (line[:1] in _INITIALS and (line.startswith(_MARKS) or not line.strip())) or "describe" in line
        )
        for mark in [*marks, len(lines)]:
            self._rows(row, lines[row:mark])
            # A text of any length without a header is refused early, not after all of it was read.
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
        """Note that the last line has no newline, so that it may be cut.

        Raises:
            SourceError: the line is a header or part of a summary.
        """
        table = self._table
        if self._in_summary or (table is not None and table.header == line):
            raise SourceError(f"line {line}: the file ends within a header: it is cut off; {AGAIN}")
        if table is not None and table.numbers[-1:] == [line]:
            table.unfinished = True

    def _rows(self, start: int, lines: list[str]) -> None:
        """Give lines to the summary or table that they belong to.

        Lines before the first table are dropped.
        """
        if self._in_summary:
            for line in lines:
                name, _, value = line.partition(" ")
                self._facts[name] = value.strip()
        elif self._table is not None:
            self._table.lines.extend(lines)
            self._table.numbers.extend(range(start + 1, start + 1 + len(lines)))

    def _mark(self, number: int, line: str) -> None:
        """Begin or end a table or a summary, or note the status that a notice tells."""
        if NOTICE.match(line):
            # A notice is looked at up to a bound, as a hostile one may have no end.
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
            self._table = Table(columns, number + 1, len(line), "MEMBER-ID" in columns, self._facts)
            self.found.append(_NoticedTable(kind, self._table, self._noticed))
            self._facts = {}
        # A table of all groups has rows that begin with GROUP, too; only outside such a table a summary of
        # rpk begins.
        elif summary:
            self._in_summary = True
            self._facts = {"GROUP": line.removeprefix("GROUP ").strip()}
        # A row may look like a mark by its first word; it is a row all the same.
        elif columns:
            self._rows(number, [line])

    def _end_summary(self) -> None:
        """Note the status that rpk's summary of a group tells."""
        self._in_summary = False
        if "STATE" in self._facts:
            self._say(self._facts["GROUP"], self._facts["STATE"])

    def _say(self, group: str, status: str) -> None:
        """Note the status of a group; tables that name no group after this belong to it."""
        self._noticed = group
        self.found.append((group, status or None))


def _by_group(table: Table, noticed: str | None) -> Iterable[tuple[str | None, Table]]:
    """Return the rows of a table by group, in order of appearance.

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
        if len(table.lines[row].rstrip()) < second:  # a remark, or a cut name, would be another group
            raise table.fault(
                row, f"the row ends before its second column: it is cut off, or no row; {AGAIN}"
            )
        rows[groups.values[code]].append(row)
    return [(name, table.part(part)) for name, part in rows.items()]
