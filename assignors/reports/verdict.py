"""A diff in a sentence, the same in every format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.reports.ranges import count, duration

if TYPE_CHECKING:
    from assignors.diff import AssignmentDiff, Flow


def verdict(diff: AssignmentDiff) -> str:
    """What moved, and how long that stops how much under each protocol."""
    numbers = diff.summary
    if diff.same:
        return f"Nothing changed: {count(numbers.kept, 'partition')} kept."
    parts = [f"{numbers.moved} moved", f"{numbers.kept} kept"]
    parts += [
        f"{value} {word}"
        for word, value in (
            ("assigned", numbers.assigned),
            ("added", numbers.added),
            ("removed", numbers.removed),
            ("in conflict", numbers.conflicts),
        )
        if value
    ]
    parts.append(f"{numbers.unassigned} unassigned")
    return f"{', '.join(parts)}.{_pauses(diff)}"


def _pauses(diff: AssignmentDiff) -> str:
    """What the first thing that happened costs, by protocol."""
    stopped = [
        f"{stop.protocol} stops {count(stop.partitions, 'partition')} for {duration(stop.pause_ms)}"
        for stop in diff.stops
        if stop.event == diff.stops[0].event
    ]
    return f" On {diff.stops[0].event}, {', '.join(stopped)} on average." if stopped else ""


def movement(diff: AssignmentDiff) -> str:
    """How good the change is: moves against the fewest, balance, idle members."""
    numbers = diff.summary
    at_least, at_most = ("", "") if numbers.needed_moves_exact else ("at least ", "at most ")
    needed = f"{at_least}{numbers.needed_moves}" if numbers.needed_moves is not None else _known(None)
    avoidable = f"{at_most}{numbers.avoidable_moves}" if numbers.needed_moves is not None else _known(None)
    return (
        f"avoidable moves {avoidable} of {numbers.moved} ({needed} needed)   "
        f"spread {_known(numbers.spread_before)} -> {_known(numbers.spread_after)}   "
        f"idle {_known(numbers.idle_before)} -> {_known(numbers.idle_after)}"
    )


def _known(number: int | None) -> str:
    return "unknown" if number is None else str(number)


def heading(diff: AssignmentDiff) -> list[str]:
    """The group, its members and how they were matched."""
    numbers = diff.summary
    parts = [diff.after.name or diff.before.name or "group"]
    statuses = [status for status in (diff.before.status, diff.after.status) if status]
    if statuses:
        parts.append(" -> ".join(dict.fromkeys(statuses)))
    before = sum(member.before_id is not None for member in diff.members)
    after = sum(member.after_id is not None for member in diff.members)
    seen = count(after, "member")
    parts.append(
        f"{before if numbers.members_before is not None else f'at least {before}'} -> "
        f"{seen if numbers.members_after is not None else f'at least {seen}'}"
    )
    parts.append(count(numbers.partitions, "partition"))
    parts.append(f"matched by {diff.matching.rule}")
    return parts


def reason(flow: Flow) -> str:
    """What set the partitions of a flow in motion."""
    return "unknown" if flow.reason is None else flow.reason.value


def renames(diff: AssignmentDiff) -> list[str]:
    """Members that were taken for one because of what they have."""
    return [
        f"{rename.before} is taken for {rename.after}: they share {rename.score} % of their partitions"
        for rename in diff.matching.renames
    ]
