"""Find the rebalances of each group in logs: when each began, its cause and member, and its phases.

If there is a log of the group's coordinator, the rebalances are those of that log, because a coordinator logs
every rebalance. Clients' logs then add what the coordinator cannot know, such as an application that did not
poll. Without a coordinator's log, each generation that members joined is a rebalance (`client_rebalances`).
Times are seconds since 1970, and lengths of time are seconds.
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
from copartition.why.history import (
    CUT_OFF,
    ONLY_CLIENTS,
    REPLACED,
    UNNAMED,
    Cause,
    GroupHistory,
    LoggedRebalance,
    Other,
    client_name,
    is_default_name,
)
from copartition.why.statements import Kind, LogReading, Statement
from copartition.why.unpack import is_dated
from partitioning.kit.packages import read_toml

NEAR_S = 15.0
"""The most seconds between the lines of a client and of the coordinator about the same event.

The two clocks may differ, and a message between the two machines takes time.
"""


def histories(reading: LogReading) -> list[GroupHistory]:
    """Return the history of each group in the logs.

    If the logs name only one group, lines that name no group belong to that group. If they name several
    groups, such lines are left out, and `GroupHistory.assumed` says so.

    Args:
        reading: the statements of the logs, see `read_statements`.

    Returns:
        A history for each group that has a line, in the natural order of names.
    """
    # `reading.groups` also has the groups that --group leaves out. Even with --group, a line without a group
    # may be about any group that the logs name, so it counts only if they name a single group.
    only = None if len(reading.groups) > 1 else next(iter(reading.groups), UNNAMED)
    by_group: dict[str, list[Statement]] = defaultdict(list)
    for statement in reading.statements:
        if group := statement.group or only:
            by_group[group].append(statement)
    left_out = sum(1 for statement in reading.statements if statement.group is None) if only is None else 0
    assumed = [f"{count(left_out, 'line')} without a group's name left out"] if left_out else []
    assumed += [
        f"{path} begins with its last line, and was read from its end" for path in reading.newest_first
    ]
    return [_history(group, by_group[group], assumed) for group in sorted(by_group, key=natural)]


def _history(group: str, statements: list[Statement], assumed: Sequence[str]) -> GroupHistory:
    """Return the history of one group.

    Lines of all files are sorted by time if every line has a time, and either all of these times have a date
    or none has. Otherwise the lines stay in the order of the files.

    Args:
        group: the group's name.
        statements: the statements about the group, file by file.
        assumed: the assumptions about all groups.
    """
    assumed = [*assumed]
    # Lines can be sorted only if all have times of the same kind. A line without a time, or with only a time
    # of day, would be sorted to 1970, before its own cause.
    times = [statement.line.at for statement in statements]
    if not all(statement.line.zoned for statement in statements):
        assumed.append("times without a zone are UTC")
    if any(at is None for at in times):
        assumed.append("lines without a time are in the order of their files")
    elif len({is_dated(at) for at in times if at is not None}) > 1:
        assumed.append("lines have a date or have none, so they are in the order of their files")
    else:
        statements = sorted(statements, key=lambda statement: statement.line.at or 0.0)
    if any(at is not None and not is_dated(at) for at in times):
        assumed.append(
            "times without a date, or without a year, are of one day or year, and go on after its end"
        )
    broker = [statement for statement in statements if statement.broker]
    clients = [statement for statement in statements if not statement.broker]
    # A coordinator sees every rebalance of its group; a client sees only those in which it takes part. So
    # clients' lines are counted as rebalances only if the coordinator's lines show none. Otherwise clients'
    # lines only add details.
    rebalances = _by_broker(statements)
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
        hints.sort(key=lambda hint: hint[2])  # sorted, so that each rebalance finds those near to it fast
        rebalances = [_with_hint(_with_names(rebalance, names, assignors), hints) for rebalance in rebalances]
    if not broker and clients:
        assumed.append(ONLY_CLIENTS)
    others = tuple(_others(statements, shown=bool(rebalances)))
    return GroupHistory(group, _protocol(statements), tuple(rebalances), others, tuple(assumed))


def _protocol(statements: Sequence[Statement]) -> str | None:
    """Return the last kind of group that lines name; None if they name none.

    Some words are the same for consumer, share and Streams groups. They count as those of a consumer group if
    no line names the kind exactly.
    """
    named = [statement.protocol for statement in statements if statement.protocol]
    # A group may change its protocol in the middle of the logs, so the last kind counts.
    certain = [protocol for protocol in named if protocol != "modern"]
    if certain:
        return certain[-1]
    if named or any(statement.kind is Kind.MEMBER_EPOCH for statement in statements):
        return "consumer"
    return "classic" if any(statement.kind in _CLASSIC_KINDS for statement in statements) else None


_CLASSIC_KINDS = {Kind.MEMBER_JOINED, Kind.MEMBER_SYNCED, Kind.REJOINING}
"""Statements that only clients of classic groups make."""


def _by_broker(statements: Sequence[Statement]) -> list[LoggedRebalance]:
    """Return the rebalances in the log of a coordinator, in order, even if the group has changed its kind."""
    broker = [statement for statement in statements if statement.broker]
    classic = [statement for statement in broker if statement.protocol == "classic"]
    modern = [statement for statement in broker if statement.protocol != "classic"]
    # Each kind of group has its own rules. Afterwards the rebalances are put back into the order of their
    # lines. They cannot be sorted by time, because some times are equal, and some lines have no time.
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
    """Return the cause and the member id in a coordinator's reason for a rebalance.

    The cause is UNKNOWN if no pattern of `reasons.toml` matches. The member id is None if there is none.
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
"""Kind of a broker's statement that a member joined or is gone -> the cause of the rebalance."""


