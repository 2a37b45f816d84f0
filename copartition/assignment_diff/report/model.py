"""Choose the rows of a diff for a view; sentences about the whole diff are made in `verdict`."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from assignors.partition_list import PartitionList
from assignors.state import UNKNOWN_LAG
from copartition.assignment_diff.changes import Action, Change, Flow, MemberChange, Presence
from copartition.assignment_diff.compare import AssignmentDiff
from copartition.kit.words import partition_ranges

Row = TypeVar("Row")

SHOWN = 40
"""The most rows of a table, unless the view asks for every row; the largest changes are shown."""


FATES = ("kept", "moved", "assigned", "unassigned", "added", "removed", "conflicts")
"""Names of what happens to partitions, in the order of `Action`; each is a field of `TopicChange`."""


@dataclass(frozen=True, slots=True)
class View:
    """The part of a diff to show.

    Attributes:
        by: what a row is: "member", "topic" or "partition"; None for the usual rows of the format.
        topic: shows only topics in whose name this pattern finds a match; None shows all topics.
        member: shows only members in whose name this pattern finds a match, and partitions that one of them
            has or had; None shows all members.
        every: True to show also what did not change, and all rows, however many there are.
        reasons: True to show why a plan moves partitions.
    """

    by: str | None = None
    topic: re.Pattern[str] | None = None
    member: re.Pattern[str] | None = None
    every: bool = False
    reasons: bool = False


@dataclass(frozen=True, slots=True)
class TopicChange:
    """Counts what happens to the partitions of one topic.

    Attributes:
        name: the topic's name.
        partitions: number of partitions that any side has.
        kept: number of partitions with the same owner on both sides, or with none on both.
        moved: number of partitions that go to another owner.
        assigned: number of partitions without an owner before and with one after.
        unassigned: number of partitions with an owner before and without one after.
        added: number of partitions by which the topic has grown.
        removed: number of partitions that the topic no longer has.
        conflicts: number of partitions with two owners.
        lag_moved: number of records that wait in moved partitions; None if the lag of any of them is unknown.
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
        """The number of partitions of which something is new."""
        return self.partitions - self.kept


