"""Bring pasted text back into the form that the tools print: complete rows in columns, and nothing else.

People paste tables as their terminals, tickets and chats leave them: quoted with `>`, with the name of a
container before each line, with pipes between cells, wrapped at the width of a terminal, coloured, or with
the next prompt below them. Lines are never removed, so that errors name lines of the paste. A line that was
joined to the one before it, or that is not a row, becomes blank.

Rows whose columns do not line up any more are read by words, if that is possible in exactly one way. This
requires that no name contains a blank; the contents of cells show which columns are empty. A line that could
be a row is never dropped.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from copartition.groups.capture.columns import (
    COLUMN_NAMES,
    COMMAND,
    FIRST_OF_CELL,
    NOTICE,
    TELLING,
    align,
    find_header,
    fit_cells,
    fitting_columns,
    head_columns,
    squeeze,
)
from copartition.groups.capture.table import AGAIN, NOTHING
from copartition.groups.capture.wrapped import join_wrapped
from copartition.kit.words import count
from partitioning.errors import SourceError

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_GLUED = re.compile(rf"({_UUID})(/(?:[0-9]{{1,3}}\.){{3}}[0-9]{{1,3}}\b)")
"""A member id directly followed by the host: before Kafka 1.1 a long id had no blank after it."""
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u200b": None, "\ufeff": None})
_IN_HEADERS = ("PARTITION", "CONSUMER-ID", "STRATEGY", "LIENT-ID", "MEMBER-ID")
"""Every header, and the first piece of a wrapped header, contains one of these words; rows contain none."""
_FIRST_COLUMN = re.compile(
    r"(?<![^\s|\u2502\u2503])(?:GROUP|TOPIC|CONSUMER-ID|COORDINATOR \(ID\))(?=[\s|\u2502\u2503,;])"
)
_BARS = re.compile("[|\u2502\u2503]")
"""The characters that draw a line between two cells."""
_OWN_BAR = re.compile(r"[|\u2502\u2503]\s*$")
_RULE = re.compile(r"[\s|+:=\-\u2500-\u257f]+")
"""A line that only draws the frame of a table."""
_DIGIT = re.compile(r"[0-9]")
_MOST_LINES = 20_000
"""The most lines of a text that is read by words or searched for wrapped rows; nobody pastes longer ones."""
_MOST_TABLES = 10_000
"""The most headers that are looked at; a hostile text may have more."""
_MOST_PREFIXES = 20
"""The most headers whose prefix is removed from all lines."""
_MOST_GROUPS = 1_000
"""The most names of groups by which rows of a table are recognized."""
_REMARK = re.compile(
    r"exit|logout|EOF|done|\^[CD].*|\s*(?:real|user|sys)\s+\d.*"
    r"|\S*[$#%>\u276f\u279c]"
    r"|\[[^\]\n]*\][$#%](?: .*)?|(?:\([\w.-]+\) )?[\w.!' -]{1,80}@[^$#%>\n]{1,200}[$#%>](?: .*)?"
    r"|(?:bash|sh|zsh|ksh)-[\d.]+[$#](?: .*)?|PS [A-Z]:[^>\n]*>.*|[A-Z]:\\[^>\n]*>.*|[$#%>\u276f\u279c] .*"
    r"|pod [\"/].*|[\w./-]+(?: \"[^\"\n]*\")? (?:condition met|deleted)(?: from .*)?"
    r"|command terminated with .*|Defaulted container .*"
    r"|If you don't see a command prompt.*|Picked up \w+:.*|OpenJDK .*"
    r"|(?:WARNING|Note|NOTE|DEBUG|INFO|WARN|ERROR|SLF4J)(?:[:\]]| ).*"
    r"|\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*|\[?\d\d:\d\d:\d\d[\]., ].*"
)
"""Pattern of lines that shells, kubectl, the JVM and loggers print beside a table."""


class Paste(NamedTuple):
    """Holds a text in the form that the tools print, and sentences on what was changed to get there."""

    text: str
    notes: tuple[str, ...] = ()


def straighten(text: str) -> Paste:
    """Return a pasted text with its tables in the form that the tools print.

    Raises:
        SourceError: a row of a framed table has another number of cells than its header, or a wrapped table
            cannot be joined.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    if not text.isascii():
        text = text.translate(_SPACES)
    text = _GLUED.sub(r"\1 \2", text)
    lines = text.split("\n")
    # From here on no line is added or removed. Lines are only changed or made blank, so that errors name the
    # lines of the paste.
    headers = _header_lines(text)[:_MOST_TABLES]
    for place, number in enumerate(headers):
        if place < _MOST_PREFIXES:
            _without_prefix(lines, number)
        _without_frame(lines, number)
    # Only short texts, which were pasted by hand, are searched for wrapped rows. In the file of a large group
    # the search would take long and find none.
    is_remark = [_is_remark(line) for line in lines] if headers and len(lines) < _MOST_LINES else []
    joined = [join_wrapped(lines, number, is_remark) for number in headers if is_remark]
    notes = [note for note in joined if note]
    remarks = _blank_remarks(lines, headers)
    if remarks:
        more = f", with {len(remarks) - 1:,} more" if len(remarks) > 1 else ""
        first, line = remarks[0]
        notes.append(f"line {first + 1} is no row and was left out: {line.strip()[:80]!r}{more}")
    return Paste("\n".join(lines), tuple(dict.fromkeys(notes)))


