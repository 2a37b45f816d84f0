"""Reports on rebalances: text, JSON, and a page with a lane for each member over time.

All tell the same; text and page leave out the earliest rebalances of a group that has many.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import ceil, inf
from typing import TYPE_CHECKING, Any, NamedTuple

from copartition.kit.json import attributes_of, dump, utc_time, whole_milliseconds
from copartition.kit.page import LETTER, WIDTH, Tick, Window, render, ticks
from copartition.kit.words import Table, count, duration, visible, without_ids
from copartition.why.cures import DEFAULT_HEARTBEAT_S, Cure
from copartition.why.evidence import Line
from copartition.why.rebalances import Cause, GroupHistory, Other, Rebalance

if TYPE_CHECKING:
    from rich.console import Console


FORMAT_VERSION = "1.0"
MOST_SHOWN = 40
"""The most rebalances of a group that are shown without --full; they are the last ones."""

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
"""The columns of a rebalance's row, with the kind of each; the last one lists who else came or went."""


def why_json(groups: Sequence[tuple[GroupHistory, Sequence[Cure]]]) -> str:
    """Return all that is known, for programs; lengths of time are milliseconds, and unknown ones null.

    Args:
        groups: each with its cures.
    """
    return dump(
        {"format_version": FORMAT_VERSION, "kind": "why", "groups": [_group(*group) for group in groups]}
    )


def _group(history: GroupHistory, cures: Sequence[Cure]) -> dict[str, Any]:
    """Return a group as plain values of JSON."""
    return {
        "name": history.name,
        "protocol": history.protocol,
        "causes": dict(Counter(rebalance.cause.value for rebalance in history.rebalances)),
        "rebalances": [_rebalance(rebalance) for rebalance in history.rebalances],
        "others": [
            {"at": at and utc_time(at), "what": what, "member": member, **_source(line)}
            for at, what, member, line in history.others
        ],
        "cures": [cure._asdict() for cure in cures],
        "assumed": list(history.assumed),
    }


def _rebalance(rebalance: Rebalance) -> dict[str, Any]:
    """Return a rebalance as plain values of JSON; lengths of time are milliseconds."""
    return {
        "generation": rebalance.generation,
        "began": rebalance.began and utc_time(rebalance.began),
        **attributes_of(rebalance, "cause", "member", "reason"),
        "join_ms": whole_milliseconds(rebalance.join_s),
        "sync_ms": whole_milliseconds(rebalance.sync_s),
        "expected_join_ms": [0, round(1000 * DEFAULT_HEARTBEAT_S)],
        **attributes_of(rebalance, "members", "assignor", "leader"),
        "names": list(rebalance.names),
        "also": [{"cause": cause, "member": member} for cause, member in rebalance.also],
        **_source(rebalance.line),
    }


def print_why(groups: Sequence[tuple[GroupHistory, Sequence[Cure]]], console: Console, *, full: bool) -> None:
    """Print for each group a line that counts causes, a line for each rebalance, then what avoids them.

    Args:
        groups: each with its cures.
        console: where to.
        full: whether all rebalances and all other events are shown, not only the last ones.
    """
    from copartition.kit.grid import Grid, GridColumn, cell, note  # noqa: PLC0415 - JSON does without rich

    columns = [GridColumn(*item) for item in COLUMNS.items()]
    for place, (history, cures) in enumerate(groups):
        if place:
            console.print()
        console.print(cell(f"{history.name}   {head_of(history)}", "bold"))
        causes = Counter(rebalance.cause.value for rebalance in history.rebalances)
        if causes:
            console.print(note(", ".join(f"{name} {number}" for name, number in causes.most_common()), ""))
            shown = history.rebalances if full else history.rebalances[-MOST_SHOWN:]
            console.print(Grid(columns, [rebalance_row(rebalance) for rebalance in shown], full=full))
            # A table that is cut must say so, or its first row looks like the first rebalance.
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
    """Return a line for each event that was no rebalance: its time if that is known, the member, and what."""
    return ["  ".join(filter(None, (_clock(at), member, what))) for at, what, member, _ in others]


