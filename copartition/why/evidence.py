"""Read lines of logs as evidence on groups, by the messages of brokers and four clients.

`unpack.py` takes a line apart, `messages.py` finds what a program said, and this module says which group,
member and generation it is about.
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
"""The bytes of a line that are read; what follows counts as another line."""
MOST_EVIDENCE = 1_000_000
"""The most lines that say something: all are kept, some hundred bytes each, to put them in order."""


class Line(NamedTuple):
    """A line of a log.

    Attributes:
        file: its path.
        number: from 1.
        at: when it was written, seconds since 1970, see `unpack.py`; None if it has no time.
        zoned: whether the line says in which zone its time is. If not, the time was taken for UTC.
    """

    file: str
    number: int
    at: float | None = None
    zoned: bool = True


class Kind(StrEnum):
    """The statement of a line. Brokers only make the first ones, clients only the last ones."""

    PREPARING = auto()
    """A classic group's rebalance begins; `text` is the coordinator's reason."""
    STABILIZED = auto()
    """All have joined; `text` is how many, if the line has it (since Kafka 2.7)."""
    ASSIGNED = auto()
    """The leader's assignment has come."""
    EMPTIED = auto()
    """The group has no member any more."""
    EPOCH = auto()
    """A group has a new epoch; `text` is the hash of its topics' metadata, if the line has it."""
    TARGET = auto()
    """The broker has assigned for an epoch; `assignor` did it."""
    METADATA = auto()
    """The subscribed topics have changed: partitions, or which topics match; `text` is how, if known."""
    SUBSCRIPTION = auto()
    """A member subscribes to other topics."""
    SETTINGS = auto()
    """A Streams group is assigned by other settings, such as another number of standby tasks."""
    STALE = auto()
    """A member of a Streams group has an older topology than the group."""
    STUCK = auto()
    """A rebalance could not end, as no member joined again."""
    KEPT = auto()
    """A member of another protocol came, and the group kept its own; `text` is why."""
    CONVERTED = auto()
    """The group has another protocol from now on."""
    LOADED = auto()
    """A broker has become the group's coordinator."""
    JOINED = auto()
    """A member has joined."""
    LEFT = auto()
    """A member has left the group; `text` is why, if the line has it."""
    EXPIRED = auto()
    """A member's session has expired, by the broker's words or by the answer that its client got."""
    LATE = auto()
    """A member did not rejoin or sync within the rebalance timeout."""
    REPLACED = auto()
    """A static member is back under a new member id (KIP-345)."""
    FENCED = auto()
    """Another process has the member's `group.instance.id`."""
    POLL = auto()
    """The application did not poll within `max.poll.interval.ms`."""
    MISMATCH = auto()
    """A member has no assignor that all others have."""
    COORDINATOR = auto()
    """A client has lost its coordinator, or has another one now."""
    COMMIT = auto()
    """A commit was refused, because the member was no longer in the group or a rebalance was under way."""
    LOST = auto()
    """A client gave its partitions up, because it was no longer in the group."""
    REJOINING = auto()
    """A client joins again; `text` is why."""
    BEHIND = auto()
    """A worker of Kafka Connect joins again, as it has not read the config topic as far as its leader."""
    REVOKING = auto()
    """A client gives partitions back before it joins again: it was a member; `text` begins with them."""
    SUBSCRIBED = auto()
    """A client's topics are others; `text` is from how many to how many. It is kept for `METADATA`."""
    MEMBER_JOINED = auto()
    """A client's JoinGroup was answered."""
    MEMBER_SYNCED = auto()
    """A client has its assignment."""
    MEMBER_EPOCH = auto()
    """A client has reached an epoch (KIP-848)."""


class Evidence(NamedTuple):
    """The statement of one line.

    Attributes:
        kind: what the line says.
        line: the line.
        group: the group that it is about; None if the line does not tell and its file names several.
        member: the member id, as far as the line has it.
        client: `client.id` or `group.instance.id`; None if the line has only the member id.
        generation: the generation, or the epoch (KIP-848).
        text: see `Kind`.
        assignor: the strategy, if the line has it.
        broker: whether a broker wrote it.
        protocol: the kind of group whose words these are: "classic", "consumer", "share", "streams", or
            "modern" for those that all but classic ones share; None if a client's line does not tell.
        handle: the client that wrote it, as its file tells clients apart; later lines of one often name
            neither its group nor its member id nor its generation.
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
    """Lines that speak of groups in words that no message here has.

    Attributes:
        number: how many there are.
        line: the place of the first one.
        text: the text of the first one.
        program: the client whose words these are, one that is not read here; None if that is unknown.
    """

    number: int
    line: Line
    text: str
    program: str | None = None


@dataclass(slots=True)
class Reading:
    """The evidence of several logs.

    Attributes:
        statements: what lines say, file by file, in the order in which they were written.
        unread: lines of groups that were not understood; None if there are none.
        newest_first: the files whose last line is the oldest.
        groups: the names of all groups, those that were not asked for, too.
    """

    statements: list[Evidence] = field(default_factory=list)
    unread: Unread | None = None
    newest_first: list[str] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)


HINTS = tuple(b'roup|eartbeat| exceeded|FencedInstance| has changed| poll |ommit |MESSAGE":['.split(b"|"))
"""Parts of lines, searched in gigabytes: each line that has a message has one."""
_TEXT_HINTS = [hint.decode() for hint in HINTS]
"""The same for what was taken out of a line's wrapper."""
WORDS = frozenset(
    b"group generation epoch rebalance rebalancing rebalancing; re-balance balancing member members joins "
    b"joined re-joining rejoining left leave session fenced newly previously failed failed: failing "
    b"LeaveGroup JoinGroup response: GenerationId poll timeout commit unavailable away config "
    b"configurations changed protocols coordinator subscribed heartbeat static exceeded wait share "
    b"partitions expired metadata subscription local instance Group".split()
)
"""Words between blanks, one of them in each message: a line without any is not taken apart."""
_MARKS = (
    *(b"FENCED_INSTANCE_ID", b"FencedInstanceId", b"InconsistentGroupProtocol", b"(Re-)joining"),
    # journald writes a message with colours as a list of its bytes.
    *(b"topic has changed", b"heartbeat errored", b'MESSAGE":['),
)
"""Words that are messages themselves, whatever stands around them."""


