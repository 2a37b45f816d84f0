"""Draw tables in a terminal: small ones with rich, large ones with `Grid`, and remarks below them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from copartition.kit.words import CUT, visible, visible_lines
from copartition.kit.words import Table as ReportTable
from partitioning.kit.packages import needs

with needs("a text report", "cli"):
    from rich.cells import cell_len, chop_cells
    from rich.console import Console
    from rich.padding import Padding
    from rich.segment import Segment
    from rich.style import Style
    from rich.table import Table
    from rich.text import Text

if TYPE_CHECKING:
    from rich.console import ConsoleOptions


def cell(text: str, style: str = "") -> Text:
    """Return a text from outside, such as a group's name, as a cell.

    No character in it can control the terminal.
    """
    return Text(visible(text), style)


def table(columns: Sequence[str | Text], right: Container[int] = ()) -> Table:
    """Return an empty table without lines; columns whose indexes are in `right` are aligned right."""
    empty = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(columns):
        header = Text(name) if isinstance(name, str) else name
        empty.add_column(header, justify="right" if index in right else "left", overflow="fold")
    return empty


def print_table(content: ReportTable, console: Console) -> None:
    """Print a table of a report, indented below an empty line; its cells are escaped as by `cell`."""
    shown = table([cell(title.upper()) for title in content.titles], right=content.numbers)
    for row in content.rows:
        shown.add_row(*map(cell, row))
    console.print(indent(shown))


def indent(content: Table) -> Padding:
    """Return a table within a report, below an empty line."""
    return Padding(content, (1, 0, 0, 2))


def note(text: str, style: str = "dim") -> Padding:
    """Return a remark below a table."""
    return Padding(cell(text, style), (0, 0, 0, 2))


class VisibleConsole(Console):
    """A console that prints no invisible character, whatever a report gives it.

    Each segment is escaped before rich adds its own escape sequences of colours.
    """

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Yield the segments of `renderable`, with invisible characters except line breaks escaped."""
        for segment in super().render(renderable, options):
            text = segment.text
            if not segment.control and text != "\n" and not text.isprintable():
                segment = segment._replace(text=visible_lines(text))  # noqa: PLW2901 - the same segment
            yield segment


_INDENT = 2
_NARROWEST = 8
"""The least width, in terminal columns, of a name that is cut or a list that is broken."""

_LIST_LINES = 3
"""The most lines of a list in a table that is not shown in full."""

