"""Sum a diff up in numbers, on which a user may set limits such as `moved_pct<=10`."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Certificate
from assignors.state import UNKNOWN_LAG
from copartition.assignment_diff.changes import Action, MemberChange, Presence
from copartition.assignment_diff.needed import Columns, NeededMoves
from copartition.kit.number_checks import NumberCheck, read_check


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of a diff; --check can set a limit on any of them by its name.

    "Before" and "after" are the two sides of the diff. A number of members is None if that side may not show
    all of its members: a source may leave out members without partitions.

    Attributes:
        members_before: members before, including those without a partition.
        members_after: members after, including those without a partition.
        members_joined: members that are only on the side after; None if some of them may have been there
            before.
        members_left: members that are only on the side before; None if some of them may still be there after.
        idle_before: members that had no partition before.
        idle_after: members that have no partition after.
        partitions: partitions that the side before or the side after has.
        kept: partitions that have the same owner on both sides.
        moved: partitions that have an owner on both sides, but not the same.
        moved_least: the fewest partitions that may move. Equal to `moved`, unless the side after is a plan
            that depends on member ids that are not known yet; then it is the fewest over the ids that were
            tried.
        moved_most: the most partitions that may move. Equal to `moved`, unless the side after is a plan that
            depends on member ids that are not known yet; then it is the most over the ids that were tried.
        moved_pct: moved partitions in percent of `partitions`.
        assigned: partitions that had no owner before and have one after.
        unassigned: partitions that had an owner before and have none after.
        added: partitions by which topics have grown.
        removed: partitions that their topics no longer have.
        conflicts: partitions that have two owners on one side.
        unowned: partitions that have no owner after.
        needed_moves: the fewest moves from the owners before to any valid assignment that is as balanced as
            the side after: under the subscriptions after, every load is between the smallest and the largest
            load after. None if there is no such assignment, or if a partition has two owners after.
        needed_moves_exact: whether `needed_moves` is exact. If not, subscriptions or members are unknown, and
            `needed_moves` is a lower bound. A lower bound that equals `moved` counts as exact.
        avoidable_moves: `moved` minus `needed_moves`, at least 0; an upper bound if `needed_moves` is not
            exact. None if `needed_moves` is None.
        fullest: the largest number of partitions of a member after.
        needed_fullest: the fewest partitions that the fullest member can have in any assignment under the
            subscriptions after. None if a partition has two owners after, or if not all members after are
            known.
        needed_fullest_exact: whether `needed_fullest` is exact. If not, subscriptions are unknown, and
            `needed_fullest` is a lower bound. A lower bound that equals `fullest` counts as exact.
        topic_fullest: the largest number of partitions of a member in the least evenly spread topic after:
            the topic in which this number is furthest above an even share. None if a partition has two owners
            after.
        needed_topic_fullest: the largest number of partitions of a member if the topic of `topic_fullest`
            were spread evenly over its subscribers. None if a partition has two owners after.
        needed_topic_fullest_exact: whether `needed_topic_fullest` is exact. If not, subscriptions or members
            are unknown, and `needed_topic_fullest` is a lower bound. A lower bound that equals
            `topic_fullest` counts as exact.
        peak: the largest load of a member after, by weights, in multiples of the mean load. None without
            weights, if not all members or partitions after are known, or if a partition has two owners after.
        needed_peak: a lower bound: no assignment has a lower `peak`. None if `peak` is None.
        spread_before: the most partitions of a member minus the fewest, before. None if not all members are
            known.
        spread_after: the most partitions of a member minus the fewest, after. None if not all members are
            known.
        stickiness: `kept` partitions as a share, from 0 to 1, of all partitions that have an owner on both
            sides. 1 if no partition has an owner on both sides.
        lag_moved: records that wait in moved partitions, which the new owners will read. A lag below 0 counts
            as 0. None if the lag of no moved partition is known.
        lag_moved_exact: whether the lag of all moved partitions is known. If not, `lag_moved` is a lower
            bound.
        lag_unowned: records that wait in partitions that have no owner after. None if no lag of these
            partitions is known.
        lag_unowned_exact: whether the lag of all partitions without an owner after is known. If not,
            `lag_unowned` is a lower bound.
    """

    members_before: int | None
    members_after: int | None
    members_joined: int | None
    members_left: int | None
    idle_before: int | None
    idle_after: int | None
    partitions: int
    kept: int
    moved: int
    moved_least: int
    moved_most: int
    moved_pct: float
    assigned: int
    unassigned: int
    added: int
    removed: int
    conflicts: int
    unowned: int
    needed_moves: int | None
    needed_moves_exact: bool
    avoidable_moves: int | None
    fullest: int
    needed_fullest: int | None
    needed_fullest_exact: bool
    topic_fullest: int | None
    needed_topic_fullest: int | None
    needed_topic_fullest_exact: bool
    peak: float | None
    needed_peak: float | None
    spread_before: int | None
    spread_after: int | None
    stickiness: float
    lag_moved: int | None
    lag_moved_exact: bool
    lag_unowned: int | None
    lag_unowned_exact: bool

    def range_of(self, name: str) -> tuple[float, float]:
        """Return the least and the most that a number of the summary can be.

        Both are the number itself if it is exact.

        Args:
            name: a field whose value is not None.
        """
        value = float(getattr(self, name))
        # If ids were drawn, the number itself is only one of several possible ones.
        if self.moved_least < self.moved_most and name in _OF_MOVES:
            # Some numbers decrease with more moves, so either end may be the lower one.
            ends = [_OF_MOVES[name](self, moved) for moved in (self.moved_least, self.moved_most)]
            return min(*ends, value), max(*ends, value)
        bounds = {
            "needed_moves": (self.needed_moves_exact, value, float(self.moved)),
            "needed_fullest": (self.needed_fullest_exact, value, float(self.fullest)),
            "needed_topic_fullest": (
                self.needed_topic_fullest_exact,
                value,
                float(self.topic_fullest or value),
            ),
            # If `needed_moves` is only a lower bound, `avoidable_moves` is an upper bound.
            "avoidable_moves": (self.needed_moves_exact, 0.0, value),
            "lag_moved": (self.lag_moved_exact, value, math.inf),
            "lag_unowned": (self.lag_unowned_exact, value, math.inf),
        }
        exact, least, most = bounds.get(name, (True, value, value))
        return (value, value) if exact else (least, most)


