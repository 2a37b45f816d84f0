"""How many partitions each member has before and after, and how many it should have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copartition.diff import Action
from copartition.reports.axis import WIDTH, Tick, Window, number_ticks
from copartition.reports.diff.groups import FEW, groups
from copartition.reports.ranges import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copartition.diff import AssignmentDiff, MemberChange

HEIGHT = 64.0
_BINS = 100
_NARROWEST = 7.0
"""The fewest partitions from end to end."""
_THINNEST = 3.0


class Share(NamedTuple):
    """A fair share of the partitions: its floor and its ceiling."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} or {self.high:,}"


class Dots(NamedTuple):
    """A member; its places are in pixels from the left, None where it is not in the group.

    Attributes:
        name: what it is called.
        before: its place before.
        after: its place after.
        way: where the way from one to the other begins, and its length; None without one.
        numbers: its partitions.
    """

    name: str
    before: float | None
    after: float | None
    way: tuple[float, float] | None
    numbers: str


class Spread(NamedTuple):
    """The members of one side: a histogram as an SVG path, what it says, and where the fair share is."""

    side: str
    facts: str
    area: str
    top: int
    band: tuple[float, float] | None


class Load(NamedTuple):
    """The picture: dots for each of a few members, else a histogram a side.

    Attributes:
        dots: members in the order of their names.
        spreads: before and after.
        band: where the fair share after begins, and its width; None where there is none.
        ticks: numbers of partitions.
        fair: what a fair share is, and what that rests on.
        summary: how many members have it.
    """

    dots: tuple[Dots, ...]
    spreads: tuple[Spread, ...]
    band: tuple[float, float] | None
    ticks: tuple[Tick, ...]
    fair: str
    summary: str


def load(diff: AssignmentDiff) -> Load:
    """Lay the picture out."""
    loads = [
        np.array([member.before for member in diff.members if member.before_id is not None], np.int64),
        np.array([member.after for member in diff.members if member.after_id is not None], np.int64),
    ]
    shares, fair = _shares(diff, loads)
    every = np.concatenate([*loads, *([*share] for share in shares if share)]).astype(np.float64)
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    low = 0.0 if low < high * 0.7 else max(0.0, low - 3)
    window = Window(low, max(high + 1, low + _NARROWEST))
    few = len(diff.members) <= FEW
    spreads = () if few else tuple(map(_spread, ("before", "after"), loads, shares, [window] * 2))
    inside = [
        f"{int(np.count_nonzero((each >= share.low) & (each <= share.high))):,} of "
        f"{count(len(each), 'member')} {verb}"
        for each, share, verb in zip(loads, shares, ("had it before", "have it after"), strict=True)
        if share
    ]
    return Load(
        _dots(diff, window) if few else (),
        spreads,
        _stretch(shares[1], window),
        number_ticks(window, least=1),
        fair,
        f"{', '.join(inside)}." if inside else "",
    )


def _shares(diff: AssignmentDiff, loads: list[NDArray[np.int64]]) -> tuple[list[Share | None], str]:
    """The fair shares before and after, where all members have the same, and what to know of them."""
    existing = [int(np.count_nonzero(diff.action != gone)) for gone in (Action.ADDED, Action.REMOVED)]
    shares = [
        Share(number // len(each), -(-number // len(each))) if len(each) else None
        for number, each in zip(existing, loads, strict=True)
    ]
    if shares[1] is None:
        return shares, "Nobody is left to share the partitions."
    if diff.summary.members_after is None:
        return [None, None], "Members without partitions may not have been seen, so a fair share is unknown."
    if diff.summary.members_before is None:
        shares[0] = None
    read = {
        None if member.topics is None else frozenset(diff.topics).intersection(member.topics)
        for member in diff.after.members
    }
    if len(read - {None}) > 1:
        return [None, None], "Members read different topics, so there is no share that is fair to all."
    rests = "If every member reads every topic, which is unknown here, a" if None in read else "A"
    text = f"{rests} fair share is {shares[1]} partitions after"
    return shares, f"{text}, {shares[0]} before." if shares[0] not in (None, shares[1]) else f"{text}."


def _stretch(share: Share | None, window: Window, beyond: float = 0) -> tuple[float, float] | None:
    """Where it begins and how wide it is, so many partitions more on both sides."""
    if share is None:
        return None
    start, end = float(window.x(share.low - beyond)), float(window.x(share.high + beyond))
    return start, end - start


def _dots(diff: AssignmentDiff, window: Window) -> tuple[Dots, ...]:
    names = groups(diff, np.arange(len(diff.members)), FEW).names
    return tuple(_dot(name, member, window) for name, member in zip(names, diff.members, strict=False))


def _dot(name: str, member: MemberChange, window: Window) -> Dots:
    before, after = float(window.x(member.before)), float(window.x(member.after))
    numbers = f"{member.before:,} → {member.after:,}" if before != after else f"{member.after:,}"
    if member.before_id is None:
        return Dots(name, None, after, None, numbers)
    if member.after_id is None:
        return Dots(name, before, None, None, numbers)
    return Dots(name, before, after, (min(before, after), abs(after - before)), numbers)


def _spread(side: str, loads: NDArray[np.int64], share: Share | None, window: Window) -> Spread:
    if len(loads) == 0:
        return Spread(side, "no members", "", 0, None)
    wide = max(1, round((window.end - window.start) / _BINS))
    edges = np.arange(window.start - 0.5, window.end + wide, wide)
    times, _ = np.histogram(loads, edges)
    places, tops = window.x(edges), HEIGHT * (1 - times / times.max())
    steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in zip(places[:-1].tolist(), tops.tolist(), strict=True))
    least, quarter, median, three, most = np.percentile(
        loads, [0, 25, 50, 75, 100], method="inverted_cdf"
    ).tolist()
    facts = f"{least:,} each"
    if least < most:
        facts = f"{least:,} to {most:,}, median {median:,}, half of the members from {quarter:,} to {three:,}"
    if idle := int(np.count_nonzero(loads == 0)):
        facts += f", {idle:,} idle"
    return Spread(
        side,
        facts,
        f"M0 {HEIGHT:g}{steps}H{WIDTH:g}V{HEIGHT:g}z",
        int(times.max()),
        _stretch(share, window, max(0.5, _THINNEST * window.grain)),
    )
