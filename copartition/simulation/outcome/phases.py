"""Keep what every partition is doing now, and how long partitions have stood still so far, by cause.

NumPy needs as long for five partitions as for five hundred, and only the order of calls about the same
partition matters: so the first calls about each partition are made together, then the second ones, and so on.
"""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain, groupby
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from copartition.simulation.group.memberships import Memberships
from copartition.simulation.outcome.timeline import Phase, Rows
from copartition.simulation.records.flow import Flow
from partitioning.kit.columns import inverse, ranks, run_starts

Index = NDArray[np.integer]
Times = float | NDArray[np.float64]

KINDS = len(Phase)

# NumPy compares a short column with a plain number seven times as fast as with a member of an enumeration,
# and counts what is set in a short mask four times as fast as `any` finds it.
_CONSUMING, _UNNOTICED, _HANDOVER = int(Phase.CONSUMING), int(Phase.UNNOTICED), int(Phase.HANDOVER)

_WAITS = np.isin(np.arange(KINDS), [Phase.PAUSED, Phase.UNNOTICED, Phase.COMPUTING])
"""Of each phase, whether a partition in it is not read and not about to be."""


def _some(at_ms: Times, mask: NDArray[np.bool_]) -> Times:
    """Return the times that a mask chooses; one time for all stays as it is."""
    return at_ms[mask] if isinstance(at_ms, np.ndarray) else at_ms


