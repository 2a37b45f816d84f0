"""Output of kafka-consumer-groups that lost its columns on the way, as when it was pasted into a ticket.

Rows are then read by words, and only where that is possible in one way: no name has a blank, and what a
column may hold tells where an empty one is. Whatever is left open is for the reader of aligned tables to
refuse.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from copartition.groups.capture.scan import find_header, is_notice

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_BLANKS = re.compile(r"[ \t]+")
_WORD = re.compile(r"\S+")
_MAY_BE_EMPTY = {"GROUP-INSTANCE-ID", "CURRENT-ASSIGNMENT"}
"""Columns in which some versions print nothing, none of them the last one: a row may have been cut there."""


def realign(text: str) -> str | None:
    """The text with rows that line up with their headers; None where a row can be read in no way, or several.

    Lines keep their numbers.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] or len(lines) > _MOST_LINES:  # without an end the last row may be cut
        return None
    found: list[str] = []
    rows: list[list[str]] = []
    for line in [*lines, ""]:
        words = " ".join(_BLANKS.split(line.strip(" \t")))
        kind, columns = find_header(words)
        if kind in {"offsets", "members", "state"} or not words or is_notice(line):
            found += _aligned(rows)
            rows = [[*columns]] if kind and words else []
            found += [] if rows else [line]
        elif rows:
            cells = _cells(words.split(" "), rows[0])
            if cells is None:
                return None
            rows.append(cells)
        else:
            found.append(line)
    again = "\n".join(found[:-1])
    return None if again == text else again


def _cells(words: Sequence[str], columns: Sequence[str]) -> list[str] | None:
    """The cells of a row, where its words can be spread over the columns in one way only."""
    ways: list[tuple[int, list[str]]] = [(0, [])]
    for column in columns:
        holds = _HOLDS.get(column, _WORD)
        further = []
        for at, cells in ways:
            if column in _MAY_BE_EMPTY:
                further.append((at, [*cells, ""]))
            longest = len(words) if holds is _ASSIGNMENTS else at + 2
            for end in range(at + 1, min(longest, len(words)) + 1):
                cell = " ".join(words[at:end])
                if holds.fullmatch(cell):
                    further.append((end, [*cells, cell]))
        ways = further
    whole = [cells for at, cells in ways if at == len(words)]
    return whole[0] if len(whole) == 1 else None


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table, each column as wide as its longest cell and two blanks more, the last one, too."""
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    return ["".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
