"""Compile the messages of `patterns.toml` and find them in texts.

A message is a regular expression that begins with plain words. It is tried only where these words stand, and
each part of it takes what it takes for good, so that the time for a text grows with its length and no faster,
whatever is in it.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from partitioning.kit.packages import read_toml

MOST_PLACES = 8
"""The places of a text in which a message is tried: a text may repeat its first words for ever."""
ANYWHERE = "{...}"
"""The beginning of a message that may stand behind other words of the same program."""
_TOKEN = re.compile(r"\{(?P<field>\w*+)\}|(?P<begin>\{\?)|(?P<end>\?\})")
"""A field, {name} or {} for one that is not kept, or one end of a part that may be missing: {? and ?}."""
_MEMBER = re.compile(r"\w++\(memberId=([^,)]++)")
"""A member as Java and Scala print it, with all that they know of it."""
_LOGGER = re.compile(r" \((?:kafka|org\.apache)\.[^()\s]++\)")
"""The logger's name as log4j's usual layout writes it behind a message."""


_ENDS = ".,;:)]}>\"'*`"
"""Signs that a wrapper, a sentence or Markdown puts behind the last word of a message."""


class Message(NamedTuple):
    """A message of a program.

    Attributes:
        start: the words with which it begins.
        anywhere: whether other words may stand before it.
        kind: the name of what it says, a `Kind` of `evidence.py`.
        pattern: the whole message; its named groups are the fields.
    """

    start: str
    anywhere: bool
    kind: str
    pattern: re.Pattern[str]


class Match(NamedTuple):
    """A message that a text has: what it says, where it begins, and its fields."""

    kind: str
    start: int
    fields: Mapping[str, str | None]


@cache
def messages() -> dict[str, tuple[Message, ...]]:
    """Return the messages of each program, in the order in which they are tried."""
    tables = read_toml(__package__, "patterns.toml")
    fields = tables.pop("fields")
    # These two tables hold no messages, but words that tell lines of groups that are not read.
    del tables["strangers"], tables["unread"]
    return {
        program: tuple(
            _message(row["kind"], template, fields) for row in rows for template in row["messages"]
        )
        for program, rows in tables.items()
    }


@cache
def _unread() -> dict[str, re.Pattern[str]]:
    """Return what tells lines that are not read: the patterns of [unread], those of [strangers] by name."""
    tables = read_toml(__package__, "patterns.toml")
    unread = {name: re.compile(words, re.IGNORECASE) for name, words in tables["unread"].items()}
    return unread | {name: re.compile(words) for name, words in tables["strangers"].items()}


def stranger(text: str) -> str | None:
    """Return the client whose words a text has, of those whose logs are not read; None if it has none."""
    patterns = [(name, words) for name, words in _unread().items() if name not in {"concerns", "harmless"}]
    return next((name for name, words in patterns if words.search(text)), None)


def concerns_a_group(text: str) -> bool:
    """Return whether a text without a message speaks of a group that changes."""
    lowered = text.lower()
    # Plain searches come first, as they take a tenth of the pattern's time.
    if "group" not in lowered or not any(part in lowered for part in _CONCERNING):
        return False
    patterns = _unread()
    return bool(patterns["concerns"].search(text)) and not patterns["harmless"].search(text)


_CONCERNING = ("balanc", "join", "failed", "fenced", "expired", "left", "leav", "generation", "evict")
"""Parts of words, one of them in each text that the pattern `concerns` of `patterns.toml` matches."""


def _message(kind: str, template: str, fields: Mapping[str, str]) -> Message:
    """Return a message of the file, compiled.

    Raises:
        ValueError: it does not begin with plain words, by which it could be found quickly.
    """
    plain = template.removeprefix(ANYWHERE)
    start = _TOKEN.split(plain, maxsplit=1)[0]
    if not start.strip():
        raise ValueError(f"a message begins with plain words: {template}")
    return Message(start, template.startswith(ANYWHERE), kind, re.compile("".join(_pieces(plain, fields))))


def _pieces(template: str, fields: Mapping[str, str]) -> Iterator[str]:
    """Yield the regular expressions of a message's parts.

    A field ends where the words that may follow it begin: the next plain words, and those of each part before
    them that may be missing. It never gives back what it took.
    """
    place = 0
    for token in _TOKEN.finditer(template):
        yield re.escape(template[place : token.start()])
        place = token.end()
        if not token["field"] and token[0] != "{}":
            yield "(?:" if token["begin"] else ")?+"
            continue
        name = token["field"]
        ends = "|".join(re.escape(words) for words in _following(template, place))
        # A text that nothing follows goes on to the end; any other field of the file is the same anywhere.
        if name in fields and not (name == "text" and ends):
            yield fields[name]
        else:
            group = f"?P<{name}>" if name else "?:"
            yield rf"(?>({group}.{'+' if name else '*'}?)(?={ends}))" if ends else rf"({group}\S++)"
    yield re.escape(template[place:])


def _following(template: str, place: int) -> Iterator[str]:
    """Yield the plain words that may follow a place of a message.

    First come those of the parts that may be missing, then the words that are always there, if there are any.
    """
    while place < len(template):
        token = _TOKEN.search(template, place)
        words = template[place : token.start() if token else len(template)]
        if words:
            yield words
            return
        assert token is not None  # there are words, or a token is here
        place = token.end()
        if token["begin"]:
            inside = _TOKEN.search(template, place)
            assert inside is not None  # its own end, at least
            yield template[place : inside.start()]
            place = template.index("?}", place) + 2
        elif not token["end"]:
            return


def find(program: str, text: str, place: int | None = None) -> Match | None:
    """Return the first message of a program that is in a text; None if none is.

    Args:
        program: its name in `patterns.toml`.
        text: the text.
        place: the index at which a message must begin, unless it may stand anywhere; None: it may begin
            behind any other word.
    """
    for start, anywhere, kind, pattern in messages()[program]:
        # A plain search finds the first words, so that the pattern is tried only where a message can begin.
        # At a known place there is nothing to search: most lines of a client are none of these messages.
        known = place is not None and not anywhere
        at = text.find(start, place or 0) if not known or text.startswith(start, place) else -1
        for _ in range(MOST_PLACES):
            if at < 0 or (place is not None and at > place and not anywhere):
                break
            # A message that begins in the middle of a word is none: "(Re-)joining" in "pre(Re-)joining".
            if (anywhere or not at or not text[at - 1].isalnum()) and (match := pattern.match(text, at)):
                return Match(
                    kind, at, {name: _tidy(name, value) for name, value in match.groupdict().items()}
                )
            at = text.find(start, at + 1)
    return None


def _tidy(name: str, value: str | None) -> str | None:
    """Return a field without what stands behind it, such as a logger's name or a full stop."""
    if value is None:
        return None
    if name == "member":
        return printed[1] if (printed := _MEMBER.match(value)) else value.rstrip(_ENDS)
    if name == "group":
        return value.rstrip(_ENDS)
    return _LOGGER.split(value, maxsplit=1)[0].strip() if name == "text" else value
