"""Lines of logs as evidence on a group, by the patterns of `patterns.toml` for brokers and four clients."""

import gzip
import json
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum, auto
from functools import cache, cached_property, partial
from io import BufferedReader
from typing import IO, NamedTuple, cast

from partitioning.errors import SourceError
from partitioning.kit.packages import read_toml

LONGEST_LINE = 1 << 16
"""The bytes of a line that are read; what follows counts as another line."""

_STAMP = re.compile(
    r"(?:%\d\|(?P<epoch>\d{9,11}\.\d+)\|)"  # librdkafka: seconds since 1970
    r"|(?P<date>\d{4}[-/]\d\d[-/]\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?:[.,:](?P<part>\d{1,9}))?"
    r"(?: ?(?P<zone>Z|UTC|[+-]\d\d:?\d\d))?"
)
_SEARCHED = 120
"""The characters of a line in which its time may begin: container runtimes and log4j write before it."""


@dataclass(frozen=True)
class Line:
    """A line of a log.

    Attributes:
        file: its path.
        number: from 1.
        text: the line, without its end.

    >>> Line("server.log", 1, "[2025-03-01 00:00:01,500] INFO ...").at
    1740787201.5
    """

    file: str
    number: int
    text: str

    @cached_property
    def at(self) -> float | None:
        """The time when the line was written, seconds since 1970; None if it has none.

        A time that names no zone is taken for UTC.
        """
        stamp = _STAMP.search(self.text, 0, _SEARCHED)
        if stamp is None:
            return None
        if stamp["epoch"]:
            return float(stamp["epoch"])
        zone = (stamp["zone"] or "Z").replace("UTC", "+00:00").replace("Z", "+00:00")
        text = f"{stamp['date'].replace('/', '-')}T{stamp['time']}{zone}"
        try:
            whole = datetime.fromisoformat(text)
        except ValueError:  # the 31st of February
            return None
        return whole.astimezone(UTC).timestamp() + float(f"0.{stamp['part'] or 0}")

    @property
    def zoned(self) -> bool:
        """True if the time of the line says in which zone it is, and for a line without a time."""
        stamp = _STAMP.search(self.text, 0, _SEARCHED)
        return stamp is None or bool(stamp["epoch"] or stamp["zone"])


def read_lines(path: str, hints: Sequence[bytes]) -> Iterator[Line]:
    """Yield the lines of a log in which one of these occurs; `-` is standard input, gzip is recognized.

    Raises:
        SourceError: the file cannot be read, or its compressed data are broken.
    """
    try:
        with _open(path) as file:
            for number, raw in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 1):
                if any(hint in raw for hint in hints):
                    yield Line(path, number, _unpacked(raw).decode(errors="backslashreplace").rstrip("\r\n"))
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(
            f"{path}: {error.strerror or error if isinstance(error, OSError) else error}"
        ) from error


def _unpacked(raw: bytes) -> bytes:
    """Return the line that Docker's json-file driver has packed; any other as it is."""
    if not raw.startswith(b'{"log":"'):
        return raw
    try:
        return str(json.loads(raw)["log"]).encode(errors="backslashreplace")
    except ValueError:
        return raw


@contextmanager
def _open(path: str) -> Iterator[IO[bytes]]:
    """Return the bytes of a file or of standard input, unpacked if they are gzip; the end closes the file.

    Gzip is told by its first two bytes, not by the name, so that standard input may be packed, too.
    """
    with ExitStack() as stack:
        file = sys.stdin.buffer if path == "-" else stack.enter_context(open(path, "rb"))  # noqa: PTH123
        packed = cast("BufferedReader", file).peek(2)[:2] == b"\x1f\x8b"
        yield cast("IO[bytes]", stack.enter_context(gzip.open(file))) if packed else file


MOST_EVIDENCE = 1_000_000
"""The most lines that say something: all are kept, some hundred bytes each, to put them in order."""


class Kind(StrEnum):
    """The statement of a line. Brokers only make the first ones, clients only the last ones."""

    PREPARING = auto()
    """A classic group's rebalance begins; `text` is the coordinator's reason."""
    STABILIZED = auto()
    """All have joined; `text` is how many."""
    ASSIGNED = auto()
    """The leader's assignment has come."""
    EMPTIED = auto()
    """The group has no member any more."""
    EPOCH = auto()
    """A KIP-848 group has a new epoch; `text` is the hash of its topics' metadata, if the line has it."""
    TARGET = auto()
    """The broker has assigned for an epoch; `text` is the assignor."""
    METADATA = auto()
    """The subscribed topics have changed: partitions, or which topics match."""
    SUBSCRIPTION = auto()
    """A member subscribes to other topics."""
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
    REJOINING = auto()
    """A client joins again; `text` is why."""
    MEMBER_JOINED = auto()
    """A client's JoinGroup was answered; `text` is the assignor, if the line has it."""
    MEMBER_SYNCED = auto()
    """A client has its assignment."""
    MEMBER_EPOCH = auto()
    """A client has reached an epoch (KIP-848)."""


class Evidence(NamedTuple):
    """The statement of one line.

    Attributes:
        kind: what.
        line: where that stands.
        group: which group; None if the line does not tell and its file names several.
        member: the member id, as far as the line has it.
        client: `client.id` or `group.instance.id`; None if the line has only the member id.
        generation: the generation, or the epoch (KIP-848).
        text: see `Kind`.
        broker: whether a broker wrote it.
    """

    kind: Kind
    line: Line
    group: str | None
    member: str | None = None
    client: str | None = None
    generation: int | None = None
    text: str = ""
    broker: bool = False


class Pattern(NamedTuple):
    """A phrase that is looked for first, and the pattern of a line that has it."""

    phrase: str
    kind: Kind
    pattern: re.Pattern[str]


