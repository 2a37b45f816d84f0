"""Find the rebalances of each group in logs: when each began, why, by whom, and how long its phases took.

A broker's log is the spine if there is one, as the coordinator writes down every rebalance; clients then
say what it could not know, such as an application that did not poll. Without it, the generations that members
joined are the rebalances (`client_rebalances`). Times are seconds since 1970, lengths of time seconds.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from copartition.kit.words import count, natural
from copartition.why.client_rebalances import by_clients, client_cause
from copartition.why.evidence import Evidence, Kind, Reading
from copartition.why.history import (
    CUT_OFF,
    ONLY_CLIENTS,
    REPLACED,
    UNNAMED,
    Cause,
    GroupHistory,
    Other,
    Rebalance,
    is_default_name,
    name_of,
)
from copartition.why.unpack import is_dated
from partitioning.kit.packages import read_toml

NEAR_S = 15.0
"""The time that a client's line and its coordinator's may be apart: clocks differ, messages take time."""


def histories(reading: Reading) -> list[GroupHistory]:
    """Return what logs show of each group, by name.

    Lines that name no group belong to the only group that is named; if several are named, such lines are left
    out, and `GroupHistory.assumed` says so.

    Args:
        reading: what lines say, file by file, see `read_evidence`.

    Returns:
        A history for each group that a line names, in the natural order of names.
    """
    # `reading.groups` also has the groups that --group leaves out. So a line without a name is not given to
    # the group that was asked for while the file names others.
    only = None if len(reading.groups) > 1 else next(iter(reading.groups), UNNAMED)
    by_group: dict[str, list[Evidence]] = defaultdict(list)
    for statement in reading.statements:
        if group := statement.group or only:
            by_group[group].append(statement)
    left_out = sum(1 for statement in reading.statements if statement.group is None) if only is None else 0
    assumed = [f"{count(left_out, 'line')} without a group's name left out"] if left_out else []
    assumed += [
        f"{path} begins with its last line, and was read from its end" for path in reading.newest_first
    ]
    return [_history(group, by_group[group], assumed) for group in sorted(by_group, key=natural)]


def _history(group: str, evidence: list[Evidence], assumed: Sequence[str]) -> GroupHistory:
    """Return the history of one group; `assumed` is what was taken for granted of all groups.

    If every line has a time, lines of all files are put in the order of time; else they stay as they are.
    """
    assumed = [*assumed]
    # Lines of several files can be put in order by their times only. A line without a time would be sorted to
    # 1970, before its own cause, and so would a time of day among lines that have a date.
    times = [statement.line.at for statement in evidence]
    if not all(statement.line.zoned for statement in evidence):
        assumed.append("times without a zone are UTC")
    if any(at is None for at in times):
        assumed.append("lines without a time are in the order of their files")
    elif len({is_dated(at) for at in times if at is not None}) > 1:
        assumed.append("lines have a date or have none, so they are in the order of their files")
    else:
        evidence = sorted(evidence, key=lambda statement: statement.line.at or 0.0)
    if any(at is not None and not is_dated(at) for at in times):
        assumed.append(
            "times without a date, or without a year, are of one day or year, and go on after its end"
        )
    broker = [statement for statement in evidence if statement.broker]
    clients = [statement for statement in evidence if not statement.broker]
    # A coordinator sees every rebalance of its group, a client only those that it takes part in. So clients'
    # lines make rebalances only if the coordinator's make none; else they only add what it cannot know.
    rebalances = _by_broker(evidence)
    if not rebalances:
        rebalances = list(by_clients(clients))
    elif clients:
        names = {client.member: client.client for client in clients if client.member and client.client}
        assignors = {
            client.generation: client.assignor for client in clients if client.kind is Kind.MEMBER_JOINED
        }
        hints = [
            (client, cause, client.line.at)
            for client in clients
            if (cause := client_cause(client)) is not None and client.line.at is not None
        ]
        hints.sort(key=lambda hint: hint[2])  # so that a rebalance looks only at those near to it
        rebalances = [_with_hint(_with_names(rebalance, names, assignors), hints) for rebalance in rebalances]
    if not broker and clients:
        assumed.append(ONLY_CLIENTS)
    others = tuple(_others(evidence, shown=bool(rebalances)))
    return GroupHistory(group, _protocol(evidence), tuple(rebalances), others, tuple(assumed))


def _protocol(evidence: Sequence[Evidence]) -> str | None:
    """Return the kind of group that lines are about, the last one that they name; None if they name none.

    Words of share groups that consumer groups have, too, count as these only if no line says otherwise.
    """
    named = [statement.protocol for statement in evidence if statement.protocol]
    # The last one counts: a group may change its protocol in the middle of the logs.
    certain = [protocol for protocol in named if protocol != "modern"]
    if certain:
        return certain[-1]
    if named or any(statement.kind is Kind.MEMBER_EPOCH for statement in evidence):
        return "consumer"
    return "classic" if any(statement.kind in _CLASSIC_KINDS for statement in evidence) else None


_CLASSIC_KINDS = {Kind.MEMBER_JOINED, Kind.MEMBER_SYNCED, Kind.REJOINING}
"""Statements that only clients of classic groups make."""


def _by_broker(evidence: Sequence[Evidence]) -> list[Rebalance]:
    """Return the rebalances in the log of a coordinator, of whatever kinds the group was, in order."""
    broker = [statement for statement in evidence if statement.broker]
    classic = [statement for statement in broker if statement.protocol == "classic"]
    modern = [statement for statement in broker if statement.protocol != "classic"]
    # Each kind is read by its own rules, then all are put in the order of their lines again. Times do not
    # help: several may be equal, and some lines have none.
    place = {statement.line: place for place, statement in enumerate(broker)}
    return sorted(
        (*_classic(classic), *_consumer(modern)), key=lambda rebalance: place.get(rebalance.line, 0)
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

    A rebalance lasts from its PREPARING line to the line of its assignment, or to the next PREPARING line. A
    log that begins in the middle of one has only its end.
    """
    log = _ClassicLog()
    for statement in evidence:
        yield from log.read(statement)
    if log.now is not None:
        yield log.now


