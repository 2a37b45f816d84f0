"""Read the lines of logs as statements about groups.

`unpack.py` takes a line out of its wrappers, and `messages.py` finds a program's message in it. This module
finds out which group, member and generation the message is about. Messages of brokers and of four clients are
known.
"""

import codecs
import gzip
import re
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum, auto
from functools import cache, partial
from io import BufferedReader
from itertools import pairwise
from typing import IO, NamedTuple, cast

from copartition.why.messages import Match, concerns_a_group, find, messages, stranger
from copartition.why.unpack import is_dated, stamp_of, unpack
from partitioning.errors import SourceError

LONGEST_LINE = 1 << 16
"""The most bytes of a line; the rest of a longer line is read as another line."""
MOST_EVIDENCE = 1_000_000
"""The most statements: all are kept in memory, some hundred bytes each, so that they can be sorted."""


class Line(NamedTuple):
    """Holds the place of a line in a log, and its time.

    Attributes:
        file: the path of the log.
        number: the number of the line, from 1.
        at: when it was written, in seconds since 1970, see `unpack.py`; None if it has no time.
        zoned: whether the line names the time zone. If not, its time is taken as UTC.
    """

    file: str
    number: int
    at: float | None = None
    zoned: bool = True


class Kind(StrEnum):
    """Names what a line states. The first kinds come from brokers only, the last ones from clients only."""

    PREPARING = auto()
    """A classic group's rebalance begins; `text` is the coordinator's reason."""
    STABILIZED = auto()
    """All members have joined; `text` is their number, if the line has it (since Kafka 2.7)."""
    ASSIGNED = auto()
    """The coordinator has the leader's assignment."""
    EMPTIED = auto()
    """The group has no members any more."""
    EPOCH = auto()
    """A group has a new epoch; `text` is the hash of its topics' metadata, if the line has it."""
    TARGET = auto()
    """The broker has computed the assignment of an epoch, with the strategy `assignor`."""
    METADATA = auto()
    """The subscribed topics or their partitions have changed; `text` says how, if that is known."""
    SUBSCRIPTION = auto()
    """A member subscribes to other topics than before."""
    SETTINGS = auto()
    """A Streams group is assigned with other settings, such as another number of standby tasks."""
    STALE = auto()
    """A member of a Streams group has an older topology than the group."""
    STUCK = auto()
    """A rebalance could not end, because no member joined again."""
    KEPT = auto()
    """A member of another protocol joined, and the group kept its own protocol; `text` says why."""
    CONVERTED = auto()
    """The group has another protocol from now on."""
    LOADED = auto()
    """A broker has become the group's coordinator."""
    JOINED = auto()
    """A member has joined."""
    LEFT = auto()
    """A member has left the group; `text` says why, if the line has it."""
    EXPIRED = auto()
    """A member's session has expired; the broker says so, or the client learns it from an answer."""
    LATE = auto()
    """A member did not rejoin or sync within the rebalance timeout."""
    REPLACED = auto()
    """A static member is back under a new member id (KIP-345)."""
    FENCED = auto()
    """Another process uses the member's `group.instance.id`."""
    POLL = auto()
    """The application did not poll within `max.poll.interval.ms`."""
    MISMATCH = auto()
    """A member was refused, because it lists no assignor that all others list, too."""
    COORDINATOR = auto()
    """A client has lost its coordinator, or has another one now."""
    COMMIT = auto()
    """A commit was refused, because the member was no longer in the group or a rebalance was under way."""
    LOST = auto()
    """A client gave up its partitions, because it was no longer in the group."""
    REJOINING = auto()
    """A client joins again; `text` says why."""
    BEHIND = auto()
    """A worker of Kafka Connect joins again, as it has read less of the config topic than its leader."""
    REVOKING = auto()
    """A client revokes partitions before it joins again, so it was a member; `text` begins with them."""
    SUBSCRIBED = auto()
    """A client has other topics than before; `text` has both numbers, and is added to its next METADATA."""
    MEMBER_JOINED = auto()
    """A client has the answer to its JoinGroup."""
    MEMBER_SYNCED = auto()
    """A client has its assignment, by the answer to its SyncGroup."""
    MEMBER_EPOCH = auto()
    """A client has reached an epoch (KIP-848)."""


