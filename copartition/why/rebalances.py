"""The rebalances of each group that logs show: when each began, why, by whom, and how long its phases took.

A broker's log is the spine if there is one, as the coordinator writes down every rebalance; clients then
say what it could not know, such as an application that did not poll. Without it, the generations that members
joined are the rebalances. Times are seconds since 1970, lengths of time seconds.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from assignors.group import name_in
from copartition.kit.words import count
from copartition.why.evidence import Evidence, Kind, Line
from partitioning.kit.packages import read_toml

OFFSETS_TOPIC = "__consumer_offsets"
UNNAMED = "a group without a name"
"""The name of the only group if no line names it."""
REPLACED = "static member back, no rebalance"
NEAR_S = 15.0
"""The time that a client's line and its coordinator's may be apart: clocks differ, messages take time."""


class Cause(StrEnum):
    """The cause of a rebalance."""

    JOINED = "joined"
    LEFT = "left"
    EXPIRED = "session expired"
    POLL = "poll interval exceeded"
    LATE = "did not rejoin in time"
    TOPICS = "topics changed"
    SUBSCRIPTION = "subscription changed"
    REPLACED = "static member replaced"
    FENCED = "fenced"
    FOLLOW_UP = "follow-up of a cooperative rebalance"
    ASSIGNOR = "assignors or protocol changed"
    COORDINATOR = "coordinator moved"
    STORING = "assignment not stored"
    GONE = "left or failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A rebalance, as far as logs tell; times are seconds since 1970.

    Attributes:
        generation: the generation, or the epoch of a KIP-848 group, that it made; None: not logged.
        cause: why it began.
        member: who caused it: `group.instance.id`, else `client.id`, else the member id.
        reason: the words of the log.
        line: where they stand.
        began: when it began.
        joined: when all members had joined; None for KIP-848 groups, which do not wait for that.
        ended: when the assignment was there; None if another rebalance began before, or the log ends.
        members: how many there were then.
        assignor: which one assigned.
        also: who else came or went meanwhile, and how.
        leader: which member led a classic group then, as far as `__consumer_offsets` says.
        names: who the members were then, as it says.

    >>> line = Line("server.log", 7, "")
    >>> rebalance = Rebalance(3, Cause.JOINED, "app-1", "", line, began=100.0, joined=103.0, ended=103.5)
    >>> rebalance.join_s, rebalance.sync_s
    (3.0, 0.5)
    """

    generation: int | None
    cause: Cause
    member: str | None
    reason: str
    line: Line
    began: float | None
    joined: float | None = None
    ended: float | None = None
    members: int | None = None
    assignor: str | None = None
    also: tuple[tuple[Cause, str | None], ...] = ()
    leader: str | None = None
    names: tuple[str, ...] = ()

    @property
    def join_s(self) -> float | None:
        """The seconds that the coordinator waited for members to join; None if unknown."""
        return None if self.joined is None or self.began is None else self.joined - self.began

    @property
    def sync_s(self) -> float | None:
        """The seconds that the members then waited for the assignment; None if unknown.

        Under KIP-848 members do not join first, so the time counts from the beginning on.
        """
        since = self.joined if self.joined is not None else self.began
        return None if since is None or self.ended is None else self.ended - since


class Other(NamedTuple):
    """An event that is no rebalance, and worth a line: when, what, and who."""

    at: float | None
    what: str
    member: str | None
    line: Line


@dataclass(frozen=True, slots=True)
class GroupHistory:
    """The history of a group, as far as logs show it.

    Attributes:
        name: its id.
        protocol: "classic" or "consumer" (KIP-848); None if no rebalance is shown.
        rebalances: in order.
        others: what was no rebalance.
        assumed: what the logs do not tell, and was taken for granted.
    """

    name: str
    protocol: str | None
    rebalances: tuple[Rebalance, ...]
    others: tuple[Other, ...]
    assumed: tuple[str, ...]


_UUID = re.compile(r"^[A-Za-z0-9_+/-]{22}$")
"""A member id of KIP-848: a UUID in base64, which says nothing of the client."""


def name_of(member: str | None) -> str | None:
    """Return the `group.instance.id` or `client.id` in a member id; an id of another form as it is.

    >>> name_of("billing-1-6fd0b3a5-3ec5-4b52-8a6a-3f3c1cd5e0a4")
    'billing-1'
    """
    return name_in(member or "") or member


