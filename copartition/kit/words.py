"""Turn names, partitions, times, counts and tables into words for people, safe to show."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from inspect import getdoc
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assignors.partition_list import PartitionList


def visible(text: str) -> str:
    r"""Return the text with every invisible character written as Python would write it.

    Examples are \x1b, \u202e and \udc80: control characters, marks without width, marks of direction, unusual
    blanks, and bytes that were not UTF-8. Other text is returned unchanged, with its backslashes. JSON
    reports have the true value.

    >>> print(visible("orders\x1b[31m"))
    orders\x1b[31m
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def visible_lines(text: str) -> str:
    """Return a text of several lines with all invisible characters escaped except line breaks and tabs."""
    if text.isprintable():
        return text
    return "".join(part if part in {"\n", "\t"} else visible(part) for part in re.split(r"([\n\t])", text))


def utc(seconds: float, write: Callable[[datetime], str]) -> str:
    """Return the time `seconds` after 1970 in UTC, as `write` formats it.

    Clients and brokers may send any 64-bit number as a time. A time outside the calendar (before the year 1,
    after 9999, NaN) is shown as its seconds.

    >>> utc(0, datetime.isoformat), utc(1e15, datetime.isoformat)
    ('1970-01-01T00:00:00+00:00', '1000000000000000 s after 1970')
    """
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    # The kind of error depends on the platform's C library.
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.0f} s after 1970"
    return write(moment)


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
"""Sign -> comparison. Longer signs come first, so that a pattern made of them reads "<=" as one sign."""

COMPARISON = "|".join(COMPARISONS)
"""A regular expression that matches each of the signs."""

CUT = ".."
"""The mark in place of the part of a name that is not shown."""