class Statement(NamedTuple):
    """Holds the statement of one line about a group; a field is None if neither line nor file shows it.

    Attributes:
        kind: what the line states.
        line: the line.
        group: name of the group.
        member: the member id.
        client: the `client.id` or `group.instance.id`.
        generation: the generation, or the epoch (KIP-848).
        text: further words of the line, see `Kind`; "" if there are none.
        assignor: name of the strategy.
        broker: whether a broker wrote the line; otherwise a client did.
        protocol: the kind of group: "classic", "consumer", "share" or "streams". "modern" if the line's words
            are the same for all but classic groups.
        handle: a name that distinguishes the clients that write into the same file. Many lines of a client
            name neither group nor member id nor generation; these are then known from earlier lines with the
            same handle.
    """

    kind: Kind
    line: Line
    group: str | None
    member: str | None = None
    client: str | None = None
    generation: int | None = None
    text: str = ""
    assignor: str | None = None
    broker: bool = False
    protocol: str | None = None
    handle: str = ""


class Unread(NamedTuple):
    """Counts the lines that are about groups but were not understood.

    Attributes:
        number: number of these lines.
        line: the first of these lines.
        text: the text of the first line, at most `_MOST_SHOWN` characters.
        program: the client that wrote the first line, if the logs of that client are not read here; otherwise
            None.
    """

    number: int
    line: Line
    text: str
    program: str | None = None


@dataclass(slots=True)
class LogReading:
    """Holds the statements of several logs.

    Attributes:
        statements: the statements, file by file, and in each file in the order in which they were written.
        unread: the lines about groups that were not understood; None if there are none.
        newest_first: paths of the files that begin with their newest line.
        groups: names of all groups in the logs, even those that were not asked for.
    """

    statements: list[Statement] = field(default_factory=list)
    unread: Unread | None = None
    newest_first: list[str] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)


HINTS = tuple(b'roup|eartbeat| exceeded|FencedInstance| has changed| poll |ommit |MESSAGE":['.split(b"|"))
"""Parts of lines. Every line with a message has at least one of them, so other lines are skipped fast."""
_TEXT_HINTS = [hint.decode() for hint in HINTS]
"""The same parts as text, for texts that were taken out of a line's wrapper."""
WORDS = frozenset(
    b"group generation epoch rebalance rebalancing rebalancing; re-balance balancing member members joins "
    b"joined re-joining rejoining left leave session fenced newly previously failed failed: failing "
    b"LeaveGroup JoinGroup response: GenerationId poll timeout commit unavailable away config "
    b"configurations changed protocols coordinator subscribed heartbeat static exceeded wait share "
    b"partitions expired metadata subscription local instance Group".split()
)
"""Words, separated by blanks. A line without any of them has no message, unless it has one of `_MARKS`."""
_MARKS = (
    *(b"FENCED_INSTANCE_ID", b"FencedInstanceId", b"InconsistentGroupProtocol", b"(Re-)joining"),
    # journald writes a message with colours as a list of its bytes.
    *(b"topic has changed", b"heartbeat errored", b'MESSAGE":['),
)
"""Parts of lines. A line with one of them may be a message even if it has none of `WORDS`."""


def _may_speak(raw: bytes) -> bool:
    """Return whether a line may be a message, or the line of a client whose logs are not read."""
    # A search of a line's bytes for a few parts is fast, so only lines with one of these parts are split into
    # words.
    if not any(hint in raw for hint in HINTS):
        return False
    return not WORDS.isdisjoint(raw.split()) or any(mark in raw for mark in _MARKS)


def _is_mute(raw: bytes) -> bool:
    """Return whether a Java client's line has neither a message's first letters nor words about a group."""
    # Nearly every line of a Java client names its group in its prefix. To unpack all these lines would take
    # minutes for a gigabyte. The first ten letters of a message are found in any wrapper, because none of
    # them is a character that JSON escapes.
    if b", groupId=" not in raw or b"Group " in raw or any(start in raw for start in _java_starts()):
        return False
    return not concerns_a_group(raw.decode(errors="replace"))


@cache
def _java_starts() -> tuple[bytes, ...]:
    """Return the first ten letters of each message of Java's clients, without duplicates."""
    return tuple({message.start[:10].encode() for message in messages()["java"]})