class _ClassicLog:
    """The lines of a classic group's coordinator that were read until now."""

    def __init__(self) -> None:
        self.now: Rebalance | None = None  # the one that is under way
        self.causer: str | None = None  # the member id in its reason
        self.ended: int | None = None  # the generation of the last one that has ended
        self.before: list[Evidence] = []  # who came and went since then
        self.reasons: dict[str, Cause] = {}  # how members left, by member id

    def read(self, statement: Evidence) -> Iterator[Rebalance]:
        """Read a line; yield a rebalance that has ended."""
        if statement.kind is Kind.LEFT and statement.member:
            # Only this line says why the member left; the reason of the rebalance says no more than that it
            # left.
            self.reasons[statement.member] = client_cause(statement) or Cause.LEFT
        if statement.kind is Kind.PREPARING:
            # A new beginning before the end of the last one: another rebalance has overtaken it.
            if self.now is not None:
                yield self.now
            cause, self.causer = _cause(statement.text)
            self.now = _begin(statement, cause, self.causer, self.reasons)
            # The coordinator notes that a member has failed before it prepares, once for each that has.
            self._go_on([earlier for earlier in self.before if earlier.kind is Kind.EXPIRED])
        elif statement.kind in _COMINGS and (self.now is None or self.now.joined is not None):
            # Once all have joined, who comes or goes causes the next rebalance, whose first line names it.
            self.before.append(statement)
        elif self.now is not None:
            self._go_on([statement])
        # An end without a beginning: the log begins in the middle of this rebalance. A second end of the
        # generation that has ended is no other rebalance.
        elif statement.kind in _ENDS and statement.generation != self.ended:
            self.now, self.causer = _cut_off(statement), None
            self._go_on([*self.before, statement])
        if self.now is not None and statement.kind in {Kind.ASSIGNED, Kind.EMPTIED}:
            yield self.now
            self.ended, self.now = self.now.generation, None

    def _go_on(self, statements: Sequence[Evidence]) -> None:
        """Add lines to the rebalance that is under way."""
        for statement in statements:
            if self.now is not None:
                self.now = _add_line(self.now, statement, self.causer, self.reasons)
        self.before = []


_ENDS = {Kind.STABILIZED, Kind.ASSIGNED, Kind.EMPTIED}
"""Statements of a coordinator that come after the beginning of a rebalance."""


def _cut_off(statement: Evidence) -> Rebalance:
    """Return a rebalance of which only the end is logged: in generation 1 all members joined."""
    cause = (
        Cause.JOINED if statement.generation == 1 and statement.kind is not Kind.EMPTIED else Cause.UNKNOWN
    )
    return Rebalance(statement.generation, cause, None, CUT_OFF, statement.line, None)


def _begin(statement: Evidence, cause: Cause, member: str | None, reasons: Mapping[str, Cause]) -> Rebalance:
    """Return a rebalance by its first line, with the cause and member id that its reason names.

    The line has the generation that ends: the rebalance makes the next one. `reasons` are how members left,
    by member id.
    """
    cause = reasons.get(member or "", cause) if cause is Cause.LEFT else cause
    generation = (statement.generation or 0) + 1
    return Rebalance(generation, cause, name_of(member), statement.text, statement.line, statement.line.at)