class Phases:
    """The partitions as columns, with the sums of what they went through.

    Methods say what happens from a time on. They may be called late, but for each partition in the order of
    time. Members are numbers of `Memberships`, -1 is no member; causes are numbers, given in the order of
    time. Partitions are flat indexes, times milliseconds.

    Between two calls: `unread` counts the partitions that exist in a phase other than CONSUMING. `_since` is
    when a partition's phase began, `_still_since` when it was read last; both have no meaning while it is
    ABSENT. `_ready` is finite exactly for the `_opening` partitions whose handover has begun, and their phase
    is HANDOVER. `spent` lacks the time since `_since`.
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
        self._cause = np.full(partitions, -1, np.int32)
        self._ready = np.full(partitions, math.inf)  # when a handover that has begun will be over
        self._opening = 0
        self._watched: NDArray[np.bool_] | None = None  # partitions that have had a second reader
        self._read_again: list[tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]] = []
        self._read_twice: list[tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]] = []

    def born(self, partitions: Index, at_ms: float, phase: Phase, cause: int) -> None:
        """Let these partitions exist from `at_ms` on."""
        if self._flow is not None:
            self._flow.born(partitions, at_ms)
        self._since[partitions] = self._still_since[partitions] = at_ms
        self.unread += len(partitions)
        self._stand(partitions, phase, cause)

    def stop(self, partitions: Index, at_ms: Times, phase: Phase, cause: int, committed: bool | None) -> None:
        """Stop these partitions, if they are read or being opened.

        `committed` is True if the reader could commit before; False if not; None if it may go on where it
        was. A reader that stands still may not go on either, unless it is None.
        """
        if self._flow is not None and committed is not None:
            away = self.phase[partitions] == _UNNOTICED
            if np.count_nonzero(away):
                self._flow.stops(partitions[away], _some(at_ms, away), committed=committed)
        self._stop(partitions, at_ms, phase, cause, committed=committed)

    def halt(self, partitions: Index, at_ms: Times, phase: Phase, cause: int, committed: bool | None) -> None:
        """Stop these partitions as `stop` does, and move those that stood still into this phase."""
        self.stop(partitions, at_ms, phase, cause, committed)
        stood = self.phase[partitions] != phase
        if np.count_nonzero(stood):
            self.wait(partitions[stood], _some(at_ms, stood), phase, cause)

    def stop_all(
        self, members: NDArray[np.int32], at_ms: NDArray[np.float64], phase: Phase, cause: int
    ) -> None:
        """Stop the partitions of these members, each member at its time; all could commit before."""
        until = self._by_member(members, at_ms)
        partitions = (~np.isnan(until[self.owner])).nonzero()[0]
        self._stop(partitions, until[self.owner[partitions]], phase, cause, committed=True)

    def wait(self, partitions: Index, at_ms: Times, phase: Phase, cause: int | None) -> None:
        """Move partitions that stand still into another phase; `cause` None keeps the cause of each."""
        if len(partitions) == 0:
            return
        if self._opening:
            self._close_handover(partitions[self._ready[partitions] < math.inf])
        self._keep(partitions, at_ms)
        self._spend(partitions, at_ms)
        self._since[partitions] = at_ms
        self._stand(partitions, phase, cause)

    def resume(self, partitions: Index, at_ms: Times) -> None:
        """Let the owners of these partitions read them again."""
        if len(partitions) == 0:
            return
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

    def turn(self, old: Phase, at_ms: float, phase: Phase, cause: int) -> None:
        """Move everything that stands still in phase `old` into another phase, for another cause."""
        self.wait((self.phase == old).nonzero()[0], at_ms, phase, cause)

    def own(
        self,
        partitions: Index,
        owner: NDArray[np.integer],
        position: NDArray[np.integer],
        at_ms: float,
        cause: int,
    ) -> None:
        """Give these partitions to other members, or other places in their lists; their old owners stop."""
        moved = partitions[self.owner[partitions] != owner].astype(np.int32)
        self._stop(moved, at_ms, Phase.PAUSED, cause, committed=True)
        self.owner[partitions] = owner
        self.position[partitions] = position

    def open_all(
        self, members: NDArray[np.int32], at_ms: float, begins_ms: NDArray[np.float64] | None, cause: int
    ) -> None:
        """Let members open at `at_ms` the partitions that they were given for this cause and do not read.

        `begins_ms` is the time at which each member begins to read; None: at once.
        """
        waiting = _WAITS[self.phase].nonzero()[0]
        if len(waiting) == 0:
            return
        opens = np.zeros(len(self._memberships) + 1, np.bool_)  # the last is nobody, index -1
        opens[members] = True
        partitions = waiting[opens[self.owner[waiting]]]
        if len(partitions) == 0:
            return
        if begins_ms is not None:
            begins_ms = self._by_member(members, begins_ms)[self.owner[partitions]]
        ranks = self._ranks(partitions) if self._partition_ms else None
        self._open(partitions, at_ms, begins_ms, cause, ranks)

    def hand(
        self,
        partitions: Index,
        at_ms: NDArray[np.float64],
        members: NDArray[np.int32],
        position: NDArray[np.integer],
        begins_ms: NDArray[np.float64] | None,
    ) -> None:
        """Give members these partitions, which are not read; they open them in the order of `position`.

        `begins_ms` is as in `open_all`, but for each partition.
        """
        self.owner[partitions] = members
        self.position[partitions] = position
        self._open(partitions, at_ms, begins_ms, None, position if self._partition_ms else None)

    def settle(self, at_ms: float) -> None:
        """Complete the handovers that are over by `at_ms`."""
        if self._opening:
            self._mature(np.arange(len(self.phase)), at_ms)

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
        """End the run: count what lasts until its end."""
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
        """
        partition, since, cause = (np.concatenate(column) for column in zip(*self._read_again, strict=True))
        queried = np.repeat([False, True], [len(partition), len(partitions)])
        order = np.lexsort((queried, np.append(since, at_ms), np.append(partition, partitions)))
        last = np.maximum.accumulate(np.where(queried[order], -1, np.arange(len(order))))
        causes: NDArray[np.int32] = cause[order[last][inverse(order)][queried]]
        return causes

    def _by_member(self, members: NDArray[np.int32], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a value for each membership, NaN for the others.

        The last element serves index -1, no member.
        """
        every = np.full(len(self._memberships) + 1, math.nan)
        every[members] = values
        return every

    def _open(
        self,
        partitions: Index,
        at_ms: Times,
        begins_ms: NDArray[np.float64] | None,
        cause: int | None,
        ranks: NDArray[np.integer] | None,
    ) -> None:
        """Open these partitions, each after as many others of its owner as `ranks` says; None: in no time.

        `begins_ms` is the time at which each one's owner begins; None: at once. `cause` None keeps the cause
        of each.
        """
        if begins_ms is None and ranks is None:
            self.resume(partitions, at_ms)
            return
        ready: Any = at_ms if begins_ms is None else begins_ms
        if ranks is not None:
            ready = ready + self._partition_ms * (1 + ranks)
        self.wait(partitions, at_ms, Phase.HANDOVER, cause)
        self._ready[partitions] = ready
        self._opening += len(partitions)
        self._mature(partitions, at_ms)

    def _ranks(self, partitions: Index) -> NDArray[np.intp]:
        """Return the place of each partition among the partitions that its owner opens now."""
        order = np.lexsort((self.position[partitions], self.owner[partitions]))
        return ranks(self.owner[partitions][order])[inverse(order)]

    def _stop(
        self,
        partitions: Index,
        at_ms: Times,
        phase: Phase,
        cause: int,
        *,
        committed: bool | None,
    ) -> None:
        """Stop the partitions among these that are read or being opened, and tell the flow."""
        if self._opening:
            self._mature(partitions, at_ms)
            opening = self.phase[partitions] == _HANDOVER
            if np.count_nonzero(opening):
                self.wait(partitions[opening], _some(at_ms, opening), phase, cause)
        read = self.phase[partitions] == _CONSUMING
        count = np.count_nonzero(read)
        if count == 0:
            return
        if count < len(read):
            partitions, at_ms = partitions[read], _some(at_ms, read)
        if self._flow is not None and committed is None:
            self._flow.stalls(partitions, at_ms)
        elif self._flow is not None:
            self._flow.stops(partitions, at_ms, committed=bool(committed))
        self._keep(partitions, at_ms)
        # What was not read for any time has stood still since before.
        self._still_since[partitions] = np.where(
            self._since[partitions] < at_ms, at_ms, self._still_since[partitions]
        )
        self._since[partitions] = at_ms
        self.unread += len(partitions)
        self._stand(partitions, phase, cause)

    def _mature(self, partitions: Index, at_ms: Times) -> None:
        """Let those of these be read whose handover is over by `at_ms`."""
        ripe = partitions[self._ready[partitions] <= at_ms]
        if len(ripe):
            at_ms = self._ready[ripe]
            self._close_handover(ripe)
            self.resume(ripe, at_ms)

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
            self.touched = np.concatenate([self.touched, np.zeros(cause + 1, np.int64)])
            self.spent = np.concatenate([self.spent, np.zeros((cause + 1) * KINDS)])
        self.touched[cause] += np.count_nonzero(self._cause[partitions] != cause)
        self._cause[partitions] = cause

    def _spend(self, partitions: Index, at_ms: Times) -> None:
        """Add the time since these partitions' last change to the sum of their cause and phase."""
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
            lasted = (self._since[partitions] < end) & (self.phase[partitions] != Phase.ABSENT)
            rows = partitions[lasted].astype(np.int32)
            phase = self.phase[rows]
            about = np.where(phase == _CONSUMING, self.owner[rows], self._cause[rows])
            self._rows.append((rows, self._since[rows], phase, about))
        if self._watched is not None:
            twice = self._watched[partitions] & (self.phase[partitions] == _CONSUMING)
            rows = partitions[twice].astype(np.int32)
            self._read_twice.append((rows, self._since[rows], end[twice]))


class Mergeable(NamedTuple):
    """A call of `Phases` that can be made together with others of the same method."""

    method: Callable[..., None]  # `Phases.halt`, `Phases.wait` or `Phases.hand`
    partitions: Collection[int]  # each once, in any order
    at_ms: float
    same: tuple[Any, ...]  # arguments that must equal those of the other calls
    member: int = -1  # who opens the partitions (`hand` only)
    begins_ms: float | None = None  # when that one begins to read; None: at once (`hand` only)


Call = Mergeable | tuple[Callable[..., None], tuple[object, ...]]
"""A call of `Phases`: one that can be made together with others, or a method and its arguments."""


def do_all(log: Sequence[Call], phases: Phases, flow: Flow | None) -> None:
    """Make these calls in their order; `phases` tells `flow` what they do to the records."""
    for together, calls in groupby(log, lambda call: isinstance(call, Mergeable)):
        if together:
            _do_together(cast("list[Mergeable]", [*calls]), phases, flow)
        else:
            for method, arguments in cast("Iterator[tuple[Callable[..., None], tuple[object, ...]]]", calls):
                method(phases, *arguments)


def _do_together(calls: Sequence[Mergeable], phases: Phases, flow: Flow | None) -> None:
    """Make fewer calls that have the same effect as these in this order."""
    sizes = np.array([len(call.partitions) for call in calls])
    turn = np.repeat(np.arange(len(calls)), sizes)
    partitions = np.fromiter(chain.from_iterable(call.partitions for call in calls), np.int32, len(turn))
    partitions, place = partitions[np.lexsort((partitions, turn))], ranks(turn)
    at_ms = np.array([call.at_ms for call in calls])[turn]
    member = np.array([call.member for call in calls], np.int32)[turn]
    begins_ms = np.array([call.begins_ms for call in calls], np.float64)[turn]
    numbers: dict[tuple[object, ...], int] = {}
    kind = np.array([numbers.setdefault((call.method, call.same), len(numbers)) for call in calls])
    # Calls of one step are about different partitions: the n-th call about each one, of one method and
    # arguments.
    step = _occurrence(partitions) * len(numbers) + kind[turn]
    order = step.argsort(kind="stable")
    with nullcontext() if flow is None else flow.out_of_turn() as turns:
        for rows in np.split(order, run_starts(step[order])[1:]):
            these, first = partitions[rows], calls[turn[rows[0]]]
            if turns is not None:
                turns[these] = turn[rows]
            if first.method is Phases.hand:
                (at_once,) = first.same
                begins = None if at_once else begins_ms[rows]
                phases.hand(these, at_ms[rows], member[rows], place[rows], begins)
            else:
                first.method(phases, these, at_ms[rows], *first.same)


def _occurrence(column: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return for each element how often its value has occurred before."""
    order = column.argsort(kind="stable")
    return ranks(column[order])[inverse(order)]