_DIM = Style(dim=True)
_BAR = {"=": _DIM, "-": Style(color="red"), "+": Style(color="green")}


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A column of a `Grid`.

    Attributes:
        title: the heading; "" for none.
        kind: a "name" is cut in the middle if there is no room, a "number" is aligned right, a "list" is
            broken after its commas and blanks and comes last, a "bar" is a row of "=", "-" and "+" in
            colours, and a "word" is anything else.
        style: rich's name for how the column looks.
    """

    title: str
    kind: str = "number"
    style: str = ""


class Grid:
    """A table without lines, in which no word is broken.

    Rich's own tables take 0.3 ms for a row; this one prints a hundred thousand rows in seconds.

    Args:
        columns: the columns, in order. A column whose cells are all empty is not shown, and neither is its
            title.
        rows: the rows, each with one text for each column.
        full: True to show lists whole, False to show at most `_LIST_LINES` lines of each.
    """

    def __init__(
        self, columns: Sequence[GridColumn], rows: Sequence[Sequence[str]], *, full: bool = False
    ) -> None:
        # A column without any text is left out, with its title.
        used = [place for place in range(len(columns)) if any(row[place] for row in rows)]
        self.columns = [columns[place] for place in used]
        # Cells contain names from outside; none of their characters may control the terminal.
        self.rows = [[visible(row[place]) for place in used] for row in rows]
        self.full = full

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield the lines of the table as rich asks for them."""
        widths, gap = self._widths(options.max_width)
        line = partial(self._line, widths, gap)
        styles = [console.get_style(column.style) if column.style else None for column in self.columns]
        titles = [column.title for column in self.columns]
        if any(titles):
            yield from line(titles, [_DIM] * len(titles))
        for row in self.rows:
            if self.columns[-1].kind != "list":
                yield from line(row, styles)
                continue
            first, *more = self._break_list(row[-1], widths[-1])
            yield from line([*row[:-1], first], styles)
            for text in more:
                yield from line([*[""] * (len(row) - 1), text], styles)

    def _widths(self, room: int) -> tuple[list[int], str]:
        """Return the width of each column and the blanks between two columns, to fit into `room`.

        Widths are in columns of the terminal. First the list gets narrower, down to a third of `room`, then
        names, the widest first. If that is not enough, the gap shrinks to one blank, and lines may be too
        long.
        """
        widths = [
            max(map(cell_len, (column.title, *(row[place] for row in self.rows))))
            for place, column in enumerate(self.columns)
        ]
        # `over` is how many terminal columns the table is too wide: indentation, widths and two blanks
        # between columns, minus the room.
        over = _INDENT + sum(widths) + 2 * (len(widths) - 1) - room
        if self.columns[-1].kind == "list" and over > 0:
            cut = max(0, min(over, widths[-1] - max(_NARROWEST, room // 3)))
            widths[-1] -= cut
            over -= cut
        # The widest name shrinks by one column at a time, so that several long names end equally wide.
        names = [place for place, column in enumerate(self.columns) if column.kind == "name"]
        while over > 0 and names:
            widest = max(names, key=widths.__getitem__)
            if widths[widest] <= _NARROWEST:
                break
            widths[widest] -= 1
            over -= 1
        return widths, "  " if over <= 0 else " "

    def _break_list(self, text: str, width: int) -> list[str]:
        """Return a list in lines of at most `width` columns.

        If there are too many lines, the last one ends with the mark `CUT`.
        """
        if cell_len(text) <= width:
            return [text]
        lines = [""]
        for word in re.findall(r"[^ ,]+[ ,]*", text):
            shown = shorten(word, width)
            if lines[-1] and cell_len(lines[-1]) + cell_len(shown.rstrip(" ")) > width:
                if len(lines) == _LIST_LINES and not self.full:
                    return [*(line.rstrip(" ") for line in lines[:-1]), _cut_line(lines[-1], width)]
                lines.append("")
            lines[-1] += shown
        return [line.rstrip(" ") for line in lines]

    def _line(
        self, widths: Sequence[int], gap: str, cells: Sequence[str], styles: Sequence[Style | None]
    ) -> Iterator[Segment]:
        """Yield the parts of a line; blanks at the end are left out."""
        last = max((place for place, text in enumerate(cells) if text), default=-1)
        yield Segment(" " * _INDENT)
        for place, text in enumerate(cells[: last + 1]):
            kind = self.columns[place].kind
            shown = shorten(text, widths[place]) if kind == "name" else text
            blanks = " " * (widths[place] - cell_len(shown))
            if kind == "number":
                shown = blanks + shown
                blanks = ""
            if kind == "bar":
                for part in re.findall(r"(?:(.)\1*)", shown):
                    yield Segment(part * shown.count(part), _BAR.get(part))
            else:
                yield Segment(shown, styles[place])
            if place < last:
                yield Segment(blanks + gap)
        yield Segment.line()


def _cut_line(line: str, width: int) -> str:
    """Return the last line of a list that is cut, with the mark `CUT`, within `width` columns."""
    while cell_len(line) + len(CUT) > width and re.search(r"[ ,]+[^ ,]", line):
        line = re.sub(r"[^ ,]+[ ,]*$", "", line)
    return line.rstrip(" ") + CUT


def shorten(text: str, width: int) -> str:
    """Return a text of at most `width` terminal columns; a wider text keeps its beginning and its end.

    >>> shorten("orders-processor-eu-west-1", 12)
    'order..est-1'
    """
    # No character is wider than two columns, so a short text need not be measured.
    if len(text) * 2 <= width or cell_len(text) <= width:
        return text
    room = max(width - len(CUT), 2)
    # Cutting the reversed text measures the end in columns; a wide character takes two.
    end = chop_cells(text[::-1], room // 2)[0][::-1]
    return chop_cells(text, room - room // 2)[0] + CUT + end
