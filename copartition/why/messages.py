"""Compile the messages of `patterns.toml` and find them in texts.

A message becomes a regular expression that begins with plain words. It is tried only at places where a text
has these words. All its parts are atomic: they never give back characters that they have matched. So the time
for a text grows no faster than its length, even for a text that was made to be slow.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from partitioning.kit.packages import read_toml

MOST_PLACES = 8
"""The most places of a text at which one message is tried; a text may repeat its first words very often."""
ANYWHERE = "{...}"
"""A template that begins with this mark is of a message that may stand behind other words of its program."""
_TOKEN = re.compile(r"\{(?P<field>\w*+)\}|(?P<begin>\{\?)|(?P<end>\?\})")
"""A token of a template: {name} is a field, {} a field that is dropped, {? and ?} enclose optional words."""
_MEMBER = re.compile(r"\w++\(memberId=([^,)]++)")
"""Pattern of a member object with its attributes, as Java and Scala print it; the member id is captured."""
_LOGGER = re.compile(r" \((?:kafka|org\.apache)\.[^()\s]++\)")
"""Pattern of a logger's name, which log4j's usual layout writes behind a message."""


_ENDS = ".,;:)]}>\"'*`"
"""Characters that a wrapper, a sentence or Markdown may put behind the last word of a message."""


class Message(NamedTuple):
    """Holds a compiled message of a program.

    Attributes:
        start: the plain words with which it begins.
        anywhere: whether other words may stand before it.
        kind: the name of the `Kind` (in `statements.py`) that it states.
        pattern: the regular expression of the whole message; its named groups are the fields.
    """

    start: str
    anywhere: bool
    kind: str
    pattern: re.Pattern[str]


class Match(NamedTuple):
    """Holds a message found in a text: the name of its `Kind`, the index where it begins, and its fields."""

    kind: str
    start: int
    fields: Mapping[str, str | None]


@cache
def messages() -> dict[str, tuple[Message, ...]]:
    """Return the messages of each program, by the program's name, in the order in which they are tried."""
    tables = read_toml(__package__, "patterns.toml")
    fields = tables.pop("fields")
    # These two tables have no messages. They have words of lines about groups that are not understood.
    del tables["strangers"], tables["unread"]
    return {
        program: tuple(
            _message(row["kind"], template, fields) for row in rows for template in row["messages"]
        )
        for program, rows in tables.items()
    }


@cache
def _unread() -> dict[str, re.Pattern[str]]:
    """Return the patterns of the tables [unread] and [strangers], by name."""
    tables = read_toml(__package__, "patterns.toml")
    unread = {name: re.compile(words, re.IGNORECASE) for name, words in tables["unread"].items()}
    return unread | {name: re.compile(words) for name, words in tables["strangers"].items()}


def stranger(text: str) -> str | None:
    """Return the client that wrote a text, if the logs of that client are not read here; None otherwise."""
    patterns = [(name, words) for name, words in _unread().items() if name not in {"concerns", "harmless"}]
    return next((name for name, words in patterns if words.search(text)), None)


def concerns_a_group(text: str) -> bool:
    """Return whether a text, in which no message was found, is about a change of a group."""
    lowered = text.lower()
    # Plain searches come first, because they take a tenth of the pattern's time.
    if "group" not in lowered or not any(part in lowered for part in _CONCERNING):
        return False
    patterns = _unread()
    return bool(patterns["concerns"].search(text)) and not patterns["harmless"].search(text)


_CONCERNING = ("balanc", "join", "failed", "fenced", "expired", "left", "leav", "generation", "evict")
"""Parts of words, in small letters. A text that the pattern `concerns` matches has at least one of them."""


def _message(kind: str, template: str, fields: Mapping[str, str]) -> Message:
    """Return a compiled message.

    Args:
        kind: the name of its `Kind`.
        template: the message as `patterns.toml` has it.
        fields: name of a field -> its regular expression.

    Raises:
        ValueError: the template does not begin with plain words, which are needed to find it fast.
    """
    plain = template.removeprefix(ANYWHERE)
    start = _TOKEN.split(plain, maxsplit=1)[0]
    if not start.strip():
        raise ValueError(f"a message begins with plain words: {template}")
    return Message(start, template.startswith(ANYWHERE), kind, re.compile("".join(_pieces(plain, fields))))


def _pieces(template: str, fields: Mapping[str, str]) -> Iterator[str]:
    """Yield the regular expressions of a template's parts, in order.

    A field without an expression of its own ends at the first words that may follow it: the next plain words,
    or those of an optional part before them. If nothing follows, it has no blanks. All expressions are
    atomic.
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
        # A field in `fields` has its own expression. The expression of `text` is not used if words follow the
        # field, because the field must then end before these words.
        if name in fields and not (name == "text" and ends):
            yield fields[name]
        else:
            group = f"?P<{name}>" if name else "?:"
            yield rf"(?>({group}.{'+' if name else '*'}?)(?={ends}))" if ends else rf"({group}\S++)"
    yield re.escape(template[place:])


def _following(template: str, place: int) -> Iterator[str]:
    """Yield the plain words that may follow a place in a template.

    These are the first words of each optional part that comes next, then the words that must follow, if there
    are any.
    """
    while place < len(template):
        token = _TOKEN.search(template, place)
        words = template[place : token.start() if token else len(template)]
        if words:
            yield words
            return
        assert token is not None  # without words a token begins here, as the template has not ended
        place = token.end()
        if token["begin"]:
            inside = _TOKEN.search(template, place)
            assert inside is not None  # an optional part has an end
            yield template[place : inside.start()]
            place = template.index("?}", place) + 2
        elif not token["end"]:
            return


def find(program: str, text: str, place: int | None = None) -> Match | None:
    """Return the first message of a program that a text contains; None if it contains none.

    Args:
        program: name of the program in `patterns.toml`.
        text: the text.
        place: the index at which a message must begin, unless it may stand behind other words; None if every
            message may begin at any word.
    """
    for start, anywhere, kind, pattern in messages()[program]:
        # A plain search for the first words finds the places at which the pattern is tried. If the place is
        # known, no search is needed. That saves time, because most lines of a client have none of these
        # messages.
        known = place is not None and not anywhere
        at = text.find(start, place or 0) if not known or text.startswith(start, place) else -1
        for _ in range(MOST_PLACES):
            if at < 0 or (place is not None and at > place and not anywhere):
                break
            # A message does not begin in the middle of a word, as "(Re-)joining" does in "pre(Re-)joining".
            if (anywhere or not at or not text[at - 1].isalnum()) and (match := pattern.match(text, at)):
                return Match(
                    kind, at, {name: _tidy(name, value) for name, value in match.groupdict().items()}
                )
            at = text.find(start, at + 1)
    return None


def _tidy(name: str, value: str | None) -> str | None:
    """Return a field's value without what a wrapper added behind it, such as a logger's name or a full stop.

    Args:
        name: name of the field.
        value: the matched text; None if the field's optional part is missing.
    """
    if value is None:
        return None
    if name == "member":
        return printed[1] if (printed := _MEMBER.match(value)) else value.rstrip(_ENDS)
    if name == "group":
        return value.rstrip(_ENDS)
    return _LOGGER.split(value, maxsplit=1)[0].strip() if name == "text" else value
