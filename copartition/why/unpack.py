r"""Take a line of a log apart: the texts that its wrappers hold, and when it was written.

Programs write a message; container runtimes, collectors and people wrap it: JSON inside JSON, CSV, syslog,
journald, colours, a time and a pod's name before it, a host's name behind it. A line becomes `Record`s, whose
texts are as the program wrote them. Fields of a record are told by what is in them, not by their names, as
each wrapper has names of its own.

Times are seconds since 1970, in UTC. A time whose date is unknown has the year 1970 (only the time of day is
known) or 1972 (day and month are known, too); see `moment_of`.
"""

import csv
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from copartition.kit.words import utc


class Record(NamedTuple):
    """The content of one line, or of one of several events that a line holds.

    Attributes:
        header: the text around a JSON object, such as syslog's or a pod's name; "" if there is none.
        texts: the strings of the record, each without escapes and colours, at least one.
        numbers: the numbers of the record with their keys, in which times since 1970 may stand.
    """

    header: str
    texts: tuple[str, ...]
    numbers: tuple[tuple[str, float], ...] = ()


MOST_DEPTH = 4
"""The wrappers inside each other that are opened: a runtime's, a collector's, an export's and a logger's."""

_COLOUR = re.compile(r"\x1b\[[0-9;:]*+[A-Za-z]|\\u001b\[[0-9;:]*+[A-Za-z]|\\x1b\[[0-9;:]*+[A-Za-z]")
"""A colour of a terminal: as it is, as JSON escapes it, and as Python does."""
_OBJECT = re.compile(r'[{\[]\s*+(?:\{\s*+)?"')
"""The beginning of a JSON object with a key, or of a list whose first item is such an object or a string."""
_QUOTED = re.compile(r'(?<==)"((?:[^"\\]++|\\.)*+)"')
"""A value of logfmt: key="value", with backslashes before quotes."""
_DECODER = json.JSONDecoder()


def unpack(raw: bytes) -> Iterator[Record]:
    r"""Yield the records of a line; bytes that are no UTF-8 are shown as escapes.

    >>> [record.texts for record in unpack(b'{"log":"{\\"message\\":\\"(Re-)joining group a\\"}"}\n')]
    [('(Re-)joining group a', 'message=(Re-)joining group a')]
    >>> [record.texts for record in unpack(b'"2025-08-19","i-1","(Re-)joining group ""a"" "')]
    [('2025-08-19', 'i-1', '(Re-)joining group "a" ')]
    """
    yield from _records(_COLOUR.sub("", raw.decode(errors="backslashreplace")).rstrip("\r\n"), "", MOST_DEPTH)


def _records(text: str, header: str, depth: int) -> Iterator[Record]:
    """Yield the records of a text; `header` is what stood around it, `depth` how many wrappers are opened."""
    # A text that begins with a quote is tried as CSV below: braces in it belong to one of its fields.
    if depth and (place := _OBJECT.search(text)) is not None and not text.startswith('"'):
        try:
            value, end = _DECODER.raw_decode(text, place.start())
        except (ValueError, RecursionError):
            pass  # a cut line, or braces of another language: it is read as text below
        else:
            around = f"{header} {text[: place.start()]} {text[end:]}".strip()
            for event in _events(value):
                yield from _of_event(event, around, depth - 1)
            return
    # CSV doubles quotes; a text with a backslash before a single one is of another kind, such as cut JSON.
    quoted = text.startswith('"') or ',"' in text
    if depth and quoted and ('\\"' not in text or '\\""' in text):
        try:
            (fields,) = csv.reader([text])
        except (csv.Error, ValueError):
            fields = []
        if len(fields) > 1:
            yield from _of_event(fields, header, depth - 1)
            return
    # A cut JSON object, logfmt and a pasted string of a program keep backslashes before their quotes.
    values = [_unescape(value) for value in _QUOTED.findall(text)] if '="' in text else []
    yield Record(header, (*values, _unescape(text)))


def _unescape(text: str) -> str:
    """Return a text without the backslashes before its quotes, and without escaped ends of lines."""
    return text.replace("\\n", " ").replace('\\"', '"') if "\\" in text else text


def _events(value: Any) -> Iterator[Any]:
    """Yield the events of a JSON value: the members of a list of objects, wherever it is; else the value."""
    if isinstance(value, list):
        for item in value:
            yield from _events(item)
        return
    lists = (
        [item for item in value.values() if isinstance(item, list) and item and isinstance(item[0], dict)]
        if isinstance(value, dict)
        else []
    )
    if not lists:
        yield value
    for events in lists:
        yield from _events(events)