class Shown:
    """A diff through a view.

    `part` is the diff with only the chosen rows. Its members count partitions of the chosen topics; its
    summary is that of the whole diff. Lists of rows are computed on first use and kept.

    Args:
        diff: the whole diff.
        view: the choice; None shows everything that changed.
    """

    def __init__(self, diff: AssignmentDiff, view: View | None = None) -> None:
        self.diff = diff  # all of it
        self.view = view or View()
        # The chosen partitions. Members count those of the chosen topics; the summary still counts all.
        self.part = _of_topics(diff, self.view.topic)
        if self.view.member is not None:
            # An owner of -1, nobody, reads the last element: False, because nobody is never chosen.
            chosen = np.array([*map(self._is_chosen, diff.members), False], np.bool_)
            self.part = _of_rows(self.part, chosen[self.part.source] | chosen[self.part.target])

    @property
    def filters(self) -> str | None:
        """A sentence that names the filters in use; None if no filter is in use."""
        patterns = {"topics": self.view.topic, "members": self.view.member}
        parts = [
            f"{what} matching {pattern.pattern}" for what, pattern in patterns.items() if pattern is not None
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
        """The members to list: those that changed, or all with `View.every`."""
        return [member for member in self.chosen_members if self.view.every or _member_changed(member)]

    @cached_property
    def unchanged(self) -> int:
        """The number of chosen members that did not change."""
        return sum(not _member_changed(member) for member in self.chosen_members)

    @cached_property
    def topics(self) -> list[TopicChange]:
        """The topics to list: those of which a partition changed, or all with `View.every`."""
        part, kinds = self.part, len(Action)
        # One pass over the rows counts all topics: a cell for each topic and action.
        cells = np.bincount(
            part.topic.astype(np.int64) * kinds + part.action, minlength=len(part.topics) * kinds
        )
        counts = cells.reshape(-1, kinds).tolist()
        lags: list[int | None] = [None] * len(part.topics)
        if part.lag is not None:
            moved = part.action == Action.MOVE
            # A lag below 0 counts as none: nothing waits there.
            waiting = np.zeros(len(part.topics), np.int64)
            np.add.at(waiting, part.topic[moved], part.lag[moved].clip(min=0))
            lags = [*waiting.tolist()]
            for topic in np.unique(part.topic[moved & (part.lag == UNKNOWN_LAG)]).tolist():
                lags[topic] = None
        rows = (
            TopicChange(name, sum(row), **dict(zip(FATES, row, strict=True)), lag_moved=lag)
            for name, row, lag in zip(part.topics, counts, lags, strict=True)
        )
        return [row for row in rows if row.changed or (self.view.every and row.partitions)]

    def changes(self) -> Iterator[Change]:
        """Yield the partitions to list, each with its reason if it was planned."""
        return self.part.changes(every=self.view.every)

    @cached_property
    def partitions(self) -> int:
        """The number of partitions to list."""
        return len(self.part.action) if self.view.every else int(np.count_nonzero(self.part.action))

    def first_changes(self, most: int | None = None) -> list[Change]:
        """Return the first partitions to list. Reasons are computed for these alone, because that takes long.

        Args:
            most: the most partitions; None stands for `SHOWN`. With `View.every` there is no limit.
        """
        most = self._most(most)
        rows = np.arange(len(self.part.action)) if self.view.every else np.flatnonzero(self.part.action)
        if most is None or len(rows) <= most:
            return [*self.changes()]
        chosen = np.zeros(len(self.part.action), np.bool_)
        chosen[rows[:most]] = True
        return [*_of_rows(self.part, chosen).changes(every=True)]

    def largest_members(self, most: int | None = None) -> list[MemberChange]:
        """Return the members to list; if there are more than `most`, only those that changed most."""
        return largest(self.members, _size, self._most(most))

    def largest_topics(self, most: int | None = None) -> list[TopicChange]:
        """Return the topics to list; if there are more than `most`, only those that changed most."""
        return largest(self.topics, lambda topic: topic.changed, self._most(most))

    def largest_flows(self, most: int | None = None) -> tuple[list[Flow], int, int]:
        """Return the flows, of which only the `most` largest if there are more.

        Returns:
            The flows, the number of flows that are left out, and the number of partitions in these.
        """
        most, part = self._most(most), self.part
        moving = np.flatnonzero((part.action != Action.KEEP) & (part.source != part.target))
        # One number for each pair of owners, so that `unique` finds the flows. Targets have len(members) + 1
        # values, because nobody is one, too.
        pair = part.source[moving].astype(np.int64) * (len(part.members) + 1) + part.target[moving]
        pairs, number, sizes = np.unique(pair, return_inverse=True, return_counts=True)
        left_out = 0, 0
        if most is not None and len(pairs) > most:
            # Flows are made as objects only after the choice: with many members there are millions of pairs.
            order = np.argsort(-sizes, kind="stable")
            left_out = len(pairs) - most, int(sizes[order[most:]].sum())
            chosen = np.zeros(len(part.action), np.bool_)
            chosen[moving[np.isin(number, order[:most])]] = True
            part = _of_rows(part, chosen)
        flows = [*(part.flows_by_reason if self.view.reasons else part.flows)]
        # If all are shown, they stay in the order of members.
        if left_out[0]:
            flows.sort(key=lambda flow: -len(flow.partitions))
        return flows, *left_out

    def _most(self, most: int | None) -> int | None:
        """Return the most rows to show: `most`, or `SHOWN` if it is None; None with `View.every`."""
        return None if self.view.every else SHOWN if most is None else most

    def _is_chosen(self, member: MemberChange) -> bool:
        """Return True if the view does not filter this member out."""
        return self.view.member is None or self.view.member.search(member.name) is not None


def largest(rows: list[Row], size: Callable[[Row], int], most: int | None) -> list[Row]:
    """Return at most `most` rows: all in their order, or the largest first if there are more."""
    return rows if most is None or len(rows) <= most else sorted(rows, key=size, reverse=True)[:most]


def _size(member: MemberChange) -> int:
    """Return how many partitions a member lost and gained together: the size of its change."""
    return member.before + member.after - 2 * member.kept


def _member_changed(member: MemberChange) -> bool:
    """Return True if a member came or went, even without partitions, or if it lost or gained one."""
    return member.presence is not Presence.STAYED or _size(member) > 0


def _of_topics(diff: AssignmentDiff, pattern: re.Pattern[str] | None) -> AssignmentDiff:
    """Return the diff of the topics whose name has a match; members count only partitions of these topics."""
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
    """Return the diff with only some rows; members and the summary are still those of the whole diff.

    Args:
        diff: the diff.
        rows: True for each row to keep; shape (rows,).
    """
    columns = ("topic", "partition", "action", "source", "target")
    return replace(
        diff,
        **{name: getattr(diff, name)[rows] for name in columns},
        lag=None if diff.lag is None else diff.lag[rows],
        # Conflicts are in the order of their rows, so the mask of these rows selects them.
        conflicts=tuple(compress(diff.conflicts, rows[diff.action == Action.CONFLICT].tolist())),
    )


_PRESENCE = {Presence.JOINED: "new", Presence.LEFT: "gone"}


def presence(member: MemberChange) -> str:
    """Return a word about a member: "new", "gone" or "idle", or that a side does not show it; else ""."""
    if member.presence is Presence.STAYED:
        return "" if member.after else "idle"
    return _PRESENCE.get(member.presence, str(member.presence))


def reason(what: Flow | Change) -> str:
    """Return in words why a plan moves a partition or the partitions of a flow; "unknown" without a plan."""
    return "unknown" if what.reason is None else what.reason.value


def conflicts(diff: AssignmentDiff, arrow: str) -> list[str]:
    """Return a sentence for each partition with two owners.

    Args:
        diff: the diff; of a single state only the owners after are named.
        arrow: the sign between the owners before and after.
    """
    return [
        f"{conflict.topic}-{conflict.partition} has two owners: "
        + (
            ", ".join(conflict.after)
            if diff.alone
            else f"{', '.join(conflict.before) or 'nobody'} {arrow} {', '.join(conflict.after) or 'nobody'}"
        )
        for conflict in diff.conflicts
    ]


def renames(diff: AssignmentDiff) -> list[str]:
    """Return a sentence for each pair of members that was made by overlap: by their common partitions."""
    return [
        f"{rename.before} is taken for {rename.after}: they share {rename.score} % of their partitions"
        for rename in diff.matching.renames
    ]


_RUNS = 24
"""The most runs of consecutive partitions that a row names."""


def named_places(partitions: PartitionList) -> tuple[str, int]:
    """Return the first `_RUNS` runs of partitions as text, and the number of partitions after them.

    Args:
        partitions: sorted by topic and number, so that consecutive numbers form one run.
    """
    # A run ends where the number does not increase by 1, or where the topic changes.
    breaks = np.flatnonzero((np.diff(partitions.partitions) != 1) | (np.diff(partitions.topics) != 0)) + 1
    end = len(partitions) if len(breaks) < _RUNS else int(breaks[_RUNS - 1])
    first = PartitionList(partitions.names, partitions.topics[:end], partitions.partitions[:end])
    return partition_ranges(first), len(partitions) - end
