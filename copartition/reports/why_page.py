"""A page of why groups rebalanced: a lane a member over time, each rebalance, and what avoids it."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime
from math import ceil, inf
from typing import TYPE_CHECKING, NamedTuple

from copartition.reports.page import LETTER, WIDTH, Tick, Window, render, ticks
from copartition.reports.why import COLUMNS, describe_others, head_of, notes_of, rebalance_row
from copartition.why.rebalances import Cause
from copartition.words import Table, duration, without_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from copartition.why.cures import Cure
    from copartition.why.rebalances import GroupHistory, Rebalance

MOST_ROWS = 200
"""Rebalances of a group that are drawn and listed; the last ones. JSON has every one."""
MOST_LANES = 40
_PITCH, _TOP = 36, 22
_MARKS = 4
"""The most marks of the axis, which must fit on a phone."""
MOST_OTHERS = 20
_PHONE = WIDTH / 350
"""Of an axis on a phone, in pixels."""
_THINNEST = 1.5

STYLES = {
    Cause.JOINED: "c2",
    Cause.LEFT: "c4",
    Cause.EXPIRED: "c5",
    Cause.POLL: "c1",
    Cause.LATE: "c0",
    Cause.TOPICS: "c3",
    Cause.SUBSCRIPTION: "c3",
    Cause.REPLACED: "c6",
    Cause.FENCED: "c0",
    Cause.FOLLOW_UP: "c6",
    Cause.ASSIGNOR: "c6",
}
"""The colour of a cause; the others are grey."""
_GREY = "c7"
_GOES = {Cause.LEFT, Cause.EXPIRED, Cause.POLL, Cause.LATE}
GROUP = "the whole group"
"""The lane of what no member caused."""


class Mark(NamedTuple):
    """Something at a moment, or for a while: its place on the axis, its style, and what it says."""

    x: float
    width: float
    style: str
    hint: str


class Lane(NamedTuple):
    """A member: when it was in the group, and what it did."""

    name: str
    y: int
    stays: tuple[Mark, ...]
    marks: tuple[Mark, ...]


class Picture(NamedTuple):
    """Members as lanes; rebalances as bands over all of them, some with their generation."""

    lanes: tuple[Lane, ...]
    bands: tuple[Mark, ...]
    generations: tuple[Tick, ...]
    ticks: tuple[Tick, ...]
    left_out: int
    """Members without a lane."""

    @property
    def height(self) -> int:
        """Of the lanes, in pixels."""
        return _TOP + _PITCH * len(self.lanes)


def why_html(groups: Sequence[tuple[GroupHistory, Sequence[Cure]]]) -> str:
    """A page of the groups' rebalances; the last ones of a group that has many."""
    return render("why.html.j2", sections=[_section(*each) for each in groups], pitch=_PITCH, top=_TOP)


def _section(history: GroupHistory, cures: Sequence[Cure]) -> dict[str, object]:
    """What the page says of one group."""
    shown = history.rebalances[-MOST_ROWS:]
    causes = Counter(each.cause for each in history.rebalances)
    titles = [*(title.lower() or "meanwhile" for title in COLUMNS), "line of the log"]
    return {
        "name": history.name,
        "head": head_of(history, ", "),
        "causes": [(STYLES.get(cause, _GREY), cause.value, number) for cause, number in causes.most_common()],
        "picture": lanes_of(shown),
        "table": Table(titles, [(*rebalance_row(each), _line(each)) for each in shown], {0, 4, 5, 6}),
        "hidden": len(history.rebalances) - len(shown),
        "others": describe_others(history.others[-MOST_OTHERS:]),
        "more_others": max(len(history.others) - MOST_OTHERS, 0),
        "cures": cures,
        "notes": notes_of(history),
    }


def _line(each: Rebalance) -> str:
    return f"{each.line.file.rpartition('/')[2]}:{each.line.number}"