def shows_header(lines: Sequence[str]) -> bool:
    """Return True if one of the lines may be a header, in whatever form it was pasted."""
    return any(len(_names(line)) > 2 for line in lines)


def _header_lines(text: str) -> list[int]:
    """Return the indices of the lines that may be headers, or the first pieces of headers, in order.

    The whole text is searched for a few words. To look at each line would take longer than reading the rows.
    """
    found: dict[int, None] = {}
    # After a word was found, the search continues in the next line. So a line that repeats the word often
    # takes no more time.
    for word in _IN_HEADERS:
        line = place = 0
        while (at := text.find(word, place)) >= 0:
            line += text.count("\n", place, at)
            found[line] = None
            place = at
            end = text.find("\n", at)
            if end < 0:
                break
            line, place = line + 1, end + 1
    return sorted(found)


def _without_prefix(lines: list[str], number: int) -> None:
    """Remove the prefix of the header, such as `> ` or a container's name, from every line that has it.

    If the prefix contains digits, other lines may have other digits there, such as the time before each line.

    Args:
        lines: the lines of the text; changed here.
        number: the index of the header's line.
    """
    line = lines[number]
    found = _FIRST_COLUMN.search(line)
    if found is None or not found.start() or len(_names(line[found.start() :])) < 3:
        return
    prefix = line[: found.start()]
    if _BARS.search(line, found.start()):  # the table's own frame begins with a bar, which is no prefix
        prefix = _OWN_BAR.sub("", prefix)
    if not prefix or (prefix.isspace() and not _begins_table(line[found.start() :])):
        return
    # Before a blank line, a chat prints the prefix without its last blank. Such a line must become blank, or
    # it would look like a row.
    width, shape, bare = len(prefix), _DIGIT.sub("0", prefix), prefix.rstrip()
    for index, other in enumerate(lines):
        if _DIGIT.sub("0", other[:width]) == shape:
            lines[index] = other[width:]
        elif other.rstrip() == bare:
            lines[index] = ""


def _begins_table(line: str) -> bool:
    """Return True if a line is a header or its beginning, and not the second piece of a wrapped header."""
    return line.startswith(("GROUP", "TOPIC")) or bool(find_header(squeeze(line))[0])


