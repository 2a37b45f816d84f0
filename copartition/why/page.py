"""Draw rebalances as an HTML page: a lane for each member over time, and the content of the text report."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from math import ceil, inf
from typing import NamedTuple

from copartition.kit.page import LETTER, WIDTH, Tick, Window, render, ticks
from copartition.kit.words import Table, utc, without_ids
from copartition.why.cures import Cure
from copartition.why.history import Cause, GroupHistory, LoggedRebalance
from copartition.why.report import (
    COLUMNS,
    GOES,
    describe_others,
    events_of,
    head_of,
    notes_of,
    rebalance_row,
    verdict,
)

MOST_ROWS, MOST_LANES, MOST_OTHERS = 200, 40, 20
"""The most rebalances of a group (the last ones), members and other events that the page shows."""
_MARKS = 4
"""The most marks of the axis; more would overlap on a phone."""
_PHONE = WIDTH / 350
"""Number of pixels of the drawing that become one pixel on a phone of 350 pixels."""


class Lane(NamedTuple):
    """Holds a member's lane: when the member was in the group, and the rebalances that it caused.

    Attributes:
        name: the member; None for the lane of causes without a member.
        stays: when it was in the group, as (from, until) in seconds since 1970, in order.
        marks: the rebalances that have a cause about this member, each with that cause.
    """

    name: str | None
    stays: Sequence[tuple[float, float]]
    marks: Sequence[tuple[LoggedRebalance, Cause]]


class Picture(NamedTuple):
    """Holds the picture of a group: lanes of members over time, and rebalances across them.

    `window` has milliseconds and positions have pixels of the page, the units of `copartition.kit.page`.

    Attributes:
        window: the time from a little before the first rebalance to a little after the last.
        lanes: the members, in the order in which they first did something; at most `MOST_LANES`.
        rebalances: all rebalances that have a time.
        generations: the numbers of generations for which the axis has room.
        ticks: the marks of the axis, with their times as text.
        left_out: number of members without a lane.
    """

    window: Window
    lanes: Sequence[Lane]
    rebalances: Sequence[LoggedRebalance]
    generations: Sequence[Tick]
    ticks: Sequence[Tick]
    left_out: int


def why_html(groups: Sequence[tuple[GroupHistory, Sequence[Cure]]]) -> str:
    """Return an HTML page about several groups, with the last `MOST_ROWS` rebalances of each.

    Args:
        groups: the groups' histories, each with its cures.
    """
    return render("why/page.html.j2", sections=[_section(*group) for group in groups], moment=moment)


def _section(history: GroupHistory, cures: Sequence[Cure]) -> dict[str, object]:
    """Return the values of the template for one group, by name.

    The values have at most the last `MOST_ROWS` rebalances and the last `MOST_OTHERS` other events.
    """
    shown = history.rebalances[-MOST_ROWS:]
    titles = [*(title.lower() or "meanwhile" for title in COLUMNS), "line of the log"]
    rows = [
        (*rebalance_row(rebalance), f"{rebalance.line.file.rpartition('/')[2]}:{rebalance.line.number}")
        for rebalance in shown
    ]
    return {
        "history": history,
        "head": head_of(history, ", "),
        "verdict": verdict(history, cures),
        "causes": Counter(rebalance.cause for rebalance in history.rebalances).most_common(),
        "picture": picture_of(shown),
        "table": Table(titles, rows, {0, 4, 5, 6}),
        "others": describe_others(history.others[-MOST_OTHERS:]),
        "cures": cures,
        "notes": notes_of(history),
    }


def picture_of(rebalances: Sequence[LoggedRebalance]) -> Picture | None:
    """Return the picture of a group's rebalances; None if no rebalance has a time.

    A member whose first event is a leave was in the group from the beginning. A member that is not seen to
    leave stays until the end.
    """
    timed = [(rebalance, rebalance.began) for rebalance in rebalances if rebalance.began is not None]
    if not timed:
        return None
    first, last = timed[0][1], max(rebalance.ended or rebalance.joined or began for rebalance, began in timed)
    # With the margin, marks at both ends are not cut, and a window of a single moment has a width.
    margin = max(last - first, 1) / 40
    window = Window(1000 * (first - margin), 1000 * (last + margin))
    marks: dict[str | None, list[tuple[LoggedRebalance, Cause]]] = defaultdict(list)
    steps: dict[str | None, list[tuple[float, float]]] = defaultdict(list)
    for rebalance, began in timed:
        for cause, member in events_of(rebalance):
            marks[member].append((rebalance, cause))
            steps[member].append((began, 1 if cause is Cause.JOINED else -(cause in GOES)))
        # A rebalance without members ends the stay of all members, even if no line shows their leaves.
        for row in steps.values() if rebalance.members == 0 else ():
            row.append((began, -inf))
    # If there are too many lanes, the lane without a member and the members with most marks are kept.
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
    """Yield when members with one name were in the group, as (from, until) in seconds since 1970.

    Args:
        steps: (time, change of the number of members with that name), in order of time; -inf sets the number
            to 0.
        start: the beginning of the picture.
        end: the end of the picture.
    """
    # If the first step is not a join, a member was there before the picture begins.
    here, since = (0.0, None) if steps[0][1] > 0 else (1.0, start)
    for at, step in (*steps, (end, -inf)):
        here = max(0.0, here + step)
        if here and since is None:
            since = at
        elif not here and since is not None:
            yield since, at
            since = None


def _generations(window: Window, timed: Sequence[tuple[LoggedRebalance, float]]) -> Iterator[Tick]:
    """Yield the numbers of generations for which the axis has room, so that none overlap on a phone."""
    free = 0.0
    for rebalance, began in timed:
        x, text = float(window.x(1000 * began)), str(rebalance.generation or "")
        # A number without room is left out, because overlapping numbers cannot be read.
        half = _PHONE * LETTER * (len(text) + 1) / 2
        if text and x - half >= free:
            yield Tick(x, text)
            free = x + half


def moment(seconds: float, span_s: float = 0) -> str:
    """Return a time as text, as exactly as an axis needs it.

    The text is the time of day. It has the date, too, on an axis of more than a day, and milliseconds on an
    axis of less than ten seconds.

    Args:
        seconds: the time in seconds since 1970.
        span_s: length of the axis in seconds; 0 for a time that is not on an axis.

    >>> moment(0.25), moment(0.25, span_s=5)
    ('00:00:00', '00:00:00.250')
    """

    def write(at: datetime) -> str:
        if span_s > 86_400:
            return at.strftime("%b %d %H:%M")
        return at.strftime("%H:%M:%S") + (f".{at.microsecond // 1000:03d}" if 0 < span_s < 10 else "")

    # The time is rounded first, because `write` cuts digits off: 0.2999999 would become .299.
    return utc(round(seconds, 3), write)
