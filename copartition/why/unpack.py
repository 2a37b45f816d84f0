r"""Take the texts of a log's line out of its wrappers, and find the time when it was written.

A program writes a message. Container runtimes, collectors and people wrap it, in JSON inside JSON, CSV,
syslog, journald or colours, with a time and a pod's name before it, or a host's name behind it. A line
becomes one or more `Record`s, whose texts are as the program wrote them. A field of a record is recognized by
its content, not by its name, because each wrapper uses other names.

Times are seconds since 1970, in UTC. If only the time of day is known, a time has the date 1 January 1970. If
only the year is unknown, it has the year 1972. See `moment_of`.
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
    """Holds the content of a line, or of one event of a line that has several.

    Attributes:
        header: the text around a JSON object, such as syslog's or a pod's name; "" if there is none.
        texts: the strings of the record, each without escapes and colours, at least one.
        numbers: the numbers of the record with their keys, in which times since 1970 may stand.
    """

    header: str
    texts: tuple[str, ...]
    numbers: tuple[tuple[str, float], ...] = ()


MOST_DEPTH = 4
"""The most wrappers inside each other that are opened, such as a runtime's, a collector's and a logger's."""

_COLOUR = re.compile(r"\x1b\[[0-9;:]*+[A-Za-z]|\\u001b\[[0-9;:]*+[A-Za-z]|\\x1b\[[0-9;:]*+[A-Za-z]")
"""Pattern of a terminal's colour: the control sequence itself, or its escaped form in JSON or Python."""
_OBJECT = re.compile(r'[{\[]\s*+(?:\{\s*+)?"')
"""Pattern of the beginning of a JSON object with a key, or of a list of such objects or of strings."""
_QUOTED = re.compile(r'(?<==)"((?:[^"\\]++|\\.)*+)"')
"""Pattern of a value in logfmt: key="value", with backslashes before quotes inside the value."""
_DECODER = json.JSONDecoder()


def unpack(raw: bytes) -> Iterator[Record]:
    r"""Yield the records of a line; bytes that are not UTF-8 become escapes.

    >>> [record.texts for record in unpack(b'{"log":"{\\"message\\":\\"(Re-)joining group a\\"}"}\n')]
    [('(Re-)joining group a', 'message=(Re-)joining group a')]
    >>> [record.texts for record in unpack(b'"2025-08-19","i-1","(Re-)joining group ""a"" "')]
    [('2025-08-19', 'i-1', '(Re-)joining group "a" ')]
    """
    yield from _records(_COLOUR.sub("", raw.decode(errors="backslashreplace")).rstrip("\r\n"), "", MOST_DEPTH)


def _records(text: str, header: str, depth: int) -> Iterator[Record]:
    """Yield the records of a text.

    Args:
        text: the text.
        header: the text around it in the wrappers that are opened already.
        depth: how many more wrappers may be opened.
    """
    # A text that begins with a quote is tried as CSV below, because its braces belong to one of its fields.
    if depth and (place := _OBJECT.search(text)) is not None and not text.startswith('"'):
        try:
            value, end = _DECODER.raw_decode(text, place.start())
        except (ValueError, RecursionError):
            pass  # a cut line, or braces that are not JSON: the line is read as text below
        else:
            around = f"{header} {text[: place.start()]} {text[end:]}".strip()
            for event in _events(value):
                yield from _of_event(event, around, depth - 1)
            return
    # CSV doubles a quote inside a field. A text with a backslash before a quote that is not doubled has
    # another format, such as cut JSON.
    quoted = text.startswith('"') or ',"' in text
    if depth and quoted and ('\\"' not in text or '\\""' in text):
        try:
            (fields,) = csv.reader([text])
        except (csv.Error, ValueError):
            fields = []
        if len(fields) > 1:
            yield from _of_event(fields, header, depth - 1)
            return
    # A cut JSON object, logfmt and a string pasted from a program still have backslashes before quotes.
    values = [_unescape(value) for value in _QUOTED.findall(text)] if '="' in text else []
    yield Record(header, (*values, _unescape(text)))


def _unescape(text: str) -> str:
    """Return a text without backslashes before its quotes, and with blanks for escaped line ends."""
    return text.replace("\\n", " ").replace('\\"', '"') if "\\" in text else text


