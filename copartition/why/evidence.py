"""What a line of a log says of a group: patterns of Kafka's brokers and of four clients.

Brokers: GroupCoordinator (to 3.9) and GroupMetadataManager (since 3.7). Clients: Java's coordinators and
membership managers, librdkafka's (`debug=cgrp`, and warnings without), kafka-python and aiokafka.
"""

from __future__ import annotations

import re
from enum import StrEnum, auto
from typing import TYPE_CHECKING, NamedTuple

from copartition.why.lines import read_lines
from partitioning.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from copartition.why.lines import Line


MOST_EVIDENCE = 1_000_000
"""Lines that say something, which are kept while they are put in order: some hundred bytes each."""


class Kind(StrEnum):
    """What a line says. The first ones are said by brokers only, the last ones by clients only."""

    PREPARING = auto()
    """A classic group's rebalance begins; `text` is the coordinator's reason."""
    STABILIZED = auto()
    """All have joined; `text` is how many."""
    ASSIGNED = auto()
    """The leader's assignment has come."""
    EMPTIED = auto()
    """Nobody is left."""
    EPOCH = auto()
    """A KIP-848 group has a new epoch; `text` is the hash of its topics' metadata, where the line has it."""
    TARGET = auto()
    """The broker has assigned for an epoch; `text` is the assignor."""
    METADATA = auto()
    """The subscribed topics have changed: partitions, or which topics match."""
    SUBSCRIPTION = auto()
    """A member subscribes to other topics."""
    LOADED = auto()
    """A broker has become the group's coordinator."""
    JOINED = auto()
    LEFT = auto()
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
    """A client's JoinGroup was answered; `text` is the assignor, where the line has it."""
    MEMBER_SYNCED = auto()
    """A client has its assignment."""
    MEMBER_EPOCH = auto()
    """A client has reached an epoch (KIP-848)."""