def read_statements(paths: Sequence[str], group: str | None = None) -> LogReading:
    """Return the statements of several logs; files in gzip and UTF-16 are recognized.

    If a client names only one group in a file, its lines without a group belong to that group.

    Args:
        paths: paths of the logs; "-" is standard input.
        group: the only group whose statements are kept; None for all groups.

    Raises:
        SourceError: a file cannot be read, its compressed data are broken, or it has too many statements.
    """
    reading = LogReading()
    for path in paths:
        log = _Log(path, group)
        try:
            with _open(path) as file:
                before = b""
                # Each read has a bound: a file without line ends would be read into memory as a whole.
                for number, raw in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 1):
                    if _may_speak(raw) and not _is_mute(raw):
                        log.add(number, raw, before)
                        # Statements are counted while a file is read, so that a file with too many of them is
                        # refused before memory runs out.
                        if len(reading.statements) + len(log.statements) > MOST_EVIDENCE:
                            raise SourceError(
                                f"{path}: line {number}: more than {MOST_EVIDENCE:,} lines concern groups; "
                                "name one with `group`, or give a shorter piece of the log"
                            )
                    before = raw
        except (OSError, EOFError, zlib.error, UnicodeError) as error:
            raise SourceError(
                f"{path}: {error.strerror or error if isinstance(error, OSError) else error}"
            ) from error
        log.close(reading)
    return reading


@contextmanager
def _open(path: str) -> Iterator[IO[bytes]]:
    """Open a file or standard input, and yield its bytes in UTF-8; a file is closed at the end.

    Gzip is recognized by its first two bytes and not by the file's name, so standard input may be compressed,
    too. UTF-16, which PowerShell writes, is recognized by its byte order mark.
    """
    with ExitStack() as stack:
        file = sys.stdin.buffer if path == "-" else stack.enter_context(open(path, "rb"))  # noqa: PTH123
        mark = cast("BufferedReader", file).peek(2)[:2]
        if mark == b"\x1f\x8b":
            yield cast("IO[bytes]", stack.enter_context(gzip.open(file)))
        elif mark in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
            yield cast("IO[bytes]", codecs.EncodedFile(file, "utf-8", "utf-16"))
        else:
            yield file


_MOST_SHOWN = 300
"""The most characters that are kept of the first line that was not understood, to be shown."""


class _Log:
    """Collects the statements of one log while it is read.

    Attributes:
        path: path of the log.
        group: the only group whose statements are kept; None for all.
        statements: the statements so far, in the order of the file.
        groups: handle of a client -> the groups that it has named.
        unread: the lines about groups that were not understood so far; None if there are none.
    """

    def __init__(self, path: str, group: str | None) -> None:
        self.path = path
        self.group = group
        self.statements: list[Statement] = []
        self.groups: dict[str, set[str]] = defaultdict(set)
        self.unread: Unread | None = None

    def add(self, number: int, raw: bytes, before: bytes) -> None:
        """Add the statements of a line.

        Args:
            number: the number of the line.
            raw: its bytes.
            before: the line before, which may have the time of this one.
        """
        for record in unpack(raw):
            # A wrapper has many texts, such as the name of a host. Those that cannot be a message are
            # skipped.
            texts = [text for text in record.texts if any(hint in text for hint in _TEXT_HINTS)]
            said = next(filter(None, map(_say, texts)), None)
            if said is not None:
                at = stamp_of(record, said.text, said.match.start, before)
                self._keep(said, Line(self.path, number, at and at.at, at is None or at.zoned))
                continue
            # A line without a message may still name the group of its client, and lines with a message may
            # not.
            for text in record.texts:
                if quoted := _ANY_GROUP.search(text):
                    self.groups[_librdkafka_handle(text)].add(quoted["group"])
            last = record.texts[-1]
            # A line with Java's prefix is of no other client. So the search for the other clients is left
            # out; it would take longer than reading the line.
            program = None if ", groupId=" in last else stranger(last)
            if program or any(map(concerns_a_group, texts)):
                shown = last[:_MOST_SHOWN]
                first = self.unread or Unread(0, Line(self.path, number), shown, program)
                self.unread = first._replace(number=first.number + 1)

    def _keep(self, said: "_Saying", line: Line) -> None:
        """Add a statement, unless the user has asked for another group.

        Args:
            said: the message.
            line: the line.
        """
        fields = said.match.fields
        kind = Kind(said.match.kind)
        text = fields.get("text") or ""
        # Coordinators of the consumer protocol have one message for an expired session and for a member that
        # did not revoke its partitions in time. In the second case the message has a limit ("within ... ms").
        if kind is Kind.EXPIRED and "within" in text:
            kind = Kind.LATE
        group = fields.get("group") or said.group
        # The group's name is noted even if the statement is left out below, because `_Voices` needs to know
        # whether the client has only one group.
        if group is not None:
            self.groups[said.handle].add(group)
            if self.group not in {None, group}:
                return
        generation = fields.get("generation")
        self.statements.append(
            Statement(
                kind,
                line,
                group,
                fields.get("member"),
                fields.get("client") or said.client,
                None if generation is None else int(generation),
                text,
                fields.get("assignor"),
                said.broker,
                said.protocol,
                said.handle,
            )
        )

    def close(self, reading: LogReading) -> None:
        """Add the log's statements to a reading, in the order in which they were written."""
        reading.groups.update(*self.groups.values())
        # The order is corrected first, because the steps below need it.
        if _newest_first(self.statements):
            self.statements.reverse()
            reading.newest_first.append(self.path)
        reading.statements += filter(None, map(_Voices(self.groups).complete, _next_days(self.statements)))
        if self.unread:
            first = reading.unread or self.unread._replace(number=0)
            reading.unread = first._replace(number=first.number + self.unread.number)


