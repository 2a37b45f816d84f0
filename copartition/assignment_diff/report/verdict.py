"""What is said of a whole diff: its verdict first, then its figures, its costs, and what to know of them."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from assignors.interface import Reason
from copartition.assignment_diff.compare import AssignmentDiff
from copartition.assignment_diff.needed import CO_PARTITIONED, is_even
from copartition.assignment_diff.report.model import renames
from copartition.kit.words import Table, count, duration, list_names, number

_TOPICS = 4
_SEPARATED = 3
"""So many groups of topics are named that are no longer read together; JSON has all."""

_EXPLAINED = 20_000
"""Partitions of a group whose plan is explained without being asked to; more take longer than the plan."""


def verdict(diff: AssignmentDiff) -> str:
    """What moved, what is unknown, and what was taken for granted."""
    return " ".join([answer(diff), *(f"Assumed: {assumption}." for assumption in diff.assumed)])


def answer(diff: AssignmentDiff) -> str:
    """The verdict without what was taken for granted, for a report that lists this apart."""
    if diff.alone:
        return _balance(diff)
    return " ".join(
        [*_consumption(diff), *_migration(diff), _counts(diff), *separated_sentences(diff), *_unknown(diff)]
    )


def _balance(diff: AssignmentDiff) -> str:
    even = diff.balance
    if even is None:
        owners = "have two owners" if diff.conflicts else "have an owner, and no member subscribes to them"
        return f"Not balanced: partitions {owners}."
    if not even.loads:
        return f"Nobody reads: {count(diff.summary.partitions, 'partition')} and no member."
    loads, best = (_from_to(each) for each in (even.loads, even.best_loads))
    idle = sum(not load for load in even.loads)
    topic = (
        f" Of one topic a member has {even.topic_fullest:,} where {even.best_topic_fullest:,} would do."
        if even.topic_excess and len(diff.topics) > 1
        else ""
    )
    without = f", {count(idle, 'member')} without any" if idle else ""
    if is_even(even):
        return f"Balanced: {loads} partitions a member{without}, no assignment is more even.{topic}"
    return f"Not balanced: {loads} partitions a member{without}, where {best} are possible.{topic}"


def _from_to(loads: Sequence[int]) -> str:
    most, least = max(loads, default=0), min(loads, default=0)
    return f"{least:,}" if most == least else f"{least:,} to {most:,}"


def _migration(diff: AssignmentDiff) -> list[str]:
    if not diff.new_strategy:
        return []
    from copartition.migrate.migration import migration_verdict  # noqa: PLC0415 - few diffs need the simulator

    before, after = diff.before, diff.after
    return [
        migration_verdict(before.strategy or "", after.strategy or "", before.clients, before.group_version)
    ]


def _consumption(diff: AssignmentDiff) -> list[str]:
    stops = diff.consumption
    if stops is None:
        return []
    most = count(stops.stopped_at_once, "partition")
    rebalances = f"{count(stops.rebalances, 'rebalance')} ({stops.protocol})"
    when = " in each rolling bounce" if diff.new_strategy and diff.after.way else ""
    phrases = [f"Consumption stops{when}: {rebalances}, at most {most} at once"]
    if stops.all_stopped:
        times = "once" if stops.all_stopped == 1 else f"{stops.all_stopped:,} times"
        phrases.append(f"everything stopped {times}")
    if stops.partition_seconds:
        phrases.append(f"longest pause {duration(stops.longest_ms)}")
        phrases.append(f"{stops.partition_seconds:,.1f} partition-seconds")
    if stops.static_restarts:
        whose = count(stops.static_restarts, "static member")
        phrases.append(f"{whose} restarting, whose partitions also wait while each is down")
    return [f"{', '.join(phrases)}."]


def separated_sentences(diff: AssignmentDiff) -> list[str]:
    """Which topics cannot be joined by partition any more, and what would keep that."""
    planned = diff.after.strategy
    best = CO_PARTITIONED["consumer" if diff.protocols == ("consumer",) else "classic"]
    keeps = "" if planned == best else f"; {best} keeps it"
    ends = [(topics, "ends") for topics in diff.separated]
    ends += [(topics, f"is nothing that {planned} looks after") for topics in diff.not_kept]
    return [
        f"Co-partitioned reading of {list_names(topics, _TOPICS)} {what}{keeps}."
        for topics, what in ends[:_SEPARATED]
    ]


def _counts(diff: AssignmentDiff) -> str:
    numbers = diff.summary
    if diff.same:
        kept = f"{count(numbers.kept, 'partition')} kept."
        if diff.before.status == "planned":
            return f"The plan came true: {kept}"
        in_the_end = diff.consumption or diff.new_strategy
        return f"In the end nothing has moved: {kept}" if in_the_end else f"Nothing changed: {kept}"
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
    fullest = _at_least(numbers.needed_fullest, numbers.needed_fullest_exact)
    of_topic = []
    if len(diff.topics) > 1 and numbers.topic_fullest != numbers.needed_topic_fullest:
        needed = _at_least(numbers.needed_topic_fullest, numbers.needed_topic_fullest_exact)
        of_topic.append(f"of one topic {number(numbers.topic_fullest)} ({needed} needed)")
    peak = []  # how much more than the mean the weights put on one member, where there are weights
    if numbers.peak is not None:
        peak.append(f"peak {numbers.peak:.2f} (at least {numbers.needed_peak:.2f} needed)")
    return [
        f"avoidable moves {_avoidable(diff)}",
        f"fullest {number(numbers.fullest)} ({fullest} needed)",
        *of_topic,
        *peak,
        f"spread {number(numbers.spread_before)} -> {number(numbers.spread_after)}",
        f"idle {number(numbers.idle_before)} -> {number(numbers.idle_after)}",
        f"lag moved {_at_least(numbers.lag_moved, numbers.lag_moved_exact)}",
    ]


def _at_least(value: int | None, exact: bool) -> str:
    return f"{'' if exact or value is None else 'at least '}{number(value)}"


def reason_counts(diff: AssignmentDiff) -> list[str]:
    """How many changes each reason set in motion, where an assignor planned them and can be asked soon."""
    if diff.after.explainer is None or len(diff.action) > _EXPLAINED:
        return []
    reasons = Counter(change.reason for change in diff.changes())
    parts = [
        f"{times:,} {each.value}"
        for each, times in reasons.most_common()
        if each is not None and each is not Reason.NOT_TOLD
    ]
    return [f"because {', '.join(parts)}"] if parts else []


def _avoidable(diff: AssignmentDiff) -> str:
    numbers = diff.summary
    if numbers.needed_moves is None:
        return f"unknown, of {number(numbers.moved)}"
    most = "" if numbers.needed_moves_exact else "at most "
    needed = _at_least(numbers.needed_moves, numbers.needed_moves_exact)
    return f"{most}{number(numbers.avoidable_moves)} of {number(numbers.moved)} ({needed} needed)"


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
        "at least " if exact is None else "" for exact in (numbers.members_before, numbers.members_after)
    ]
    members = f"{least[1]}{count(after, 'member')}"
    parts.append(members if diff.alone else f"{least[0]}{before:,} -> {members}")
    parts.append(count(numbers.partitions, "partition"))
    parts += [] if diff.alone else [f"matched by {diff.matching.rule}"]
    return parts


def stop_table(diff: AssignmentDiff) -> Table:
    """What the change costs, a row for each event and each protocol that the group may have."""
    titles = ("stop on", "protocol", "members", "partitions", "longest pause", "noticed after")
    rows = [
        (
            stop.event,
            stop.protocol,
            f"{stop.members:,}",
            f"{stop.partitions:,}",
            duration(stop.longest_ms),
            duration(stop.detection_ms) if stop.detection_ms else "",
        )
        for stop in diff.own_stops
    ]
    return Table(titles, rows, range(2, 6))


def stop_remark(diff: AssignmentDiff) -> str | None:
    """That the rows of `stop_table` are alternatives, where nobody tells the protocol of the group."""
    if not diff.own_stops or len(diff.protocols) == 1:
        return None
    return "one row of each event applies, that of the group's protocol, which --describe --state tells"


_NOTES = 12
"""The most notes of one kind."""


class Fate(NamedTuple):
    """What became of some partitions."""

    style: str
    number: int
    label: str
    percent: float

    @property
    def share(self) -> str:
        """Its share in words, none and all only where that is so."""
        if 0 < self.percent < 0.05:
            return "< 0.1 %"
        return "> 99.9 %" if 99.95 <= self.percent < 100 else f"{self.percent:.1f} %"


def fates(diff: AssignmentDiff) -> list[Fate]:
    """Every partition under one of these; what did not happen is left out."""
    numbers = diff.summary
    kinds = [
        ("kept", numbers.kept, "kept"),
        ("between", numbers.moved, "moved"),
        ("joined", numbers.assigned, "gained an owner"),
        ("left", numbers.unassigned, "lost their owner"),
        ("added", numbers.added, "added"),
        ("removed", numbers.removed, "removed"),
        ("conflict", numbers.conflicts, "with two owners"),
    ]
    kinds.append(("free", numbers.partitions - sum(number for _, number, _ in kinds), "owned by nobody"))
    return [
        Fate(style, number, label, 100 * number / numbers.partitions)
        for style, number, label in kinds
        if number
    ]


def notes(diff: AssignmentDiff) -> list[tuple[str, str]]:
    """What was assumed, what is doubtful, and who is taken for whom: each with what kind of thing it is."""
    conflicts = [
        f"{conflict.topic}-{conflict.partition} has two owners: "
        f"before {', '.join(conflict.before) or 'nobody'}, after {', '.join(conflict.after) or 'nobody'}."
        for conflict in diff.conflicts[:_NOTES]
    ]
    return [
        *_first_notes("Conflict", conflicts, len(diff.conflicts)),
        *_first_notes("Assumed", diff.assumed, len(diff.assumed)),
        *_first_notes("Warning", diff.warnings, len(diff.warnings)),
        *_first_notes("Matched", renames(diff), len(diff.matching.renames)),
    ]


def _first_notes(kind: str, texts: Sequence[str], number: int) -> list[tuple[str, str]]:
    more = [f"and {number - _NOTES:,} more."] if number > _NOTES else []
    return [(kind, text) for text in (*texts[:_NOTES], *more)]