def histories(evidence: Iterable[Evidence]) -> list[GroupHistory]:
    """Return what logs show of each group, by name.

    Lines that name no group belong to the only group that is named; if several are named, such lines are left
    out, and `GroupHistory.assumed` says so.

    Args:
        evidence: what lines say, file by file, see `read_evidence`.

    Returns:
        A history for each group that a line names, in the order of names.
    """
    evidence = list(evidence)
    named = {statement.group for statement in evidence if statement.group}
    only = UNNAMED if not named else min(named) if len(named) == 1 else None
    by_group: dict[str, list[Evidence]] = defaultdict(list)
    for statement in evidence:
        if group := statement.group or only:
            by_group[group].append(statement)
    left_out = sum(1 for statement in evidence if statement.group is None) if only is None else 0
    assumed = [f"{count(left_out, 'line')} without a group's name left out"] if left_out else []
    return [_history(group, by_group[group], assumed) for group in sorted(by_group)]


def _history(group: str, evidence: list[Evidence], assumed: Sequence[str]) -> GroupHistory:
    """Return the history of one group; `assumed` is what was taken for granted of all groups.

    If every line has a time, lines of all files are put in the order of time; else they stay as they are.
    """
    assumed = [*assumed]
    if not all(statement.line.zoned for statement in evidence):
        assumed.append("times without a zone are UTC")
    if any(statement.line.at is None for statement in evidence):
        assumed.append("lines without a time are in the order of their files")
    else:
        evidence = sorted(evidence, key=lambda statement: statement.line.at or 0.0)
    broker = [statement for statement in evidence if statement.broker]
    clients = [statement for statement in evidence if not statement.broker]
    if any(statement.kind is Kind.PREPARING for statement in broker):
        protocol, rebalances = "classic", list(_classic(broker))
    elif any(statement.kind is Kind.EPOCH for statement in broker):
        protocol, rebalances = "consumer", list(_consumer(broker))
    else:
        epochs = any(client.kind is Kind.MEMBER_EPOCH for client in clients)
        protocol, rebalances = "consumer" if epochs else "classic", list(_by_clients(clients))
    if broker and clients:
        names = {client.member: client.client for client in clients if client.member and client.client}
        assignors = {
            client.generation: client.text for client in clients if client.kind is Kind.MEMBER_JOINED
        }
        hints = [
            (client, cause, client.line.at)
            for client in clients
            if (cause := _client_cause(client)) is not None and client.line.at is not None
        ]
        rebalances = [_refined(_renamed(rebalance, names, assignors), hints) for rebalance in rebalances]
    if not broker and clients:
        assumed.append("only clients' logs: what other members did is not known")
    return GroupHistory(
        group, protocol if rebalances else None, tuple(rebalances), tuple(_others(evidence)), tuple(assumed)
    )


_WHO = r"(?:[Ll]eader|[Mm]ember) (\S+)"
_REASONS = [
    (row["pattern"], Cause[row["cause"].upper()], row.get("member"))
    for row in read_toml(__package__, "reasons.toml")["reason"]
]


def _cause(reason: str) -> tuple[Cause, str | None]:
    """Return the cause that a coordinator's reason names, and the member id in it.

    The cause is UNKNOWN if no pattern of `reasons.toml` fits; the member id is None if there is none.
    """
    for pattern, cause, member in _REASONS:
        if match := re.search(pattern, reason):
            who = re.search(member, reason) if member else match
            return cause, who[1] if who and who.groups() else None
    who = re.search(_WHO, reason)
    return Cause.UNKNOWN, who[1] if who else None


_COMINGS = {
    Kind.JOINED: Cause.JOINED,
    Kind.LEFT: Cause.LEFT,
    Kind.EXPIRED: Cause.EXPIRED,
    Kind.LATE: Cause.LATE,
}
"""Statements of a broker that a member came or went, with their causes."""


def _classic(evidence: Sequence[Evidence]) -> Iterator[Rebalance]:
    """Yield rebalances by the log of a classic group's coordinator.

    A rebalance lasts from its PREPARING line to the line of its assignment, or to the next PREPARING line.
    """
    now: Rebalance | None = None
    reasons: dict[str, Cause] = {}  # how members left, by member id
    for statement in evidence:
        if statement.kind is Kind.LEFT and statement.member:
            reasons[statement.member] = _client_cause(statement) or Cause.LEFT
        if statement.kind is Kind.PREPARING:
            if now is not None:
                yield now
            now = _begun(statement, reasons)
        elif now is not None:
            now = _continued(now, statement, reasons)
            if statement.kind in {Kind.ASSIGNED, Kind.EMPTIED}:
                yield now
                now = None
    if now is not None:
        yield now