def lanes_of(rebalances: Sequence[Rebalance]) -> Picture | None:
    """Who was in the group when, and what began each rebalance; None where no time is known.

    A member that leaves before it joins was there from the beginning; one that nobody saw leave stays.
    """
    timed = [(each, 1000 * each.began) for each in rebalances if each.began is not None]
    if not timed:
        return None
    ends = [1000 * (each.ended or each.joined or each.began or 0) for each, _ in timed]
    first, last = timed[0][1], max(ends)
    margin = max(last - first, 1_000) / 40
    window = Window(first - margin, last + margin)
    marks: dict[str, list[Mark]] = defaultdict(list)
    for each, at in timed:
        for cause, member in _moves(each):
            hint = (
                f"{member or GROUP}: {cause.value}, {_moment(at)}, generation {each.generation or 'unknown'}"
            )
            marks[member or GROUP].append(_mark(window, at, at, STYLES.get(cause, _GREY), hint))
    steps = _steps(timed)
    names = sorted(marks, key=lambda name: (name != GROUP, -len(marks[name])))[:MOST_LANES]
    shown = without_ids({name: name for name in names})
    order = [name for name in marks if name in shown]
    lanes = [
        Lane(
            shown[name],
            _TOP + _PITCH * place,
            tuple(_stay(name, steps[name], window)) if name in steps else (),
            tuple(marks[name]),
        )
        for place, name in enumerate(order)
    ]
    bands = tuple(band for each, at in timed for band in _bands(window, each, at))
    axis = ticks(window)[:: ceil(len(ticks(window)) / _MARKS)]
    texts = tuple(Tick(tick.x, _moment(window.at(tick.x), window.end - window.start)) for tick in axis)
    return Picture(tuple(lanes), bands, _generations(window, timed), texts, len(marks) - len(names))


def _mark(window: Window, since: float, until: float, style: str, hint: str) -> Mark:
    left, right = (float(window.x(at)) for at in (since, until))
    return Mark(left, max(right - left, _THINNEST), style, hint)


def _bands(window: Window, each: Rebalance, began: float) -> Iterator[Mark]:
    """How long members were waited for, and then for the assignment, as far as a log tells."""
    title = f"generation {each.generation or 'unknown'}: {each.cause.value}"
    joined = None if each.joined is None else 1000 * each.joined
    if joined is not None:
        hint = f"{title}; members joined within {duration(joined - began)}"
        yield _mark(window, began, joined, "barrier", hint)
    since, until = began if joined is None else joined, None if each.ended is None else 1000 * each.ended
    if until is not None and (joined is None or until - since > window.grain):
        yield _mark(window, since, until, "handover", f"{title}; assigned within {duration(until - since)}")
    elif until is None and joined is None:
        yield _mark(window, began, began, "barrier", f"{title}; how long it took is unknown")


def _moves(each: Rebalance) -> tuple[tuple[Cause, str | None], ...]:
    """Who came, went or did something else; only the first one caused the rebalance."""
    return (each.cause, each.member), *each.also


def _steps(timed: Sequence[tuple[Rebalance, float]]) -> dict[str, list[tuple[float, float]]]:
    """How many more members of each name there are from a moment on, minus infinity for the last of all."""
    steps: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for each, at in timed:
        for cause, name in _moves(each):
            if name is not None:
                steps[name].append((at, 1 if cause is Cause.JOINED else -(cause in _GOES)))
        if each.members == 0:
            for row in steps.values():
                row.append((at, -inf))
    return steps


def _stay(name: str, steps: Sequence[tuple[float, float]], window: Window) -> Iterator[Mark]:
    """When members of this name were in the group, until the last of them leaves."""
    here, since = (0.0, None) if steps[0][1] > 0 else (1.0, window.start)
    for at, step in (*steps, (window.end, -inf)):
        here = max(0.0, here + step)
        if here and since is None:
            since = at
        elif not here and since is not None:
            hint = f"{name}: in the group, {_moment(since)} to {_moment(at)}"
            yield _mark(window, since, at, "read", hint)
            since = None


def _generations(window: Window, timed: Sequence[tuple[Rebalance, float]]) -> tuple[Tick, ...]:
    """The generations that have room for their number on a phone, too."""
    marks: list[Tick] = []
    free = 0.0
    for each, at in timed:
        x = float(window.x(at))
        text = str(each.generation or "")
        half = _PHONE * LETTER * (len(text) + 1) / 2
        if text and x - half >= free:
            marks.append(Tick(x, text))
            free = x + half
    return tuple(marks)


def _moment(milliseconds: float, span_ms: float = 0) -> str:
    """A time of day; over more than a day with the date, over less than ten seconds with milliseconds."""
    at = datetime.fromtimestamp(round(milliseconds) / 1000, UTC)
    if span_ms > 86_400_000:
        return at.strftime("%b %d %H:%M")
    return at.strftime("%H:%M:%S") + (f".{at.microsecond // 1000:03d}" if 0 < span_ms < 10_000 else "")
