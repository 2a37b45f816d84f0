"""A diff in a sentence, the same in every format."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from assignors.reasons import Reason
from copartition.diff.members import Presence
from copartition.reports.ranges import count, duration, number

if TYPE_CHECKING:
    from copartition.diff import AssignmentDiff, Change, Flow, MemberChange

_PRESENCE = {Presence.JOINED: "new", Presence.LEFT: "gone"}

_EXPLAINED = 20_000
"""Partitions of a group whose plan is explained without being asked to; more take longer than the plan."""

STOP_TITLES = ("stop on", "protocol", "members", "partitions", "mean pause", "noticed after")


def verdict(diff: AssignmentDiff) -> str:
    """What moved, what is unknown, and what was taken for granted."""
    return " ".join([answer(diff), *(f"Assumed: {each}." for each in diff.assumed)])


def answer(diff: AssignmentDiff) -> str:
    """The verdict without what was taken for granted, for a report that lists this apart."""
    return " ".join([_counts(diff), *_unknown(diff)])


def _counts(diff: AssignmentDiff) -> str:
    numbers = diff.summary
    if diff.same:
        return f"Nothing changed: {count(numbers.kept, 'partition')} kept."
    parts = [f"{number(numbers.moved)} moved", f"{number(numbers.kept)} kept"]
    parts += [
        f"{number(value)} {word}"
        for word, value in (
            ("assigned", numbers.assigned),
            ("added", numbers.added),
            ("removed", numbers.removed),
            ("in conflict", numbers.conflicts),
        )
        if value
    ]
    return f"{', '.join(parts)}, {number(numbers.unassigned)} unassigned."


def _unknown(diff: AssignmentDiff) -> list[str]:
    """What cannot be known; of lag the line of numbers tells, as many sources carry none."""
    numbers = diff.summary
    sides = {"before": numbers.members_before, "after": numbers.members_after}
    hidden = [side for side, members in sides.items() if members is None]
    unknown = [f"members without partitions {' and '.join(hidden)}"] if hidden else []
    unknown += ["needed moves"] if numbers.needed_moves is None else []
    return [f"Unknown: {', '.join(unknown)}."] if unknown else []


def movement(diff: AssignmentDiff) -> list[str]:
    """How good the change is: moves against the fewest there can be, balance, idle members, lag."""
    numbers = diff.summary
    return [
        f"avoidable moves {_avoidable(diff)}",
        f"fullest {_fullest(diff)}",
        *_peak(diff),
        f"spread {number(numbers.spread_before)} -> {number(numbers.spread_after)}",
        f"idle {number(numbers.idle_before)} -> {number(numbers.idle_after)}",
        f"lag moved {_lag_moved(diff)}",
    ]


def _fullest(diff: AssignmentDiff) -> str:
    """How many partitions the fullest member has after, and how many it must have."""
    numbers = diff.summary
    least = "" if numbers.needed_fullest_exact or numbers.needed_fullest is None else "at least "
    return f"{number(numbers.fullest)} ({least}{number(numbers.needed_fullest)} needed)"


def _peak(diff: AssignmentDiff) -> list[str]:
    """How much more than the mean the weights put on one member, where there are weights."""
    numbers = diff.summary
    if numbers.peak is None:
        return []
    return [f"peak {numbers.peak:.2f} (at least {numbers.needed_peak:.2f} needed)"]


def reasons_told(diff: AssignmentDiff) -> list[str]:
    """How many changes each reason set in motion, where an assignor planned them and can be asked soon."""
    if diff.after.explainer is None or len(diff.action) > _EXPLAINED:
        return []
    reasons = Counter(change.reason for change in diff.changes())
    told = [
        f"{times:,} {each.value}"
        for each, times in reasons.most_common()
        if each is not None and each is not Reason.NOT_TOLD
    ]
    return [f"because {', '.join(told)}"] if told else []


def _lag_moved(diff: AssignmentDiff) -> str:
    """Records waiting in moved partitions, and whether there may be more."""
    least = "" if diff.summary.lag_moved is None or diff.summary.lag_moved_exact else "at least "
    return f"{least}{number(diff.summary.lag_moved)}"


def _avoidable(diff: AssignmentDiff) -> str:
    numbers = diff.summary
    if numbers.needed_moves is None:
        return f"unknown, of {number(numbers.moved)}"
    most, least = ("", "") if numbers.needed_moves_exact else ("at most ", "at least ")
    return (
        f"{most}{number(numbers.avoidable_moves)} of {number(numbers.moved)} "
        f"({least}{number(numbers.needed_moves)} needed)"
    )


def heading(diff: AssignmentDiff) -> list[str]:
    """The group, its members and how they were matched."""
    numbers = diff.summary
    parts = [diff.after.name or diff.before.name or "group"]
    statuses = [status for status in (diff.before.status, diff.after.status) if status]
    if statuses:
        parts.append(" -> ".join(dict.fromkeys(statuses)))
    before = sum(member.before_id is not None for member in diff.members)
    after = sum(member.after_id is not None for member in diff.members)
    least = [
        "at least " if known is None else "" for known in (numbers.members_before, numbers.members_after)
    ]
    parts.append(f"{least[0]}{before:,} -> {least[1]}{count(after, 'member')}")
    parts.append(count(numbers.partitions, "partition"))
    parts.append(f"matched by {diff.matching.rule}")
    return parts


def presence(member: MemberChange) -> str:
    """What is special about a member: that it came or went, or has nothing."""
    if member.presence is Presence.STAYED:
        return "" if member.after else "idle"
    return _PRESENCE.get(member.presence, str(member.presence))


def stop_rows(diff: AssignmentDiff) -> list[tuple[str, ...]]:
    """What the change costs, a row for each event and protocol, under `STOP_TITLES`."""
    return [
        (
            stop.event,
            stop.protocol,
            f"{stop.members:,}",
            f"{stop.partitions:,}",
            duration(stop.pause_ms),
            duration(stop.detection_ms) if stop.detection_ms else "",
        )
        for stop in diff.stops
    ]


def reason(what: Flow | Change) -> str:
    """What set a partition, or those of a flow, in motion."""
    return "unknown" if what.reason is None else what.reason.value


def renames(diff: AssignmentDiff) -> list[str]:
    """Members that were taken for one because of what they have."""
    return [
        f"{rename.before} is taken for {rename.after}: they share {rename.score} % of their partitions"
        for rename in diff.matching.renames
    ]