def head_of(history: GroupHistory, between: str = "   ") -> str:
    """Return the group's protocol, and how many rebalances in which time.

    `between` stands between the two.
    """
    times = [rebalance.began for rebalance in history.rebalances if rebalance.began is not None]
    span = f" in {duration(1000 * (max(times) - min(times)))}" if len(times) > 1 else ""
    protocol = {"classic": "classic", "consumer": "consumer protocol (KIP-848)"}.get(
        history.protocol or "", ""
    )
    rebalances = f"{count(len(history.rebalances), 'rebalance')}{span}"
    return between.join(filter(None, (protocol, rebalances)))


def rebalance_row(rebalance: Rebalance) -> tuple[str, ...]:
    """Return the cells of a rebalance, in the order of `COLUMNS`.

    An unknown length of time is "unknown", any other unknown cell is empty.
    """
    also = ", ".join(f"{member or 'a member'} {cause.value}" for cause, member in rebalance.also)
    if rebalance.names:
        led = f", leader {rebalance.leader}" if rebalance.leader else ""
        also += f"{'; ' * bool(also)}{rebalance.assignor or 'assignor unknown'}{led}"
        also += f", members {', '.join(rebalance.names)}"
    return (
        "" if rebalance.generation is None else str(rebalance.generation),
        _clock(rebalance.began) or (rebalance.ended and f"ended {_clock(rebalance.ended)}") or "",
        rebalance.cause.value,
        visible(rebalance.member or ""),
        _length(rebalance.join_s),
        _length(rebalance.sync_s),
        "" if rebalance.members is None else str(rebalance.members),
        visible(also),
    )


def notes_of(history: GroupHistory) -> list[str]:
    """Return what the answer rests on, a sentence each: assumptions, late polls, and what "unknown" means."""
    notes = [f"assumed: {text}" for text in history.assumed]
    late = [rebalance for rebalance in history.rebalances if (rebalance.join_s or 0) > DEFAULT_HEARTBEAT_S]
    if late and history.protocol == "classic":
        notes.append(
            f"{count(len(late), 'rebalance')} waited for members longer than {DEFAULT_HEARTBEAT_S:g} s, the "
            "default of heartbeat.interval.ms, within which a member that polls joins again: some polled late"
        )
    if any(rebalance.cause is Cause.UNKNOWN and not rebalance.names for rebalance in history.rebalances):
        notes.append(
            "unknown: the member joined again and its client gave no reason (KIP-800; Java does); that "
            "client's own log may tell"
        )
    return notes


def _length(seconds: float | None) -> str:
    """Return a length of time in words; "unknown" if it is None."""
    return "unknown" if seconds is None else duration(1000 * seconds)


def _clock(at: float | None) -> str:
    """Return a date and a time of day in UTC; empty if it is None."""
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _source(line: Line) -> dict[str, Any]:
    """Return the place of a line in the logs."""
    return {"file": line.file, "line": line.number}


MOST_ROWS, MOST_LANES, MOST_OTHERS = 200, 40, 20
"""The most rebalances of a group (the last ones), members and other events that are shown."""
_MARKS = 4
"""The most marks of the axis, which must fit on a phone."""
_PHONE = WIDTH / 350
"""The pixels of an axis that are one on a phone."""
_GOES = {Cause.LEFT, Cause.GONE, Cause.EXPIRED, Cause.POLL, Cause.LATE}
"""Causes after which a member is in the group no more."""


class Lane(NamedTuple):
    """A member: when it was in the group, in seconds since 1970, and what it did in which rebalance."""

    name: str | None  # None of what no member caused
    stays: Sequence[tuple[float, float]]
    marks: Sequence[tuple[Rebalance, Cause]]


class Picture(NamedTuple):
    """Members as lanes over time; some rebalances with their generation.

    `window` and positions are in the units of `copartition.kit.page`: milliseconds, and pixels of a page.
    """

    window: Window
    lanes: Sequence[Lane]
    rebalances: Sequence[Rebalance]
    generations: Sequence[Tick]
    ticks: Sequence[Tick]
    left_out: int  # members without a lane


def why_html(groups: Sequence[tuple[GroupHistory, Sequence[Cure]]]) -> str:
    """Return a page of the groups' rebalances; the last ones of a group that has many.

    Args:
        groups: each with its cures.
    """
    return render("why/page.html.j2", sections=[_section(*group) for group in groups], moment=moment)