def _begun(statement: Evidence, reasons: Mapping[str, Cause]) -> Rebalance:
    """Return a rebalance by its first line; `reasons` are how members left, by member id.

    The line has the generation that ends: the rebalance makes the next one.
    """
    cause, member = _cause(statement.text)
    cause = reasons.get(member or "", cause) if cause is Cause.LEFT else cause
    generation = (statement.generation or 0) + 1
    return Rebalance(generation, cause, name_of(member), statement.text, statement.line, statement.line.at)


def _continued(now: Rebalance, statement: Evidence, reasons: Mapping[str, Cause]) -> Rebalance:
    """Return a rebalance with one more line of its coordinator.

    Args:
        now: the rebalance until now.
        statement: the line's statement.
        reasons: how members left, by member id.
    """
    at = statement.line.at
    if statement.kind is Kind.STABILIZED:
        return replace(
            now, joined=at, members=int(statement.text), generation=statement.generation or now.generation
        )
    if statement.kind in {Kind.ASSIGNED, Kind.EMPTIED}:
        return replace(now, ended=at, members=0 if statement.kind is Kind.EMPTIED else now.members)
    who = statement.client or name_of(statement.member)
    # Once all have joined, who comes or goes causes the next rebalance, whose first line names it.
    if statement.kind not in _COMINGS or now.joined is not None or who == now.member:
        return now
    cause = (
        reasons[statement.member]
        if statement.kind is Kind.LEFT and statement.member
        else _COMINGS[statement.kind]
    )
    return replace(now, also=(*now.also, (cause, who)))


def _consumer(evidence: Sequence[Evidence]) -> Iterator[Rebalance]:
    """Yield new epochs by the log of a KIP-848 group's coordinator.

    What members did since the epoch before is the cause of an epoch: the first is `cause`, the others are
    `also`. An epoch lasts until the target of the same epoch is there.
    """
    pending: list[tuple[Cause, str | None, str]] = []
    now: Rebalance | None = None
    hash_before: str | None = None
    causes = _COMINGS | {
        Kind.REPLACED: Cause.REPLACED,
        Kind.METADATA: Cause.TOPICS,
        Kind.SUBSCRIPTION: Cause.SUBSCRIPTION,
    }
    for statement in evidence:
        if statement.kind in causes:
            pending.append(
                (causes[statement.kind], statement.client or name_of(statement.member), statement.text)
            )
        elif statement.kind is Kind.EPOCH and statement.generation is not None:
            if now is not None:
                yield now
            # No line tells that topics have changed, but the hash of their metadata has another value.
            if not pending and hash_before is not None and statement.text and statement.text != hash_before:
                pending.append((Cause.TOPICS, None, "the hash of its topics' metadata has changed"))
            cause, member, reason = pending[0] if pending else (Cause.UNKNOWN, None, "")
            now = Rebalance(
                statement.generation,
                cause,
                member,
                reason.strip() or cause.value,
                statement.line,
                statement.line.at,
                also=tuple((other, who) for other, who, _ in pending[1:]),
            )
            hash_before, pending = statement.text or hash_before, []
        elif statement.kind is Kind.TARGET and now is not None and statement.generation == now.generation:
            yield replace(now, ended=statement.line.at, assignor=statement.text)
            now = None
    if now is not None:
        yield now


_JOINS = {Kind.MEMBER_JOINED, Kind.MEMBER_EPOCH}
"""Statements of a client that it has reached a generation or an epoch."""