def _may_speak(raw: bytes) -> bool:
    """Return whether a line may have a message or be one of a client that is not read."""
    # Looking for a few parts in the bytes of a line is quick; only lines that have one are split into words.
    if not any(hint in raw for hint in HINTS):
        return False
    return not WORDS.isdisjoint(raw.split()) or any(mark in raw for mark in _MARKS)


def _is_mute(raw: bytes) -> bool:
    """Return whether a Java client's line has neither the first letters of a message nor words of a group."""
    # Nearly every line of such a client names its group: to unpack all of them takes minutes for a gigabyte.
    # Ten letters are enough, as none of them is one that a collector escapes.
    if b", groupId=" not in raw or b"Group " in raw or any(start in raw for start in _java_starts()):
        return False
    return not concerns_a_group(raw.decode(errors="replace"))


@cache
def _java_starts() -> tuple[bytes, ...]:
    """Return how messages of Java's clients begin, each once."""
    return tuple({message.start[:10].encode() for message in messages()["java"]})


def read_evidence(paths: Sequence[str], group: str | None = None) -> Reading:
    """Return what several logs say; `-` is standard input, gzip and UTF-16 are recognized.

    A line that names no group is of the only group that its client names in that file.

    Args:
        paths: the logs.
        group: a group; what is said of others is left out.

    Raises:
        SourceError: a file cannot be read, its compressed data are broken, or too many lines say something.
    """
    reading = Reading()
    for path in paths:
        log = _Log(path, group)
        try:
            with _open(path) as file:
                before = b""
                # Each read has a bound: a file without ends of lines would be read into memory as a whole.
                for number, raw in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 1):
                    if _may_speak(raw) and not _is_mute(raw):
                        log.add(number, raw, before)
                        # Counted while the file is read, so that it is refused before memory runs out.
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
    """Return the bytes of a file or of standard input in UTF-8, unpacked if they are gzip; the end closes it.

    Gzip is told by its first two bytes, not by the name, so that standard input may be packed, too; UTF-16,
    which PowerShell writes, by its mark.
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
"""The characters of an unread line that are kept to be shown."""


class _Log:
    """One log that is read: what its lines say, and which clients and groups it names."""

    def __init__(self, path: str, group: str | None) -> None:
        self.path = path
        self.group = group
        self.statements: list[Evidence] = []
        self.groups: dict[str, set[str]] = defaultdict(set)  # that a client names, by its handle
        self.unread: Unread | None = None

    def add(self, number: int, raw: bytes, before: bytes) -> None:
        """Read a line; `before` is the line before it, which may have its time."""
        for record in unpack(raw):
            # A wrapper has many texts, such as a host's name; most of them cannot have a message.
            texts = [text for text in record.texts if any(hint in text for hint in _TEXT_HINTS)]
            said = next(filter(None, map(_say, texts)), None)
            if said is not None:
                at = stamp_of(record, said.text, said.match.start, before)
                self._keep(said, Line(self.path, number, at and at.at, at is None or at.zoned))
                continue
            # A line without a message may still name the group of its client, which later lines do not name.
            for text in record.texts:
                if quoted := _ANY_GROUP.search(text):
                    self.groups[_librdkafka_handle(text)].add(quoted["group"])
            last = record.texts[-1]
            # Java's prefix is no stranger's; to look for all strangers takes longer than to read the line.
            program = None if ", groupId=" in last else stranger(last)
            if program or any(map(concerns_a_group, texts)):
                shown = last[:_MOST_SHOWN]
                first = self.unread or Unread(0, Line(self.path, number), shown, program)
                self.unread = first._replace(number=first.number + 1)

    def _keep(self, said: "_Saying", line: Line) -> None:
        """Keep what a line says, if it may be of the group that is asked for."""
        fields = said.match.fields
        kind = Kind(said.match.kind)
        text = fields.get("text") or ""
        # Coordinators of the new protocol have one message for both. Its reason has a time limit ("within ...
        # ms") if the member did not give its partitions back in time.
        if kind is Kind.EXPIRED and "within" in text:
            kind = Kind.LATE
        group = fields.get("group") or said.group
        # The name is noted even if the line is left out: it shows whether the client has one group only.
        if group is not None:
            self.groups[said.handle].add(group)
            if self.group not in {None, group}:
                return
        generation = fields.get("generation")
        self.statements.append(
            Evidence(
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

    def close(self, reading: Reading) -> None:
        """Add what the log says to a reading, in the order in which it was written."""
        reading.groups.update(*self.groups.values())
        # First of all: the two steps below need lines in the order in which they were written.
        if _newest_first(self.statements):
            self.statements.reverse()
            reading.newest_first.append(self.path)
        reading.statements += filter(None, map(_Voices(self.groups).complete, _next_days(self.statements)))
        if self.unread:
            first = reading.unread or self.unread._replace(number=0)
            reading.unread = first._replace(number=first.number + self.unread.number)


@dataclass(slots=True)
class _Voice:
    """One client that writes into a log, and what its earlier lines said of it."""

    member: str | None = None
    generation: int | None = None
    text: str = ""


class _Voices:
    """The clients of one log: they complete what their lines leave out."""

    def __init__(self, groups: dict[str, set[str]]) -> None:
        # A client with several groups completes no line: which of them it means would be a guess.
        self.only = {handle: min(names) for handle, names in groups.items() if len(names) == 1}
        self.voices: dict[str, _Voice] = defaultdict(_Voice)

    def complete(self, statement: Evidence) -> Evidence | None:
        """Return a statement with the group, member and generation that its client named before.

        None if the statement is only kept for a later one.
        """
        if statement.broker:
            return statement
        voice = self.voices[statement.handle]
        if statement.kind is Kind.SUBSCRIBED:
            voice.text = statement.text
            return None
        voice.member = statement.member or voice.member
        # The answer to SyncGroup names no generation: it is that of the JoinGroup before it.
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
"""The seconds of a day. Times below it are times of day without a date."""


def _newest_first(statements: Sequence[Evidence]) -> bool:
    """Return whether a log begins with its last line, as exports of collectors do.

    Times tell; without them generations that fall, or an assignment that comes right before its join.
    """
    times = [statement.line.at for statement in statements if statement.line.at is not None]
    if times:
        steps = [later - earlier for earlier, later in pairwise(times)]
        # A time of day without a date that falls by more than half a day goes on after midnight.
        if not is_dated(max(times)):
            steps = [step - _DAY_S * round(step / _DAY_S) for step in steps]
        # Most steps decide, not the first one: lines of several threads may be a little out of order.
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


def _next_days(statements: Sequence[Evidence]) -> Iterator[Evidence]:
    """Yield statements whose times of day, without a date, go on after midnight."""
    days, last = 0.0, 0.0
    for statement in statements:
        line = statement.line
        if line.at is None or line.at >= _DAY_S:
            yield statement
            continue
        # A smaller step back is no midnight: lines of several threads may be a little out of order.
        if line.at < last - _DAY_S / 2:
            days += _DAY_S
        last = line.at
        yield statement._replace(line=line._replace(at=line.at + days)) if days else statement


class _Saying(NamedTuple):
    """A message that a text has, and who wrote it."""

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
"""What a Java client writes before each message: its program, static member, client and group."""
_ANY_GROUP = re.compile(r'Group "(?P<group>[^"]++)"')
_BROKER = ("classic", "consumer", "modern", "share", "streams")
"""The tables of `patterns.toml` with the messages of brokers, in the order in which they are tried."""


def _say(text: str) -> _Saying | None:
    """Return what a text says; None if it has no message.

    A text is tried as the writer's whose mark it has: Java's prefix, librdkafka's thread, a broker's words;
    any other may be of a Python client.
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
    # Last, as lines of Python clients have no mark of their own.
    match = find("python", text)
    return match and _Saying(match, text)


def _java_prefix(text: str) -> re.Match[str] | None:
    """Return the match of the prefix with which a Java client begins its message."""
    # The pattern is tried at one bracket only, so that a line full of brackets takes no longer than others.
    place = text.find("clientId=")
    if (instance := text.find("instanceId=", 0, place)) >= 0:
        place = instance
    start = text.rfind("[", 0, max(place, 0))
    return _JAVA_PREFIX.match(text, start) if start >= 0 else None


def _librdkafka_handle(text: str) -> str:
    """Return the name that librdkafka gives a client's handle, such as app#consumer-1; "" if it is not there.

    A client id may have blanks, so it begins behind the sign that separates it from what stands before.
    """
    place = text.find("#consumer-")
    if place < 0:
        return ""
    head = text[:place]
    begin = max(head.rfind("|"), head.rfind("["), head.rfind(": ") + 1 if ": " in head else -1)
    name = head[begin + 1 :] if begin >= 0 else head.rpartition(" ")[2]
    number = re.compile(r"\d*+").match(text, place + len("#consumer-"))
    return f"{name.strip()}#{number[0] if number else ''}"
