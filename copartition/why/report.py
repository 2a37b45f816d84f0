"""Report on rebalances as text and as JSON; `page.py` has the same as an HTML page.

JSON has all rebalances. Text and page leave out the earliest rebalances of a group that has many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from copartition.kit.json import attributes_of, dump, utc_time, whole_milliseconds
from copartition.kit.words import count, duration, list_names, visible
from copartition.why.client_rebalances import follows
from copartition.why.cures import DEFAULT_HEARTBEAT_S, Cure
from copartition.why.history import (
    CUT_OFF,
    ONLY_CLIENTS,
    Cause,
    GroupHistory,
    LoggedRebalance,
    Other,
    is_default_name,
)
from copartition.why.statements import Line, Unread
from copartition.why.unpack import is_dated, moment_of
from partitioning.kit.packages import read_toml

if TYPE_CHECKING:
    from rich.console import Console


FORMAT_VERSION = "1.0"
MOST_SHOWN = 40
"""The most rebalances of a group that the text shows without --all: the last ones."""

COLUMNS = {
    "GEN": "number",
    "BEGAN": "word",
    "CAUSE": "word",
    "WHO": "name",
    "JOINED IN": "number",
    "ASSIGNED IN": "number",
    "MEMBERS": "number",
    "": "list",
}
"""Column of the table -> how its cells are laid out; the last column lists the further causes in `also`."""


def why_json(groups: Sequence[tuple[GroupHistory, Sequence[Cure]]], unread: Unread | None = None) -> str:
    """Return the whole answer as JSON; lengths of time are milliseconds, and unknown ones are null.

    Args:
        groups: the groups' histories, each with its cures.
        unread: the lines about groups that were not understood; None if there are none.
    """
    return dump(
        {
            "format_version": FORMAT_VERSION,
            "kind": "why",
            "groups": [_group(*group) for group in groups],
            "unread": unread and {"lines": unread.number, "text": unread.text, **_source(unread.line)},
        }
    )


def _group(history: GroupHistory, cures: Sequence[Cure]) -> dict[str, Any]:
    """Return a group as values for JSON, by field."""
    return {
        "name": history.name,
        "verdict": verdict(history, cures),
        "protocol": history.protocol,
        "causes": dict(Counter(rebalance.cause.value for rebalance in history.rebalances)),
        "rebalances": [_rebalance(rebalance) for rebalance in history.rebalances],
        "others": [
            {"at": _json_time(at), "what": what, "member": member, "finding": finding, **_source(line)}
            for at, what, member, line, finding in history.others
        ],
        "cures": [cure._asdict() for cure in cures],
        "assumed": list(history.assumed),
    }


def _rebalance(rebalance: LoggedRebalance) -> dict[str, Any]:
    """Return a rebalance as values for JSON, by field; lengths of time are milliseconds."""
    return {
        "generation": rebalance.generation,
        "began": _json_time(rebalance.began),
        **attributes_of(rebalance, "cause", "member", "reason"),
        "join_ms": whole_milliseconds(rebalance.join_s),
        "sync_ms": whole_milliseconds(rebalance.sync_s),
        "expected_join_ms": [0, round(1000 * DEFAULT_HEARTBEAT_S)],
        **attributes_of(rebalance, "members", "assignor", "leader"),
        "names": list(rebalance.names),
        "also": [{"cause": cause, "member": member} for cause, member in rebalance.also],
        **_source(rebalance.line),
    }


def _json_time(at: float | None) -> str | None:
    """Return a time as text in UTC; without the date or year if these are unknown; None if all is unknown."""
    return None if at is None else utc_time(at) if is_dated(at) else moment_of(at)


def print_why(
    groups: Sequence[tuple[GroupHistory, Sequence[Cure]]],
    unread: Unread | None,
    console: Console,
    *,
    full: bool,
) -> None:
    """Print for each group its verdict, a table of its rebalances, other events, cures and notes.

    Args:
        groups: the groups' histories, each with its cures.
        unread: the lines about groups that were not understood; None if there are none.
        console: where to print.
        full: whether all rebalances and other events are printed, not only the last ones.
    """
    from copartition.kit.grid import Grid, GridColumn, cell, note  # noqa: PLC0415 - JSON does without rich

    columns = [GridColumn(*item) for item in COLUMNS.items()]
    # With a single group, the verdict on all groups would only repeat the verdict on that group.
    if len(groups) > 1:
        console.print(cell(verdict_of_all(groups), "bold"))
        console.print()
    for place, (history, cures) in enumerate(groups):
        if place:
            console.print()
        console.print(cell(verdict(history, cures), "bold"))
        causes = Counter(rebalance.cause.value for rebalance in history.rebalances)
        counts = ", ".join(f"{name} {number}" for name, number in causes.most_common())
        if head := "; ".join(filter(None, (PROTOCOLS.get(history.protocol or ""), counts))):
            console.print(note(head, ""))
        if causes:
            shown = history.rebalances if full else history.rebalances[-MOST_SHOWN:]
            console.print(Grid(columns, [rebalance_row(rebalance) for rebalance in shown], full=full))
            # A cut table must say so. Otherwise its first row looks like the first rebalance.
            if hidden := len(history.rebalances) - len(shown):
                console.print(note(f"{count(hidden, 'earlier rebalance')} not shown: --all"))
        for text, style in _lines_below(history, cures, full=full):
            console.print(note(text, style))
    if unread is not None:
        console.print(note(describe_unread(unread), "dim"))


def _lines_below(history: GroupHistory, cures: Sequence[Cure], *, full: bool) -> Iterator[tuple[str, str]]:
    """Yield the lines below a group's table, each as (text, style): other events, cures and notes."""
    for text in describe_others(history.others if full else history.others[-5:]):
        yield text, "dim"
    for cure in cures:
        yield f"{cure.advice} ({count(cure.rebalances, 'rebalance')}; price: {cure.price})", "green"
        if cure.simulated is not None:
            yield cure.simulated, "dim"
    for text in notes_of(history):
        yield text, "dim"


