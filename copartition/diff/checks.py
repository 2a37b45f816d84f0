"""Limits on the numbers of a report, such as `moved_pct<=10`."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Protocol

from assignors.comparison import COMPARISON, COMPARISONS
from copartition.diff.summary import Summary
from partitioning.errors import DiffError

_CHECK = re.compile(rf"\s*(\w+)\s*({COMPARISON})\s*(-?\d+(?:\.\d+)?)\s*")


class Numbers(Protocol):
    """A dataclass of numbers that can be checked; one that is None is unknown."""

    def range_of(self, name: str) -> tuple[float, float]:
        """The least and the most that a number can be, where only a bound is known."""


@dataclass(frozen=True, slots=True)
class Check:
    """A number of the summary, a comparison and a limit."""

    name: str
    comparison: str
    limit: float

    def __str__(self) -> str:
        return f"{self.name}{self.comparison}{self.limit:g}"

    def value(self, summary: Numbers) -> float:
        """The number it looks at.

        Raises:
            DiffError: the number is unknown for this diff.
        """
        value = getattr(summary, self.name)
        if value is None:
            raise DiffError(f"check {self}: {self.name} is unknown, the inputs do not carry it")
        return float(value)

    def told(self, summary: Numbers) -> str:
        """The number as people are told it: whether it is only a bound, too.

        Raises:
            DiffError: the number is unknown for this diff.
        """
        value = self.value(summary)
        least, most = summary.range_of(self.name)
        bound = "" if least == most else "at least " if value == least else "at most "
        return f"{bound}{value:g}"

    def passes(self, summary: Numbers) -> bool:
        """Whether the number is within the limit.

        Raises:
            DiffError: the number is unknown for this diff, or not known well enough to tell.
        """
        told = self.told(summary)
        least, most = summary.range_of(self.name)
        nearest = min(max(self.limit, least), most)
        answers = {COMPARISONS[self.comparison](value, self.limit) for value in (least, nearest, most)}
        if len(answers) > 1:
            raise DiffError(f"check {self}: {self.name} is {told}, the inputs do not tell it exactly")
        return answers.pop()


def parse_check(text: str, numbers: type = Summary) -> Check:
    """A check from its text, the name of a number, one of <= >= == != < >, and a number.

    Args:
        text: the text.
        numbers: the dataclass whose fields are the names.

    Raises:
        DiffError: the text is no such thing, or the name is unknown (close ones are listed).
    """
    names = [field.name for field in fields(numbers)]
    found = _CHECK.fullmatch(text)
    if found is None:
        raise DiffError(f"check {text!r} is not of the form NAME<=NUMBER, such as {names[0]}<=10")
    name, comparison, limit = found.groups()
    if name not in names:
        close = get_close_matches(name, names) or names
        raise DiffError(f"check {text!r}: no number {name!r}; did you mean {', '.join(close)}?")
    return Check(name, comparison, float(limit))