def _classic(statements: Sequence[Statement]) -> Iterator[LoggedRebalance]:
    """Yield the rebalances in the log of a classic group's coordinator.

    A rebalance lasts from its PREPARING line to the line of its assignment, or to the next PREPARING line. If
    the log begins in the middle of a rebalance, only the end of that one is known.
    """
    log = _ClassicLog()
    for statement in statements:
        yield from log.read(statement)
    if log.now is not None:
        yield log.now


class _ClassicLog:
    """Follows the log of a classic group's coordinator line by line.

    Attributes:
        now: the rebalance that is under way; None between rebalances.
        causer: the member id in the reason of `now`; None if there is none.
        ended: the generation of the last rebalance that has ended; None before the first one.
        before: the statements about members that joined or left after the last rebalance.
        reasons: member id -> how the member left.
    """

    def __init__(self) -> None:
        self.now: LoggedRebalance | None = None
        self.causer: str | None = None
        self.ended: int | None = None
        self.before: list[Statement] = []
        self.reasons: dict[str, Cause] = {}

    def read(self, statement: Statement) -> Iterator[LoggedRebalance]:
        """Read the next statement; if it ends a rebalance, yield that rebalance."""
        if statement.kind is Kind.LEFT and statement.member:
            # Only this line says why the member left; the reason of the rebalance does not.
            self.reasons[statement.member] = client_cause(statement) or Cause.LEFT
        if statement.kind is Kind.PREPARING:
            # If the last rebalance has not ended when a new one begins, the new one has replaced it.
            if self.now is not None:
                yield self.now
            cause, self.causer = _cause(statement.text)
            self.now = _begin(statement, cause, self.causer, self.reasons)
            # Sessions that expire cause this rebalance, but the coordinator logs them before it.
            self._go_on([earlier for earlier in self.before if earlier.kind is Kind.EXPIRED])
        elif statement.kind in _COMINGS and (self.now is None or self.now.joined is not None):
            # A member that joins or leaves after the join phase has ended causes the next rebalance.
            self.before.append(statement)
        elif self.now is not None:
            self._go_on([statement])
        # If a rebalance ends that has not begun, the log begins in the middle of it. But a second line about
        # the end of the same generation is not another rebalance.
        elif statement.kind in _ENDS and statement.generation != self.ended:
            self.now, self.causer = _cut_off(statement), None
            self._go_on([*self.before, statement])
        if self.now is not None and statement.kind in {Kind.ASSIGNED, Kind.EMPTIED}:
            yield self.now
            self.ended, self.now = self.now.generation, None

    def _go_on(self, statements: Sequence[Statement]) -> None:
        """Add statements to the rebalance that is under way, if there is one, and empty `before`."""
        for statement in statements:
            if self.now is not None:
                self.now = _add_line(self.now, statement, self.causer, self.reasons)
        self.before = []