PROTOCOLS = {
    "classic": "classic",
    "consumer": "consumer protocol (KIP-848)",
    "share": "share group (KIP-932)",
    "streams": "Streams group (KIP-1071)",
}
"""The kinds of groups, in words."""
_WORDS = read_toml(__package__, "words.toml")
_BECAUSE: dict[str, str] = _WORDS["because"]
"""Cause -> its words, with {who} for the members' names; a cause that is not in it counts as unknown."""

GOES = {Cause.LEFT, Cause.GONE, Cause.EXPIRED, Cause.POLL, Cause.LATE}
"""Causes after which the member is no longer in the group."""


def verdict(history: GroupHistory, cures: Sequence[Cure]) -> str:
    """Return one sentence: the number of rebalances, their time, the cause of most of them, and what to do.

    If there are no rebalances, the sentence says so, and names the first fault of a member, if there is one.

    Args:
        history: the group's history.
        cures: the cures for its rebalances, see `copartition.why.cures.cures`. The sentence ends with the
            cure for the cause that it names, if there is such a cure.
    """
    name = visible(history.name)
    shown = history.rebalances
    if not shown:
        finding = next((other for other in history.others if other.finding), None)
        if finding is None:
            return f"{name}: the logs show no rebalance"
        return (
            f"{name}: no rebalance in these logs, but {visible(finding.member or 'a member')} {finding.what}"
        )
    head = f"{name}: {rebalances_in_time(history)}"
    counts = Counter(cause for cause, _ in _causes_to_blame(shown))
    restarts = next((cure for cure in cures if cure.cause is None), None)
    # Among equally frequent causes, "joined" comes last, because nothing can be done about it.
    ranked = sorted(counts, key=lambda cause: (counts[cause], cause is not Cause.JOINED), reverse=True)
    # A restart is two rebalances with two causes, a leave and a join. If only causes were counted, restarts
    # would look half as frequent as they are.
    if restarts is not None and restarts.rebalances >= counts[ranked[0]]:
        return f"{head}, {restarts.rebalances} because members restarted: {restarts.do}"
    parts = []
    # If most causes are unknown, the sentence says so first. Otherwise the most frequent known cause would be
    # blamed for all rebalances.
    if ranked[0] not in _BECAUSE:
        parts.append(f"{_part(counts[ranked[0]], len(shown))}for a reason that these logs do not show")
    if (cause := next((cause for cause in ranked if cause in _BECAUSE), None)) is not None:
        members = dict.fromkeys(member for other, member in _causes_to_blame(shown) if other is cause)
        do = next((cure.do for cure in cures if cure.cause is cause), None)
        because = _BECAUSE[cause].format(who=_names(list(members)))
        parts.append(f"{_part(counts[cause], len(shown))}because {because}{f': {do}' if do else ''}")
    return f"{head}, {'; '.join(parts)}"