_PIECE = re.compile(r"\{([A-Z_]+)\}")


@cache
def log_patterns() -> dict[str, tuple[Pattern, ...]]:
    """Return the patterns of `patterns.toml` by writer: broker, java, librdkafka or python.

    Patterns of a writer are tried in their order, and the first that fits decides. Names in braces stand for
    the pieces of the file, which may contain further names.
    """
    tables = read_toml(__package__, "patterns.toml")
    pieces = tables.pop("pieces")

    def whole(pattern: str) -> str:
        return _PIECE.sub(lambda piece: whole(pieces[piece[1]]), pattern)

    return {
        writer: tuple(
            Pattern(row["phrase"], Kind(row["kind"]), re.compile(whole(row["pattern"]))) for row in rows
        )
        for writer, rows in tables.items()
    }


_JAVA_PREFIX = re.compile(
    r"\[Consumer (?:instanceId=(?P<instance>[^,]+), )?clientId=(?P<client>[^,]+), groupId=(?P<group>.+?)\] "
)
_LIBRDKAFKA_CLIENT = re.compile(r"(?<![^\s|\[\]#])(?P<client>[^\s|\[\]#]+)#consumer-\d+")
_ANY_GROUP = re.compile(r'Group "(?P<group>.+?)"')
HINTS = (b"roup", b" poll ", b"eartbeat", b"member_id", b"Metadata for topic", b"FencedInstance")
"""Parts of lines, searched in gigabytes: each line that fits a pattern has one, few others do."""


@dataclass
class _Voice:
    """One client that writes into a log, and what its earlier lines said of it.

    Later lines of the client often name neither its group nor its member id nor its generation.
    """

    group: str | None = None
    member: str | None = None
    generation: int | None = None


def read_evidence(paths: Sequence[str], group: str | None = None) -> Iterator[Evidence]:
    """Yield what several logs say, file by file, in the order of their lines.

    A line that names no group is given whatever `group` is: if the logs are of one group, it is of that
    group.

    Args:
        paths: the logs.
        group: a group; what is said of others is left out.

    Raises:
        SourceError: a file cannot be read, or too many lines say something.
    """
    count = 0
    for path in paths:
        voices: dict[str, _Voice] = {}
        for line in read_lines(path, HINTS):
            for statement in _say(line, voices):
                if group is None or statement.group in {group, None}:
                    yield statement
                    count += 1
                if count > MOST_EVIDENCE:
                    raise SourceError(
                        f"{path}: line {line.number}: more than {MOST_EVIDENCE:,} lines concern groups; name "
                        "one with --group, or give a shorter piece of the log"
                    )


def _say(line: Line, voices: dict[str, _Voice]) -> Iterator[Evidence]:
    """Yield what a line says, at most one statement; `voices` are the clients of this file, kept up to date.

    A line is tried as the writer's whose mark it has: Java's prefix, librdkafka's thread, a broker's pattern;
    any other may be of a Python client.
    """
    text = line.text
    if prefix := _JAVA_PREFIX.search(text):
        name = prefix["instance"] or prefix["client"]
        voice = voices.setdefault(name, _Voice())
        voice.group = prefix["group"]
        yield from _client(line, "java", text[prefix.end() :], name, voice)
    elif "[thrd:" in text or ("#consumer-" in text and 'Group "' in text):  # librdkafka, in whatever form
        named = _LIBRDKAFKA_CLIENT.search(text)
        client = named["client"] if named else None
        voice = voices.setdefault(client or "", _Voice())
        if quoted := _ANY_GROUP.search(text):
            voice.group = quoted["group"]
        yield from _client(line, "librdkafka", text, client, voice)
    elif (matched := _match("broker", text)) is not None:
        kind, match = matched
        fields = match.groupdict()
        if kind is Kind.EXPIRED and "within" in (fields.get("text") or ""):
            kind = Kind.LATE
        group = fields.get("group") or fields.get("old_group")
        yield _evidence(kind, line, group, fields, broker=True)
    else:
        yield from _client(line, "python", text, None, voices.setdefault("", _Voice()))


def _match(writer: str, text: str) -> tuple[Kind, re.Match[str]] | None:
    """Return the kind and the match of the first pattern of a writer that fits; None if none does."""
    for phrase, kind, pattern in log_patterns()[writer]:
        # A plain phrase is far quicker to search than the pattern, and most lines have none.
        if phrase in text and (match := pattern.search(text)):
            return kind, match
    return None


def _client(line: Line, writer: str, text: str, client: str | None, voice: _Voice) -> Iterator[Evidence]:
    """Yield what a client's line says; nothing if no pattern fits.

    The group, the member and the generation that the line does not name are those of its earlier lines.
    """
    matched = _match(writer, text)
    if matched is None:
        return
    kind, match = matched
    fields = match.groupdict()
    voice.group = fields.get("group") or voice.group
    voice.member = fields.get("member") or voice.member
    if fields.get("generation"):
        voice.generation = int(fields["generation"])
    # The answer to SyncGroup names no generation: it is that of the JoinGroup before it.
    if kind is Kind.MEMBER_SYNCED:
        fields["generation"] = voice.generation
    yield _evidence(
        kind, line, voice.group, {**fields, "member": voice.member, "client": client}, broker=False
    )


def _evidence(
    kind: Kind, line: Line, group: str | None, fields: dict[str, str | None], *, broker: bool
) -> Evidence:
    """Return the statement of a line; `fields` are the named groups of the pattern that fits."""
    generation = fields.get("generation")
    return Evidence(
        kind,
        line,
        group,
        fields.get("member"),
        fields.get("client"),
        None if generation is None else int(generation),
        (fields.get("text") or "").strip(),
        broker,
    )