def _by_clients(evidence: Sequence[Evidence]) -> Iterator[Rebalance]:
    """Yield rebalances by the generations that clients joined.

    What clients say between the last join of a generation and the last join of the next one is why that came.
    If the logs go on after the last generation with a cause, one more rebalance without a generation is
    yielded.
    """
    last: dict[int, int] = {}  # of each generation, where the last client joins it
    reached: set[tuple[str, int]] = set()
    for place, statement in enumerate(evidence):
        if (
            statement.kind in _JOINS
            and statement.generation is not None
            and (_who(statement), statement.generation) not in reached
        ):
            reached.add((_who(statement), statement.generation))
            last[statement.generation] = place
    here: set[str] = set()
    since = 0
    order = sorted(last.items(), key=lambda item: item[1])
    ends = [until for _, until in order[1:]] + [len(evidence)]
    for (generation, until), next_until in zip(order, ends, strict=False):
        window = evidence[since : until + 1]
        joins = [
            statement
            for statement in window
            if statement.kind in _JOINS and statement.generation == generation
        ]
        cause, first = _first_cause(window, here)
        times = [join.line.at for join in joins if join.line.at is not None]
        began = [
            statement.line.at
            for statement in window
            if statement.line.at is not None
            and statement.kind is not Kind.MEMBER_SYNCED
            and (statement.kind is not Kind.MEMBER_EPOCH or statement.generation == generation)
        ]
        synced = [
            statement.line.at
            for statement in evidence[since:next_until]
            if statement.kind is Kind.MEMBER_SYNCED
            and statement.generation == generation
            and statement.line.at is not None
        ]
        yield Rebalance(
            generation,
            cause,
            None if first is None else first.client or name_of(first.member),
            cause.value if first is None or first.kind in _JOINS else first.text or cause.value,
            (first or joins[0]).line,
            min(began, default=None),
            max(times, default=None),
            max(synced, default=None),
            assignor=next((join.text for join in joins if join.text), None),
        )
        since = until + 1
    # What came after the last generation has no logged end.
    rest = evidence[since:]
    cause, first = _first_cause(rest, here)
    first = first or next(filter(_follows, rest), None)
    if first is not None:
        member = None if cause is Cause.UNKNOWN else first.client or name_of(first.member)
        yield Rebalance(None, cause, member, first.text or cause.value, first.line, first.line.at)


def _who(statement: Evidence) -> str:
    """Return the client that says something; its file if its lines do not name it."""
    return statement.client or statement.line.file


def _first_cause(window: Sequence[Evidence], here: set[str]) -> tuple[Cause, Evidence | None]:
    """Return the first cause among what clients said, and the statement; UNKNOWN and None if there is none.

    `here` are the clients that are in the group; it is kept up to date.
    """
    first: tuple[Cause, Evidence | None] = (Cause.UNKNOWN, None)
    for statement in window:
        cause = _client_cause(statement)
        if statement.kind in _JOINS and _who(statement) not in here:
            cause = Cause.JOINED
            here.add(_who(statement))
        elif cause in {Cause.LEFT, Cause.POLL, Cause.EXPIRED}:
            here.discard(_who(statement))
        elif cause is Cause.JOINED:
            cause = None  # its join tells the same
        elif _follows(statement):
            here.add(_who(statement))  # only a member hears that
        if first[1] is None and cause is not None:
            first = (cause, statement)
    return first


def _follows(statement: Evidence) -> bool:
    """Return whether a member says that its group rebalances, which others caused."""
    return (
        statement.kind is Kind.REJOINING
        and re.search(r"is (?:already )?rebalancing|rebalance in", statement.text) is not None
    )


_BY_KIND = {Kind.POLL: Cause.POLL, Kind.EXPIRED: Cause.EXPIRED, Kind.METADATA: Cause.TOPICS}
_CLIENT_REASONS = (
    (re.compile(r"poll.*(?:timeout|exceeded|expired)"), Cause.POLL),
    (re.compile(r"etadata.*changed"), Cause.TOPICS),
    (re.compile(r"subscription has changed"), Cause.SUBSCRIPTION),
    (re.compile(r"revoke|redistribute previously owned|follow-up"), Cause.FOLLOW_UP),
    (re.compile(r"UNKNOWN_MEMBER_ID|timed out"), Cause.EXPIRED),
    (re.compile(r"given member-id"), Cause.JOINED),
)
"""Words of clients, tried in order, with the cause that they name."""


def _client_cause(statement: Evidence) -> Cause | None:
    """Return the cause that a client's line names; None if it only follows the group."""
    if statement.kind in _BY_KIND:
        return _BY_KIND[statement.kind]
    if statement.kind not in {Kind.LEFT, Kind.REJOINING}:
        return None
    named = next((cause for pattern, cause in _CLIENT_REASONS if pattern.search(statement.text)), None)
    return named if statement.kind is Kind.REJOINING else named or Cause.LEFT


