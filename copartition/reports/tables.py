"""What tables in a terminal have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copartition.reports.visible import visible
from partitioning.kit.extras import needs

with needs("a text report", "cli"):
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Container, Sequence


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
