"""Why groups rebalanced: text, JSON, and what the page says in the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from copartition.reports.json import attributes_of, dump, milliseconds, utc_time
from copartition.why.cures import DEFAULT_HEARTBEAT_S, Cure
from copartition.why.evidence import Line
from copartition.why.rebalances import Cause, GroupHistory, Other, Rebalance
from copartition.words import count, duration, visible

if TYPE_CHECKING:
    from rich.console import Console


FORMAT_VERSION = "1.0"
MOST_SHOWN = 40
"""Rebalances of a group that are shown without --full; the last ones."""

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
"""What is said of each rebalance, and what that is; the last one lists who else came or went."""


def why_json(groups: Sequence[tuple[GroupHistory, Sequence[Cure]]]) -> str:
    """All that is known, for programs; times are milliseconds, and unknown ones null."""
    return dump(
        {"format_version": FORMAT_VERSION, "kind": "why", "groups": [_group(*each) for each in groups]}
    )


def _group(history: GroupHistory, cures: Sequence[Cure]) -> dict[str, Any]:
    return {
        "name": history.name,
        "protocol": history.protocol,
        "causes": dict(Counter(each.cause.value for each in history.rebalances)),
        "rebalances": [_rebalance(each) for each in history.rebalances],
        "others": [
            {"at": at and utc_time(at), "what": what, "member": member, **_source(line)}
            for at, what, member, line in history.others
        ],
        "cures": [cure._asdict() for cure in cures],
        "assumed": list(history.assumed),
    }


def _rebalance(each: Rebalance) -> dict[str, Any]:
    return {
        "generation": each.generation,
        "began": each.began and utc_time(each.began),
        **attributes_of(each, "cause", "member", "reason"),
        "join_ms": milliseconds(each.join_s),
        "sync_ms": milliseconds(each.sync_s),
        "expected_join_ms": [0, round(1000 * DEFAULT_HEARTBEAT_S)],
        **attributes_of(each, "members", "assignor", "leader"),
        "names": list(each.names),
        "also": [{"cause": cause, "member": member} for cause, member in each.also],
        **_source(each.line),
    }


def print_why(groups: Sequence[tuple[GroupHistory, Sequence[Cure]]], console: Console, *, full: bool) -> None:
    """Each group: a line that counts causes, a line a rebalance, then what would have avoided them."""
    from copartition.reports.grid import Column, Grid, cell, note  # noqa: PLC0415 - JSON does without rich

    columns = [Column(*each) for each in COLUMNS.items()]
    for place, (history, cures) in enumerate(groups):
        if place:
            console.print()
        console.print(cell(f"{history.name}   {head_of(history)}", "bold"))
        causes = Counter(each.cause.value for each in history.rebalances)
        if causes:
            console.print(note(", ".join(f"{name} {number}" for name, number in causes.most_common()), ""))
            shown = history.rebalances if full else history.rebalances[-MOST_SHOWN:]
            console.print(Grid(columns, [rebalance_row(each) for each in shown], full=full))
            if hidden := len(history.rebalances) - len(shown):
                console.print(note(f"{count(hidden, 'earlier rebalance')} not shown: --full"))
        for text in describe_others(history.others if full else history.others[-5:]):
            console.print(note(text))
        for cure in cures:
            console.print(
                note(f"{cure.advice} ({count(cure.rebalances, 'rebalance')}; price: {cure.price})", "green")
            )
            if cure.simulated is not None:
                console.print(note(cure.simulated))
        for text in notes_of(history):
            console.print(note(text))


def describe_others(others: Sequence[Other]) -> list[str]:
    """What was no rebalance, a line each."""
    return ["  ".join(filter(None, (_clock(at), member, what))) for at, what, member, _ in others]


def head_of(history: GroupHistory, between: str = "   ") -> str:
    """The group's protocol, and how many rebalances in which time."""
    times = [each.began for each in history.rebalances if each.began is not None]
    span = f" in {duration(1000 * (max(times) - min(times)))}" if len(times) > 1 else ""
    protocol = {"classic": "classic", "consumer": "consumer protocol (KIP-848)"}.get(
        history.protocol or "", ""
    )
    rebalances = f"{count(len(history.rebalances), 'rebalance')}{span}"
    return between.join(filter(None, (protocol, rebalances)))


def rebalance_row(each: Rebalance) -> tuple[str, ...]:
    """What a line of the table says of a rebalance."""
    also = ", ".join(f"{member or 'a member'} {cause.value}" for cause, member in each.also)
    if each.names:
        led = f", leader {each.leader}" if each.leader else ""
        also += (
            f"{'; ' * bool(also)}{each.assignor or 'assignor unknown'}{led}, members {', '.join(each.names)}"
        )
    return (
        "" if each.generation is None else str(each.generation),
        _clock(each.began) or (each.ended and f"ended {_clock(each.ended)}") or "",
        each.cause.value,
        visible(each.member or ""),
        _length(each.join_s),
        _length(each.sync_s),
        "" if each.members is None else str(each.members),
        visible(also),
    )


def notes_of(history: GroupHistory) -> list[str]:
    """What the answer rests on."""
    notes = [f"assumed: {text}" for text in history.assumed]
    late = [each for each in history.rebalances if (each.join_s or 0) > DEFAULT_HEARTBEAT_S]
    if late and history.protocol == "classic":
        notes.append(
            f"{count(len(late), 'rebalance')} waited for members longer than {DEFAULT_HEARTBEAT_S:g} s, the "
            "default of heartbeat.interval.ms, within which a member that polls joins again: some polled late"
        )
    if any(each.cause is Cause.UNKNOWN and not each.names for each in history.rebalances):
        notes.append(
            "unknown: the member joined again and its client gave no reason (KIP-800; Java does); that "
            "client's own log may tell"
        )
    return notes


def _length(seconds: float | None) -> str:
    return "unknown" if seconds is None else duration(1000 * seconds)


def _clock(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _source(line: Line) -> dict[str, Any]:
    return {"file": line.file, "line": line.number}