_ENDS = {Kind.STABILIZED, Kind.ASSIGNED, Kind.EMPTIED}
"""Statements of a coordinator about the end of a rebalance, or of one of its phases."""


def _cut_off(statement: Statement) -> LoggedRebalance:
    """Return a rebalance of which only the end is logged.

    In generation 1 its cause is known: all members are new. Otherwise it is unknown.
    """
    cause = (
        Cause.JOINED if statement.generation == 1 and statement.kind is not Kind.EMPTIED else Cause.UNKNOWN
    )
    return LoggedRebalance(statement.generation, cause, None, CUT_OFF, statement.line, None)


def _begin(
    statement: Statement, cause: Cause, member: str | None, reasons: Mapping[str, Cause]
) -> LoggedRebalance:
    """Return the rebalance that a PREPARING line begins.

    The line has the generation that ends; the rebalance makes the next one.

    Args:
        statement: the line's statement.
        cause: the cause that its reason names.
        member: the member id in its reason; None if there is none.
        reasons: member id -> how the member left.
    """
    cause = reasons.get(member or "", cause) if cause is Cause.LEFT else cause
    generation = (statement.generation or 0) + 1
    return LoggedRebalance(
        generation, cause, client_name(member), statement.text, statement.line, statement.line.at
    )


def _add_line(
    now: LoggedRebalance, statement: Statement, causer: str | None, reasons: Mapping[str, Cause]
) -> LoggedRebalance:
    """Return a rebalance with one more line of its coordinator.

    Args:
        now: the rebalance so far.
        statement: the line's statement.
        causer: the member id of the member that caused it; None if unknown.
        reasons: member id -> how the member left.
    """
    at = statement.line.at
    if statement.kind is Kind.STABILIZED:
        members = int(statement.text) if statement.text else None
        return replace(now, joined=at, members=members, generation=statement.generation or now.generation)
    if statement.kind in {Kind.ASSIGNED, Kind.EMPTIED}:
        return replace(now, ended=at, members=0 if statement.kind is Kind.EMPTIED else now.members)
    # The event of the member that caused the rebalance is in `cause` already. It would be counted twice if it
    # were in `also`, too.
    if statement.kind not in _COMINGS or statement.member == causer:
        return now
    who = statement.client or client_name(statement.member)
    cause = (
        reasons[statement.member]
        if statement.kind is Kind.LEFT and statement.member
        else _COMINGS[statement.kind]
    )
    # A process that crashed and restarted joins as a new member, and that rebalance waits for its old member.
    # The session of the old member then expires under the same name, which shows that the join was not of a
    # new process but followed a crash.
    if (who, now.cause, cause) == (now.member, Cause.JOINED, Cause.EXPIRED) and not is_default_name(who):
        return replace(now, cause=Cause.CRASHED)
    return replace(now, also=(*now.also, (cause, who)))


