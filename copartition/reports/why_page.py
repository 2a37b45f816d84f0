"""A page of why groups rebalanced: a lane a member over time, each rebalance, and what avoids it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import ceil, inf
from typing import NamedTuple

from copartition.reports.page import LETTER, WIDTH, Tick, Window, render, ticks
from copartition.reports.why import COLUMNS, describe_others, head_of, notes_of, rebalance_row
from copartition.why.cures import Cure
from copartition.why.rebalances import Cause, GroupHistory, Rebalance
from copartition.words import Table, without_ids

MOST_ROWS, MOST_LANES, MOST_OTHERS = 200, 40, 20
"""The most rebalances of a group (the last ones), members and other events that are shown."""
_MARKS = 4
"""The most marks of the axis, which must fit on a phone."""
_PHONE = WIDTH / 350
"""Of an axis on a phone, in pixels."""
_GOES = {Cause.LEFT, Cause.GONE, Cause.EXPIRED, Cause.POLL, Cause.LATE}


class Lane(NamedTuple):
    """A member: when it was in the group, in seconds since 1970, and what it did in which rebalance."""

    name: str | None  # None of what no member caused
    stays: Sequence[tuple[float, float]]
    marks: Sequence[tuple[Rebalance, Cause]]


class Picture(NamedTuple):
    """Members as lanes over time; some rebalances with their generation."""

    window: Window
    lanes: Sequence[Lane]
    rebalances: Sequence[Rebalance]
    generations: Sequence[Tick]
    ticks: Sequence[Tick]
    left_out: int  # members without a lane


def why_html(groups: Sequence[tuple[GroupHistory, Sequence[Cure]]]) -> str:
    """A page of the groups' rebalances; the last ones of a group that has many."""
    return render("why.html.j2", sections=[_section(*each) for each in groups], moment=moment)


def _section(history: GroupHistory, cures: Sequence[Cure]) -> dict[str, object]:
    """What the page says of one group."""
    shown = history.rebalances[-MOST_ROWS:]
    titles = [*(title.lower() or "meanwhile" for title in COLUMNS), "line of the log"]
    rows = [
        (*rebalance_row(each), f"{each.line.file.rpartition('/')[2]}:{each.line.number}") for each in shown
    ]
    return {
        "history": history,
        "head": head_of(history, ", "),
        "causes": Counter(each.cause for each in history.rebalances).most_common(),
        "picture": picture_of(shown),
        "table": Table(titles, rows, {0, 4, 5, 6}),
        "others": describe_others(history.others[-MOST_OTHERS:]),
        "cures": cures,
        "notes": notes_of(history),
    }


def picture_of(rebalances: Sequence[Rebalance]) -> Picture | None:
    """Who was in the group when, and what began each rebalance; None where no time is known.

    A member that leaves before it joins was there from the beginning; one that nobody saw leave stays.
    """
    timed = [(each, each.began) for each in rebalances if each.began is not None]
    if not timed:
        return None
    first, last = timed[0][1], max(each.ended or each.joined or began for each, began in timed)
    margin = max(last - first, 1) / 40
    window = Window(1000 * (first - margin), 1000 * (last + margin))
    marks: dict[str | None, list[tuple[Rebalance, Cause]]] = defaultdict(list)
    steps: dict[str | None, list[tuple[float, float]]] = defaultdict(list)
    for each, began in timed:
        for cause, member in ((each.cause, each.member), *each.also):
            marks[member].append((each, cause))
            steps[member].append((began, 1 if cause is Cause.JOINED else -(cause in _GOES)))
        for row in steps.values() if each.members == 0 else ():
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
    shown = [each for each, _ in timed]
    return Picture(window, lanes, shown, [*_generations(window, timed)], texts, len(marks) - len(drawn))


def _stays(steps: Sequence[tuple[float, float]], start: float, end: float) -> Iterator[tuple[float, float]]:
    """When members of a name were in the group, by how many more there are from which moment on."""
    here, since = (0.0, None) if steps[0][1] > 0 else (1.0, start)
    for at, step in (*steps, (end, -inf)):
        here = max(0.0, here + step)
        if here and since is None:
            since = at
        elif not here and since is not None:
            yield since, at
            since = None


def _generations(window: Window, timed: Sequence[tuple[Rebalance, float]]) -> Iterator[Tick]:
    """The generations that have room for their number on a phone, too."""
    free = 0.0
    for each, began in timed:
        x, text = float(window.x(1000 * began)), str(each.generation or "")
        half = _PHONE * LETTER * (len(text) + 1) / 2
        if text and x - half >= free:
            yield Tick(x, text)
            free = x + half


def moment(seconds: float, span_s: float = 0) -> str:
    """A time of day; on an axis of more than a day with the date, of less than ten seconds exactly."""
    at = datetime.fromtimestamp(round(seconds, 3), UTC)
    if span_s > 86_400:
        return at.strftime("%b %d %H:%M")
    return at.strftime("%H:%M:%S") + (f".{at.microsecond // 1000:03d}" if 0 < span_s < 10 else "")