class Evidence(NamedTuple):
    """What one line says.

    Attributes:
        kind: what.
        line: where that stands.
        group: which group; None where the line does not tell and its file names several.
        member: the member id, as far as the line has it.
        client: `client.id` or `group.instance.id`; None where the line has only the member id.
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


def _patterns(*rows: tuple[str, Kind, str]) -> tuple[Pattern, ...]:
    return tuple(Pattern(phrase, kind, re.compile(pattern)) for phrase, kind, pattern in rows)


_GROUP, _MEMBER, _CLIENT = r"(?P<group>.+?)", r"(?P<member>\S+)", r"(?P<client>\S+)"
_GENERATION, _TEXT = r"(?P<generation>\d{1,18}(?!\d))", r"(?P<text>.*?)"
_END = r"\.?(?: \((?:kafka|org\.apache)\.\S+\)(?: \[\S+\])?)?$"
"""log4j writes the logger's name after the message, and as Strimzi has it the thread's."""

_REASON = rf"(?: .*?\(reason: {_TEXT}\))?(?: \(__consumer_offsets-\d+\))?"

_NEW = rf"\[GroupId {_GROUP}\] "
_STATIC = rf"Static member with groupInstanceId={_CLIENT} and unknown member id joins group {_GROUP} in "
_INSTANCE = rf"(?:with instance id {_CLIENT} )?"
_LEFT = (
    rf"(?:\[Group {_GROUP}\] )?(?:Dynamic |Static |Pending )?[Mm]ember (?:MemberMetadata\(memberId=)?"
    r"(?P<member>[^\s,]+?),? .*?has left group(?: (?P<old_group>\S+))? through "
)
_FIRST_OF_SET = r"(?:Set|HashMap|List)?[\[({]?(?P<member>[^,\s\])}]+)"

BROKER = _patterns(
    (
        "Preparing to rebalance group",
        Kind.PREPARING,
        rf"group {_GROUP} (?:in state \S+ )?with old generation {_GENERATION}{_REASON}{_END}",
    ),
    (
        "Stabilized group",
        Kind.STABILIZED,
        rf"group {_GROUP} generation {_GENERATION} .*?with (?P<text>\d{{1,18}}) mem",
    ),
    (
        "Assignment received from leader",
        Kind.ASSIGNED,
        rf"leader (?:{_MEMBER} )?for group {_GROUP} for generation {_GENERATION}",
    ),
    ("is now empty", Kind.EMPTIED, rf"Group {_GROUP} with generation {_GENERATION} "),
    ("has failed, removing it", Kind.EXPIRED, rf"Member {_MEMBER} in group {_GROUP} has failed"),
    ("] in group", Kind.LEFT, rf"member\.id {_MEMBER}\] in group {_GROUP} has left"),
    ("through explicit `LeaveGroup`", Kind.LEFT, rf"{_LEFT}.*?client reason: {_TEXT}{_END}"),
    ("who haven't joined", Kind.LATE, rf"Group {_GROUP} removed .*? joined: {_FIRST_OF_SET}"),
    ("Replacing previously mapped", Kind.REPLACED, rf"{_STATIC}(?P<text>\S+) state"),
    ("for this member and added to the group", Kind.JOINED, rf"{_STATIC}.*?member id {_MEMBER}"),
    ("Adding to the group now", Kind.JOINED, rf"with id {_MEMBER} joins group {_GROUP} in "),
    (
        "and added the member to the group",
        Kind.JOINED,
        rf"unknown member id joins group {_GROUP} in .*?member id {_MEMBER}",
    ),
    ("Loaded classic group", Kind.LOADED, rf"group {_GROUP} with (?P<text>\d+) members"),
    ("Loaded consumer group", Kind.LOADED, rf"group {_GROUP} with (?P<text>\d+) members"),
    ("Loading group metadata for", Kind.LOADED, rf"for {_GROUP} with generation"),
    (
        "the consumer group using the",
        Kind.JOINED,
        rf"{_NEW}(?:Static m|M)ember {_MEMBER} {_INSTANCE}joins the",
    ),
    (
        "re-joins the consumer group",
        Kind.REPLACED,
        rf"{_NEW}Static member with instance id {_CLIENT} re-joins",
    ),
    (
        "left the consumer group",
        Kind.LEFT,
        rf"{_NEW}(?:Static )?Member {_MEMBER} {_INSTANCE}(?P<text>temporarily )?left the",
    ),
    (
        "fenced from the group because",
        Kind.EXPIRED,
        rf"{_NEW}Member {_MEMBER} fenced .*?because {_TEXT}{_END}",
    ),
    (
        "Bumped group epoch to",
        Kind.EPOCH,
        rf"{_NEW}Bumped .*? to {_GENERATION}(?: with metadata hash (?P<text>-?\d+))?",
    ),
    ("Computed new subscription metadata", Kind.METADATA, rf"{_NEW}Computed new"),
    (
        "Computed a new target assignment",
        Kind.TARGET,
        rf"{_NEW}.*?for epoch {_GENERATION} with '(?P<text>[^']*)' assignor",
    ),
    ("updated its subscribed", Kind.SUBSCRIPTION, rf"{_NEW}Member {_MEMBER} updated"),
    ("because the instance id is owned by", Kind.FENCED, rf"{_NEW}Static member {_MEMBER} {_INSTANCE}cannot"),
    ("is fenced by existing member", Kind.FENCED, rf"{_NEW}Static member {_MEMBER} {_INSTANCE}is"),
)

_JAVA_GENERATION = (
    r"(?:Generation\{generationId=)?(?P<generation>\d{1,18}(?!\d))"
    r"(?:, memberId='(?P<member>.*?)', protocol='(?P<text>.*?)')?"
)

JAVA = _patterns(
    ("Request joining group due to", Kind.REJOINING, r"due to: (?P<text>.*)"),
    ("(Re-)joining group", Kind.REJOINING, r"joining group"),
    ("Successfully joined group with generation", Kind.MEMBER_JOINED, rf"with generation {_JAVA_GENERATION}"),
    ("Successfully synced group in generation", Kind.MEMBER_SYNCED, rf"in generation {_JAVA_GENERATION}"),
    ("onsumer poll timeout has expired", Kind.POLL, r"poll timeout"),
    ("sending LeaveGroup request", Kind.LEFT, rf"Member {_MEMBER} sending .*? due to (?P<text>.*)"),
    ("FENCED_INSTANCE_ID", Kind.FENCED, r"FENCED"),
    ("has been fenced by another instance", Kind.FENCED, r"fenced"),
    ("failed due to UNKNOWN_MEMBER_ID", Kind.EXPIRED, r"heartbeat|fenced"),
    ("is not valid", Kind.EXPIRED, rf"heartbeat failed .*?member id {_MEMBER} is not valid"),
    ("got fenced with error", Kind.EXPIRED, rf"Member {_MEMBER} "),
    ("supported protocols are incompatible", Kind.MISMATCH, r"protocols"),
    ("is unavailable or invalid due to cause", Kind.COORDINATOR, r"cause: (?P<text>.*?)\.? ?isDisconnected"),
    (
        "transitioned from",
        Kind.MEMBER_EPOCH,
        rf"Member {_MEMBER} with epoch {_GENERATION} transitioned from \S+ to STABLE",
    ),
)

LIBRDKAFKA = _patterns(
    (
        "rebalanc",  # a member without an assignment, NONE, only begins
        Kind.REJOINING,
        rf'Group "{_GROUP}" (?:init|is reb)\S+ing.*? \((?!NONE)\w+\) .*?partition\(s\)[^:]*: (?P<text>.*)',
    ),
    (
        "ejoining group with",
        Kind.REJOINING,
        rf'Group "{_GROUP}": Rejoining group with(?!out) .*?: (?P<text>.*)',
    ),
    (
        "ConsumerGroupHeartbeat response received",
        Kind.MEMBER_EPOCH,
        rf'member id "(?P<member>[^"]+)" with epoch {_GENERATION}',
    ),
    (
        "JoinGroup response: GenerationId",
        Kind.MEMBER_JOINED,
        rf"GenerationId {_GENERATION}, Protocol (?P<text>\S*), LeaderId .*?my MemberId (?P<member>\S+),",
    ),
    ("SyncGroup response: Success", Kind.MEMBER_SYNCED, r"Success"),
    ("pplication maximum poll interval", Kind.POLL, r"(?P<text>maximum poll interval \(\d+ms\) exceeded)"),
    ("group session timed out", Kind.COORDINATOR, r"(?P<text>session timed out)"),
    ("Broker: Unknown member", Kind.EXPIRED, rf'Group "{_GROUP}" heartbeat error'),
    ("subscription updated from metadata", Kind.METADATA, rf'Group "{_GROUP}": '),
    ("fenced by other consumer with same group", Kind.FENCED, r"fenced"),
    ("nconsistent group protocol", Kind.MISMATCH, r"protocol"),
    (
        "changing coordinator",
        Kind.COORDINATOR,
        rf'Group "{_GROUP}" (?P<text>changing coordinator \d+ -> -?\d+)',
    ),
    (": leave (in state", Kind.LEFT, rf'Group "{_GROUP}": leave'),
)

PYTHON = _patterns(
    (
        "Successfully joined group",
        Kind.MEMBER_JOINED,
        rf"group {_GROUP} <Generation {_GENERATION} .*?id: (?P<member>\S+?), protocol: (?P<text>\S+?)\)",
    ),
    ("Successfully joined group", Kind.MEMBER_JOINED, rf"group {_GROUP} with generation {_GENERATION}"),
    (
        "Joined group '",
        Kind.MEMBER_JOINED,
        rf"'{_GROUP}' \(generation {_GENERATION}\) with member_id {_MEMBER}",
    ),
    ("Successfully synced group", Kind.MEMBER_SYNCED, rf"group {_GROUP} with generation {_GENERATION}"),
    ("Setting newly assigned partitions", Kind.MEMBER_SYNCED, rf"for group {_GROUP}$"),
    ("(Re-)joining group", Kind.REJOINING, rf"joining group {_GROUP}$"),
    (
        "is rebalancing",
        Kind.REJOINING,
        rf"[Gg]roup {_GROUP} (?P<text>is rebalancing|because it is rebalancing)",
    ),
    ("onsumer poll timeout has expired", Kind.POLL, r"poll timeout"),
    ("Leaving consumer group", Kind.LEFT, rf"group {_GROUP} \(member (?P<member>\S+)\)"),
    ("member_id was not recognized", Kind.EXPIRED, r"recognized"),
    ("generation id is not", Kind.EXPIRED, rf"failed for group {_GROUP}:"),
    ("Heartbeat session expired", Kind.COORDINATOR, r"(?P<text>Heartbeat session expired)"),
    ("Marking the coordinator dead", Kind.COORDINATOR, rf"for group {_GROUP}[:.](?P<text>.*)"),
    ("Metadata for topic has changed", Kind.METADATA, r"has changed"),
    ("InconsistentGroupProtocol", Kind.MISMATCH, r"Protocol"),
    (
        "follow-up rebalance for group",
        Kind.REJOINING,
        rf"(?P<text>follow-up) rebalance for group {_GROUP} to",
    ),
    ("FencedInstanceId", Kind.FENCED, r"Fenced"),
)

_JAVA_PREFIX = re.compile(
    r"\[Consumer (?:instanceId=(?P<instance>[^,]+), )?clientId=(?P<client>[^,]+), groupId=(?P<group>.+?)\] "
)
_LIBRDKAFKA_CLIENT = re.compile(r"(?<![^\s|\[\]#])(?P<client>[^\s|\[\]#]+)#consumer-\d+")
_ANY_GROUP = re.compile(r'Group "(?P<group>.+?)"')
HINTS = (b"roup", b" poll ", b"eartbeat", b"member_id", b"Metadata for topic", b"FencedInstance")
"""In every line that a pattern fits is one of these, and in few others: they are looked for in gigabytes."""


class _Voice:
    """One client that writes into a log, and what is known of it so far."""

    def __init__(self) -> None:
        self.group: str | None = None
        self.member: str | None = None
        self.generation: int | None = None


def read_evidence(paths: Sequence[str], group: str | None = None) -> Iterator[Evidence]:
    """What several logs say, file by file, in the order of their lines.

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
            for each in _say(line, voices):
                if group is None or each.group in {group, None}:
                    yield each
                    count += 1
                if count > MOST_EVIDENCE:
                    raise SourceError(
                        f"{path}: line {line.number}: more than {MOST_EVIDENCE:,} lines concern groups; name "
                        "one with --group, or give a shorter piece of the log"
                    )


