"""A diff in a sentence, the same in every format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.reports.ranges import count, duration
from assignors.simulation.timing import expected_barrier_ms

if TYPE_CHECKING:
    from assignors.diff import AssignmentDiff, Flow


def verdict(diff: AssignmentDiff) -> str:
    """What moved, and about how long that stops whom with default heartbeats."""
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
    told = sum(member.before_id is not None and member.after_id is not None for member in diff.members)
    if not (told and numbers.moved):
        return f"{', '.join(parts)}."
    pause = duration(expected_barrier_ms(told))
    eager = f"Eager pauses {count(numbers.members_after, 'member')} for about {pause}"
    return f"{', '.join(parts)}. {eager}; cooperative pauses {count(numbers.moved, 'partition')} as long."


def movement(diff: AssignmentDiff) -> str:
    """How good the change is: moves against the lower bound, balance, idle members."""
    numbers = diff.summary
    return (
        f"avoidable moves {numbers.avoidable_moves} of {numbers.moved} ({numbers.needed_moves} needed)   "
        f"spread {numbers.spread_before} -> {numbers.spread_after}   "
        f"idle {numbers.idle_before} -> {numbers.idle_after}"
    )


def heading(diff: AssignmentDiff) -> list[str]:
    """The group, its members and how they were matched."""
    numbers = diff.summary
    parts = [diff.after.name or diff.before.name or "group"]
    statuses = [status for status in (diff.before.status, diff.after.status) if status]
    if statuses:
        parts.append(" -> ".join(dict.fromkeys(statuses)))
    parts.append(f"{numbers.members_before} -> {count(numbers.members_after, 'member')}")
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