def _names(line: str) -> list[str]:
    """Return the names of columns that a line contains, in order, whatever separates them.

    >>> _names("| GROUP | TOPIC | total |")
    ['GROUP', 'TOPIC']
    """
    words = re.split(r"[\s|\u2502\u2503,;]+", line)
    return [word for word in words if word in COLUMN_NAMES]


def _without_frame(lines: list[str], number: int) -> None:
    """Align a table whose cells are separated by bars, commas or semicolons.

    Args:
        lines: the lines of the text; changed here.
        number: the index of the header's line.

    Raises:
        SourceError: a row has another number of cells than the header.
    """
    delimiter = next((sign for sign in ("|", "\u2502", "\u2503", ",", ";") if sign in lines[number]), None)
    if delimiter is None:
        return
    header = _split(lines[number], delimiter)
    if not head_columns(" ".join(header))[0]:
        return
    places, rows = [number], [header]
    for index in range(number + 1, len(lines)):
        line = lines[index]
        if _RULE.fullmatch(line):
            lines[index] = ""
        elif delimiter not in line:
            if line.strip():
                break
        else:
            cells = _split(line, delimiter)
            if head_columns(" ".join(cells))[0]:
                break  # the header of the next table, which is aligned by another call
            # A missing cell would move all later cells of the row into wrong columns.
            if len(cells) != len(header):
                raise SourceError(
                    f"line {index + 1}: the row has {count(len(cells), 'cell')}, the header {len(header)}: "
                    f"it is cut off; {AGAIN}"
                )
            places.append(index)
            rows.append([cell or NOTHING for cell in cells])
    for index, row in zip(places, align(rows), strict=True):
        lines[index] = row


