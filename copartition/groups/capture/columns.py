"""Describe the tools' tables: which columns each table has, and what a cell of each column may contain."""

import re
from collections.abc import Sequence

from partitioning.kit.limits import MAX_ID

_KINDS = [
    ("offsets", {"TOPIC", "PARTITION", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"}),
    ("offsets", {"TOPIC", "PARTITION", "LAG", "MEMBER-ID", "HOST", "CLIENT-ID"}),  # of rpk
    ("members", {"CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"}),
    ("state", {"ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"}),
]
"""The kinds of tables, each with the columns that head it in every release."""
HEADERS = ("GROUP ", "TOPIC ", "CONSUMER-ID ", "COORDINATOR (ID) ")
"""The first columns of these tables; before Kafka 2.4 none begins with GROUP."""
TELLING = {"offsets": "PARTITION", "members": "HOST", "state": "ASSIGNMENT-STRATEGY"}
"""Kind of table -> the column up to which a line must fit, so that it counts as a row."""
FIRST_OF_CELL = frozenset("0123456789-/")
"""Characters with which cells of the columns PARTITION and HOST begin."""
_WORD = re.compile(r"COORDINATOR \(ID\)|\S+")
"""Pattern of a column's name in a header. Only COORDINATOR (ID) has a blank in it."""
_NUMBER = re.compile(r"-|-?\d{1,19}")
"""A number that may be below 0, or the dash of an empty cell."""
_LIST = r"[^\s()]*\(\d+(?:,\d+)*\)"
_ASSIGNMENTS = re.compile(rf"-|{_LIST}(?:, ?{_LIST})*")
"""Lists of partitions, one for each topic, as Kafka 3.8 and 3.9 print them."""
_HOLDS = {
    **dict.fromkeys(
        ["PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "#PARTITIONS", "#MEMBERS"], _NUMBER
    ),
    **dict.fromkeys(["LEADER-EPOCH", "CURRENT-EPOCH", "TARGET-EPOCH", "GROUP-EPOCH"], _NUMBER),
    **dict.fromkeys(["LOG-START-OFFSET", "TARGET-ASSIGNMENT-EPOCH"], _NUMBER),
    **dict.fromkeys(
        ["CURRENT-ASSIGNMENT", "TARGET-ASSIGNMENT"], re.compile(r"-|[^\s:]+:[\d,]+(;[^\s:]+:[\d,]+)*")
    ),
    "HOST": re.compile(r"-|/\S+"),
    "ASSIGNMENT": _ASSIGNMENTS,
    "COORDINATOR (ID)": re.compile(r"\S+ \(\d+\)"),
    "TOPIC": re.compile(r"[A-Za-z0-9._-]+"),
}
"""Column -> pattern of its cells. A column that is missing here may hold any text without blanks."""
_TEXT = re.compile(r"\S+")
_MAY_BE_EMPTY = {"GROUP-INSTANCE-ID", "CURRENT-ASSIGNMENT"}
"""Columns in which some versions print nothing.

None of them is the last column, because an empty cell at the end of a row may show that the row was cut.
"""
COLUMN_NAMES = frozenset(
    {
        *_HOLDS,
        *("GROUP", "CONSUMER-ID", "MEMBER-ID", "GROUP-INSTANCE-ID", "INSTANCE-ID", "CLIENT-ID", "ERROR"),
        *("ASSIGNMENT-STRATEGY", "STATE", "UPGRADED"),
    }
)
"""All column names that heads of these tables may have."""
NOTICE = re.compile(
    r"(Consumer group |Warning: |Error: |(java|org)\.[\w.$]{,200}: |\tat |\t\.\.\. |Caused by: |```|~~~)"
)
"""The beginning of a line that the tools, or Markdown's fences, put between tables."""
COMMAND = re.compile(rf".*\bdescribe\b.{{0,2000}}?--group[ =]['\"]?([^'\"\s]{{1,{MAX_ID}}})")
"""Pattern of a line on which somebody typed the command, with the group's name."""


def head_columns(line: str) -> tuple[str, dict[str, int]]:
    """Return the kind of table whose header a line is, and the columns of the line's words.

    The kind is "" if the line is no header, for example because a word is there twice. The columns map each
    word to the index of its first character.

    >>> head_columns("COORDINATOR (ID)  ASSIGNMENT-STRATEGY  STATE  #MEMBERS")[0]
    'state'
    """
    words = [*_WORD.finditer(line)]
    columns = {word.group(): word.start() for word in words}
    kinds = (kind for kind, names in _KINDS if names <= columns.keys() and len(columns) == len(words))
    return next(kinds, ""), columns


def find_header(line: str) -> tuple[str, dict[str, int]]:
    """Return the kind and the columns of a header as `head_columns` does; any other line has no columns."""
    return head_columns(line) if line.startswith(HEADERS) else ("", {})


def squeeze(line: str) -> str:
    """Return a line with one blank between its words."""
    return " ".join(line.split())


def fit_cells(words: Sequence[str], columns: Sequence[str]) -> list[str] | None:
    """Return the cells of a row; None unless its words fit the columns in exactly one way.

    Args:
        words: the words of the row, separated by blanks.
        columns: the names of the columns.

    >>> fit_cells(["pod-1", "/10.0.0.2", "2"], ["CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "#PARTITIONS"])
    ['pod-1', '', '/10.0.0.2', '2']
    """
    # All ways are followed in parallel, column by column; each is (words used, cells so far). A row that fits
    # in two ways is refused, because each way may give partitions other owners.
    ways: list[tuple[int, list[str]]] = [(0, [])]
    for column in columns:
        ways = [(end, [*cells, cell]) for at, cells in ways for end, cell in _next_cells(words, at, column)]
    # A way that does not use all words is wrong.
    whole = [cells for at, cells in ways if at == len(words)]
    return whole[0] if len(whole) == 1 else None


def fitting_columns(words: Sequence[str], columns: Sequence[str]) -> tuple[int, int]:
    """Return how many columns the first words can fill, counted from the left, and how many words that needs.

    A row that was cut fills its first columns. A line that is not a row fills few or none.
    """
    ends, most = {0}, (0, 0)
    for number, column in enumerate(columns, 1):
        ends = {end for at in ends for end, _ in _next_cells(words, at, column)}
        if not ends:
            break
        most = number, max(ends)
    return most


def _next_cells(words: Sequence[str], at: int, column: str) -> list[tuple[int, str]]:
    """Return the possible cells of a column that begin at a word, each as (index of the word after it, cell).

    Args:
        words: the words of a row.
        at: the index of the word.
        column: the name of the column.
    """
    holds = _HOLDS.get(column, _TEXT)
    found = [(at, "")] if column in _MAY_BE_EMPTY else []
    ends: Sequence[int] = range(at + 1, min(at + 2, len(words)) + 1)
    if holds is _ASSIGNMENTS:  # a list of any length; its last word has no comma behind it
        ends = [end for end in range(at + 1, len(words) + 1) if words[end - 1][-1:] != ","][:1]
    for end in ends:
        cell = " ".join(words[at:end])
        if holds.fullmatch(cell):
            found.append((end, cell))
    return found


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table; each column, also the last, is as wide as its longest cell and two blanks.

    Args:
        rows: the cells of each row, of one length; the header is the first row.
    """
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    return ["".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