def _of_event(event: Any, header: str, depth: int) -> Iterator[Record]:
    """Yield the record of one event; a string in it that is JSON itself is opened, too."""
    texts: list[str] = []
    numbers: list[tuple[str, float]] = []
    for key, value in _leaves(event, ""):
        if isinstance(value, str):
            texts.append(_COLOUR.sub("", value).rstrip("\r\n"))
        # True and False are integers for Python, and no times.
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers.append((key, value))
    packed = [text for text in texts if depth and _OBJECT.search(text)]
    plain = tuple(text for text in texts if text not in packed)
    # The other strings and numbers go along with each opened string: the time of the event is often one of
    # them.
    for text in packed:
        for record in _records(text, header, depth):
            yield Record(record.header, record.texts + plain, record.numbers + tuple(numbers))
    if not packed:
        yield Record(
            header, (*plain, pairs(event)) if isinstance(event, dict) else plain or ("",), tuple(numbers)
        )


def pairs(event: dict[str, Any]) -> str:
    """Return the plain fields of an event as one text, key=value, for messages that are fields themselves."""
    return " ".join(f"{key}={value}" for key, value in _leaves(event, "") if value is not None)


def _leaves(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of a JSON value that hold no others, each with its key."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, name)
    elif isinstance(value, list):
        # journald writes a message with colours as a list of its bytes.
        if len(value) > 8 and all(isinstance(item, int) and 0 <= item < 256 for item in value):
            yield key, bytes(value).decode(errors="backslashreplace")
        else:
            for item in value:
                yield from _leaves(item, key)
    else:
        # JSON may escape half of a pair of surrogates. No name of Kafka's has one, and no file can hold one,
        # so it stays an escape, as bytes do that are no UTF-8.
        yield key, value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


class Stamp(NamedTuple):
    """A time that a line has.

    Attributes:
        at: seconds since 1970.
        zoned: whether the line says in which zone it is; if not, it was taken for UTC.
        worth: how much of the time is known, 3 with a zone, 2 with a date, 1 without a year, 0 of a day only.
    """

    at: float
    zoned: bool
    worth: int


_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
"""The name of a month, short or whole."""
_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?"
"""A time of day, with or without a fraction of a second."""
_ZONE = r"(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w:]))?"
"""A zone, which may be missing."""
# Java names a coordinator by a number just below 2^31, "(id: 2147483646", which as seconds would be in 2038.
_STAMPS = re.compile(
    r"(?<![\d.,/-])(?<!\(id: )"
    rf"(?:(?P<epoch>[12]\d{{9}}(?:\.\d{{1,9}}(?![\d.])|(?=\s)|$)|[12](?:\d{{12}}|\d{{15}}|\d{{18}})(?!\d))"
    rf"|(?P<date>\d{{4}}[-/.]\d\d[-/.]\d\d|20\d{{6}})(?:[T_ ]|, ?| @ )(?P<time>\d\d:?\d\d:?\d\d)"
    rf"(?:[.,:](?P<part>\d{{1,9}}))?(?P<zone>{_ZONE})"
    rf"|(?P<words>(?:\d{{4}} )?{_MONTH}\.? {{1,2}}\d{{1,2}},?(?: \d{{4}},?)?(?: @)? {_CLOCK}(?: ?[AP]M)?"
    rf"(?: \d{{4}}\b)?{_ZONE}"
    rf"|\d{{1,2}}[ /-]{_MONTH}[ /-]\d{{4}}[ :,]+{_CLOCK}{_ZONE}"
    rf"|(?P<day>\d{{1,2}})(?P<between>[./])(?P<month>\d{{1,2}})[./]\d{{4}},? {_CLOCK}(?: ?[AP]M)?{_ZONE})"
    rf"|(?<!:)(?P<clock>{_CLOCK})(?![\d:]))"
)
_HEADER = 300
"""The characters of a line in which its time may stand; later ones are a message's own."""
_LARGEST_EPOCH = 1e20
"""Above every time since 1970, in nanoseconds, too."""
_TIMES = re.compile(r"time|stamp|\bts\b|date|epoch|instant|created|^@?t$", re.IGNORECASE)
"""Keys of numbers that are times."""


def stamp_of(record: Record, text: str, start: int, before: bytes) -> Stamp | None:
    """Return the time of a message: of all times in its record the one that tells most; None without one.

    A time may stand before or behind the message, around the JSON object, or be a field of its own.

    Args:
        record: the record.
        text: the text of the record that has the message.
        start: where the message begins in it.
        before: the line before, which counts if it begins with a time, and if the record has none.
    """
    found = [*_stamps(text[:start][:_HEADER]), *_stamps(record.header[:_HEADER])]
    # A field that is a time holds nothing else, so it is short. A time within a longer text may be that of
    # something else.
    fields = (other for other in record.texts if other is not text and len(other) < 40)
    found += filter(None, map(_whole_stamp, fields))
    # No time has so many digits, and Python writes no integer of hundreds of digits as a float.
    small = ((key, number) for key, number in record.numbers if abs(number) < _LARGEST_EPOCH)
    numbers = {key: stamp for key, number in small if (stamp := _epoch(f"{number:.6f}"))}
    # If several numbers could be times, only their keys tell; a collector's own time is after the event's.
    timed = [stamp for key, stamp in numbers.items() if len(numbers) == 1 or _TIMES.search(key)]
    found += [min(timed)] if timed else []
    if not any(stamp.worth for stamp in found):
        match = _STAMPS.match(before[:_HEADER].decode(errors="replace").lstrip(" \"'>*[("))
        found += [stamp] if match and (stamp := _stamp(match)) and (stamp.worth or not found) else []
    # The time that tells most; of several such ones, one that has a fraction of a second.
    return max(found, key=lambda stamp: (stamp.worth, stamp.at % 1 > 0), default=None)


def _stamps(text: str) -> list[Stamp]:
    """Return the times in a text, in their order."""
    return [stamp for match in _STAMPS.finditer(text) if (stamp := _stamp(match)) is not None]


def _whole_stamp(text: str) -> Stamp | None:
    """Return the time that a text is, without anything else; None if it is no time."""
    match = _STAMPS.fullmatch(text.strip().strip("[]"))
    return None if match is None else _stamp(match)


def _stamp(match: re.Match[str]) -> Stamp | None:
    """Return the time of a match of `_STAMPS`; None if there is no such time, as on the 31st of February."""
    if match["epoch"]:
        return _epoch(match["epoch"])
    if match["date"]:
        digits = re.sub(r"\D", "", match["date"] + match["time"])
        zone = match["zone"].strip()
        whole = _iso(digits, zone.replace("UTC", "+00:00").replace("GMT", "+00:00"))
        return (
            None
            if whole is None
            else Stamp(whole + float(f"0.{match['part'] or 0}"), bool(zone), 3 if zone else 2)
        )
    if match["clock"]:
        hours, minutes, seconds = match["clock"].replace(",", ".").split(":")
        return Stamp(3600 * int(hours) + 60 * int(minutes) + float(seconds), True, 0)
    if match["between"] == "/" and int(match["day"]) <= 12 and int(match["month"]) <= 12:
        return None  # 05/06/2026 is a day in May or in June: no time is better than a wrong one
    return _stamp_in_words(match["words"], match["between"] == ".")


def _epoch(digits: str) -> Stamp | None:
    """Return the time of a count of seconds, or of thousandths, millionths or billionths, since 1970.

    None if that is not between 2001 and 2100.
    """
    whole, _, part = digits.partition(".")
    # From September 2001 on, seconds have ten digits and each smaller unit has three more, so that the number
    # of digits tells the unit.
    scale = {10: 1, 13: 1_000, 16: 1_000_000, 19: 1_000_000_000}.get(len(whole))
    if scale is None:
        return None
    at = int(whole) / scale + (float(f"0.{part or 0}") if scale == 1 else 0.0)
    return Stamp(at, True, 3) if 1e9 <= at < 4.1e9 else None


@lru_cache(maxsize=4096)
def _iso(digits: str, zone: str) -> float | None:
    """Return the time of 14 digits of date and time, and a zone that may be empty."""
    try:
        return datetime.fromisoformat(f"{digits[:8]}T{digits[8:]}{zone or 'Z'}").timestamp()
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _stamp_in_words(text: str, day_first: bool) -> Stamp | None:
    """Return the time of a text that names the month, or has its numbers in an order of its own."""
    from dateutil import parser  # noqa: PLC0415 - few logs have such times

    # dateutil takes neither Kibana's sign nor the colon of web servers between date and time.
    plain = re.sub(
        r"(?<=\d{4}):", " ", text.replace("@", " ").replace("/", " " if text[3:4].isalpha() else "/")
    )
    # 1972 stands for an unknown year: it is a leap year, so that 29 February is a day of it.
    try:
        at = parser.parse(plain, default=datetime(1972, 1, 1), dayfirst=day_first)  # noqa: DTZ001 - set below
        zoned = at.tzinfo is not None
        # A zone of more than a day is refused only here.
        seconds = (at if zoned else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    year = re.search(r"\b(?:19|20)\d\d\b", text) is not None
    return Stamp(seconds, zoned, (3 if zoned else 2) if year else 1)


DATED = datetime(1973, 1, 1, tzinfo=UTC).timestamp()
"""Earlier times have no date, or no year."""


def is_dated(at: float) -> bool:
    """Return whether the date of a time is known, with its year."""
    return at >= DATED


def moment_of(at: float | None) -> str:
    """Return a time as text, no more of it than is known; "" if nothing is.

    >>> moment_of(1_740_787_201.5), moment_of(66_359_374.0), moment_of(41_375.0), moment_of(None)
    ('2025-03-01 00:00:01', '02-08 01:09:34', '11:29:35', '')
    """
    if at is None:
        return ""
    if is_dated(at):
        return utc(at, lambda moment: f"{moment:%Y-%m-%d %H:%M:%S}")
    return utc(at, lambda moment: f"{moment:%m-%d %H:%M:%S}" if moment.year == 1972 else f"{moment:%H:%M:%S}")
