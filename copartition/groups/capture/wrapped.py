"""Join the rows that a narrow terminal, or a chat, has wrapped over several lines.

A terminal cuts at its width, in the middle of words: all pieces of a row but the last are equally long, and
joined they stand in their columns again. A chat breaks at blanks: joined with a blank they are read by words.
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
"""The words of headers; one name has two."""
_MOST_PIECES = 6
"""Lines that a header, or the last cell of a row, may be wrapped over."""
_MOST_LINES = 20_000
"""Lines of a table that may be wrapped: it was pasted by hand."""


_FEW_WORDS = 3
"""Words of a line that may look like the beginning of a header by chance."""


class _Header(NamedTuple):
    """A header that was joined.

    Attributes:
        pieces: how many lines it takes.
        text: the header as one line.
        exact: whether a terminal cut it at its width, so that columns are in their places.
    """

    pieces: int
    text: str
    exact: bool


def join_wrapped(lines: list[str], number: int, is_remark: Sequence[bool]) -> str | None:
    """Join the pieces of the table whose header begins in a line; return what was done, None if nothing.

    Args:
        lines: the lines of the text; a joined line becomes blank.
        number: the index of the line.
        is_remark: for each line whether its words show that it is none of a table.

    Raises:
        SourceError: the header is wrapped, and it or a row cannot be joined.
    """
    # Nearly every line ends here: nothing below runs for a table that is not wrapped.
    if not (lines[number].startswith(HEADERS) and _is_head(lines[number])):
        return None
    end = number
    head = {*squeeze(lines[number]).split(" ")}
    # Cut before CONSUMER-ID, a header goes on in what looks like one of its own; but no column comes twice.
    cut = len(lines) > number + 1 and not head & {*squeeze(lines[number + 1]).split(" ")}
    while end < min(len(lines), number + _MOST_LINES) and _is_piece(lines[end], first=end <= number + cut):
        end += 1
    # Lines of a shell or a logger between the pieces belong to no row; joined to one they would spoil it.
    places = [index for index in range(number, end) if not is_remark[index]]
    width = max(len(lines[index]) for index in places)
    header = _join_header([lines[place] for place in places[:_MOST_PIECES]], width)
    if header is None:
        # Two or three words may begin like a header by chance. More are a header whose rest is missing, and
        # without it no row can be read.
        if len(squeeze(lines[number]).split(" ")) > _FEW_WORDS:
            last = squeeze(lines[number]).split(" ")[-1]
            raise SourceError(
                f"line {number + 1}: the header ends at {last} and goes on in no line below it: the columns "
                f"of members are missing; {AGAIN}"
            )
        return None
    # Rows whose last cell alone is wrapped are left to the reader of the table: what follows such a row may
    # as well be a row that is cut.
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
    """Return True if a line may belong to a table, which blank lines, notices and other headers end."""
    if not first and line.startswith(HEADERS) and _is_head(line):
        return False
    return bool(line.strip()) and not NOTICE.match(line) and not COMMAND.match(line)


def _is_head(line: str) -> bool:
    """Return True if a line may begin a header: its last word may be cut, the others are names."""
    words = squeeze(line).split(" ")
    cut = any(name.startswith(words[-1]) for name in _HEADER_WORDS)
    return len(words) > 1 and cut and {*words[:-1]} <= _HEADER_WORDS


def _cut(parts: Sequence[str], width: int) -> str:
    """Return pieces that a terminal has cut at its width as one line; blanks at their ends may be gone.

    >>> _cut(["GROUP   TO", "PIC"], 10), _cut(["GROUP", "TOPIC"], 8)
    ('GROUP   TOPIC', 'GROUP   TOPIC')
    """
    return "".join(part.ljust(width) for part in parts[:-1]) + parts[-1]


def _join_header(lines: Sequence[str], width: int) -> _Header | None:
    """Return the longest header that the first lines make; None if they make none.

    A header may go on behind the columns that every release has.
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
    """Return each row and the number of lines that it takes, or the index of a line that fits in no row."""
    names = [*find_header(squeeze(header.text))[1]]
    columns = find_header(header.text)[1] if header.exact else {}
    # A row that was cut at the width takes as many pieces as it takes to come to its last column.
    least = max(columns.values()) // width + 1 if columns else 1

    def row(start: int, size: int) -> str | None:
        parts = lines[start : start + size]
        if not header.exact:
            text = " ".join(parts)
            return text if fit_cells(squeeze(text).split(" "), names) else None
        # Further pieces hold the rest of the last cell, which fills all lines but its last one.
        if any(len(part) < width or part.endswith(" ") for part in parts[least - 1 : -1]):
            return None
        text = _cut(parts, width)
        if "  " in text[max(columns.values()) :].rstrip():
            return None
        fits = _in_columns(text, columns) or fit_cells(squeeze(text).split(" "), names)
        return text if fits else None

    # From the end: a row may be cut within its last cell, which only shows if what follows makes no row.
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
    """Return True if a line stands in these columns, in which names may have blanks.

    Args:
        line: the line.
        columns: where each column starts, by its name.
    """
    starts = columns.values()
    if len(line) <= max(starts) or line[0] == " " or any(line[at - 1] != " " for at in starts if at):
        return False
    return line[columns[next(name for name in TELLING.values() if name in columns)]] in FIRST_OF_CELL
