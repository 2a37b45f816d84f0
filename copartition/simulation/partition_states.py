"""Compute from transitions what every partition is doing, and how long partitions stood still, by cause.

NumPy takes as long for five partitions as for five hundred, and order matters only among the transitions of
one partition. So the first transitions of all partitions are applied together, then the second ones, and so
on.

A transition has one of two forms, which lead to the same result. A column of partitions is applied alone.
Collections that stand next to each other in the ledger are regrouped into few columns (`_fold_together`).
"""

import math
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from enum import IntEnum
from itertools import chain, groupby
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from copartition.simulation.group.memberships import Memberships
from copartition.simulation.outcome.timeline import Phase, Rows
from copartition.simulation.records.flow import RecordFlow
from partitioning.kit.columns import inverse, ranks, run_starts

# `Index`: a column of flat indexes. `Times`: one time for all partitions of a transition, or one for each.
Index = NDArray[np.integer]
Times = float | NDArray[np.float64]


class TransitionKind(IntEnum):
    """Name what can happen to a partition; docs/glossary.md has the same words.

    The numbers have no order. `PartitionStates.apply` has one branch for each kind; STOP, STALL and LOSE
    share the last branch.
    """

    OWN = 0
    """The partition is given to a member, or to no member."""
    OPEN = 1
    """The partition's owner runs callbacks, opens it and fetches, and then reads it."""
    READ = 2
    """The partition's owner reads it from now on."""
    STOP = 3
    """The partition's reader stops for a rebalance, and could commit before."""
    STALL = 4
    """The partition's reader stands still, and may go on where it was.

    If `begins_ms` is given, the reader goes on by itself at that time.
    """
    LOSE = 5
    """The partition's reader, even if it stands still already, may not go on where it was.

    `committed` says whether the reader could commit before.
    """
    SETTLE = 6
    """The partition is not read from now on, because of `cause`; this is how a new partition begins."""


class Transition(NamedTuple):
    """One thing that happens to partitions.

    If `partitions` is a collection, the transition may be applied together with others; then `at_ms`,
    `member` and `begins_ms` are plain numbers. If it is a column, the transition is applied alone, and these
    three may be columns of equal length.

    Times are milliseconds, partitions are flat indexes, members are numbers of `Memberships`, and causes are
    numbers of `Ledger.causes`.
    """

    kind: TransitionKind
    partitions: Collection[int] | Index  # flat indexes, each once
    at_ms: Times
    phase: Phase  # the phase of the partitions from then on; without meaning for OWN and READ
    cause: int | None = None  # why the partitions are not read; None keeps the cause of each partition
    committed: bool = False  # LOSE: whether the reader could commit before
    settles: bool = False  # STALL and LOSE: partitions that stand still already change phase and cause, too
    member: int | NDArray[np.integer] | None = None  # OWN and OPEN: the new owner; None: as before
    position: Index | None = None  # OWN: the index of each partition in its owner's list
    # OPEN: when the owner begins to read; None: at once. STALL: when it goes on; None: that is not known.
    begins_ms: Times | None = None


KINDS = len(Phase)

# NumPy compares a short column with a plain number seven times as fast as with a member of an enumeration.
# `np.count_nonzero` of a short mask is four times as fast as its `any`.
_ABSENT, _CONSUMING = int(Phase.ABSENT), int(Phase.CONSUMING)
_UNNOTICED, _HANDOVER = int(Phase.UNNOTICED), int(Phase.HANDOVER)

_WAITS = np.isin(np.arange(KINDS), [Phase.PAUSED, Phase.UNNOTICED, Phase.COMPUTING])
"""For each phase, whether a partition in it is neither read nor being opened."""


def _times_where(at_ms: Times, mask: NDArray[np.bool_]) -> Times:
    """Return the times at which a mask is True; one time for all partitions is returned as it is."""
    return at_ms[mask] if isinstance(at_ms, np.ndarray) else at_ms