def _split(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line, without the frame at its ends.

    >>> _split("| orders | 0 |", "|"), _split('pod-1,"orders(0,1)"', ",")
    (['orders', '0'], ['pod-1', 'orders(0,1)'])
    """
    # A spreadsheet puts quotes around a cell that contains a comma, such as a list of partitions.
    if delimiter in ",;":
        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
        except csv.Error:  # a cell of more than 128 KiB: this is not a table
            return [line]
    inner = line.strip().removeprefix(delimiter).removesuffix(delimiter)
    return [cell.strip() for cell in inner.split(delimiter)]


def _is_remark(line: str) -> bool:
    """Return True if a line was printed by a shell, kubectl or a logger, judged by its words.

    >>> _is_remark("pod/kafka-client deleted"), _is_remark("orders 0 5 5 0 pod-1 /10.0.0.1 pod-1")
    (True, False)
    """
    return _REMARK.fullmatch(line.strip()) is not None


def _blank_remarks(lines: list[str], headers: Iterable[int]) -> list[tuple[int, str]]:
    """Make the lines blank that are between or below rows but are not rows; return them as (index, line).

    A line that looks like no row ends its table. If rows follow it, it may be a damaged row: then it stays,
    and the reader of the table names it in an error.

    Args:
        lines: the lines of the text; changed here.
        headers: the indices of lines that may be headers.
    """
    starts = [number for number in headers if find_header(squeeze(lines[number]))[0]]
    remarks: list[tuple[int, str]] = []
    for start, end in pairwise([*starts, len(lines)]):
        remarks += _remarks_of_table(lines, start, end)
    for index, _ in remarks:
        lines[index] = ""
    return remarks


def _remarks_of_table(lines: Sequence[str], start: int, end: int) -> list[tuple[int, str]]:
    """Return the lines of a table that are not rows, as (index, line).

    The first line below the header counts as a row, unless a shell, kubectl or a logger printed it.

    Args:
        lines: the lines of the text.
        start: the index of the table's header.
        end: the index of the next header, or the number of lines.
    """
    columns = head_columns(lines[start])[1]
    telling = next(name for name in TELLING.values() if name in columns)
    at, tell = columns[telling], [*columns].index(telling)
    grouped = "GROUP" in columns
    wide = [*columns.values()][1]
    found: list[tuple[int, str]] = []
    doubtful: list[tuple[int, str]] = []
    firsts: set[str] = set()
    rows = 0
    for index in range(start + 1, end):
        line = lines[index]
        # This fast test looks at three characters; nearly all rows pass it.
        if line[at - 1 : at] == " " and line[at : at + 1] in FIRST_OF_CELL and line[wide - 1 : wide] == " ":
            if len(firsts) < _MOST_GROUPS:
                firsts.add(line[:wide].rstrip())
        elif not line.strip() or NOTICE.match(line) or COMMAND.match(line):
            continue
        elif line.startswith("GROUP ") and not grouped:
            break  # rpk's summary of the next group
        elif _is_remark(line) and fitting_columns(line.split(), [*columns])[0] <= tell:
            found.append((index, line))
            continue
        elif rows and not _may_be_row(line, [*columns], telling, firsts if grouped else None):
            doubtful.append((index, line))
            continue
        else:
            firsts.update([line.split()[0]][: _MOST_GROUPS - len(firsts)])
        # The line is a row. Doubtful lines before it are inside the table and may be damaged rows, so they
        # stay.
        rows += 1
        doubtful.clear()
    return found + doubtful


def _may_be_row(line: str, columns: Sequence[str], telling: str, firsts: set[str] | None) -> bool:
    """Return True if a line may be a row, complete or damaged.

    Args:
        line: the line, which is not blank.
        columns: the names of the columns.
        telling: the column up to which a line must fit, so that it counts as a row.
        firsts: names of the groups of the other rows; None if the table has no column of groups.
    """
    words = line.split()
    filled, used = fitting_columns(words, columns)
    if filled > columns.index(telling):
        return True
    # A line that begins with the name of a group of other rows is what is left of a row, however short it is.
    if firsts and line.startswith(tuple(firsts)):
        return True
    # A single word that is the beginning of such a name is a row that was cut within the group's name.
    if firsts:
        return len(words) == 1 and any(first.startswith(words[0]) for first in firsts)
    return used == len(words)


def realign(text: str) -> str | int | None:
    """Return the text with the columns of its tables aligned by words; each line stays in its place.

    Returns:
        The text; None if it is not changed; or the number (from 1) of the first line whose words do not fit
        the columns of its table, or fit in more than one way.
    """
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        return None
    if lines[-1]:  # without a newline at the end the last row may be cut off
        return None
    positions: list[str] = []
    rows: list[list[str]] = []
    # Blank lines within a table stay in their places. They may be left from rows that were joined.
    blanks: list[int] = []
    for number, line in enumerate([*lines, ""], 1):
        words = squeeze(line)
        kind, _ = find_header(words)
        summary = line.startswith("GROUP ") and bool(rows) and rows[0][0] != "GROUP"  # rpk's, of the next
        if kind or summary or number > len(lines) or NOTICE.match(line) or COMMAND.match(line):
            positions += _with_blanks(rows, blanks)
            rows, blanks = ([[*find_header(words)[1]]], []) if kind else ([], [])
            positions += [] if rows else [line]
        elif rows and words:
            cells = fit_cells(words.split(" "), rows[0])
            # One row that does not fit is enough to refuse the text: without this row, a partition would seem
            # to have no owner.
            if cells is None:
                return number
            rows.append(cells)
        elif rows:
            blanks.append(len(rows) + len(blanks))
        else:
            positions.append(line)
    again = "\n".join(positions[:-1])
    return None if again == text else again


def _with_blanks(rows: Sequence[Sequence[str]], blanks: Iterable[int]) -> list[str]:
    """Return an aligned table with blank lines at these indices.

    Args:
        rows: the rows, the header first; [] gives only the blank lines.
        blanks: indices of the blank lines in the result, ascending.
    """
    table = align(rows) if rows else []
    for blank in blanks:
        table.insert(blank, "")
    return table