def _add_line(
    now: Rebalance, statement: Evidence, causer: str | None, reasons: Mapping[str, Cause]
) -> Rebalance:
    """Return a rebalance with one more line of its coordinator.

    Args:
        now: the rebalance until now.
        statement: the line's statement.
        causer: the member id of who caused it.
        reasons: how members left, by member id.
    """
    at = statement.line.at
    if statement.kind is Kind.STABILIZED:
        members = int(statement.text) if statement.text else None
        return replace(now, joined=at, members=members, generation=statement.generation or now.generation)
    if statement.kind in {Kind.ASSIGNED, Kind.EMPTIED}:
        return replace(now, ended=at, members=0 if statement.kind is Kind.EMPTIED else now.members)
    # The causer stands in `cause` already; in `also` the same event would be counted twice.
    if statement.kind not in _COMINGS or statement.member == causer:
        return now
    who = statement.client or name_of(statement.member)
    cause = (
        reasons[statement.member]
        if statement.kind is Kind.LEFT and statement.member
        else _COMINGS[statement.kind]
    )
    # A process that crashed comes back as a new member while its old one is still waited for.
    if (who, now.cause, cause) == (now.member, Cause.JOINED, Cause.EXPIRED) and not is_default_name(who):
        return replace(now, cause=Cause.CRASHED)
    return replace(now, also=(*now.also, (cause, who)))


def _consumer(evidence: Sequence[Evidence]) -> Iterator[Rebalance]:
    """Yield new epochs by the log of the coordinator of a consumer, share or Streams group.

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
        Kind.SETTINGS: Cause.SETTINGS,
    }
    for statement in evidence:
        if statement.kind in causes:
            pending.append(
                (causes[statement.kind], statement.client or name_of(statement.member), statement.text)
            )
        elif statement.kind is Kind.EPOCH and statement.generation is not None:
            # The target of the epoch before never came: the next epoch has overtaken it.
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
            yield replace(now, ended=statement.line.at, assignor=statement.assignor)
            now = None
    if now is not None:
        yield now


_OPEN: dict[Cause, frozenset[Cause]] = {
    Cause.LEFT: frozenset({Cause.POLL, Cause.FENCED}),
    Cause.UNKNOWN: frozenset({Cause.TOPICS, Cause.SUBSCRIPTION, Cause.FOLLOW_UP}),
}
"""Causes that a coordinator's words leave open, and what the client's own log may say instead."""


def _with_names(
    rebalance: Rebalance, names: Mapping[str, str], assignors: Mapping[int | None, str | None]
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


def _with_hint(rebalance: Rebalance, hints: Sequence[tuple[Evidence, Cause, float]]) -> Rebalance:
    """Return a rebalance with the cause that the client's own log names, if the coordinator's leaves it open.

    A hint is a client's line with the cause that it names, and when it was written; hints are in the order of
    their times. Only a hint of the member that caused the rebalance counts, no further than `NEAR_S` from its
    beginning; the nearest one decides.
    """
    possible = _OPEN.get(rebalance.cause)
    if possible is None or rebalance.began is None:
        return rebalance
    began = rebalance.began
    # A second more than is asked for: sums of times are rounded.
    first = bisect_left(hints, began - NEAR_S - 1, key=itemgetter(2))
    end = bisect_right(hints, began + NEAR_S + 1, key=itemgetter(2))
    near = [
        (abs(at - began), name, cause)
        for name, cause, at in hints[first:end]
        if cause in possible
        and abs(at - began) <= NEAR_S
        and rebalance.member in {name.client, name_of(name.member), name.member}
    ]
    if not near:
        return rebalance
    _, nearest, cause = min(near, key=lambda row: row[0])
    return replace(rebalance, cause=cause, reason=nearest.text or cause.value, line=nearest.line)


_WORDS = read_toml(__package__, "words.toml")
_OTHERS: dict[str, str] = {Kind.REPLACED: REPLACED, **_WORDS["others"]}
"""Statements that form no rebalance, in words."""
_GONE: dict[str, str] = _WORDS["gone"]
"""Statements of a broker that a rebalance follows, in words for logs that do not have it."""
_FINDINGS = {*_OTHERS, *_GONE} - {Kind.REPLACED, Kind.LOADED, Kind.CONVERTED}


def _others(evidence: Sequence[Evidence], *, shown: bool) -> Iterator[Other]:
    """Yield what was no rebalance; of many equal ones in a row the first.

    `shown` says whether the logs show rebalances: if they do, who came and went is in them.
    """
    words = _OTHERS if shown else _OTHERS | _GONE
    rows = [statement for statement in evidence if statement.kind in words]
    for (kind, member), some in groupby(rows, key=lambda row: (row.kind, row.client or name_of(row.member))):
        first = next(some)
        yield Other(first.line.at, words[kind], member, first.line, kind in _FINDINGS)
