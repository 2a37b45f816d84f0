"""Read tables as tools print them: a column begins where its word in the header begins.

Cells may contain blanks or be blank, so rows are cut at the columns and never split at blanks. A cell that
does not fit its column is refused and not guessed. Most columns repeat a few values, so each distinct cell is
checked only once, which makes large captures fast to read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assignors.state import UNKNOWN_LAG
from partitioning.errors import SourceError
from partitioning.kit.limits import MAX_OFFSET, MAX_PARTITION, MAX_TOPIC_NAME

NOTHING = "-"
"""The sign that the tools print for an empty cell."""
AGAIN = "capture the output again"
_NAMES = {"GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "GROUP_INSTANCE_ID", "CLIENT-ID", "CLIENT_ID"}
"""Columns of names that users choose freely; such a name may contain blanks."""
_ASSIGNMENTS = {"ASSIGNMENT", "CURRENT-ASSIGNMENT", "TARGET-ASSIGNMENT"}
_BLANKS_INSIDE = _NAMES | {"MEMBER-ID", "INSTANCE-ID"} | _ASSIGNMENTS | {"COORDINATOR (ID)", "ERROR"}
_MAY_BE_BLANK = {"GROUP-INSTANCE-ID", "GROUP_INSTANCE_ID", "CLIENT-ID", "CLIENT_ID"}
_MAY_BE_BLANK |= {"CURRENT-ASSIGNMENT", "TARGET-ASSIGNMENT"}  # some 4.x print no dash there
_OF_RPK = {"CONSUMER-ID": "MEMBER-ID", "GROUP-INSTANCE-ID": "INSTANCE-ID"}
"""The names that rpk gives to columns of kafka-consumer-groups."""
_BLANK_FOR_RPK = {"MEMBER-ID", "INSTANCE-ID", "CLIENT-ID", "HOST", "ERROR"}
"""Columns in which rpk prints nothing, not a dash, if the partition has no owner."""
_TOPIC = re.compile(rf"[A-Za-z0-9._-]{{1,{MAX_TOPIC_NAME}}}")
_NUMBER = re.compile(r"-?[0-9]{1,19}")
_WORDS = re.compile(r"(?:\S++ ++\n)*+")
"""A pattern of a column in which each cell is a word that ends within the column."""
_COUNTS = re.compile(r"(?:(?:[0-9]{1,18}|-) ++\n)*+")
_NUMBERS = re.compile(r"(?:(?:-?[0-9]{1,18}|-) ++\n)*+")

Value = TypeVar("Value")


class _MisfitError(Exception):
    """A cell does not fit its column; the message says why."""


class Column(NamedTuple):
    """Holds a column of text.

    Attributes:
        values: the distinct values, in the order of their first rows.
        codes: the index of each row's value in `values`; -1 for a row without a value.
    """

    values: tuple[str, ...]
    codes: NDArray[np.int32]

    def of_row(self, row: int) -> str | None:
        """Return the value of a row; None if it has none."""
        code = self.codes[row]
        return None if code < 0 else self.values[code]


@dataclass(slots=True)
class CapturedTable:
    """Holds the rows under one header. Line numbers of the file count from 1.

    Attributes:
        columns: name of a column -> index of its first character.
        header: line number of the header.
        width: length of the header's line, which some tools pad with blanks as they pad rows.
        rpk: whether rpk printed the table. Methods take the names of kafka-consumer-groups all the same.
        facts: facts of rpk's summary above the table, by name, such as STATE.
        lines: the rows, as lines of text.
        numbers: the line number of each row.
        unfinished: whether the last row ends the file without a newline, so that it may be cut off.
    """

    columns: dict[str, int]
    header: int
    width: int
    rpk: bool = False
    facts: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    unfinished: bool = False

    def part(self, rows: Sequence[int]) -> CapturedTable:
        """Return the same table with only these rows; `rows` are their indices, ascending, at least one."""
        return replace(
            self,
            lines=[self.lines[row] for row in rows],
            numbers=[self.numbers[row] for row in rows],
            unfinished=self.unfinished and rows[-1] == len(self.lines) - 1,
        )

    def fault(self, row: int, message: str) -> SourceError:
        """Return the error that names the line of a row."""
        return SourceError(f"line {self.numbers[row]}: {message}")

    def texts(self, name: str) -> Column:
        """Return a column of text; a dash, a blank and a missing column give no value.

        Args:
            name: the column's name in kafka-consumer-groups, also for a table of rpk.

        Raises:
            SourceError: a cell does not fit its column, or a topic has a name that no topic can have.
        """
        name = self._printed_name(name)
        if name not in self.columns:
            return Column((), np.full(len(self.lines), -1, np.int32))
        texts, codes = self._decode_column(name, _topic if name == "TOPIC" else str)
        values = [text for text in dict.fromkeys(texts) if text not in {"", NOTHING}]
        number = {text: index for index, text in enumerate(values)}
        return Column(
            tuple(values), np.array([number.get(text, -1) for text in texts] or [-1], np.int32)[codes]
        )

    def partitions(self) -> NDArray[np.int32]:
        """Return the column PARTITION, -1 for a dash."""
        return self.integers("PARTITION", 0, MAX_PARTITION, -1).astype(np.int32)

    def lags(self) -> NDArray[np.int64]:
        """Return the lags in records, `UNKNOWN_LAG` if unknown; negative if a commit is beyond the end."""
        lag = self.integers("LAG", -MAX_OFFSET, MAX_OFFSET, UNKNOWN_LAG)
        # rpk prints -1 if it met an error; a lower number is a commit beyond the end.
        return np.where(lag == -1, UNKNOWN_LAG, lag) if self.rpk else lag

    def integers(self, name: str, least: int, most: int, nothing: int) -> NDArray[np.int64]:
        """Return a column of integers, one for each row.

        Args:
            name: the column's name.
            least: the smallest number that the column may hold.
            most: the largest number that the column may hold.
            nothing: the number that stands for a dash.

        Raises:
            SourceError: a cell is no number from `least` to `most`.
        """

        def parse(text: str) -> int:
            if text == NOTHING:
                return nothing
            # `int` alone would also accept blanks, underscores and digits of other scripts.
            number = int(text) if _NUMBER.fullmatch(text) else most + 1
            if not least <= number <= most:
                raise _MisfitError(f"{name} is {text[:40]!r}, not a number from {least} to {most}; {AGAIN}")
            return number

        # If every cell is a number or a dash, NumPy reads the whole column at once, which is faster.
        text = "\n".join([*self._cells(name)[0], ""])
        if self.lines and (_NUMBERS if least < 0 else _COUNTS).fullmatch(text):
            numbers = np.fromstring(text.replace("- ", f"{nothing} "), np.int64, sep=" ")
            if numbers.max() <= most:
                return numbers
        values, codes = self._decode_column(name, parse)
        return np.array(values, np.int64)[codes]

    def check_others(self, *read: str) -> None:
        """Raise SourceError if a cell of another column does not line up, because its row is damaged then.

        Args:
            read: the columns that are checked already, because they are read.
        """
        for name in self.columns.keys() - set(map(self._printed_name, read)):
            if not _WORDS.fullmatch("\n".join([*self._cells(name)[0], ""])):
                self._decode_column(name, bool)

    def _printed_name(self, name: str) -> str:
        """Return the name under which the tool of this table prints a column."""
        return _OF_RPK.get(name, name) if self.rpk else name

    def _cells(self, name: str) -> tuple[list[str], int | None]:
        """Return the cells of a column with their blanks, and the column's width, None for the last one."""
        names = [*self.columns]
        place = names.index(name)
        start = self.columns[name] if place else 0
        end = self.columns[names[place + 1]] if place + 1 < len(names) else None
        return [*map(itemgetter(slice(start, end)), self.lines)], end and end - start

    def _decode_column(
        self, name: str, parse: Callable[[str], Value]
    ) -> tuple[list[Value], NDArray[np.int32]]:
        """Return the parsed values of a column's distinct cells, and for each row the index of its value.

        Raises:
            SourceError: a cell does not fit, or the row ends before the column.
        """
        cells, width = self._cells(name)
        numbers = {cell: number for number, cell in enumerate(dict.fromkeys(cells))}
        values = []
        for cell in numbers:
            try:
                values.append(parse(self._fitting(name, cell, width)))
            except _MisfitError as misfit:
                raise self.fault(cells.index(cell), str(misfit)) from None
        # An empty cell is allowed only if its row reaches the column. A shorter row is cut off.
        for row, cell in enumerate(cells if "" in numbers else ()):
            if not cell and len(self.lines[row]) < self.columns[name]:
                raise self.fault(row, f"the row ends before {name}: it is cut off; {AGAIN}")
        return values, np.fromiter(map(numbers.__getitem__, cells), np.int32, len(cells))

    def _fitting(self, name: str, cell: str, width: int | None) -> str:
        """Return a cell without the blanks around it.

        Raises:
            _MisfitError: the cell runs over its width, begins late, has a blank inside although its column
                has none, or is blank although its column may not be.
        """
        text = cell.strip(" ")
        # Every cell but that of the last column ends with a blank. A cell without this blank is too long, and
        # has moved the next cell to the right.
        runs_over = len(cell) == width and cell[-1] != " "
        begins_late = bool(text) and cell[0] == " "
        if runs_over or begins_late or (name not in _BLANKS_INSIDE and len(text.split()) > 1):
            raise _MisfitError(
                f"the row does not line up with the header at {name}; {AGAIN} without reformatting it"
            )
        if not text and name not in (_BLANK_FOR_RPK if self.rpk else _MAY_BE_BLANK):
            raise _MisfitError(f"the row ends before {name}: it is cut off; {AGAIN}")
        return text


def _topic(text: str) -> str:
    """Return a topic's name unchanged; _MisfitError if no topic can have this name."""
    # A name of Pulsar is not a damaged row, so the advice to capture again would not help.
    if "://" in text:
        raise _MisfitError(
            f"TOPIC is {text[:60]!r}, a topic of Pulsar, whose partitions Kafka's tools mix with Kafka's; "
            "take out its rows, or name the topic as Kafka does, and one member for each partition"
        )
    if not _TOPIC.fullmatch(text):
        raise _MisfitError(f"TOPIC is {text[:40]!r}, which no topic can be called; {AGAIN}")
    return text


def beyond_end(place: str, lag: int, count: int) -> str:
    """Return the warning about lags below zero.

    Args:
        place: the first partition with a negative lag, as "topic-number".
        lag: the lag of that partition.
        count: the number of partitions with a negative lag.
    """
    others = f", {count - 1} more partitions, too" if count > 1 else ""
    return (
        f"{place} has a lag of {lag}{others}: the group committed an offset beyond the end of the partition"
    )
