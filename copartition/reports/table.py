"""Rows under titles: the one table that text, Markdown and pages are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class Table(NamedTuple):
    """A table of a report.

    Attributes:
        titles: what the columns are called.
        rows: a text for each column.
        numbers: places of the columns that hold numbers, which are flush right.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Collection[int] = ()