class PartitionStates:
    """The state of all partitions as columns, with sums of the time spent in each phase.

    Members are numbers of `Memberships`, and -1 is no member. Causes are numbers, given in the order of time.
    Partitions are flat indexes, times are milliseconds.

    Between two transitions, `unread` counts the partitions that exist in a phase other than CONSUMING.
    `_since` is when a partition's present phase began, and `_still_since` is when it was read last; neither
    has a meaning while the partition is ABSENT. `_opening` counts the partitions whose handover has begun.
    Exactly these have a finite `_ready`, and their phase is HANDOVER. `spent` does not include the time since
    `_since`.
    """

    def __init__(
        self,
        partitions: int,
        memberships: Memberships,
        partition_ms: float,
        *,
        flow: RecordFlow | None = None,
        rows: Rows | None = None,
    ) -> None:
        self.phase = np.zeros(partitions, np.int8)  # what each partition is doing, a `Phase`
        self.owner = np.full(partitions, -1, np.int32)  # the member that got each partition last; -1: none
        self.position = np.zeros(partitions, np.int32)  # the index of each partition in that member's list
        self.unread = 0  # how many partitions exist and are not read
        self.longest_ms = 0.0  # the longest pause that is over
        self.spent = np.zeros(16 * KINDS)  # milliseconds by `cause * KINDS + phase`, summed over partitions
        self.touched = np.zeros(16, np.int64)  # how many partitions stood still for each cause
        self._memberships = memberships
        self._partition_ms = partition_ms
        self._flow = flow
        self._rows = rows
        self._since = np.zeros(partitions)
        self._still_since = np.zeros(partitions)
        # The cause of the last pause stays here while the partition is read, so that a second pause for the
        # same cause does not count the partition in `touched` again.
        self._cause = np.full(partitions, -1, np.int32)
        self._ready = np.full(partitions, math.inf)  # when a handover that has begun will be over
        # How many elements of `_ready` are finite. While it is 0, that column need not be searched.
        self._opening = 0
        self._watched: NDArray[np.bool_] | None = None  # partitions that have had a second reader
        # Parts of three columns, kept only with a flow: a partition, the time at which its owner begins to
        # read it, and the cause of the pause before.
        self._read_again: list[tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]] = []
        # Parts of three columns about watched partitions: partition, start and end of a read by the owner.
        self._read_twice: list[tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]] = []

    def apply(self, transition: Transition) -> None:
        """Apply a transition of a column; those of one partition must come in the order of time."""
        kind, partitions, at_ms = transition.kind, transition.partitions, transition.at_ms
        phase, cause, begins_ms = transition.phase, transition.cause, transition.begins_ms
        assert isinstance(partitions, np.ndarray), "a collection is made a column by `fold`"
        if kind is TransitionKind.SETTLE:
            self._settle(partitions, at_ms, phase, cause)
        elif kind is TransitionKind.READ:
            self._read(partitions, at_ms)
        elif kind is TransitionKind.OPEN:
            if transition.member is not None:
                self._own(partitions, transition.member, transition.position)
            self._open(partitions, at_ms, begins_ms, cause, transition.position)
        elif kind is TransitionKind.OWN:
            self._own(partitions, transition.member, transition.position)
        else:
            assert cause is not None, "whoever stops has a reason"
            if begins_ms is None:
                self._halt(transition, partitions, at_ms, cause)
            else:
                self._suspend(partitions, at_ms, begins_ms, cause)

    def settle(self, at_ms: float) -> None:
        """Complete the handovers that are over by `at_ms`.

        A handover ends by itself, without a transition. So it is completed when the state is read: here for
        all partitions, in `_stop` for those that are about to stop.
        """
        if self._opening:
            self._mature(np.arange(len(self.phase)), at_ms)

    def waiting_for(self, members: NDArray[np.int32]) -> NDArray[np.intp]:
        """Return the partitions that these members were given and that are neither read nor being opened.

        Indexes are ascending. Partitions in HANDOVER are left out: their owner is opening them already, and
        to open them again would start their wait again.
        """
        waiting = _WAITS[self.phase].nonzero()[0]
        if len(waiting) == 0:
            return waiting
        opens = np.zeros(len(self._memberships) + 1, np.bool_)  # the last element is for index -1, no member
        opens[members] = True
        return waiting[opens[self.owner[waiting]]]

    def by_member(self, members: NDArray[np.int32], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `values` as a column with one element for each membership, NaN for members without a value.

        `members` and `values` are columns of equal length. The result has shape (memberships + 1,) and is
        indexed by `owner`; its last element, NaN, is for index -1, no member.
        """
        every = np.full(len(self._memberships) + 1, math.nan)
        every[members] = values
        return every

    def read_by_owner(self, partitions: NDArray[np.int32], at_ms: float) -> NDArray[np.bool_]:
        """Return for each partition whether its owner reads it at `at_ms`, or would if it did not stall."""
        phase = self.phase[partitions]
        read: NDArray[np.bool_] = (phase == _CONSUMING) | (phase == _UNNOTICED)
        return read | (self._ready[partitions] <= at_ms)

    def open_at_ms(self) -> float:
        """Return the time at which the last handover that has begun will be over; 0 if there is none."""
        ready = self._ready[self._ready < math.inf]
        return float(ready.max(initial=0))

    def watch(self, partitions: Index) -> None:
        """Keep from now on when these partitions are read, because they have a second reader.

        `reads_of_watched` returns these times.
        """
        if self._watched is None:
            self._watched = np.zeros(len(self.phase), np.bool_)
        self._watched[partitions] = True

    def finish(self, at_ms: float) -> None:
        """End the run: count the phases and pauses that last until its end.

        Apply nothing afterwards. Pauses that last until the end count in `spent` and `longest_ms`, so a
        partition that is never read has a pause as long as the rest of the run.
        """
        self.settle(at_ms)
        everything = self.phase.nonzero()[0]
        still = everything[self.phase[everything] != _CONSUMING]
        self._spend(still, at_ms)
        self.longest_ms = max(self.longest_ms, float(np.max(at_ms - self._still_since[still], initial=0)))
        self._keep(everything, at_ms)
        self._since[everything] = at_ms

    def reads_of_watched(self) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """Return when watched partitions were read by their owners: partition, start and end, as columns."""
        parts = self._read_twice or [(np.empty(0, np.int32), np.empty(0), np.empty(0))]
        partition, start, end = (np.concatenate(column) for column in zip(*parts, strict=True))
        return partition, start, end

    def causes_of(self, partitions: NDArray[np.integer], at_ms: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return, for each partition and time, the cause of the pause before its last read up to that time.

        A flow is needed, because reads are kept only with one. The two columns have equal length, and times
        are milliseconds. Each partition must have been read at or before its time. Reads and queries are
        sorted together by partition and time, and the running maximum of the reads' indexes finds the last
        read before each query.
        """
        partition, since, cause = (np.concatenate(column) for column in zip(*self._read_again, strict=True))
        queried = np.repeat([False, True], [len(partition), len(partitions)])
        order = np.lexsort((queried, np.append(since, at_ms), np.append(partition, partitions)))
        last = np.maximum.accumulate(np.where(queried[order], -1, np.arange(len(order))))
        causes: NDArray[np.int32] = cause[order[last][inverse(order)][queried]]
        return causes

    def _settle(self, partitions: Index, at_ms: Times, phase: Phase, cause: int | None) -> None:
        """Let partitions stand still in this phase; if they do not exist yet, they begin to exist.

        Either all of the partitions must exist already, or none of them.

        A partition whose handover had begun is taken out of it. The time in the phase before is added to
        `spent` first, because that needs the old phase and cause.
        """
        if self.phase[partitions[0]] == _ABSENT:
            if self._flow is not None:
                self._flow.add_partitions(partitions, at_ms)
            self._still_since[partitions] = at_ms
            self.unread += len(partitions)
        else:
            if self._opening:
                self._close_handover(partitions[self._ready[partitions] < math.inf])
            self._keep(partitions, at_ms)
            self._spend(partitions, at_ms)
        self._since[partitions] = at_ms
        self._stand(partitions, phase, cause)

    def _own(self, partitions: Index, member: Any, position: Any) -> None:
        """Give these partitions to a member, or one member each, at these positions in its list."""
        self.owner[partitions] = member
        self.position[partitions] = position

    def _read(self, partitions: Index, at_ms: Times) -> None:
        """Let the owners of these partitions, which stand still now, read them.

        The pause that ends here began when the partition was read last, whatever phases and causes it went
        through since; `longest_ms` measures this whole pause.
        """
        self._keep(partitions, at_ms)
        self._spend(partitions, at_ms)
        self.longest_ms = max(self.longest_ms, float((at_ms - self._still_since[partitions]).max()))
        self._since[partitions] = at_ms
        self.phase[partitions] = _CONSUMING
        self.unread -= len(partitions)
        if self._flow is not None:
            read = partitions.astype(np.int32)
            self._read_again.append((read, np.full(len(read), at_ms), self._cause[partitions]))
            self._flow.reads(partitions, self._memberships.consumer[self.owner[partitions]], at_ms)

    def _open(
        self, partitions: Index, at_ms: Times, begins_ms: Times | None, cause: int | None, rank: Index | None
    ) -> None:
        """Let owners open these partitions one after the other, in the order of `rank`.

        `rank` has the place of each partition among those that its owner opens now, from 0; None means the
        order of the owner's list. The partition with rank k is ready `(k + 1) * Costs.partition_ms` after the
        owner begins. If opening takes no time and begins at once, the partitions are read at once and never
        enter HANDOVER.
        """
        if begins_ms is None and not self._partition_ms:
            self._read(partitions, at_ms)
            return
        ready: Any = at_ms if begins_ms is None else begins_ms
        if self._partition_ms:
            ready = ready + self._partition_ms * (1 + (self._ranks(partitions) if rank is None else rank))
        self._settle(partitions, at_ms, Phase.HANDOVER, cause)
        self._ready[partitions] = ready
        self._opening += len(partitions)
        self._mature(partitions, at_ms)

    def _ranks(self, partitions: Index) -> NDArray[np.intp]:
        """Return the place of each partition among the partitions that its owner opens now."""
        order = np.lexsort((self.position[partitions], self.owner[partitions]))
        return ranks(self.owner[partitions][order])[inverse(order)]

    def _halt(self, transition: Transition, partitions: Index, at_ms: Times, cause: int) -> None:
        """Apply a transition of kind STOP, STALL or LOSE to these partitions."""
        kind, phase, committed = transition.kind, transition.phase, transition.committed
        if kind is TransitionKind.LOSE and self._flow is not None:
            # When the reader stalled, the flow was notified of a stall. Now it is known that the reader does
            # not go on, so the flow is notified of a stop.
            away = self.phase[partitions] == _UNNOTICED
            if np.count_nonzero(away):
                self._flow.stops(partitions[away], _times_where(at_ms, away), committed=committed)
        self._stop(
            partitions,
            at_ms,
            phase,
            cause,
            stalls=kind is TransitionKind.STALL,
            committed=committed or kind is TransitionKind.STOP,
        )
        if transition.settles:
            # `_stop` has moved the partitions that were read into `phase`. All others stood still before;
            # they change phase and cause here.
            stood = self.phase[partitions] != phase
            if np.count_nonzero(stood):
                self._settle(partitions[stood], _times_where(at_ms, stood), phase, cause)

    def _stop(
        self, partitions: Index, at_ms: Times, phase: Phase, cause: int, *, stalls: bool, committed: bool
    ) -> None:
        """Stop the partitions among these that are read or being opened, and tell the flow.

        A handover that was over before the stop counts as a read, so handovers are completed first. A
        handover that is not over ends without a read.
        """
        if self._opening:
            self._mature(partitions, at_ms)
            opening = self.phase[partitions] == _HANDOVER
            if np.count_nonzero(opening):
                if self._flow is not None and not stalls:
                    # If these readers were suspended, the flow was notified of a stall. Now they do not go
                    # on, so the flow is notified of a stop.
                    self._flow.stops(partitions[opening], _times_where(at_ms, opening), committed=committed)
                self._settle(partitions[opening], _times_where(at_ms, opening), phase, cause)
        read = self.phase[partitions] == _CONSUMING
        count = np.count_nonzero(read)
        if count == 0:
            return
        if count < len(read):
            partitions, at_ms = partitions[read], _times_where(at_ms, read)
        if self._flow is not None and stalls:
            self._flow.stalls(partitions, at_ms)
        elif self._flow is not None:
            self._flow.stops(partitions, at_ms, committed=committed)
        self._keep(partitions, at_ms)
        # A partition that was read for no time at all still has the pause that began before.
        self._still_since[partitions] = np.where(
            self._since[partitions] < at_ms, at_ms, self._still_since[partitions]
        )
        self._since[partitions] = at_ms
        self.unread += len(partitions)
        self._stand(partitions, phase, cause)

    def _suspend(self, partitions: Index, at_ms: Times, ends_ms: Times, cause: int) -> None:
        """Let the readers of those partitions that are read stand still, and go on at `ends_ms`.

        A partition that is being opened is read at `ends_ms` at the earliest. All others are left alone.
        """
        if self._opening:
            self._mature(partitions, at_ms)
            opening = self._ready[partitions] < math.inf
            late = partitions[opening]
            self._ready[late] = np.maximum(self._ready[late], _times_where(ends_ms, opening))
        read = self.phase[partitions] == _CONSUMING
        partitions, at_ms, ends_ms = partitions[read], _times_where(at_ms, read), _times_where(ends_ms, read)
        if len(partitions):
            self._stop(partitions, at_ms, Phase.HANDOVER, cause, stalls=True, committed=False)
            self._ready[partitions] = ends_ms
            self._opening += len(partitions)

    def _mature(self, partitions: Index, at_ms: Times) -> None:
        """Complete those handovers of these partitions that are over by `at_ms`; their owners then read them.

        Each partition is read from the end of its own handover on, which may be long before `at_ms`. Other
        partitions are left alone.
        """
        ripe = partitions[self._ready[partitions] <= at_ms]
        if len(ripe):
            at_ms = self._ready[ripe]
            self._close_handover(ripe)
            self._read(ripe, at_ms)

    def _close_handover(self, partitions: Index) -> None:
        """Record that these partitions are no longer being opened."""
        self._ready[partitions] = math.inf
        self._opening -= len(partitions)

    def _stand(self, partitions: Index, phase: Phase, cause: int | None) -> None:
        """Set phase and cause of partitions that stand still; `touched` counts the ones new to the cause."""
        self.phase[partitions] = phase
        if cause is None:
            return
        if cause >= len(self.touched):
            # Causes are numbered upwards, so the room is at least doubled, and need not grow for a while.
            self.touched = np.concatenate([self.touched, np.zeros(cause + 1, np.int64)])
            self.spent = np.concatenate([self.spent, np.zeros((cause + 1) * KINDS)])
        self.touched[cause] += np.count_nonzero(self._cause[partitions] != cause)
        self._cause[partitions] = cause

    def _spend(self, partitions: Index, at_ms: Times) -> None:
        """Add the time since these partitions' last change to `spent`, under their present cause and phase.

        Call this before the cause or the phase is changed.
        """
        kind = self._cause[partitions] * KINDS + self.phase[partitions]
        # A run has many causes, and these partitions have few. So only the range of their numbers is counted.
        first = int(kind.min(initial=len(self.spent)))
        spent = np.bincount(kind - first, at_ms - self._since[partitions])
        self.spent[first : first + len(spent)] += spent

    def _keep(self, partitions: Index, at_ms: Times) -> None:
        """Store the phases of these partitions that end now, if a timeline or second readers need them."""
        if self._rows is None and self._watched is None:
            return
        end = np.broadcast_to(at_ms, partitions.shape)
        if self._rows is not None:
            # A phase that lasted no time leaves no row, so every row of a timeline has a length.
            rows = partitions[self._since[partitions] < end].astype(np.int32)
            phase = self.phase[rows]
            about = np.where(phase == _CONSUMING, self.owner[rows], self._cause[rows])
            self._rows.append((rows, self._since[rows], phase, about))
        if self._watched is not None:
            twice = self._watched[partitions] & (self.phase[partitions] == _CONSUMING)
            rows = partitions[twice].astype(np.int32)
            self._read_twice.append((rows, self._since[rows], end[twice]))


def fold(transitions: Sequence[Transition], states: PartitionStates, flow: RecordFlow | None) -> None:
    """Apply these transitions in their order; `states` notifies `flow` of what they do to the records.

    Neighbouring transitions whose partitions are collections are applied together, as a few columns. A
    transition whose partitions are a column is applied alone, at its place between them.
    """
    for alone, several in groupby(transitions, lambda made: isinstance(made.partitions, np.ndarray)):
        if alone:
            for transition in several:
                states.apply(transition)
        else:
            _fold_together([*several], states, flow)


def _fold_together(several: Sequence[Transition], states: PartitionStates, flow: RecordFlow | None) -> None:
    """Apply transitions of collections as fewer transitions of columns, with the same effect.

    For n = 1, 2, ..., the n-th transitions of all partitions become one column for each kind of transition
    (`_alike`); so the transitions of one partition stay in their order. A collection has no order of its own,
    so its partitions are opened in the order of their flat indexes.
    """
    sizes = np.array([len(made.partitions) for made in several])
    turn = np.repeat(np.arange(len(several)), sizes)
    members = chain.from_iterable(made.partitions for made in several)
    partitions = np.fromiter(cast("Any", members), np.int32, len(turn))
    # Rows are sorted by transition, then by flat index. `place` is the rank within the transition, which is
    # the order in which an owner opens.
    partitions, place = partitions[np.lexsort((partitions, turn))], ranks(turn)
    at_ms = np.array([made.at_ms for made in several])[turn]
    member = np.array([-1 if made.member is None else made.member for made in several], np.int32)[turn]
    # None becomes NaN here. `_alike` separates transitions with None from others, so NaN is never used as a
    # time.
    begins_ms = np.array([made.begins_ms for made in several], np.float64)[turn]
    numbers: dict[tuple[object, ...], int] = {}
    kind = np.array([numbers.setdefault(_alike(made), len(numbers)) for made in several])
    # A step has the n-th transitions of partitions, of one kind; so it names each partition only once.
    step = _occurrence(partitions) * len(numbers) + kind[turn]
    order = step.argsort(kind="stable")
    # The flow is notified in the order of steps, not in that of the ledger. It restores the ledger's order
    # afterwards, by `turns`.
    with nullcontext() if flow is None else flow.out_of_turn() as turns:
        for rows in np.split(order, run_starts(step[order])[1:]):
            these, like = partitions[rows], several[turn[rows[0]]]
            if turns is not None:
                turns[these] = turn[rows]
            made = like._replace(partitions=these, at_ms=at_ms[rows])
            if like.kind is TransitionKind.OPEN:
                begins = None if like.begins_ms is None else begins_ms[rows]
                made = made._replace(member=member[rows], position=place[rows], begins_ms=begins)
            states.apply(made)


def _alike(made: Transition) -> tuple[object, ...]:
    """Return everything in which transitions must be equal to become one column.

    In that column only partitions, times and members differ.
    """
    return made.kind, made.phase, made.cause, made.committed, made.settles, made.begins_ms is None


def _occurrence(column: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return, for each element of a column, how often its value has occurred before.

    The result has shape (len(column),): for the column 7, 3, 7, 7 it is 0, 0, 1, 2.
    """
    order = column.argsort(kind="stable")
    return ranks(column[order])[inverse(order)]