def _consumer(statements: Sequence[Statement]) -> Iterator[LoggedRebalance]:
    """Yield the new epochs in the log of the coordinator of a consumer, share or Streams group.

    The causes of an epoch are the events since the epoch before: the first event is `cause`, the others are
    in `also`. A rebalance lasts from the line of the new epoch to the line of its target assignment.
    """
    pending: list[tuple[Cause, str | None, str]] = []
    now: LoggedRebalance | None = None
    hash_before: str | None = None
    causes = _COMINGS | {
        Kind.REPLACED: Cause.REPLACED,
        Kind.METADATA: Cause.TOPICS,
        Kind.SUBSCRIPTION: Cause.SUBSCRIPTION,
        Kind.SETTINGS: Cause.SETTINGS,
    }
    for statement in statements:
        if statement.kind in causes:
            pending.append(
                (causes[statement.kind], statement.client or client_name(statement.member), statement.text)
            )
        elif statement.kind is Kind.EPOCH and statement.generation is not None:
            # No line shows the target assignment of the epoch before, because this epoch has replaced it.
            if now is not None:
                yield now
            # If no line says that topics have changed, the hash of their metadata may show it.
            if not pending and hash_before is not None and statement.text and statement.text != hash_before:
                pending.append((Cause.TOPICS, None, "the hash of its topics' metadata has changed"))
            cause, member, reason = pending[0] if pending else (Cause.UNKNOWN, None, "")
            now = LoggedRebalance(
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
"""Cause in a coordinator's log -> the more exact causes that the client's own log may name instead."""


def _with_names(
    rebalance: LoggedRebalance, names: Mapping[str, str], assignors: Mapping[int | None, str | None]
) -> LoggedRebalance:
    """Return a rebalance with the names of members and of the assignor that clients' logs have.

    Args:
        rebalance: the rebalance as the coordinator's log shows it.
        names: member id -> client id, needed because a member id of KIP-848 does not contain the client id.
        assignors: generation -> name of the strategy.
    """
    also = tuple((cause, names.get(member or "", member)) for cause, member in rebalance.also)
    member = names.get(rebalance.member or "", rebalance.member)
    assignor = rebalance.assignor or assignors.get(rebalance.generation) or None
    return replace(rebalance, member=member, also=also, assignor=assignor)


def _with_hint(
    rebalance: LoggedRebalance, hints: Sequence[tuple[Statement, Cause, float]]
) -> LoggedRebalance:
    """Return a rebalance with the more exact cause that the client's own log names, if there is one.

    Only lines of the member that caused the rebalance count, and only within `NEAR_S` of the rebalance's
    beginning. The line nearest to the beginning decides.

    Args:
        rebalance: the rebalance as the coordinator's log shows it.
        hints: statements of clients that name a cause, each with the cause and its time, sorted by time.
    """
    possible = _OPEN.get(rebalance.cause)
    if possible is None or rebalance.began is None:
        return rebalance
    began = rebalance.began
    # The range is a second longer on both sides, because sums of times are rounded. The exact distance is
    # checked below.
    first = bisect_left(hints, began - NEAR_S - 1, key=itemgetter(2))
    end = bisect_right(hints, began + NEAR_S + 1, key=itemgetter(2))
    near = [
        (abs(at - began), name, cause)
        for name, cause, at in hints[first:end]
        if cause in possible
        and abs(at - began) <= NEAR_S
        and rebalance.member in {name.client, client_name(name.member), name.member}
    ]
    if not near:
        return rebalance
    _, nearest, cause = min(near, key=lambda row: row[0])
    return replace(rebalance, cause=cause, reason=nearest.text or cause.value, line=nearest.line)


_WORDS = read_toml(__package__, "words.toml")
_OTHERS: dict[str, str] = {Kind.REPLACED: REPLACED, **_WORDS["others"]}
"""Kind of a statement that is not about a rebalance -> the words for it, which follow the member's name."""
_GONE: dict[str, str] = _WORDS["gone"]
"""Kind of a broker's statement that causes a rebalance -> its words if that rebalance is not in the logs."""
_FINDINGS = {*_OTHERS, *_GONE} - {Kind.REPLACED, Kind.LOADED, Kind.CONVERTED}


def _others(statements: Sequence[Statement], *, shown: bool) -> Iterator[Other]:
    """Yield the events that are not rebalances; of equal events in a row, yield only the first.

    Args:
        statements: the statements about one group, in order.
        shown: whether the logs show rebalances. If not, members that joined or left are yielded, too.
    """
    words = _OTHERS if shown else _OTHERS | _GONE
    rows = [statement for statement in statements if statement.kind in words]
    for (kind, member), some in groupby(
        rows, key=lambda row: (row.kind, row.client or client_name(row.member))
    ):
        first = next(some)
        yield Other(first.line.at, words[kind], member, first.line, kind in _FINDINGS)
