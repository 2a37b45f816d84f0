"""Fold transitions into what every partition is doing, and how long partitions have stood still, by cause.

NumPy needs as long for five partitions as for five hundred, and only the order of transitions of the same
partition matters: so the first transitions of each partition are made together, then the second ones, and so
on.

Two forms of a transition lead to the same result: a column happens alone, and collections that stand next to
each other in the ledger are regrouped into few columns (`_fold_together`).
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
from copartition.simulation.records.flow import Flow
from partitioning.kit.columns import inverse, ranks, run_starts

# A column of flat indexes, and one time for all partitions of a transition or one for each.
Index = NDArray[np.integer]
Times = float | NDArray[np.float64]


class TransitionKind(IntEnum):
    """Name what can happen to a partition; docs/glossary.md has the same words.

    The numbers have no order among themselves. `PartitionStates.apply` has one branch for each; STOP, STALL
    and LOSE share the last.
    """

    OWN = 0
    """It is given to a member, or to nobody."""
    OPEN = 1
    """Its owner runs callbacks, opens it and fetches, and then reads it."""
    READ = 2
    """Its owner reads it from now on."""
    STOP = 3
    """Its reader stops for a rebalance, and could commit before."""
    STALL = 4
    """Its reader stands still and may go on where it was."""
    LOSE = 5
    """Whoever reads it, or stands still with it, may not go on; `committed` says whether it could commit."""
    SETTLE = 6
    """Nobody reads it, for this reason from now on; a new partition begins like that."""


class Transition(NamedTuple):
    """One thing that happens to partitions, which were in whatever state before.

    A collection of partitions makes the transition one of several that may happen together; then `at_ms`,
    `member` and `begins_ms` are plain numbers. A column of partitions makes it happen alone, and these may
    be columns of equal length.

    Times are milliseconds, partitions flat indexes, members numbers of `Memberships`, causes numbers of
    `Ledger.causes`.
    """

    kind: TransitionKind
    partitions: Collection[int] | Index  # flat indexes, each once
    at_ms: Times
    phase: Phase  # what they wait for from then on; no meaning for OWN and READ
    cause: int | None = None  # why they are not read; None keeps the cause of each
    committed: bool = False  # LOSE: whether the reader could commit before
    settles: bool = False  # STALL and LOSE: those that stand still already change phase and cause, too
    member: int | NDArray[np.integer] | None = None  # OWN and OPEN: the new owner; None: as before
    position: Index | None = None  # OWN: the place of each in its owner's list
    begins_ms: Times | None = None  # OPEN: when the owner begins to read; None: at once


KINDS = len(Phase)

# NumPy compares a short column with a plain number seven times as fast as with a member of an enumeration,
# and counts what is set in a short mask four times as fast as `any` finds it.
_ABSENT, _CONSUMING = int(Phase.ABSENT), int(Phase.CONSUMING)
_UNNOTICED, _HANDOVER = int(Phase.UNNOTICED), int(Phase.HANDOVER)

_WAITS = np.isin(np.arange(KINDS), [Phase.PAUSED, Phase.UNNOTICED, Phase.COMPUTING])
"""Of each phase, whether a partition in it is not read and not about to be."""


def _some(at_ms: Times, mask: NDArray[np.bool_]) -> Times:
    """Return the times that a mask chooses; one time for all stays as it is."""
    return at_ms[mask] if isinstance(at_ms, np.ndarray) else at_ms


class PartitionStates:
    """The partitions as columns, with the sums of what they went through.

    Members are numbers of `Memberships`, -1 is no member; causes are numbers, given in the order of time.
    Partitions are flat indexes, times milliseconds.

    Between two transitions: `unread` counts the partitions that exist in a phase other than CONSUMING.
    `_since` is when a partition's phase began, `_still_since` when it was read last; both have no meaning
    while it is ABSENT. `_ready` is finite exactly for the `_opening` partitions whose handover has begun, and
    their phase is HANDOVER. `spent` lacks the time since `_since`.
    """

    def __init__(
        self,
        partitions: int,
        memberships: Memberships,
        partition_ms: float,
        *,
        flow: Flow | None = None,
        rows: Rows | None = None,
    ) -> None:
        self.phase = np.zeros(partitions, np.int8)  # what each partition is doing, a `Phase`
        self.owner = np.full(partitions, -1, np.int32)  # the member it was given to last
        self.position = np.zeros(partitions, np.int32)  # its place in that member's list
        self.unread = 0  # how many exist and are not read
        self.longest_ms = 0.0  # the longest pause that is over
        self.spent = np.zeros(16 * KINDS)  # milliseconds by `cause * KINDS + phase`, summed over partitions
        self.touched = np.zeros(16, np.int64)  # how many partitions stood still for each cause
        self._memberships = memberships
        self._partition_ms = partition_ms
        self._flow = flow
        self._rows = rows
        self._since = np.zeros(partitions)
        self._still_since = np.zeros(partitions)
        # The cause of the last pause stays here while the partition is read: a pause for the same cause does
        # not count the partition a second time.
        self._cause = np.full(partitions, -1, np.int32)
        self._ready = np.full(partitions, math.inf)  # when a handover that has begun will be over
        # How many elements of `_ready` are finite; it spares most transitions the look at that column.
        self._opening = 0
        self._watched: NDArray[np.bool_] | None = None  # partitions that have had a second reader
        # Parts of three columns, kept only with a flow: partition, time of the read, cause of the pause
        # before it.
        self._read_again: list[tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]] = []
        # Parts of three columns about watched partitions: partition, start and end of a read by the owner.
        self._read_twice: list[tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]] = []

    def apply(self, transition: Transition) -> None:
        """Make a transition of a column of partitions; each one's are made in the order of time."""
        kind, partitions, at_ms, phase, cause, committed, settles, member, position, begins_ms = transition
        assert isinstance(partitions, np.ndarray), "a collection is made a column by `fold`"
        if kind is TransitionKind.SETTLE:
            self._settle(partitions, at_ms, phase, cause)
        elif kind is TransitionKind.READ:
            self._read(partitions, at_ms)
        elif kind is TransitionKind.OPEN:
            if member is not None:
                self._own(partitions, member, position)
            self._open(partitions, at_ms, begins_ms, cause, position)
        elif kind is TransitionKind.OWN:
            self._own(partitions, member, position)
        else:
            assert cause is not None, "whoever stops has a reason"
            if kind is TransitionKind.LOSE and self._flow is not None:
                # A reader that stalled was told to the flow as standing still; now it is known not to go on,
                # so the flow hears of the stop that it has not seen.
                away = self.phase[partitions] == _UNNOTICED
                if np.count_nonzero(away):
                    self._flow.stops(partitions[away], _some(at_ms, away), committed=committed)
            self._stop(
                partitions,
                at_ms,
                phase,
                cause,
                stalls=kind is TransitionKind.STALL,
                committed=committed or kind is TransitionKind.STOP,
            )
            if settles:
                # What was read is in `phase` by now, put there by `_stop`; all others stood still before, and
                # change phase and cause here.
                stood = self.phase[partitions] != phase
                if np.count_nonzero(stood):
                    self._settle(partitions[stood], _some(at_ms, stood), phase, cause)

    def settle(self, at_ms: float) -> None:
        """Complete the handovers that are over by `at_ms`.

        A handover ends by itself, without a transition, so it is completed when somebody looks: here for all
        partitions, in `_stop` for those that are about to stop.
        """
        if self._opening:
            self._mature(np.arange(len(self.phase)), at_ms)

    def waiting_for(self, members: NDArray[np.int32]) -> NDArray[np.intp]:
        """Return the partitions that these members were given, and that are not read nor being opened.

        Indexes are ascending. Partitions in HANDOVER are left out: their owner is opening them already, and
        opening them again would begin their wait anew.
        """
        waiting = _WAITS[self.phase].nonzero()[0]
        if len(waiting) == 0:
            return waiting
        opens = np.zeros(len(self._memberships) + 1, np.bool_)  # the last is nobody, index -1
        opens[members] = True
        return waiting[opens[self.owner[waiting]]]

    def by_member(self, members: NDArray[np.int32], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a value for each membership, NaN for the others.

        The last element serves index -1, no member.

        `members` and `values` are columns of equal length; the result has shape (memberships + 1,), and is
        indexed by `owner`.
        """
        every = np.full(len(self._memberships) + 1, math.nan)
        every[members] = values
        return every

    def read_by_owner(self, partitions: NDArray[np.int32], at_ms: float) -> NDArray[np.bool_]:
        """Return for each of these whether its owner reads it at `at_ms`, or would if not standing still."""
        phase = self.phase[partitions]
        read: NDArray[np.bool_] = (phase == _CONSUMING) | (phase == _UNNOTICED)
        return read | (self._ready[partitions] <= at_ms)

    def open_at_ms(self) -> float:
        """Return the time at which the last handover that has begun will be over; 0 if there is none."""
        ready = self._ready[self._ready < math.inf]
        return float(ready.max(initial=0))

    def watch(self, partitions: Index) -> None:
        """Keep from now on when these partitions are read, as they have a second reader.

        See `reads_of_watched`.
        """
        if self._watched is None:
            self._watched = np.zeros(len(self.phase), np.bool_)
        self._watched[partitions] = True

    def finish(self, at_ms: float) -> None:
        """End the run: count what lasts until its end.

        Nothing may be applied afterwards. Pauses that last until the end count for `spent` and `longest_ms`,
        so a partition that nobody ever reads has a pause as long as the rest of the run.
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
        """Return for each of these the cause it waited for when it was read again last, up to its time.

        A flow is needed, without which no reads are kept.

        The two columns have equal length, times in milliseconds; each partition must have been read at or
        before its time. Reads and queries are sorted together by partition and time, and the running maximum
        of the reads' places finds the last read before each query.
        """
        partition, since, cause = (np.concatenate(column) for column in zip(*self._read_again, strict=True))
        queried = np.repeat([False, True], [len(partition), len(partitions)])
        order = np.lexsort((queried, np.append(since, at_ms), np.append(partition, partitions)))
        last = np.maximum.accumulate(np.where(queried[order], -1, np.arange(len(order))))
        causes: NDArray[np.int32] = cause[order[last][inverse(order)][queried]]
        return causes

    def _settle(self, partitions: Index, at_ms: Times, phase: Phase, cause: int | None) -> None:
        """Let partitions stand still in this phase; all of them exist, or none, and then they are born.

        A partition whose handover had begun is taken out of it. The time in the phase before is spent first,
        as the old phase and cause are needed for that.
        """
        if self.phase[partitions[0]] == _ABSENT:
            if self._flow is not None:
                self._flow.born(partitions, at_ms)
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
        """Give these partitions to a member, or to one each, at these places in its list."""
        self.owner[partitions] = member
        self.position[partitions] = position

    def _read(self, partitions: Index, at_ms: Times) -> None:
        """Let the owners of these partitions, which stand still, read them.

        The pause that ends here has lasted since the partition was read last, through all phases and causes
        in between; that is what `longest_ms` measures.
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
        """Let owners open these partitions one after the other, by `rank` (None: by their lists' order).

        The k-th of the partitions that an owner opens now, from 0, is ready `(k + 1) * Costs.partition_ms`
        after the owner begins. If opening takes no time at all, the partitions are read at once and never
        enter HANDOVER, in which they would spend no time.
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

    def _stop(
        self, partitions: Index, at_ms: Times, phase: Phase, cause: int, *, stalls: bool, committed: bool
    ) -> None:
        """Stop the partitions among these that are read or being opened, and tell the flow.

        Times are checked against handovers first: one that was over before the stop has made the partition a
        read one, and that read counts. One that is not over ends without a read.
        """
        if self._opening:
            self._mature(partitions, at_ms)
            opening = self.phase[partitions] == _HANDOVER
            if np.count_nonzero(opening):
                self._settle(partitions[opening], _some(at_ms, opening), phase, cause)
        read = self.phase[partitions] == _CONSUMING
        count = np.count_nonzero(read)
        if count == 0:
            return
        if count < len(read):
            partitions, at_ms = partitions[read], _some(at_ms, read)
        if self._flow is not None and stalls:
            self._flow.stalls(partitions, at_ms)
        elif self._flow is not None:
            self._flow.stops(partitions, at_ms, committed=committed)
        self._keep(partitions, at_ms)
        # What was not read for any time has stood still since before.
        self._still_since[partitions] = np.where(
            self._since[partitions] < at_ms, at_ms, self._still_since[partitions]
        )
        self._since[partitions] = at_ms
        self.unread += len(partitions)
        self._stand(partitions, phase, cause)

    def _mature(self, partitions: Index, at_ms: Times) -> None:
        """Let those of these be read whose handover is over by `at_ms`.

        Each is read from the time at which its own handover was over, which may be long before `at_ms`.
        """
        ripe = partitions[self._ready[partitions] <= at_ms]
        if len(ripe):
            at_ms = self._ready[ripe]
            self._close_handover(ripe)
            self._read(ripe, at_ms)

    def _close_handover(self, partitions: Index) -> None:
        """Note that these are not being opened any more."""
        self._ready[partitions] = math.inf
        self._opening -= len(partitions)

    def _stand(self, partitions: Index, phase: Phase, cause: int | None) -> None:
        """Set phase and cause of partitions that stand still; those that are new to the cause are counted."""
        self.phase[partitions] = phase
        if cause is None:
            return
        if cause >= len(self.touched):
            # Causes are numbered upwards, so room for this one and as many again is enough for a while.
            self.touched = np.concatenate([self.touched, np.zeros(cause + 1, np.int64)])
            self.spent = np.concatenate([self.spent, np.zeros((cause + 1) * KINDS)])
        self.touched[cause] += np.count_nonzero(self._cause[partitions] != cause)
        self._cause[partitions] = cause

    def _spend(self, partitions: Index, at_ms: Times) -> None:
        """Add the time since these partitions' last change to the sum of their cause and phase.

        The phase and cause that end are still in the columns; call this before either changes.
        """
        kind = self._cause[partitions] * KINDS + self.phase[partitions]
        first = int(kind.min(initial=len(self.spent)))  # a run has many causes, and these partitions few
        spent = np.bincount(kind - first, at_ms - self._since[partitions])
        self.spent[first : first + len(spent)] += spent

    def _keep(self, partitions: Index, at_ms: Times) -> None:
        """Keep the rows that end now, if a timeline or second readers need them."""
        if self._rows is None and self._watched is None:
            return
        end = np.broadcast_to(at_ms, partitions.shape)
        if self._rows is not None:
            # A phase that lasted no time leaves no row, so rows of a timeline always have a length.
            rows = partitions[self._since[partitions] < end].astype(np.int32)
            phase = self.phase[rows]
            about = np.where(phase == _CONSUMING, self.owner[rows], self._cause[rows])
            self._rows.append((rows, self._since[rows], phase, about))
        if self._watched is not None:
            twice = self._watched[partitions] & (self.phase[partitions] == _CONSUMING)
            rows = partitions[twice].astype(np.int32)
            self._read_twice.append((rows, self._since[rows], end[twice]))


def fold(transitions: Sequence[Transition], states: PartitionStates, flow: Flow | None) -> None:
    """Make these transitions in their order; `states` tells `flow` what they do to the records.

    Neighbours of the same form are taken together: a run of collections becomes a few columns, a column keeps
    its place between them.
    """
    for alone, several in groupby(transitions, lambda made: isinstance(made.partitions, np.ndarray)):
        if alone:
            for transition in several:
                states.apply(transition)
        else:
            _fold_together([*several], states, flow)


def _fold_together(several: Sequence[Transition], states: PartitionStates, flow: Flow | None) -> None:
    """Make fewer transitions, of columns, that have the same effect as these in this order.

    The n-th transitions of all partitions that are alike become one column, for n = 1, 2, ...; of one
    partition they stay in their order. A collection has no order of its own, so its partitions are opened by
    flat index.
    """
    sizes = np.array([len(made.partitions) for made in several])
    turn = np.repeat(np.arange(len(several)), sizes)
    members = chain.from_iterable(made.partitions for made in several)
    partitions = np.fromiter(cast("Any", members), np.int32, len(turn))
    # By transition, and in it by flat index; `place` is the rank within it, the order in which an owner
    # opens.
    partitions, place = partitions[np.lexsort((partitions, turn))], ranks(turn)
    at_ms = np.array([made.at_ms for made in several])[turn]
    member = np.array([-1 if made.member is None else made.member for made in several], np.int32)[turn]
    # None becomes NaN here; `_alike` keeps transitions with None apart, so NaN is never used as a time.
    begins_ms = np.array([made.begins_ms for made in several], np.float64)[turn]
    numbers: dict[tuple[object, ...], int] = {}
    kind = np.array([numbers.setdefault(_alike(made), len(numbers)) for made in several])
    # Transitions of one step are about different partitions: the n-th one of each that are alike.
    step = _occurrence(partitions) * len(numbers) + kind[turn]
    order = step.argsort(kind="stable")
    # The flow hears of changes in the order of steps, not in that of the ledger; it puts them in turn
    # afterwards.
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
    """Return everything in which transitions that happen together must be equal.

    Two transitions with equal keys become one column, in which only partitions, times and members differ.
    """
    return made.kind, made.phase, made.cause, made.committed, made.settles, made.begins_ms is None


def _occurrence(column: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return for each element how often its value has occurred before.

    Counted from 0, shape (len(column),): the column 7, 3, 7, 7 gives 0, 0, 1, 2.
    """
    order = column.argsort(kind="stable")
    return ranks(column[order])[inverse(order)]