@dataclass(slots=True)
class _Voice:
    """Holds what the earlier lines of one client have named; `text` is that of its last SUBSCRIBED line."""

    member: str | None = None
    generation: int | None = None
    text: str = ""


class _Voices:
    """Completes the statements of clients with what their earlier lines have named.

    Attributes:
        only: handle of a client -> its group, for clients that name a single group in the whole log.
        voices: handle of a client -> what its earlier lines have named.
    """

    def __init__(self, groups: dict[str, set[str]]) -> None:
        # No line is completed for a client with several groups, because it is unknown which group is meant.
        self.only = {handle: min(names) for handle, names in groups.items() if len(names) == 1}
        self.voices: dict[str, _Voice] = defaultdict(_Voice)

    def complete(self, statement: Statement) -> Statement | None:
        """Return a statement with the group, member and generation that its client has named before.

        Call it for all statements of the log in the order in which they were written.

        Returns:
            The completed statement. None for a SUBSCRIBED statement, whose text is only kept for the client's
            next METADATA statement.
        """
        if statement.broker:
            return statement
        voice = self.voices[statement.handle]
        if statement.kind is Kind.SUBSCRIBED:
            voice.text = statement.text
            return None
        voice.member = statement.member or voice.member
        # The line about the answer to SyncGroup names no generation, so it gets that of the JoinGroup before.
        synced = statement.kind is Kind.MEMBER_SYNCED
        generation = statement.generation or (voice.generation if synced else None)
        voice.generation = statement.generation or voice.generation
        return statement._replace(
            group=statement.group or self.only.get(statement.handle),
            member=voice.member,
            generation=generation,
            text=voice.text if statement.kind is Kind.METADATA else statement.text,
        )


_DAY_S = 86_400.0
"""Seconds of a day. A time below it is a time of day without a date."""


def _newest_first(statements: Sequence[Statement]) -> bool:
    """Return whether a log begins with its newest line, as exports of log collectors often do.

    The times of lines show this. If no line has a time, falling generations show it, or assignments that come
    right before their joins.
    """
    times = [statement.line.at for statement in statements if statement.line.at is not None]
    if times:
        steps = [later - earlier for earlier, later in pairwise(times)]
        # Without dates, a step back by more than half a day is a step forward over midnight.
        if not is_dated(max(times)):
            steps = [step - _DAY_S * round(step / _DAY_S) for step in steps]
        # The majority of steps decides, because lines of several threads may be a little out of order.
        return sum(step < 0 for step in steps) > sum(step > 0 for step in steps)
    joined, synced = Kind.MEMBER_JOINED, Kind.MEMBER_SYNCED
    order = 0
    for earlier, later in pairwise(statements):
        if earlier.handle == later.handle:
            kinds = earlier.kind, later.kind
            order += (kinds == (joined, synced)) - (kinds == (synced, joined))
    numbers = [statement.generation for statement in statements if statement.generation is not None]
    order += sum((later > earlier) - (later < earlier) for earlier, later in pairwise(numbers))
    return order < 0