def _section(history: GroupHistory, cures: Sequence[Cure]) -> dict[str, object]:
    """Return what the page says of one group."""
    shown = history.rebalances[-MOST_ROWS:]
    titles = [*(title.lower() or "meanwhile" for title in COLUMNS), "line of the log"]
    rows = [
        (*rebalance_row(rebalance), f"{rebalance.line.file.rpartition('/')[2]}:{rebalance.line.number}")
        for rebalance in shown
    ]
    return {
        "history": history,
        "head": head_of(history, ", "),
        "causes": Counter(rebalance.cause for rebalance in history.rebalances).most_common(),
        "picture": picture_of(shown),
        "table": Table(titles, rows, {0, 4, 5, 6}),
        "others": describe_others(history.others[-MOST_OTHERS:]),
        "cures": cures,
        "notes": notes_of(history),
    }


def picture_of(rebalances: Sequence[Rebalance]) -> Picture | None:
    """Return who was in the group when, and what began each rebalance; None if no time is known.

    A member that leaves before it joins was there from the beginning; one without a leave in the logs stays.
    """
    timed = [(rebalance, rebalance.began) for rebalance in rebalances if rebalance.began is not None]
    if not timed:
        return None
    first, last = timed[0][1], max(rebalance.ended or rebalance.joined or began for rebalance, began in timed)
    margin = max(last - first, 1) / 40
    window = Window(1000 * (first - margin), 1000 * (last + margin))
    marks: dict[str | None, list[tuple[Rebalance, Cause]]] = defaultdict(list)
    steps: dict[str | None, list[tuple[float, float]]] = defaultdict(list)
    for rebalance, began in timed:
        for cause, member in ((rebalance.cause, rebalance.member), *rebalance.also):
            marks[member].append((rebalance, cause))
            steps[member].append((began, 1 if cause is Cause.JOINED else -(cause in _GOES)))
        # A rebalance without members ends the stay of all, also of those whose leave no line shows.
        for row in steps.values() if rebalance.members == 0 else ():
            row.append((began, -inf))
    drawn = sorted(marks, key=lambda name: (name is not None, -len(marks[name])))[:MOST_LANES]
    names = without_ids({name: name for name in drawn if name is not None})
    ends = window.start / 1000, window.end / 1000
    lanes = [
        Lane(names.get(name or ""), [*_stays(steps[name], *ends)] if name else [], marks[name])
        for name in marks
        if name in drawn
    ]
    axis = ticks(window)
    texts = [
        Tick(tick.x, moment(window.at(tick.x) / 1000, ends[1] - ends[0]))
        for tick in axis[:: ceil(len(axis) / _MARKS)]
    ]
    shown = [rebalance for rebalance, _ in timed]
    return Picture(window, lanes, shown, [*_generations(window, timed)], texts, len(marks) - len(drawn))


def _stays(steps: Sequence[tuple[float, float]], start: float, end: float) -> Iterator[tuple[float, float]]:
    """Yield when members of a name were in the group, as (from, until) in seconds since 1970.

    Args:
        steps: moments, each with how many members of the name there are more from then on; -inf empties it.
        start: the beginning of the picture.
        end: its end.
    """
    here, since = (0.0, None) if steps[0][1] > 0 else (1.0, start)
    for at, step in (*steps, (end, -inf)):
        here = max(0.0, here + step)
        if here and since is None:
            since = at
        elif not here and since is not None:
            yield since, at
            since = None


def _generations(window: Window, timed: Sequence[tuple[Rebalance, float]]) -> Iterator[Tick]:
    """Yield the generations that have room for their number on a phone, too."""
    free = 0.0
    for rebalance, began in timed:
        x, text = float(window.x(1000 * began)), str(rebalance.generation or "")
        half = _PHONE * LETTER * (len(text) + 1) / 2
        if text and x - half >= free:
            yield Tick(x, text)
            free = x + half


def moment(seconds: float, span_s: float = 0) -> str:
    """Return a time of day; on an axis of more than a day with the date, of less than ten seconds exactly.

    Args:
        seconds: since 1970.
        span_s: the length of the axis; 0 for a time that stands alone.

    >>> moment(0.25), moment(0.25, span_s=5)
    ('00:00:00', '00:00:00.250')
    """
    at = datetime.fromtimestamp(round(seconds, 3), UTC)
    if span_s > 86_400:
        return at.strftime("%b %d %H:%M")
    return at.strftime("%H:%M:%S") + (f".{at.microsecond // 1000:03d}" if 0 < span_s < 10 else "")
