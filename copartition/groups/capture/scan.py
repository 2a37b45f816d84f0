"""Find the tables of a capture and the notices between them, and the group that each is about.

Output that lost its columns on the way, as when it was pasted into a ticket, is read by words, and only if
that is possible in one way: no name has a blank, and what a column may hold shows where an empty one is. The
reader of aligned tables refuses the rest.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from copartition.groups.capture.table import AGAIN, Table
from partitioning.errors import SourceError
from partitioning.kit.limits import MAX_ID

NO_OUTPUT = (
    "this is no output of kafka-consumer-groups --describe or rpk group describe: no header with TOPIC or "
    "CONSUMER-ID"
)
MOST_NOTICES = 1_000
"""Lines, such as warnings of the tool, in which the first header is looked for."""
_SHORTEST_LINE = 16
"""Characters that lines have at least, on average; headers alone have four times as many."""
_LONGEST_NOTICE = 2 * MAX_ID
"""Characters in which a notice must name its group."""
_KINDS = [
    ("offsets", {"TOPIC", "PARTITION", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"}),
    ("offsets", {"TOPIC", "PARTITION", "LAG", "MEMBER-ID", "HOST", "CLIENT-ID"}),  # of rpk
    ("members", {"CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"}),
    ("state", {"ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"}),
]
_WORD = re.compile(r"COORDINATOR \(ID\)|\S+")
_HEADERS = ("GROUP ", "TOPIC ", "CONSUMER-ID ")
_NOTICES = ("Consumer group ", "Warning: ", "Error: ", "java.", "org.", "\tat ", "\t... ", "Caused by: ")
_MARKS = (*_HEADERS, *_NOTICES, "```")
_INITIALS = {"", " ", *(start[0] for start in _MARKS)}
_NOTICE = re.compile(
    r"(Consumer group |Warning: |Error: |(java|org)\.[\w.$]{,200}: |\tat |\t\.\.\. |Caused by: |```)"
)
_STATUSES = (
    (re.compile(r"Consumer group '(.*)' has no active members"), "Empty"),
    (re.compile(r"Warning: Consumer group '(.*)' is rebalancing"), "rebalancing"),
    (re.compile(r"Error: .*onsumer group '(.*)' does not exist"), "Dead"),
    (re.compile(r".*GroupIdNotFoundException: Group (.*) not found"), "Dead"),
)


@dataclass(slots=True)
class Scanned:
    """The part of a capture that is about one group.

    Attributes:
        tables: by kind: "offsets", "members" or "state".
        status: Kafka's name of the group's state, if a notice or a summary tells it.
    """

    tables: dict[str, Table] = field(default_factory=dict)
    status: str | None = None


def is_header(line: str) -> bool:
    """Return True if a line is the header of a table that is known, with its columns in place or not."""
    return bool(find_header(" ".join(line.split()))[0])


def find_header(line: str) -> tuple[str, dict[str, int]]:
    """Return the kind of table that a line heads, "" for none, and the start of each word by name."""
    return _header(line) if line.startswith(_HEADERS) else ("", {})


def scan(text: str) -> dict[str | None, Scanned]:
    """Return the content of a capture by group, in its order; the key None is a group that it does not name.

    Raises:
        SourceError: a group has two tables of one kind, the text ends within a header, or its lines are too
            short
            for a capture.
    """
    # Countless short lines would be split and looked at one by one before it shows that none is a header.
    if (count := text.count("\n")) > MOST_NOTICES + len(text) // _SHORTEST_LINE:
        raise SourceError(f"the {count:,} lines are too short for rows; {NO_OUTPUT}")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    scanner = _Scanner(text.split("\n"))
    for kind, table, noticed in scanner.tables:
        for name, part in _by_group(table, noticed):
            if name is None and not part.lines and len(scanner.tables) > 1:
                continue  # the header of an empty group, which is named on the other stream only
            tables = scanner.groups.setdefault(name, Scanned())
            if kind in tables.tables:
                raise SourceError(
                    f"line {table.header}: a second table of {kind} of one group, the first is at line "
                    f"{tables.tables[kind].header}; keep one capture per file"
                )
            tables.tables[kind] = part
    return scanner.groups


class _Scanner:
    """Read the lines of a capture one mark after the other: a blank line, a header, a notice, a summary.

    Lines between two marks belong to the last table, or to rpk's summary. Numbers in `_rows` and `_mark`
    count lines from 0; tables hold line numbers from 1.
    """

    def __init__(self, lines: list[str]) -> None:
        # Kind, table, and the group that the last notice before it names.
        self.tables: list[tuple[str, Table, str | None]] = []
        self.groups: dict[str | None, Scanned] = {}  # statuses that notices and summaries show
        self._noticed: str | None = None
        self._facts: dict[str, str] = {}
        self._in_summary = False
        row = 0
        # Few lines are marks, so that rows are taken many at a time.
        marks = (
            number
            for number, line in enumerate(lines)
            if line[:1] in _INITIALS and (line.startswith(_MARKS) or not line.strip())
        )
        for mark in [*marks, len(lines)]:
            self._rows(row, lines[row:mark])
            if not self.tables and mark > MOST_NOTICES:
                break
            if mark < len(lines):
                self._mark(mark, lines[mark])
            row = mark + 1
        if lines[-1]:
            self._end(len(lines))

    def _end(self, line: int) -> None:
        """Note that the last line has no newline, so that it may be cut.

        Raises:
            SourceError: the line is a header or part of a summary.
        """
        table = self.tables[-1][1] if self.tables else None
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
        elif self.tables:
            table = self.tables[-1][1]
            table.lines.extend(lines)
            table.numbers.extend(range(start + 1, start + 1 + len(lines)))

    def _mark(self, number: int, line: str) -> None:
        """Begin or end a table or a summary, or note the status that a notice tells."""
        if _NOTICE.match(line):
            for pattern, status in _STATUSES:
                if notice := pattern.match(line, 0, _LONGEST_NOTICE):
                    self._say(notice[1], status)
            return
        kind, columns = _header(line)
        if self._in_summary and not columns:
            self._in_summary = False
            if "STATE" in self._facts:
                self._say(self._facts["GROUP"], self._facts["STATE"])
        elif kind:
            table = Table(columns, number + 1, len(line), "MEMBER-ID" in columns, self._facts)
            self.tables.append((kind, table, self._noticed))
            self._facts, self._in_summary = {}, False
        # A table of all groups has rows that begin with GROUP, too; only outside such a table a summary of
        # rpk begins.
        elif line.startswith("GROUP ") and not (self.tables and "GROUP" in self.tables[-1][1].columns):
            self._in_summary = True
            self._facts = {"GROUP": line.removeprefix("GROUP ").strip()}
        # A row may look like a mark by its first word; it is a row all the same.
        elif columns:
            self._rows(number, [line])

    def _say(self, group: str, status: str) -> None:
        """Note the status of a group; tables that name no group after this belong to it."""
        self._noticed = group
        self.groups.setdefault(group, Scanned()).status = status or None


def _by_group(table: Table, noticed: str | None) -> Iterable[tuple[str | None, Table]]:
    """Return the rows of a table by group, in order of appearance.

    Args:
        table: the table.
        noticed: the group that the last notice named, for a table that names none.
    """
    if "GROUP" not in table.columns:
        return [(table.facts.get("GROUP"), table)]
    groups = table.texts("GROUP")
    for row in np.flatnonzero(groups.codes < 0)[:1].tolist():
        raise table.fault(row, f"GROUP is missing; {AGAIN}")
    if len(groups.values) < 2:  # the tools print a table for each group
        return [(groups.values[0] if groups.values else noticed, table)]
    rows: dict[str, list[int]] = {name: [] for name in groups.values}
    for row, code in enumerate(groups.codes.tolist()):
        rows[groups.values[code]].append(row)
    return [(name, table.part(part)) for name, part in rows.items()]


def _header(line: str) -> tuple[str, dict[str, int]]:
    """Return the kind of table that a line heads, "" for none, and the start of each word by name."""
    words = [*_WORD.finditer(line)]
    columns = {word.group(): word.start() for word in words}
    kinds = (kind for kind, names in _KINDS if names <= columns.keys() and len(columns) == len(words))
    return next(kinds, ""), columns


_MOST_LINES = 20_000
_NUMBER = re.compile(r"-|-?\d{1,19}")
_ASSIGNMENTS = re.compile(r"-|[^\s()]+\(\d+(,\d+)*\)(, [^\s()]+\(\d+(,\d+)*\))*")
_HOLDS = {
    **dict.fromkeys(
        ["PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "#PARTITIONS", "#MEMBERS"], _NUMBER
    ),
    **dict.fromkeys(["LEADER-EPOCH", "CURRENT-EPOCH", "TARGET-EPOCH", "GROUP-EPOCH"], _NUMBER),
    **dict.fromkeys(
        ["CURRENT-ASSIGNMENT", "TARGET-ASSIGNMENT"], re.compile(r"-|[^\s:]+:[\d,]+(;[^\s:]+:[\d,]+)*")
    ),
    "HOST": re.compile(r"-|/\S+"),
    "ASSIGNMENT": _ASSIGNMENTS,
    "COORDINATOR (ID)": re.compile(r"\S+ \(\d+\)"),
    "TOPIC": re.compile(r"[A-Za-z0-9._-]+"),
}
"""A pattern for what a column may hold, for columns whose content is not any text."""
_BLANKS = re.compile(r"[ \t]+")
_TEXT = re.compile(r"\S+")
_MAY_BE_EMPTY = {"GROUP-INSTANCE-ID", "CURRENT-ASSIGNMENT"}
"""Columns in which some versions print nothing.