_OF_MOVES: dict[str, Callable[[Summary, int], float]] = {
    "moved": lambda _, moved: float(moved),
    "moved_pct": lambda numbers, moved: 100 * moved / max(1, numbers.partitions),
    "kept": lambda numbers, moved: float(numbers.kept + numbers.moved - moved),
    "stickiness": lambda numbers, moved: 1 - moved / max(1, numbers.kept + numbers.moved),
    "avoidable_moves": lambda numbers, moved: float(max(0, moved - (numbers.needed_moves or 0))),
}
"""Name of a number -> function that computes this number of a summary for a given number of moves."""


def summarize(
    members: tuple[MemberChange, ...],
    rows: Columns,
    needed: NeededMoves,
    lag: NDArray[np.int64] | None,
    certificate: Certificate | None,
    *,
    all_known: tuple[bool, bool],
    moves: tuple[int, int] | None = None,
) -> Summary:
    """Return a diff in numbers.

    Args:
        members: the change of each member, by place.
        rows: the rows of the diff.
        needed: the least that the change needs.
        lag: records that wait in each row, `UNKNOWN_LAG` if unknown; None if neither side shows any lag.
        certificate: the peak of the side after and its lower bound; None without weights.
        all_known: for each side, True if it shows all its members.
        moves: the fewest and the most moves over the ids that were tried: `GroupState.moves` of the side
            after.
    """
    times = np.bincount(rows.action, minlength=len(Action)).tolist()
    before = [member.before for member in members if member.before_id is not None]
    after = [member.after for member in members if member.after_id is not None]
    # If it is unknown for even one member whether it joined or left, the whole number is unknown.
    presence = Counter(member.presence for member in members)
    fullest = max(after, default=0)
    moved, kept = times[Action.MOVE], int(np.count_nonzero((rows.action == Action.KEEP) & (rows.source >= 0)))
    topics = needed.topics
    waiting, exact = lag_of(lag, rows.action == Action.MOVE)
    # A removed partition has no owner after, either, but does not need one.
    unowned = (rows.target < 0) & (rows.action != Action.REMOVED)
    unread, unread_exact = lag_of(lag, unowned)
    return Summary(
        members_before=len(before) if all_known[0] else None,
        members_after=len(after) if all_known[1] else None,
        members_joined=None if presence[Presence.UNKNOWN_BEFORE] else presence[Presence.JOINED],
        members_left=None if presence[Presence.UNKNOWN_AFTER] else presence[Presence.LEFT],
        idle_before=before.count(0) if all_known[0] else None,
        idle_after=after.count(0) if all_known[1] else None,
        partitions=len(rows.action),
        kept=kept,
        moved=moved,
        # The plan itself is one of the possible outcomes, so its own moves lie within the range.
        moved_least=min(moved, *(moves or (moved,))),
        moved_most=max(moved, *(moves or (moved,))),
        moved_pct=100 * moved / max(1, len(rows.action)),
        assigned=times[Action.ASSIGN],
        unassigned=times[Action.UNASSIGN],
        added=times[Action.ADDED],
        removed=times[Action.REMOVED],
        conflicts=times[Action.CONFLICT],
        unowned=int(np.count_nonzero(unowned)),
        needed_moves=needed.moves,
        needed_moves_exact=needed.exact or needed.moves == moved,
        avoidable_moves=None if needed.moves is None else max(0, moved - needed.moves),
        fullest=fullest,
        needed_fullest=needed.fullest,
        needed_fullest_exact=needed.exact or needed.fullest == fullest,
        topic_fullest=topics and topics.fullest,
        needed_topic_fullest=topics and topics.needed,
        needed_topic_fullest_exact=needed.exact or (topics is not None and topics.fullest == topics.needed),
        peak=None if certificate is None else certificate.peak,
        needed_peak=None if certificate is None else certificate.bound,
        spread_before=max(before, default=0) - min(before, default=0) if all_known[0] else None,
        spread_after=max(after, default=0) - min(after, default=0) if all_known[1] else None,
        # Only partitions with an owner on both sides could stay.
        stickiness=1 - moved / max(1, kept + moved),
        lag_moved=waiting,
        lag_moved_exact=exact,
        lag_unowned=unread,
        lag_unowned_exact=unread_exact,
    )


def lag_of(lag: NDArray[np.int64] | None, rows: NDArray[np.bool_]) -> tuple[int | None, bool]:
    """Return (the number of records that wait in these rows, whether the lag of every row is known).

    Rows with an unknown lag are not counted. The number is None if no lag of these rows is known.
    """
    if lag is None:
        return None, False
    waiting = lag[rows]
    counted = waiting[waiting != UNKNOWN_LAG]
    # Unknown lags must not be reported as a lag of 0.
    if len(waiting) and not len(counted):
        return None, False
    # A lag below 0 means that the commit is beyond the end, so nothing waits.
    return int(counted.clip(min=0).sum()), len(counted) == len(waiting)


def parse_check(text: str) -> NumberCheck:
    """Return the check that a text states: the name of a number of `Summary`, a comparison, and a limit.

    >>> parse_check("moved_pct<=10")
    NumberCheck(name='moved_pct', comparison='<=', limit=10.0)

    Raises:
        DiffError: see `copartition.kit.number_checks.read_check`.
    """
    return read_check(text, Summary)