def _causes_to_blame(rebalances: Sequence[LoggedRebalance]) -> Iterator[tuple[Cause, str | None]]:
    """Yield cause and member of each rebalance; if a member returns, the cause is why it had been gone."""
    gone: dict[str | None, Cause] = {}
    for rebalance in rebalances:
        cause, member = rebalance.cause, rebalance.member
        if cause is Cause.JOINED and member in gone:
            cause = gone.pop(member)
        # Members with a client library's default name cannot be distinguished. So the join of one of them is
        # not taken for the return of another one.
        elif cause in {Cause.POLL, Cause.EXPIRED, Cause.LATE} and member and not is_default_name(member):
            gone[member] = cause
        yield cause, member


def _part(number: int, all_: int) -> str:
    """Return the words for a number of rebalances: "all " for all of several, "" for the only one.

    >>> _part(1, 1), _part(3, 3), _part(2, 3)
    ('', 'all ', '2 ')
    """
    return "" if all_ == 1 else "all " if number == all_ else f"{number} "


def _names(members: Sequence[str | None]) -> str:
    """Return the names of up to two members, or else their number; None stands for a member without a name.

    >>> _names(["pod-0", "pod-1"]), _names(["pod-0", "pod-1", "pod-2"]), _names([None])
    ('pod-0 and pod-1', '3 members', 'a member')
    """
    names = [visible(member) for member in members if member is not None]
    if not names:
        return "a member"
    return " and ".join(names) if len(names) < 3 else f"{len(names)} members"


def verdict_of_all(groups: Sequence[tuple[GroupHistory, Sequence[Cure]]]) -> str:
    """Return one sentence on several groups: all their rebalances, and the verdict on the group with most.

    If there are no rebalances, the sentence names up to five groups in which a member had a fault.

    Args:
        groups: two or more histories, each with its cures.
    """
    total = sum(len(history.rebalances) for history, _ in groups)
    faulty = [
        visible(history.name) for history, _ in groups if any(other.finding for other in history.others)
    ]
    if not total:
        faults = f", but faults of members in {list_names(faulty, 5)}" if faulty else ""
        return f"{len(groups)} groups, no rebalance in these logs{faults}"
    worst = max(groups, key=lambda group: len(group[0].rebalances))
    return f"{len(groups)} groups, {count(total, 'rebalance')}; most in {verdict(*worst)}"


def describe_unread(unread: Unread) -> str:
    """Return a sentence about the lines that were not understood, with the first one.

    A long line is cut to 120 characters. Characters that could control a terminal are shown as escapes.
    """
    speak = "line speaks" if unread.number == 1 else "lines speak"
    text = visible(unread.text if len(unread.text) <= 120 else f"{unread.text[:118]}..")
    strange = "in words that are not read here"
    by = f"in words of {unread.program}, whose logs are not read here" if unread.program else strange
    where = f"{unread.line.file}:{unread.line.number}"
    return f"{unread.number:,} {speak} of groups {by}; the first is {where}: {text}"


def describe_others(others: Sequence[Other]) -> list[str]:
    """Return a line for each event: its time and the member, if these are known, and what happened."""
    return [
        "  ".join(filter(None, (moment_of(at), visible(member or ""), what)))
        for at, what, member, *_ in others
    ]


def head_of(history: GroupHistory, between: str = "   ") -> str:
    """Return the group's protocol, and its number of rebalances with their time, joined by `between`."""
    return between.join(filter(None, (PROTOCOLS.get(history.protocol or ""), rebalances_in_time(history))))


def rebalances_in_time(history: GroupHistory) -> str:
    """Return how many rebalances there were, and the time from the first to the last.

    The time is left out if there is only one rebalance, or if no time is known.
    """
    # Any known time counts, because the logs may have only the end of the first rebalance, or only the
    # beginning of the last one.
    times = [
        at
        for rebalance in history.rebalances
        for at in (rebalance.began, rebalance.joined, rebalance.ended)
        if at is not None
    ]
    span = (
        f" in {duration(1000 * (max(times) - min(times)))}" if len(history.rebalances) > 1 and times else ""
    )
    # In a share group no member stops reading, so "rebalance" would say too much.
    noun = "new assignment" if history.protocol == "share" else "rebalance"
    return f"{count(len(history.rebalances), noun)}{span}"


