"""What tables in a terminal have in common."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignors.extras import needs
from assignors.reports.visible import visible

with needs("a text report", "cli"):
    from rich.cells import cell_len
    from rich.padding import Padding
    from rich.segment import Segment
    from rich.style import Style
    from rich.table import Table
    from rich.text import Text

    from assignors.reports.names import shorten

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from rich.console import Console, ConsoleOptions

_GAP = 2
_INDENT = 2
_NARROWEST = 8
"""Columns of a name that is cut, and of a list that is broken, at least."""

_LIST_LINES = 3
"""Lines that a list may take in a table that is not shown in full."""


def cell(text: str, style: str = "") -> Text:
    """Other people's text, as it is shown."""
    return Text(visible(text), style)


def table(columns: Sequence[str | Text], right: Container[int] = ()) -> Table:
    """An empty table without lines; columns whose numbers are in `right` are flush right."""
    empty = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(columns):
        header = Text(name) if isinstance(name, str) else name
        empty.add_column(header, justify="right" if index in right else "left", overflow="fold")
    return empty


def indent(content: Table) -> Padding:
    """A table within a report, below an empty line."""
    return Padding(content, (1, 0, 0, 2))


def note(text: str, style: str = "dim") -> Padding:
    """A remark below a table."""
    return Padding(cell(text, style), (0, 0, 0, 2))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a `Grid`.

    Attributes:
        title: its header.
        kind: "name", cut in the middle where there is no room; "number", flush right; "list", the last
            column, broken after its commas and blanks; "bar", as long as it is; "word", of any other kind.
        style: rich's name for how it looks.
    """

    title: str
    kind: str = "number"
    style: str = ""


class Grid:
    """A table without lines, below an empty line; nothing in it is broken within a word.

    Its rows are plain text, so that a hundred thousand of them are printed in a second.
    """

    def __init__(
        self, columns: Sequence[Column], rows: Sequence[Sequence[str]], *, full: bool = False
    ) -> None:
        used = [
            place for place, column in enumerate(columns) if column.title or any(row[place] for row in rows)
        ]
        self.columns = [columns[place] for place in used]
        self.rows = [[row[place] for place in used] for row in rows]
        self.full = full

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Its lines, as rich wants them."""
        widths = self._widths(options.max_width)
        styles = [console.get_style(column.style) if column.style else None for column in self.columns]
        line = Segment.line()
        yield line
        yield from self._line(
            [column.title for column in self.columns], widths, [Style(dim=True)] * len(widths)
        )
        for row in self.rows:
            if self.columns[-1].kind != "list":
                yield from self._line(row, widths, styles)
                continue
            first, *more = self._lines(row[-1], widths[-1])
            yield from self._line([*row[:-1], first], widths, styles)
            for text in more:
                yield from self._line([*[""] * (len(widths) - 1), text], widths, styles)

    def _widths(self, room: int) -> list[int]:
        """What each column takes: all it needs, or names and the list less, in this order: list, names."""
        widths = [
            max(map(cell_len, (column.title, *(row[place] for row in self.rows))))
            for place, column in enumerate(self.columns)
        ]
        over = _INDENT + sum(widths) + _GAP * (len(widths) - 1) - room
        places = [place for place, column in enumerate(self.columns) if column.kind == "name"]
        if self.columns[-1].kind == "list" and over > 0:
            wanted = max(_NARROWEST, min(widths[-1], room // 3))
            given = min(over, widths[-1] - wanted)
            widths[-1] -= given
            over -= given
        while over > 0 and places:
            widest = max(places, key=widths.__getitem__)
            if widths[widest] <= _NARROWEST:
                break
            widths[widest] -= 1
            over -= 1
        return widths

    def _line(
        self, cells: Sequence[str], widths: Sequence[int], styles: Sequence[Style | None]
    ) -> Iterator[Segment]:
        texts = []
        for column, text, width in zip(self.columns, cells, widths, strict=True):
            shown = shorten(text, width) if column.kind == "name" else text
            blanks = " " * (width - cell_len(shown))
            texts.append(blanks + shown if column.kind == "number" else shown + blanks)
        last = max((place for place, text in enumerate(cells) if text), default=-1)
        yield Segment(" " * _INDENT)
        for place in range(last + 1):
            gap = " " * _GAP if place < last else ""
            if self.columns[place].kind == "bar" and styles[place] is None:
                yield from _bar(texts[place])
                yield Segment(gap)
            else:
                yield Segment(texts[place] + gap, styles[place])
        yield Segment.line()

    def _lines(self, text: str, width: int) -> list[str]:
        """A list in lines of this width."""
        if cell_len(text) <= width:
            return [text]
        lines = [""]
        for word in re.findall(r"[^ ,]+[ ,]*", text):
            shown = shorten(word, width)
            if cell_len(lines[-1]) + cell_len(shown.rstrip()) > width:
                if len(lines) == _LIST_LINES and not self.full:
                    break
                lines.append("")
            lines[-1] += shown
        else:
            return [line.rstrip() for line in lines]
        return [*(line.rstrip() for line in lines[:-1]), _with_mark(lines[-1], width)]


_BAR = {"=": Style(dim=True), "-": Style(color="red"), "+": Style(color="green")}


def _bar(text: str) -> Iterator[Segment]:
    """A bar, its parts coloured."""
    for part in re.findall(r"=+|-+|\++| +", text):
        yield Segment(part, _BAR.get(part[0]))


def _with_mark(line: str, width: int) -> str:
    """The last line of a list that goes on."""
    while line and cell_len(line) + 3 > width:
        line = re.sub(r"[^ ,]+[ ,]*$", "", line)
    return f"{line.rstrip()} ..".lstrip()