def _next_days(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Yield the statements; if their times have no dates, a day is added at each midnight."""
    days, last = 0.0, 0.0
    for statement in statements:
        line = statement.line
        if line.at is None or line.at >= _DAY_S:
            yield statement
            continue
        # Only a large step back is a midnight: lines of several threads may be a little out of order.
        if line.at < last - _DAY_S / 2:
            days += _DAY_S
        last = line.at
        yield statement._replace(line=line._replace(at=line.at + days)) if days else statement


class _Saying(NamedTuple):
    """Holds a message that was found in a text, and its writer; see `Statement` for the fields."""

    match: Match
    text: str
    group: str | None = None
    client: str | None = None
    handle: str = ""
    broker: bool = False
    protocol: str | None = None


_JAVA_PREFIX = re.compile(
    r"\[(?P<program>(?>[A-Z][\w ]{0,40}?(?= (?:instanceId|clientId)=))) "
    r"(?:instanceId=(?>(?P<instance>.+?)(?=, clientId=)), )?"
    r"clientId=(?>(?P<client>.+?)(?=, groupId=)), groupId=(?>(?P<group>.+?)(?=\](?:\s|$)))\]\s*+"
)
"""Pattern of the prefix of a Java client's messages: its program, static member, client and group."""
_ANY_GROUP = re.compile(r'Group "(?P<group>[^"]++)"')
_BROKER = ("classic", "consumer", "modern", "share", "streams")
"""The tables of `patterns.toml` with the messages of brokers, in the order in which they are tried."""


def _say(text: str) -> _Saying | None:
    """Return the message in a text; None if it has none.

    The writer is recognized first: a Java client by its prefix, librdkafka by its thread, a broker by its
    messages. Any other text may be of a Python client.
    """
    if "groupId=" in text and (prefix := _java_prefix(text)) is not None:
        match = find("java", text, prefix.end())
        name = prefix["instance"] or prefix["client"]
        protocol = "share" if prefix["program"] == "ShareConsumer" else None
        return match and _Saying(
            match, text, prefix["group"], name, f"{name} {prefix['group']}", protocol=protocol
        )
    if "[thrd:" in text or "#consumer-" in text or 'Group "' in text:  # librdkafka, in whatever form
        match = find("librdkafka", text)
        group = _ANY_GROUP.search(text)
        handle = _librdkafka_handle(text)
        client = handle.rpartition("#")[0] or None
        return match and _Saying(match, text, group and group["group"], client, handle)
    for protocol in _BROKER:
        if (match := find(protocol, text)) is not None:
            return _Saying(match, text, broker=True, protocol=protocol)
    # Python clients are tried last, because their lines have no mark of their own.
    match = find("python", text)
    return match and _Saying(match, text)


def _java_prefix(text: str) -> re.Match[str] | None:
    """Return the match of a Java client's prefix in a text; None if there is none."""
    # The pattern is tried at one bracket only, so that a line full of brackets takes no longer than others.
    place = text.find("clientId=")
    if (instance := text.find("instanceId=", 0, place)) >= 0:
        place = instance
    start = text.rfind("[", 0, max(place, 0))
    return _JAVA_PREFIX.match(text, start) if start >= 0 else None


def _librdkafka_handle(text: str) -> str:
    """Return librdkafka's name of a client instance in a text, such as app#consumer-1; "" if there is none.

    A client id may contain blanks. So it begins after the last separator before "#consumer-": "|", "[" or
    ": ". If there is no separator, it begins after the last blank.
    """
    place = text.find("#consumer-")
    if place < 0:
        return ""
    head = text[:place]
    begin = max(head.rfind("|"), head.rfind("["), head.rfind(": ") + 1 if ": " in head else -1)
    name = head[begin + 1 :] if begin >= 0 else head.rpartition(" ")[2]
    number = re.compile(r"\d*+").match(text, place + len("#consumer-"))
    return f"{name.strip()}#{number[0] if number else ''}"