None of them is the last column: there an empty cell may be a row that was cut.
"""


def realign(text: str) -> str | None:
    """Return the text with its columns aligned, each line in its place.

    None if a row can be read in no way or in more than one way, if the last line has no end, or if nothing
    changes.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] or len(lines) > _MOST_LINES:  # without an end the last row may be cut
        return None
    positions: list[str] = []
    rows: list[list[str]] = []
    for line in [*lines, ""]:
        words = " ".join(_BLANKS.split(line.strip(" \t")))
        kind, columns = find_header(words)
        if kind or not words or _NOTICE.match(line):
            positions += _aligned(rows)
            rows = [[*columns]] if kind and words else []
            positions += [] if rows else [line]
        elif rows:
            cells = _cells(words.split(" "), rows[0])
            if cells is None:
                return None
            rows.append(cells)
        else:
            positions.append(line)
    again = "\n".join(positions[:-1])
    return None if again == text else again


def _cells(words: Sequence[str], columns: Sequence[str]) -> list[str] | None:
    """Return the cells of a row; None unless its words can be spread over the columns in exactly one way.

    All ways are followed in parallel, column by column: each is (words used, cells so far).
    """
    ways: list[tuple[int, list[str]]] = [(0, [])]
    for column in columns:
        holds = _HOLDS.get(column, _TEXT)
        further = []
        for at, cells in ways:
            if column in _MAY_BE_EMPTY:
                further.append((at, [*cells, ""]))
            ends: Sequence[int] = range(at + 1, min(at + 2, len(words)) + 1)
            if holds is _ASSIGNMENTS:  # a list of any length; its last word has no comma behind it
                ends = [end for end in range(at + 1, len(words) + 1) if words[end - 1][-1:] != ","][:1]
            for end in ends:
                cell = " ".join(words[at:end])
                if holds.fullmatch(cell):
                    further.append((end, [*cells, cell]))
        ways = further
    whole = [cells for at, cells in ways if at == len(words)]
    return whole[0] if len(whole) == 1 else None


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table with each column as wide as its longest cell and two blanks, the last column, too."""
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    return ["".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