def _events(value: Any) -> Iterator[Any]:
    """Yield the events of a JSON value: the objects of each list of objects in it, or else the value."""
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
    """Yield the records of one event; a string in it that contains JSON is opened, too.

    Args:
        event: a JSON object, a list of strings (a row of CSV), or another value.
        header: the text around it.
        depth: how many more wrappers may be opened.
    """
    texts: list[str] = []
    numbers: list[tuple[str, float]] = []
    for key, value in _leaves(event, ""):
        if isinstance(value, str):
            texts.append(_COLOUR.sub("", value).rstrip("\r\n"))
        # True and False are integers in Python, but not times.
        elif isinstance(value, int | float) and not isinstance(value, bool):
            numbers.append((key, value))
    packed = [text for text in texts if depth and _OBJECT.search(text)]
    plain = tuple(text for text in texts if text not in packed)
    # Each record of an opened string gets the event's other strings and numbers as well, because the time of
    # the event is often one of them.
    for text in packed:
        for record in _records(text, header, depth):
            yield Record(record.header, record.texts + plain, record.numbers + tuple(numbers))
    if not packed:
        yield Record(
            header, (*plain, pairs(event)) if isinstance(event, dict) else plain or ("",), tuple(numbers)
        )


def pairs(event: dict[str, Any]) -> str:
    """Return the fields of an event as one text of "key=value" words, for messages that consist of fields."""
    return " ".join(f"{key}={value}" for key, value in _leaves(event, "") if value is not None)


