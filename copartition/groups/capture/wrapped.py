"""Join rows that a narrow terminal or a chat has wrapped over several lines.

A terminal cuts lines at its width, in the middle of words, so all pieces but the last are equally long. After
they are joined, cells line up with their columns again. A chat breaks lines at blanks, so the pieces are
joined with a blank and read by words.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from copartition.groups.capture.columns import (
    COLUMN_NAMES,
    COMMAND,
    FIRST_OF_CELL,
    HEADERS,
    NOTICE,
    TELLING,
    find_header,
    fit_cells,
    squeeze,
)
from copartition.groups.capture.table import AGAIN
from partitioning.errors import SourceError

_HEADER_WORDS = {word for name in COLUMN_NAMES for word in name.split(" ")}
"""The words of headers; the column COORDINATOR (ID) has two."""
_MOST_PIECES = 6
"""The most lines over which a header, or the last cell of a row, may be wrapped."""
_MOST_LINES = 20_000
"""The most lines of a table that may be wrapped; a longer table was not pasted by hand."""


_FEW_WORDS = 3
"""A line with at most this many words may look like the beginning of a header by chance."""


class _Header(NamedTuple):
    """Holds a header that was joined.

    Attributes:
        pieces: number of lines over which it was wrapped.
        text: the header as one line.
        exact: whether a terminal cut it at its width, so that its columns line up with those of rows.
    """

    pieces: int
    text: str
    exact: bool


def join_wrapped(lines: list[str], number: int, is_remark: Sequence[bool]) -> str | None:
    """Join the pieces of the table whose header begins in a line.

    Args:
        lines: the lines of the text; changed here: a piece that was joined to another becomes blank.
        number: the index of the line.
        is_remark: for each line, whether a shell, kubectl or a logger printed it.

    Returns:
        A sentence on what was done; None if the table is not wrapped.

    Raises:
        SourceError: the header is wrapped, and it or a row cannot be joined.
    """
    # This fast test comes first, because nearly every line fails it.
    if not (lines[number].startswith(HEADERS) and _is_head(lines[number])):
        return None
    end = number
    head = {*squeeze(lines[number]).split(" ")}
    # If a header was cut before CONSUMER-ID, its second piece looks like another header. It is not one if the
    # two have no column in common.
    cut = len(lines) > number + 1 and not head & {*squeeze(lines[number + 1]).split(" ")}
    while end < min(len(lines), number + _MOST_LINES) and _is_piece(lines[end], first=end <= number + cut):
        end += 1
    # Lines of a shell or a logger between the pieces are left out, because they belong to no row.
    places = [index for index in range(number, end) if not is_remark[index]]
    width = max(len(lines[index]) for index in places)
    header = _join_header([lines[place] for place in places[:_MOST_PIECES]], width)
    if header is None:
        # Two or three words may look like a header by chance. With more words the line is a header whose rest
        # is missing, and without the rest no row can be read.
        if len(squeeze(lines[number]).split(" ")) > _FEW_WORDS:
            last = squeeze(lines[number]).split(" ")[-1]
            raise SourceError(
                f"line {number + 1}: the header ends at {last} and goes on in no line below it: the columns "
                f"of members are missing; {AGAIN}"
            )
        return None
    # If the header is on one line, only the last cells of rows can be wrapped. Then the line after a row may
    # also be another row that is cut off, so nothing is joined.
    if header.pieces == 1:
        return None
    rest = places[header.pieces :]
    rows = _join_rows([lines[place] for place in rest], header, width)
    if isinstance(rows, int):
        raise SourceError(
            f"line {rest[rows] + 1}: the table is wrapped, and this row cannot be joined; widen the "
            f"terminal and {AGAIN}"
        )
    for place in places:
        lines[place] = ""
    lines[number] = header.text
    at = 0
    for text, size in rows:
        lines[rest[at]] = text
        at += size
    most = max([header.pieces, *(size for _, size in rows)])
    return f"rows that were wrapped over {most} lines were joined"


def _is_piece(line: str, *, first: bool) -> bool:
    """Return True if a line may belong to a table; blank lines, notices and further headers end the table."""
    if not first and line.startswith(HEADERS) and _is_head(line):
        return False
    return bool(line.strip()) and not NOTICE.match(line) and not COMMAND.match(line)


def _is_head(line: str) -> bool:
    """Return True if a line may be the beginning of a header: columns, of which the last may be cut."""
    words = squeeze(line).split(" ")
    cut = any(name.startswith(words[-1]) for name in _HEADER_WORDS)
    return len(words) > 1 and cut and {*words[:-1]} <= _HEADER_WORDS


def _cut(parts: Sequence[str], width: int) -> str:
    """Return as one line the pieces into which a terminal has cut a line at its width.

    Blanks at the ends of the pieces may have been removed; they are added again.

    >>> _cut(["GROUP   TO", "PIC"], 10), _cut(["GROUP", "TOPIC"], 8)
    ('GROUP   TOPIC', 'GROUP   TOPIC')
    """
    return "".join(part.ljust(width) for part in parts[:-1]) + parts[-1]


def _join_header(lines: Sequence[str], width: int) -> _Header | None:
    """Return the longest header that the first lines make together; None if they make none.

    The longest one counts, because some releases print further columns behind those that all have.

    Args:
        lines: the first line of the header, and the lines after it.
        width: the width of the terminal, if a terminal has wrapped the header.
    """
    found = None
    for pieces in range(1, len(lines) + 1):
        parts = lines[:pieces]
        forms = [(_cut(parts, width), True), (" ".join(parts), False)]
        forms = [(text, exact) for text, exact in forms if _is_head(text)]
        if not forms:
            break
        for text, exact in forms:
            whole = {*squeeze(text).split(" ")} <= _HEADER_WORDS and find_header(squeeze(text))[0]
            if whole and (found is None or found.pieces < pieces):
                found = _Header(pieces, text, exact)
    return found


def _join_rows(lines: Sequence[str], header: _Header, width: int) -> list[tuple[str, int]] | int:
    """Return (row, number of its lines) for each row; or the index of a line that belongs to no row.

    Args:
        lines: the lines below the header.
        header: the joined header.
        width: the width of the terminal, if a terminal has wrapped the rows.
    """
    names = [*find_header(squeeze(header.text))[1]]
    columns = find_header(header.text)[1] if header.exact else {}
    # A row that was cut at the width has at least the pieces up to the start of its last column.
    least = max(columns.values()) // width + 1 if columns else 1

    def row(start: int, size: int) -> str | None:
        parts = lines[start : start + size]
        if not header.exact:
            text = " ".join(parts)
            return text if fit_cells(squeeze(text).split(" "), names) else None
        # Further pieces can only be the rest of the last cell. Then every piece but the last is full.
        if any(len(part) < width or part.endswith(" ") for part in parts[least - 1 : -1]):
            return None
        text = _cut(parts, width)
        if "  " in text[max(columns.values()) :].rstrip():
            return None
        fits = _in_columns(text, columns) or fit_cells(squeeze(text).split(" "), names)
        return text if fits else None

    # `sizes[i]` is the number of lines of the row that begins at line i, if all lines from there make rows.
    # It is computed from the end, because it depends on the lines that follow.
    sizes: list[int | None] = [None] * len(lines) + [0]
    for start in range(len(lines) - 1, -1, -1):
        most = min(least + _MOST_PIECES, len(lines) - start)
        sizes[start] = next(
            (
                size
                for size in range(least, most + 1)
                if sizes[start + size] is not None and row(start, size) is not None
            ),
            None,
        )
    rows, start = [], 0
    while start < len(lines):
        if (size := sizes[start]) is None:
            fits = (number for number, fitting in enumerate(sizes[start:], start) if fitting is not None)
            return max(0, next(fits) - 1)
        rows.append((row(start, size) or "", size))
        start += size
    return rows


def _in_columns(line: str, columns: Mapping[str, int]) -> bool:
    """Return True if the words of a line begin where the columns begin; names may contain blanks.

    Args:
        line: the line.
        columns: name of a column -> index of its first character.
    """
    starts = columns.values()
    if len(line) <= max(starts) or line[0] == " " or any(line[at - 1] != " " for at in starts if at):
        return False
    return line[columns[next(name for name in TELLING.values() if name in columns)]] in FIRST_OF_CELL
