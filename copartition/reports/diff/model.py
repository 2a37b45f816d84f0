"""A diff as every format shows it: its verdict and figures, and the rows that a view chooses.

The verdict and the numbers are always of the whole.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from assignors.partition_list import PartitionList
from assignors.reasons import Reason
from assignors.state import UNKNOWN_LAG
from copartition.diff.changes import Action
from copartition.diff.members import Presence
from copartition.reports.table import Table
from copartition.reports.words import count, duration, number, partition_ranges

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from copartition.diff import AssignmentDiff, Change, Flow, MemberChange


Row = TypeVar("Row")

SHOWN = 40
"""Rows of a table that people read; of more, the largest changes are shown."""


@dataclass(frozen=True, slots=True)
class View:
    """What to show.

    Attributes:
        by: what a row stands for: "member", "topic" or "partition"; None for what suits the format.
        topic: only topics in whose name it is found.
        member: only members in whose name it is found, and partitions that one of them has or had.
        every: also what did not change, and every row, however many there are.
        reasons: why a plan moves what it moves.
    """

    by: str | None = None
    topic: re.Pattern[str] | None = None
    member: re.Pattern[str] | None = None
    every: bool = False
    reasons: bool = False


@dataclass(frozen=True, slots=True)
class TopicChange:
    """One topic over both sides, in partitions.

    Attributes:
        name: its name.
        partitions: that either side knows.
        kept: with the same owner, or nobody on both sides.
        moved: with another owner.
        assigned: that gained an owner.
        unassigned: that lost their owner.
        added: that the topic has grown by.
        removed: that the topic no longer has.
        conflicts: with two owners.
        lag_moved: records waiting in moved partitions; None where the lag of one is unknown.
    """

    name: str
    partitions: int
    kept: int
    moved: int
    assigned: int
    unassigned: int
    added: int
    removed: int
    conflicts: int
    lag_moved: int | None

    @property
    def changed(self) -> int:
        """Partitions of which something is new."""
        return self.partitions - self.kept


class Shown:
    """A diff through a view.

    Attributes:
        diff: the whole diff, for what is said of all of it.
        view: what is shown.
        part: the diff with the chosen partitions only; its members' numbers are of the chosen topics, and its
            summary is that of the whole.
    """

    def __init__(self, diff: AssignmentDiff, view: View | None = None) -> None:
        self.diff = diff
        self.view = view or View()
        self.part = _of_topics(diff, self.view.topic)
        if self.view.member is not None:
            chosen = np.array([*map(self._is_chosen, diff.members), False], np.bool_)
            self.part = _of_rows(self.part, chosen[self.part.source] | chosen[self.part.target])

    @property
    def filters(self) -> str | None:
        """What is left out, in words."""
        given = {"topics": self.view.topic, "members": self.view.member}
        parts = [
            f"{what} matching {pattern.pattern}" for what, pattern in given.items() if pattern is not None
        ]
        if not parts:
            return None
        return f"only {' and '.join(parts)} are shown; the verdict and the exit code are of the whole group"

    @cached_property
    def chosen_members(self) -> list[MemberChange]:
        """Members that no filter leaves out."""
        return [*filter(self._is_chosen, self.part.members)]

    @cached_property
    def members(self) -> list[MemberChange]:
        """Members to list."""
        return [each for each in self.chosen_members if self.view.every or _member_changed(each)]

    @cached_property
    def unchanged(self) -> int:
        """How many of the chosen members did not change."""
        return sum(not _member_changed(each) for each in self.chosen_members)

    @cached_property
    def topics(self) -> list[TopicChange]:
        """Topics to list."""
        part, kinds = self.part, len(Action)
        cells = np.bincount(
            part.topic.astype(np.int64) * kinds + part.action, minlength=len(part.topics) * kinds
        )
        counts = cells.reshape(-1, kinds).tolist()
        lags: list[int | None] = [None] * len(part.topics)
        if part.lag is not None:
            moved = part.action == Action.MOVE
            waiting = np.zeros(len(part.topics), np.int64)
            np.add.at(waiting, part.topic[moved], part.lag[moved].clip(min=0))
            lags = [*waiting.tolist()]
            for topic in np.unique(part.topic[moved & (part.lag == UNKNOWN_LAG)]).tolist():
                lags[topic] = None
        rows = (
            TopicChange(
                name=name,
                partitions=sum(row),
                kept=row[Action.KEEP],
                moved=row[Action.MOVE],
                assigned=row[Action.ASSIGN],
                unassigned=row[Action.UNASSIGN],
                added=row[Action.ADDED],
                removed=row[Action.REMOVED],
                conflicts=row[Action.CONFLICT],
                lag_moved=lag,
            )
            for name, row, lag in zip(part.topics, counts, lags, strict=True)
        )
        return [row for row in rows if row.changed or (self.view.every and row.partitions)]

    def changes(self) -> Iterator[Change]:
        """Partitions to list, each with its reason where it was planned."""
        return self.part.changes(every=self.view.every)

    @cached_property
    def partitions(self) -> int:
        """How many partitions there are to list."""
        return len(self.part.action) if self.view.every else int(np.count_nonzero(self.part.action))

    def first_changes(self, most: int | None = None) -> list[Change]:
        """The first partitions to list; the reasons of no others are asked for."""
        most = self._most(most)
        rows = np.arange(len(self.part.action)) if self.view.every else np.flatnonzero(self.part.action)
        if most is None or len(rows) <= most:
            return [*self.changes()]
        chosen = np.zeros(len(self.part.action), np.bool_)
        chosen[rows[:most]] = True
        return [*_of_rows(self.part, chosen).changes(every=True)]

    def largest_members(self, most: int | None = None) -> list[MemberChange]:
        """The members to list, the largest changes first where they are more than are shown."""
        return largest(self.members, _size, self._most(most))

    def largest_topics(self, most: int | None = None) -> list[TopicChange]:
        """The topics to list, the largest changes first where they are more than are shown."""
        return largest(self.topics, lambda topic: topic.changed, self._most(most))

    def largest_flows(self, most: int | None = None) -> tuple[list[Flow], int, int]:
        """The flows to list, how many are left out, and how many partitions those have.

        Where they are more than are shown, the largest come first.
        """
        most, part = self._most(most), self.part
        moving = np.flatnonzero((part.action != Action.KEEP) & (part.source != part.target))
        pair = part.source[moving].astype(np.int64) * (len(part.members) + 1) + part.target[moving]
        pairs, number, sizes = np.unique(pair, return_inverse=True, return_counts=True)
        left_out = 0, 0
        if most is not None and len(pairs) > most:
            order = np.argsort(-sizes, kind="stable")
            left_out = len(pairs) - most, int(sizes[order[most:]].sum())
            chosen = np.zeros(len(part.action), np.bool_)
            chosen[moving[np.isin(number, order[:most])]] = True
            part = _of_rows(part, chosen)
        flows = [*(part.flows_by_reason if self.view.reasons else part.flows)]
        if left_out[0]:
            flows.sort(key=lambda flow: -len(flow.partitions))
        return flows, *left_out

    def _most(self, most: int | None) -> int | None:
        return None if self.view.every else SHOWN if most is None else most

    def _is_chosen(self, member: MemberChange) -> bool:
        return self.view.member is None or self.view.member.search(member.name) is not None


def largest(rows: list[Row], size: Callable[[Row], int], most: int | None) -> list[Row]:
    """The rows; where they are more than `most`, so many of them, the largest first."""
    return rows if most is None or len(rows) <= most else sorted(rows, key=size, reverse=True)[:most]


def _size(member: MemberChange) -> int:
    """Partitions lost and gained; one that came or went without any counts too."""
    return member.before + member.after - 2 * member.kept


def _member_changed(member: MemberChange) -> bool:
    return member.presence is not Presence.STAYED or _size(member) > 0


def _of_topics(diff: AssignmentDiff, pattern: re.Pattern[str] | None) -> AssignmentDiff:
    """The diff with the partitions of topics that match, its members counted anew."""
    if pattern is None:
        return diff
    matches = np.array([pattern.search(name) is not None for name in diff.topics], np.bool_)
    part = _of_rows(diff, matches[diff.topic] if len(matches) else np.zeros(0, np.bool_))
    keeps = part.action == Action.KEEP
    had, has, kept = (
        np.bincount(side[side >= 0], minlength=len(diff.members)).tolist()
        for side in (part.source, part.target, part.source[keeps])
    )
    members = tuple(
        replace(member, before=had[number], after=has[number], kept=kept[number])
        for number, member in enumerate(diff.members)
    )
    return replace(part, members=members)


def _of_rows(diff: AssignmentDiff, rows: NDArray[np.bool_]) -> AssignmentDiff:
    """The diff with these partitions only."""
    places = (
        {
            (diff.topics[topic], number)
            for topic, number in zip(diff.topic[rows].tolist(), diff.partition[rows].tolist(), strict=True)
        }
        if diff.conflicts
        else set()
    )
    return replace(
        diff,
        topic=diff.topic[rows],
        partition=diff.partition[rows],
        action=diff.action[rows],
        source=diff.source[rows],
        target=diff.target[rows],
        lag=None if diff.lag is None else diff.lag[rows],
        conflicts=tuple(each for each in diff.conflicts if (each.topic, each.partition) in places),
    )


_PRESENCE = {Presence.JOINED: "new", Presence.LEFT: "gone"}

_EXPLAINED = 20_000
"""Partitions of a group whose plan is explained without being asked to; more take longer than the plan."""


def verdict(diff: AssignmentDiff) -> str:
    """What moved, what is unknown, and what was taken for granted."""
    return " ".join([answer(diff), *(f"Assumed: {each}." for each in diff.assumed)])


def answer(diff: AssignmentDiff) -> str:
    """The verdict without what was taken for granted, for a report that lists this apart."""
    return " ".join([*_consumption(diff), *_migration(diff), _counts(diff), *_unknown(diff)])


def _migration(diff: AssignmentDiff) -> list[str]:
    """Whether the group can get to another strategy of a plan while it runs."""
    if not diff.new_strategy:
        return []
    from copartition.migration import migration_verdict  # noqa: PLC0415 - few diffs need the simulator

    return [migration_verdict(diff.before.strategy or "", diff.after.strategy or "")]


def _consumption(diff: AssignmentDiff) -> list[str]:
    """What happens to consumption on the way to a plan."""
    stops = diff.consumption
    if stops is None:
        return []
    most = count(stops.stopped_at_once, "partition")
    rebalances = f"{count(stops.rebalances, 'rebalance')} ({stops.protocol})"
    told = [f"Consumption stops: {rebalances}, at most {most} at once"]
    if stops.all_stopped:
        times = "once" if stops.all_stopped == 1 else f"{stops.all_stopped:,} times"
        told.append(f"everything stopped {times}")
    if stops.partition_seconds:
        told.append(f"longest pause {duration(stops.longest_ms)}")
        told.append(f"{stops.partition_seconds:,.1f} partition-seconds")
    if stops.static_restarts:
        whose = count(stops.static_restarts, "static member")
        told.append(f"{whose} restarting, whose partitions also wait while each is down")
    return [f"{', '.join(told)}."]


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


def stop_table(diff: AssignmentDiff) -> Table:
    """What the change costs, a row for each event and protocol."""
    titles = ("stop on", "protocol", "members", "partitions", "mean pause", "noticed after")
    rows = [
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
    return Table(titles, rows, range(2, 6))


def reason(what: Flow | Change) -> str:
    """What set a partition, or those of a flow, in motion."""
    return "unknown" if what.reason is None else what.reason.value


def renames(diff: AssignmentDiff) -> list[str]:
    """Members that were taken for one because of what they have."""
    return [
        f"{rename.before} is taken for {rename.after}: they share {rename.score} % of their partitions"
        for rename in diff.matching.renames
    ]


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


class Note(NamedTuple):
    """Something to know, and what kind of thing it is."""

    kind: str
    text: str


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


def notes(diff: AssignmentDiff) -> list[Note]:
    """What was assumed, what is doubtful, and who is taken for whom."""
    conflicts = [
        f"{each.topic}-{each.partition} has two owners: before {', '.join(each.before) or 'nobody'}, "
        f"after {', '.join(each.after) or 'nobody'}."
        for each in diff.conflicts[:_NOTES]
    ]
    return [
        *_first_notes("Conflict", conflicts, len(diff.conflicts)),
        *_first_notes("Assumed", diff.assumed, len(diff.assumed)),
        *_first_notes("Warning", diff.warnings, len(diff.warnings)),
        *_first_notes("Matched", renames(diff), len(diff.matching.renames)),
    ]


def _first_notes(kind: str, texts: Sequence[str], number: int) -> list[Note]:
    shown = [Note(kind, text) for text in texts[:_NOTES]]
    return [*shown, Note(kind, f"and {number - _NOTES:,} more.")] if number > _NOTES else shown


ROWS = 100
"""The most rows of a table."""
_RUNS = 24
"""The most runs of neighbouring partitions that a row names."""


class MemberRows(NamedTuple):
    """Members that changed: those shown, how many more, and how many did not."""

    shown: list[MemberChange]
    more: int
    unchanged: int


class FlowRow(NamedTuple):
    """Partitions that went from one member to another, and how many of them are not named."""

    source: str
    target: str
    because: str
    number: int
    places: str
    unnamed: int


class FlowRows(NamedTuple):
    """Flows: those shown, how many more, and how many partitions are in those."""

    shown: list[FlowRow]
    more: int
    partitions: int


def member_rows(diff: AssignmentDiff) -> MemberRows:
    """The members that came, went, lost or gained."""
    shown = Shown(diff)
    rows = shown.largest_members(ROWS)
    return MemberRows(rows, len(shown.members) - len(rows), shown.unchanged)


def flow_rows(diff: AssignmentDiff, *, reasons: bool) -> FlowRows:
    """The flows, apart by what set them in motion where that is asked for."""
    flows, more, partitions = Shown(diff, View(reasons=reasons)).largest_flows(ROWS)
    rows = [
        FlowRow(
            flow.source or "nobody",
            flow.target or "nobody",
            reason(flow),
            len(flow.partitions),
            *_named_places(flow.partitions),
        )
        for flow in flows
    ]
    return FlowRows(rows, more, partitions)


def _named_places(partitions: PartitionList) -> tuple[str, int]:
    """Which partitions, and how many more than there is room for."""
    breaks = np.flatnonzero((np.diff(partitions.partitions) != 1) | (np.diff(partitions.topics) != 0)) + 1
    end = len(partitions) if len(breaks) < _RUNS else int(breaks[_RUNS - 1])
    first = PartitionList(partitions.names, partitions.topics[:end], partitions.partitions[:end])
    return partition_ranges(first), len(partitions) - end