def _leaves(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield (key, value) of each value inside a JSON value that is neither a list nor an object."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, name)
    elif isinstance(value, list):
        # journald writes a message that has colours as a list of its bytes.
        if len(value) > 8 and all(isinstance(item, int) and 0 <= item < 256 for item in value):
            yield key, bytes(value).decode(errors="backslashreplace")
        else:
            for item in value:
                yield from _leaves(item, key)
    else:
        # A JSON escape may be half of a surrogate pair, which cannot be written to a file. It stays as it is,
        # like bytes that are not UTF-8.
        yield key, value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


class Stamp(NamedTuple):
    """Holds a time that was found in a line.

    Attributes:
        at: seconds since 1970.
        zoned: whether the line names the time zone; if not, the time is taken as UTC.
        worth: how much of the time is known: 3 with a zone, 2 with a date, 1 with a date without its year, 0
            with only the time of day.
    """

    at: float
    zoned: bool
    worth: int


_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
"""Pattern of the name of a month, short or whole."""
_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?"
"""Pattern of a time of day, with or without a fraction of a second."""
_ZONE = r"(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w:]))?"
"""Pattern of a time zone, which may be missing."""
# Java writes a coordinator's id as a number just below 2^31, "(id: 2147483646". The pattern excludes it,
# because as seconds since 1970 it would be a time in 2038.
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
"""Number of characters at a text's start in which its time is searched; later times are of the message."""
_LARGEST_EPOCH = 1e20
"""A number above every time since 1970 in nanoseconds."""
_TIMES = re.compile(r"time|stamp|\bts\b|date|epoch|instant|created|^@?t$", re.IGNORECASE)
"""Pattern of keys whose numbers are times."""


def stamp_of(record: Record, text: str, start: int, before: bytes) -> Stamp | None:
    """Return the time of a message: the most complete of all times in its record; None if it has none.

    A time may stand before the message, around the JSON object, or in a field of its own.

    Args:
        record: the record.
        text: the text of the record that has the message.
        start: the index in the text at which the message begins.
        before: the line before. If that line begins with a time, that time counts, too, unless the record has
            a time with a date.
    """
    found = [*_stamps(text[:start][:_HEADER]), *_stamps(record.header[:_HEADER])]
    # Only a short field can be a time and nothing else. A time within a longer text may be the time of
    # something else.
    fields = (other for other in record.texts if other is not text and len(other) < 40)
    found += filter(None, map(_whole_stamp, fields))
    # Larger numbers are not times, and Python cannot format an integer of hundreds of digits as a float.
    small = ((key, number) for key, number in record.numbers if abs(number) < _LARGEST_EPOCH)
    numbers = {key: stamp for key, number in small if (stamp := _epoch(f"{number:.6f}"))}
    # If several numbers could be times, only those count whose keys say so. Of these the earliest is the time
    # of the event, because a collector adds its own time later.
    timed = [stamp for key, stamp in numbers.items() if len(numbers) == 1 or _TIMES.search(key)]
    found += [min(timed)] if timed else []
    if not any(stamp.worth for stamp in found):
        match = _STAMPS.match(before[:_HEADER].decode(errors="replace").lstrip(" \"'>*[("))
        found += [stamp] if match and (stamp := _stamp(match)) and (stamp.worth or not found) else []
    # Among equally complete times, a time with a fraction of a second is preferred, because it is more exact.
    return max(found, key=lambda stamp: (stamp.worth, stamp.at % 1 > 0), default=None)


def _stamps(text: str) -> list[Stamp]:
    """Return the times in a text, in order."""
    return [stamp for match in _STAMPS.finditer(text) if (stamp := _stamp(match)) is not None]


def _whole_stamp(text: str) -> Stamp | None:
    """Return the time of a text that consists of a time only; None for any other text."""
    match = _STAMPS.fullmatch(text.strip().strip("[]"))
    return None if match is None else _stamp(match)


def _stamp(match: re.Match[str]) -> Stamp | None:
    """Return the time of a match of `_STAMPS`; None if the time is ambiguous or impossible (31 February)."""
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
        return None  # 05/06/2026 may be in May or in June: no time is better than a wrong one
    return _stamp_in_words(match["words"], match["between"] == ".")


def _epoch(digits: str) -> Stamp | None:
    """Return the time of a number of seconds, ms, µs or ns since 1970; None if it is not in 2001 to 2099.

    The number of digits tells the unit.
    """
    whole, _, part = digits.partition(".")
    # From September 2001 on, seconds since 1970 have ten digits, and each smaller unit has three more.
    scale = {10: 1, 13: 1_000, 16: 1_000_000, 19: 1_000_000_000}.get(len(whole))
    if scale is None:
        return None
    at = int(whole) / scale + (float(f"0.{part or 0}") if scale == 1 else 0.0)
    return Stamp(at, True, 3) if 1e9 <= at < 4.1e9 else None


@lru_cache(maxsize=4096)
def _iso(digits: str, zone: str) -> float | None:
    """Return the time of 14 digits (YYYYMMDDhhmmss) in a zone, "" for UTC; None if there is no such time."""
    try:
        return datetime.fromisoformat(f"{digits[:8]}T{digits[8:]}{zone or 'Z'}").timestamp()
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _stamp_in_words(text: str, day_first: bool) -> Stamp | None:
    """Return the time of a text that dateutil can read, such as one with a month's name; None if it cannot.

    Args:
        text: a text that matches `words` of `_STAMPS`.
        day_first: whether the day comes before the month if both are numbers.
    """
    from dateutil import parser  # noqa: PLC0415 - few logs have such times

    # dateutil reads neither Kibana's "@" between date and time nor the colon of web servers there.
    plain = re.sub(
        r"(?<=\d{4}):", " ", text.replace("@", " ").replace("/", " " if text[3:4].isalpha() else "/")
    )
    # 1972 stands for an unknown year. It is a leap year, so 29 February exists.
    try:
        at = parser.parse(plain, default=datetime(1972, 1, 1), dayfirst=day_first)  # noqa: DTZ001 - set below
        zoned = at.tzinfo is not None
        # A zone of more than a day raises its error only here, so this call is inside the `try`.
        seconds = (at if zoned else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    year = re.search(r"\b(?:19|20)\d\d\b", text) is not None
    return Stamp(seconds, zoned, (3 if zoned else 2) if year else 1)


DATED = datetime(1973, 1, 1, tzinfo=UTC).timestamp()
"""Times before this one stand for times whose date or year is unknown."""


def is_dated(at: float) -> bool:
    """Return whether a time (seconds since 1970) has a known date and year."""
    return at >= DATED


def moment_of(at: float | None) -> str:
    """Return a time as text in UTC, without the date or year if these are unknown; "" for None.

    >>> moment_of(1_740_787_201.5), moment_of(66_359_374.0), moment_of(41_375.0), moment_of(None)
    ('2025-03-01 00:00:01', '02-08 01:09:34', '11:29:35', '')
    """
    if at is None:
        return ""
    if is_dated(at):
        return utc(at, lambda moment: f"{moment:%Y-%m-%d %H:%M:%S}")
    return utc(at, lambda moment: f"{moment:%m-%d %H:%M:%S}" if moment.year == 1972 else f"{moment:%H:%M:%S}")