def rebalance_row(rebalance: LoggedRebalance) -> tuple[str, ...]:
    """Return the cells of a rebalance's row, in the order of `COLUMNS`.

    The cell of an unknown length of time is "unknown"; other unknown cells are empty.
    """
    also = ", ".join(f"{member or 'a member'} {cause.value}" for cause, member in rebalance.also)
    # Only `__consumer_offsets` tells the names of all members; they are added to the last cell.
    if rebalance.names:
        led = f", leader {rebalance.leader}" if rebalance.leader else ""
        also += f"{'; ' * bool(also)}{rebalance.assignor or 'assignor unknown'}{led}"
        also += f", members {', '.join(rebalance.names)}"
    return (
        "" if rebalance.generation is None else str(rebalance.generation),
        moment_of(rebalance.began) or (rebalance.ended and f"ended {moment_of(rebalance.ended)}") or "",
        rebalance.cause.value,
        rebalance.member or "",
        _length(rebalance.join_s),
        _length(rebalance.sync_s),
        "" if rebalance.members is None else str(rebalance.members),
        also,
    )


def notes_of(history: GroupHistory) -> list[str]:
    """Return sentences on what the answer is based on: assumptions, late polls, and what "unknown" means."""
    late = _count_waits(history)
    # A cause may be unknown for three reasons. There is a note for each reason, because the user has to look
    # for the cause in a different way.
    unknown = [rebalance for rebalance in history.rebalances if rebalance.cause is Cause.UNKNOWN]
    # If members with one default name joined and left, this looks like a restart. But several members may
    # have that name, so the note says that it is unknown whether a member restarted.
    came, went = (
        {
            member
            for rebalance in history.rebalances
            for cause, member in events_of(rebalance)
            if cause in causes
        }
        for causes in ({Cause.JOINED}, GOES)
    )
    shared = sorted(member for member in came & went if member and is_default_name(member))
    holds = {
        "waited": late,
        "cut_off": any(rebalance.reason == CUT_OFF for rebalance in unknown),
        "followed": any(follows(rebalance.reason) for rebalance in unknown),
        "no_reason": any(
            not rebalance.names and rebalance.reason != CUT_OFF and not follows(rebalance.reason)
            for rebalance in unknown
        ),
        "shared_name": shared,
        "share": history.protocol == "share",
        "streams": history.protocol == "streams",
    }
    facts = {
        "late": count(late, "rebalance"),
        "heartbeat_s": DEFAULT_HEARTBEAT_S,
        "names": ", ".join(map(visible, shared[:3])),
    }
    notes = (text.format(**facts) for note, text in _WORDS["notes"].items() if holds[note])
    return [*(f"assumed: {text}" for text in history.assumed), *notes]


def events_of(rebalance: LoggedRebalance) -> tuple[tuple[Cause, str | None], ...]:
    """Return the causes of a rebalance with their members: its own cause first, then those in `also`."""
    return ((rebalance.cause, rebalance.member), *rebalance.also)


def _count_waits(history: GroupHistory) -> int:
    """Return how many rebalances waited for a living member that joined late.

    Rebalances that waited for another reason do not count. An empty group waits for
    group.initial.rebalance.delay.ms, a single member waits for no other, and an expired member was gone.
    """
    waited = 0
    empty = False
    for rebalance in history.rebalances:
        # Each condition excludes another reason to wait. Clients' logs are excluded, because they show how
        # long a client waited, and not how long the coordinator waited. If the number of joins equals that of
        # members, the group was empty before.
        causes = [cause for cause, _ in events_of(rebalance)]
        waited += (
            history.protocol == "classic"
            and ONLY_CLIENTS not in history.assumed
            and (rebalance.join_s or 0) > DEFAULT_HEARTBEAT_S
            and not empty
            and rebalance.generation != 1
            and rebalance.members not in {1, causes.count(Cause.JOINED)}
            and not {*causes} & {Cause.EXPIRED, Cause.LATE, Cause.CRASHED}
        )
        empty = rebalance.members == 0
    return waited


def _length(seconds: float | None) -> str:
    """Return a length of time in seconds as text; "unknown" if it is None."""
    return "unknown" if seconds is None else duration(1000 * seconds)


def _source(line: Line) -> dict[str, Any]:
    """Return the place of a line in the logs, as the fields `file` and `line` of JSON."""
    return {"file": line.file, "line": line.number}
