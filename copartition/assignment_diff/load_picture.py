"""Lay out how many partitions members have, before and after, beside a fair share.

Each of a few members is a dot; more members are drawn as a histogram for each side. Positions are computed
here, in pixels, and the template only prints them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.assignment_diff.changes import Action, MemberChange
from copartition.assignment_diff.compare import AssignmentDiff
from copartition.assignment_diff.owner_pictures import FEW, member_groups
from copartition.kit.page import WIDTH, Tick, Window, number_ticks
from copartition.kit.words import count

HEIGHT = 64.0
"""Height of a histogram in pixels."""

_BINS = 100
"""The approximate number of bars of a histogram."""

_NARROWEST = 7.0
"""The least length of the axis, in partitions. On a shorter axis, loads that differ by 1 look far apart."""

_THINNEST = 3.0
"""The least distance in pixels from the fair share to each edge of its band, so that it can be seen."""


class FairShare(NamedTuple):
    """The mean number of partitions of a member, rounded down (`low`) and rounded up (`high`)."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} or {self.high:,}"


class LoadHistogram(NamedTuple):
    """The histogram of the members of one side by their number of partitions.

    Attributes:
        side: "before" or "after".
        facts: the loads in words: least, most, median, quartiles, and how many members are idle.
        area: the histogram as an SVG path; "" if the side has no members.
        top: the number of members of the highest bar.
        band: (start, width) of the fair share in pixels; None if no share is fair to all.
    """

    side: str
    facts: str
    area: str
    top: int
    band: tuple[float, float] | None


class LoadPicture(NamedTuple):
    """The picture of loads: a dot for each of a few members, else a histogram for each side."""

    window: Window  # numbers of partitions, from the left
    members: tuple[tuple[str, MemberChange], ...]  # members that are dots, each with the name to show
    spreads: tuple[LoadHistogram, ...]  # before and after
    band: tuple[float, float] | None  # where the fair share after begins, and its width
    ticks: tuple[Tick, ...]  # numbers of partitions
    fair: str  # a sentence: the size of a fair share and what it assumes, or why there is none
    summary: str  # a sentence: how many members have a fair share


def load(diff: AssignmentDiff) -> LoadPicture:
    """Return the picture of loads.

    Returns:
        The picture, with an axis that begins at 0 unless the smallest load is at least 70 % of the largest.
        Up to `FEW` members are drawn as dots, more as histograms.
    """
    # A member that is on one side only has no load on the other side, not a load of 0.
    loads = [
        np.array([member.before for member in diff.members if member.before_id is not None], np.int64),
        np.array([member.after for member in diff.members if member.after_id is not None], np.int64),
    ]
    shares, fair = _shares(diff, loads)
    every = np.concatenate([*loads, *([*share] for share in shares if share)]).astype(np.float64)
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    # If the axis began at 0, nearly equal loads would be drawn as one spot.
    low = 0.0 if low < high * 0.7 else max(0.0, low - 3)
    window = Window(low, max(high + 1, low + _NARROWEST))
    few = len(diff.members) <= FEW
    spreads = () if few else tuple(map(_spread, ("before", "after"), loads, shares, [window] * 2))
    inside = [
        f"{int(np.count_nonzero((load >= share.low) & (load <= share.high))):,} of "
        f"{count(len(load), 'member')} {verb}"
        for load, share, verb in zip(loads, shares, ("had it before", "have it after"), strict=True)
        if share
    ]
    names = member_groups(diff, np.arange(len(diff.members)), FEW).names if few else ()
    return LoadPicture(
        window,
        tuple(zip(names, diff.members, strict=False)),
        spreads,
        _stretch(shares[1], window),
        number_ticks(window, least=1),
        fair,
        f"{', '.join(inside)}." if inside else "",
    )


def _shares(diff: AssignmentDiff, loads: list[NDArray[np.int64]]) -> tuple[list[FairShare | None], str]:
    """Return the fair shares before and after, None if there is none, and a sentence about them.

    A share is fair only if all members read the same topics.

    Args:
        diff: the diff.
        loads: partitions of each member before and after, two arrays.
    """
    existing = [int(np.count_nonzero(diff.action != gone)) for gone in (Action.ADDED, Action.REMOVED)]
    shares = [
        FairShare(number // len(load), -(-number // len(load))) if len(load) else None
        for number, load in zip(existing, loads, strict=True)
    ]
    if shares[1] is None:
        return shares, "Nobody is left to share the partitions."
    # Idle members may not have been seen. Without them the share would look larger than it is.
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


def _stretch(share: FairShare | None, window: Window, beyond: float = 0) -> tuple[float, float] | None:
    """Return the band of a fair share as (start, width) in pixels; None without a share.

    Args:
        share: the fair share; None if there is none.
        window: the axis, in partitions.
        beyond: partitions by which the band is wider than the share, on each side.
    """
    if share is None:
        return None
    start, end = float(window.x(share.low - beyond)), float(window.x(share.high + beyond))
    return start, end - start


def _spread(side: str, loads: NDArray[np.int64], share: FairShare | None, window: Window) -> LoadHistogram:
    """Return the histogram of one side's loads.

    Args:
        side: "before" or "after".
        loads: partitions of each member; int64 of shape (members,).
        share: the fair share; None if there is none.
        window: the axis, in partitions, the same for both sides so that they can be compared.
    """
    if len(loads) == 0:
        return LoadHistogram(side, "no members", "", 0, None)
    # A bar covers a whole number of partitions, and its edges lie between two numbers: else bars of equal
    # width would cover different numbers of loads.
    wide = max(1, round((window.end - window.start) / _BINS))
    edges = np.arange(window.start - 0.5, window.end + wide, wide)
    times, _ = np.histogram(loads, edges)
    places, tops = window.x(edges), HEIGHT * (1 - times / times.max())
    # SVG's y grows downwards, so the highest bar has y = 0.
    steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in zip(places[:-1].tolist(), tops.tolist(), strict=True))
    least, quarter, median, three, most = np.percentile(
        loads, [0, 25, 50, 75, 100], method="inverted_cdf"
    ).tolist()
    facts = f"{least:,} each"
    if least < most:
        facts = f"{least:,} to {most:,}, median {median:,}, half of the members from {quarter:,} to {three:,}"
    if idle := int(np.count_nonzero(loads == 0)):
        facts += f", {idle:,} idle"
    return LoadHistogram(
        side,
        facts,
        f"M0 {HEIGHT:g}{steps}H{WIDTH:g}V{HEIGHT:g}z",
        int(times.max()),
        _stretch(share, window, max(0.5, _THINNEST * window.grain)),
    )
