"""Names, partitions, times, counts and tables as people read them, safe to show."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Sequence
from inspect import getdoc
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assignors.partition_list import PartitionList


def visible(text: str) -> str:
    r"""Return the text, every character that cannot be seen written as Python would.

    \x1b, \n, \u202e, \udc80.

    Those are control characters, marks without width, marks of direction, odd blanks, and bytes that were no
    UTF-8. Text without them is returned as it is, backslashes included; JSON reports carry the true value.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
"""Longer signs first, so that a pattern made of them takes "<=" for what it is."""

COMPARISON = "|".join(COMPARISONS)
"""A pattern of any of them."""

CUT = ".."
"""Stands for the part of a name that is not shown."""

_ID = r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"

_WORTH_CUTTING = 10
"""A shorter prefix is left in place: a line that tells it would take more room than it saves."""


def shared_start(names: Collection[str]) -> str:
    """Return what all names begin with, letter for letter."""
    # All names lie between the first and the last, so they begin with what these begin with.
    first, last = min(names), max(names)
    differs = (place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1])
    return first[: next(differs, len(first))]


def common_prefix(names: Collection[str]) -> str:
    """Return what all names begin with, up to the end of a word; nothing if that is short."""
    if len(names) < 3:
        return ""
    prefix = shared_start(names)
    if prefix in names:  # of that one nothing would be left
        prefix = prefix[:-1]
    words = re.match(r".*[-._:/@]", prefix, re.DOTALL)
    return words[0] if words is not None and len(words[0]) >= _WORTH_CUTTING else ""


def without_ids(names: dict[str, str]) -> dict[str, str]:
    """Return the values, of an id at the end (a member id is a client id and a UUID) only the first part."""
    short = {key: re.sub(_ID, rf"\1{CUT}", name) for key, name in names.items()}
    return short if len(set(short.values())) == len(set(names.values())) else names


def ranges(numbers: NDArray[np.integer]) -> str:
    """Ascending numbers with runs drawn together: 0-4,7."""
    import numpy as np  # noqa: PLC0415 - help does without

    if len(numbers) == 0:
        return ""
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    firsts = numbers[np.concatenate([[0], breaks + 1])].tolist()
    lasts = numbers[np.concatenate([breaks, [len(numbers) - 1]])].tolist()
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in zip(firsts, lasts, strict=True)
    )


def partition_ranges(partitions: PartitionList) -> str:
    """Return partitions sorted by topic and number: orders:15-19 pay:2."""
    import numpy as np  # noqa: PLC0415 - help does without

    topics = np.unique(partitions.topics)
    return " ".join(
        f"{partitions.names[topic]}:{ranges(partitions.partitions[partitions.topics == topic])}"
        for topic in topics.tolist()
    )


def duration(milliseconds: float) -> str:
    """Return a time in the unit that suits it: 850 ms, 2.9 s, 3 min 54 s, 2 h 05 min.

    One without end is never.
    """
    if milliseconds == math.inf:
        return "never"
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 59_950:
        return f"{milliseconds / 1_000:.1f} s"
    seconds = round(milliseconds / 1_000)
    if seconds < 3_600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """1 partition, 2 partitions."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def list_names(names: Sequence[str], most: int | None = None) -> str:
    """Return a and b, or a, b and c; the first of them where they are more than `most`."""
    most = len(names) if most is None else most
    if not 1 < len(names) <= most:
        return first_of(names, most)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def clock(milliseconds: float) -> str:
    """Return a moment, to the millisecond: 0 s, 850 ms, 1 min 40 s, 12.926 s, 2 h 5 min."""
    left = round(milliseconds)
    if 0 < left < 1_000:
        return f"{left} ms"
    minutes, left = divmod(left, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{left // 1_000}.{left % 1_000:03d}".rstrip("0").rstrip(".")
    parts = ((f"{hours:,}", "h"), (f"{minutes}", "min"), (seconds, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number != "0") or "0 s"


def number(value: float | None) -> str:
    """Return a number with its thousands apart; unknown is said."""
    return "unknown" if value is None else f"{value:,}"


class Table(NamedTuple):
    """A table of a report."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]  # a text for each column
    numbers: Collection[int] = ()  # places of the columns that hold numbers, which are flush right


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first of these names, and how many there are more: a, b and 3 more."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


_ATTRIBUTE = r"(?m)^ +(\w+): (.+(?:\n {8}.+)*)"


def described(type_: type) -> dict[str, str]:
    """Return the descriptions under "Attributes:" in the docstring of a class."""
    attributes = (getdoc(type_) or "").partition("\nAttributes:\n")[2].partition("\n\n")[0]
    return {name: " ".join(text.split()) for name, text in re.findall(_ATTRIBUTE, attributes)}


def key_text(key: bytes, most: int = 60) -> str:
    """Return a key as people can read it: its text in quotes, else its bytes; of a long key, `most` bytes."""
    shown = key[:most]
    try:
        text = repr(shown.decode())
    except UnicodeDecodeError:
        text = f"0x{shown.hex()}"
    return text if len(key) <= most else f"{text} and {len(key) - most:,} bytes more"