_ID = r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""A UUID at the end of a member id; the group of the expression is its first eight digits."""

_WORTH_CUTTING = 10
"""The least length of a prefix that is cut. To name a shorter one in a line of its own would save no room."""


def shared_start(names: Collection[str]) -> str:
    """Return the longest text with which all names begin; there must be at least one name."""
    # All names sort between the first and the last, so they share everything that these two share.
    first, last = min(names), max(names)
    differs = (place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1])
    return first[: next(differs, len(first))]


def common_prefix(names: Collection[str]) -> str:
    """Return a start that all names share, up to the end of a word.

    It is "" if there are fewer than three names, or if the start is shorter than `_WORTH_CUTTING`.

    >>> common_prefix(["billing-worker-1", "billing-worker-2", "billing-worker-3"])
    'billing-worker-'
    """
    if len(names) < 3:
        return ""
    prefix = shared_start(names)
    if prefix in names:  # without the prefix, nothing would be left of that name
        prefix = prefix[:-1]
    words = re.match(r".*[-._:/@]", prefix, re.DOTALL)
    return words[0] if words is not None and len(words[0]) >= _WORTH_CUTTING else ""


def without_ids(names: dict[str, str]) -> dict[str, str]:
    """Return the names by the same keys, with each UUID at the end cut to its first eight digits.

    A member id is a client id and a UUID. If two different names would become equal, all stay as they are.
    """
    short = {key: re.sub(_ID, rf"\1{CUT}", name) for key, name in names.items()}
    # Two members of one client may share the eight digits, and would look like one member.
    return short if len(set(short.values())) == len(set(names.values())) else names


def natural(name: str) -> list[tuple[int, str]]:
    """Return a key for sorting names as people count: "worker-9" before "worker-10".

    Numbers are compared by their digits, without leading zeros. They may have any length, since none is
    converted.

    >>> sorted(["worker-10", "worker-9"], key=natural)
    ['worker-9', 'worker-10']
    """
    parts = re.split(r"([0-9]+)", name)
    parts[1::2] = [number.lstrip("0") for number in parts[1::2]]
    return [(len(part) if place % 2 else -1, part) for place, part in enumerate(parts)]


def number_ranges(numbers: NDArray[np.integer]) -> str:
    """Return ascending numbers as text, with runs of consecutive numbers as ranges.

    >>> import numpy as np
    >>> number_ranges(np.array([0, 1, 2, 3, 4, 7]))
    '0-4,7'
    """
    import numpy as np  # noqa: PLC0415 - unused by --help

    if len(numbers) == 0:
        return ""
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    firsts = numbers[np.concatenate([[0], breaks + 1])].tolist()
    lasts = numbers[np.concatenate([breaks, [len(numbers) - 1]])].tolist()
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in zip(firsts, lasts, strict=True)
    )


def partition_ranges(partitions: PartitionList) -> str:
    """Return partitions, sorted by topic and number, as text: "orders:15-19 pay:2"."""
    import numpy as np  # noqa: PLC0415 - unused by --help

    topics = np.unique(partitions.topics)
    return " ".join(
        f"{partitions.names[topic]}:{number_ranges(partitions.partitions[partitions.topics == topic])}"
        for topic in topics.tolist()
    )


def duration(milliseconds: float) -> str:
    """Return milliseconds in words, in a suitable unit; infinity is "never".

    >>> [duration(850), duration(2_900), duration(234_000), duration(7_500_000)]
    ['850 ms', '2.9 s', '3 min 54 s', '2 h 05 min']
    """
    if milliseconds == math.inf:
        return "never"
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    # From 59.95 s on, one decimal would show "60.0 s".
    if milliseconds < 59_950:
        return f"{milliseconds / 1_000:.1f} s"
    seconds = round(milliseconds / 1_000)
    if seconds < 3_600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, in the singular for 1.

    >>> [count(1, "partition"), count(2_000, "partition"), count(2, "entry", "entries")]
    ['1 partition', '2,000 partitions', '2 entries']
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def list_names(names: Sequence[str], most: int | None = None) -> str:
    """Return the names as an enumeration; if there are more than `most`, the first ones and how many follow.

    >>> [list_names(["a", "b", "c"]), list_names(["a", "b", "c"], 2)]
    ['a, b and c', 'a, b and 1 more']
    """
    most = len(names) if most is None else most
    if not 1 < len(names) <= most:
        return first_of(names, most)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def clock(milliseconds: float) -> str:
    """Return a moment, in milliseconds since the start, in words that are exact to the millisecond.

    >>> [clock(0), clock(850), clock(100_000), clock(12_926), clock(7_500_000)]
    ['0 s', '850 ms', '1 min 40 s', '12.926 s', '2 h 5 min']
    """
    left = round(milliseconds)
    if 0 < left < 1_000:
        return f"{left} ms"
    minutes, left = divmod(left, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{left // 1_000}.{left % 1_000:03d}".rstrip("0").rstrip(".")
    parts = ((f"{hours:,}", "h"), (f"{minutes}", "min"), (seconds, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number != "0") or "0 s"


def number(value: float | None) -> str:
    """Return a number with thousands separators; None is "unknown"."""
    return "unknown" if value is None else f"{value:,}"


class Table(NamedTuple):
    """A table of a report, for text, Markdown and pages."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]  # a text for each column
    numbers: Collection[int] = ()  # indexes of the columns with numbers, which are aligned right


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first `most` names, and how many more there are.

    >>> first_of(["a", "b", "c", "d"], 2)
    'a, b and 2 more'
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


_ATTRIBUTE = r"(?m)^ +(\w+): (.+(?:\n {8}.+)*)"
_SECTION = re.compile(r"^(?:Args|Attributes|Returns|Yields|Raises):$|^>>> ", re.MULTILINE)


def attribute_texts(type_: type) -> dict[str, str]:
    """Return the descriptions under "Attributes:" in the docstring of a class, as a schema shows them."""
    attributes = (getdoc(type_) or "").partition("\nAttributes:\n")[2].partition("\n\n")[0]
    return {name: _in_json(text) for name, text in re.findall(_ATTRIBUTE, attributes)}


def type_text(type_: type) -> str:
    """Return the docstring of a class up to its first section or example, as a schema shows it."""
    return _in_json(_SECTION.split(getdoc(type_) or "", maxsplit=1)[0])


def _in_json(text: str) -> str:
    """Return a part of a docstring as one line, with JSON's null for None."""
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))


def key_text(key: bytes, most: int = 60) -> str:
    """Return a key as people can read it: its text in quotes if it is UTF-8, else its bytes in hex.

    If the key is longer than `most` bytes, only the first `most` are shown, and how many follow.
    """
    shown = key[:most]
    try:
        text = repr(shown.decode())
    except UnicodeDecodeError:
        text = f"0x{shown.hex()}"
    return text if len(key) <= most else f"{text} and {len(key) - most:,} bytes more"