_OPEN: dict[Cause, frozenset[Cause]] = {
    Cause.LEFT: frozenset({Cause.POLL, Cause.FENCED}),
    Cause.UNKNOWN: frozenset({Cause.TOPICS, Cause.SUBSCRIPTION, Cause.FOLLOW_UP}),
}
"""Causes that a coordinator's words leave open, and what the client's own log may say instead."""


def _renamed(
    rebalance: Rebalance, names: Mapping[str, str], assignors: Mapping[int | None, str]
) -> Rebalance:
    """Return a rebalance with what clients' logs name.

    Args:
        rebalance: by the coordinator's log.
        names: client ids by member id, as a member id of KIP-848 says nothing of the client.
        assignors: by generation.
    """
    also = tuple((cause, names.get(member or "", member)) for cause, member in rebalance.also)
    member = names.get(rebalance.member or "", rebalance.member)
    assignor = rebalance.assignor or assignors.get(rebalance.generation) or None
    return replace(rebalance, member=member, also=also, assignor=assignor)


def _refined(rebalance: Rebalance, hints: Sequence[tuple[Evidence, Cause, float]]) -> Rebalance:
    """Return a rebalance with the cause that the client's own log names, if the coordinator's leaves it open.

    A hint is a client's line with the cause that it names, and when it was written. Only a hint of the member
    that caused the rebalance counts, no further than `NEAR_S` from its beginning; the nearest one decides.
    """
    possible = _OPEN.get(rebalance.cause)
    if possible is None or rebalance.began is None:
        return rebalance
    near = [
        (abs(at - rebalance.began), name, cause)
        for name, cause, at in hints
        if cause in possible
        and abs(at - rebalance.began) <= NEAR_S
        and rebalance.member in {name.client, name_of(name.member), name.member}
    ]
    if not near:
        return rebalance
    _, nearest, cause = min(near, key=lambda row: row[0])
    return replace(rebalance, cause=cause, reason=nearest.text or cause.value, line=nearest.line)


def _others(evidence: Sequence[Evidence]) -> Iterator[Other]:
    """Yield what was no rebalance; of many equal ones in a row the first."""
    words = {
        Kind.REPLACED: REPLACED,
        Kind.LOADED: "coordinator moved or restarted",
        Kind.FENCED: "fenced: another process has its group.instance.id",
        Kind.MISMATCH: "refused: no assignor that all members have",
        Kind.COORDINATOR: "lost its coordinator",
    }
    rows = [statement for statement in evidence if statement.kind in words]
    for (kind, member), some in groupby(rows, key=lambda row: (row.kind, row.client or name_of(row.member))):
        first = next(some)
        yield Other(first.line.at, words[kind], member, first.line)


class Return(NamedTuple):
    """A member that was gone from the group and joined again.

    Attributes:
        member: its name.
        away_s: seconds from its leave, or from the end of its session, until it joined.
        closed: whether it left by itself. If not, its session expired, and a group's log does not tell a
            process that was paused from one that crashed and was started again.
    """

    member: str
    away_s: float
    closed: bool


def returns(rebalances: Sequence[Rebalance]) -> list[Return]:
    """Return the members that closed or fell silent and came back, in the order in which they did.

    A name that several members have at a time tells nothing, so its comings and goings are left out. A member
    of a KIP-848 group that comes back under the same member id was no other process.

    Args:
        rebalances: of one group, in order.

    >>> line = Line("server.log", 7, "")
    >>> left = Rebalance(4, Cause.LEFT, "app-1", "", line, began=10.0)
    >>> returns([left, Rebalance(5, Cause.JOINED, "app-1", "", line, began=12.5)])
    [Return(member='app-1', away_s=2.5, closed=True)]
    """
    gone: dict[str, tuple[float, bool]] = {}
    here: Counter[str] = Counter()
    back = []
    for rebalance in rebalances:
        for cause, member in ((rebalance.cause, rebalance.member), *rebalance.also):
            if member is None or rebalance.began is None:
                continue
            if cause is Cause.JOINED:
                here[member] += 1
                since, closed = gone.pop(member, (None, False))
                if since is not None and here[member] == 1 and not _UUID.match(member):
                    back.append(Return(member, rebalance.began - since, closed))
            elif cause in {Cause.LEFT, Cause.EXPIRED, Cause.POLL}:
                here[member] = max(0, here[member] - 1)
                gone.pop(member, None)
                # A member that polled too late is the same process when it comes back: that is no restart.
                if cause is not Cause.POLL:
                    gone[member] = rebalance.began, cause is Cause.LEFT
    return back