def _say(line: Line, voices: dict[str, _Voice]) -> Iterator[Evidence]:
    text = line.text
    if prefix := _JAVA_PREFIX.search(text):
        name = prefix["instance"] or prefix["client"]
        voice = voices.setdefault(name, _Voice())
        voice.group = prefix["group"]
        yield from _client(line, JAVA, text[prefix.end() :], name, voice)
    elif "[thrd:" in text or ("#consumer-" in text and 'Group "' in text):  # librdkafka, in whatever form
        named = _LIBRDKAFKA_CLIENT.search(text)
        client = named["client"] if named else None
        voice = voices.setdefault(client or "", _Voice())
        if quoted := _ANY_GROUP.search(text):
            voice.group = quoted["group"]
        yield from _client(line, LIBRDKAFKA, text, client, voice)
    elif (matched := _match(BROKER, text)) is not None:
        kind, match = matched
        fields = match.groupdict()
        if kind is Kind.EXPIRED and "within" in (fields.get("text") or ""):
            kind = Kind.LATE
        group = fields.get("group") or fields.get("old_group")
        yield _evidence(kind, line, group, fields, broker=True)
    else:
        yield from _client(line, PYTHON, text, None, voices.setdefault("", _Voice()))


def _match(patterns: Sequence[Pattern], text: str) -> tuple[Kind, re.Match[str]] | None:
    for phrase, kind, pattern in patterns:
        if phrase in text and (match := pattern.search(text)):
            return kind, match
    return None


def _client(
    line: Line, patterns: Sequence[Pattern], text: str, client: str | None, voice: _Voice
) -> Iterator[Evidence]:
    matched = _match(patterns, text)
    if matched is None:
        return
    kind, match = matched
    fields = match.groupdict()
    voice.group = fields.get("group") or voice.group
    voice.member = fields.get("member") or voice.member
    if fields.get("generation"):
        voice.generation = int(fields["generation"])
    if kind is Kind.MEMBER_SYNCED:
        fields["generation"] = voice.generation
    yield _evidence(
        kind, line, voice.group, {**fields, "member": voice.member, "client": client}, broker=False
    )


def _evidence(
    kind: Kind, line: Line, group: str | None, fields: dict[str, str | None], *, broker: bool
) -> Evidence:
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
