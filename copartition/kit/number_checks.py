"""Check limits that a user sets on the numbers of a report, such as `moved_pct<=10` (`--check`)."""

import math
import re
from dataclasses import dataclass, fields
from typing import Protocol

from copartition.kit.words import COMPARISON, COMPARISONS
from partitioning.errors import DiffError
from partitioning.kit.near import near

_CHECK = re.compile(rf"\s*(\w+)\s*({COMPARISON})\s*(-?\d+(?:\.\d+)?)\s*")


class Numbers(Protocol):
    """A dataclass of numbers that can be checked; a number that is None is unknown."""

    def range_of(self, name: str) -> tuple[float, float]:
        """Return the least and the most that a number can be; they differ if only a bound is known."""


@dataclass(frozen=True, slots=True)
class NumberCheck:
    """A number of the summary, a comparison and a limit."""

    name: str
    comparison: str
    limit: float

    def __str__(self) -> str:
        return f"{self.name}{self.comparison}{self.limit:g}"

    def value(self, summary: Numbers) -> float:
        """Return the number that the check looks at.

        Raises:
            DiffError: the number is unknown for this diff.
        """
        value = getattr(summary, self.name)
        if value is None:
            raise DiffError(f"check {self}: {self.name} is unknown, because the inputs do not contain it")
        return float(value)

    def describe(self, summary: Numbers) -> str:
        """Return the number, and whether it is only a bound.

        Raises:
            DiffError: the number is unknown for this diff.
        """
        value = self.value(summary)
        least, most = summary.range_of(self.name)
        bound = "" if least == most else "at least " if value == least else "at most "
        return f"{bound}{value:g}"

    def passes(self, summary: Numbers) -> bool:
        """Return True if the number is within the limit.

        Raises:
            DiffError: the number is unknown for this diff, or not known well enough to decide.
        """
        description = self.describe(summary)
        least, most = summary.range_of(self.name)
        # "==" and "!=" may have another answer inside the range than at both of its ends. So the number in
        # the range that is nearest to the limit is compared, too.
        nearest = min(max(self.limit, least), most)
        answers = {COMPARISONS[self.comparison](value, self.limit) for value in (least, nearest, most)}
        if len(answers) > 1:
            raise DiffError(f"check {self}: {self.name} is {description}, the inputs do not show it exactly")
        return answers.pop()


def read_check(text: str, numbers: type) -> NumberCheck:
    """Return the check that a text states: the name of a number, one of <= >= == != < >, and a limit.

    Args:
        text: the text; blanks around its parts do not matter.
        numbers: the dataclass whose fields are the names.

    Raises:
        DiffError: the text has another form, or the name is unknown; the message lists similar names.
    """
    names = [field.name for field in fields(numbers)]
    match = _CHECK.fullmatch(text)
    if match is None:
        raise DiffError(f"check {text!r} is not of the form NAME<=NUMBER, such as {names[0]}<=10")
    name, comparison, limit = match.groups()
    if name not in names:
        raise DiffError(f"check {text!r}: no number {name!r}; {near(name, names)}")
    # A long row of digits becomes infinity. A check with this limit would always pass or always fail.
    if not math.isfinite(float(limit)):
        raise DiffError(f"check {text[:60]!r}: the limit is larger than a number can be")
    return NumberCheck(name, comparison, float(limit))
