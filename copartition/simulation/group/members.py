"""Keep the members of a classic group as columns, and model how they take part in a rebalance."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from copartition.simulation.group.clients import (
    WAKES_MS,
    ClientBehaviour,
    draw_batches,
    draw_many,
    draw_work,
    resumed_ms,
)
from copartition.simulation.group.timers import first_after, first_after_each, last_until
from copartition.simulation.group.world import World
from copartition.simulation.inputs.settings import Settings
from copartition.simulation.ledger import rows_where
from copartition.simulation.outcome.timeline import Phase

_NONE = np.empty(0, np.int32)


class Members:
    """The memberships of a classic group as columns, indexed by member; times are milliseconds.

    Columns have room for more members than there are; only `rows` are in the group. A consumer has at most
    one living member. `ClassicProtocol` owns the columns; `ClassicGroup` and `RebalanceNotifier` write
    `joins_ms` and `stands_ms` during a rebalance.

    There are three index spaces: a member's number, which is its index in every column; the order of `rows`;
    and flat indexes of partitions in `staying`. A member keeps its number for the whole run, also after it
    has left.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.rows = _NONE  # the present members, in the order of joins; never changed in place
        # There is one array for each type, so that two operations, and not sixteen, make room for more
        # members.
        self._times, self._flags = np.zeros((11, 64)), np.zeros((8, 64), np.bool_)
        self._name_columns()

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, member: int) -> bool:
        return bool((self.rows == member).any())

    def make(self, member: int, late_ms: float, *, eager: bool, behaviour: ClientBehaviour) -> None:
        """Describe a member that is about to join; `late_ms` is the lateness of its heartbeats."""
        self._make_room(member)
        self.every_ms[member] = self._settings.heartbeat_interval_ms + late_ms
        self.eager[member] = eager
        self.keeps_beating[member] = behaviour.keeps_beating
        self.commits[member] = behaviour.commits
        # NaN stands for None. It spreads through sums: if a sum is NaN, commits stay where they are.
        self.commit_late_ms[member] = (
            math.nan if behaviour.commit_late_ms is None else behaviour.commit_late_ms
        )
        self.background[member] = behaviour.in_background(eager=eager)
        self.reads_on[member] = behaviour.reads_while_joining
        self.calls_back_in_poll[member] = behaviour.calls_back_in_poll
        self.resume_every_ms[member] = behaviour.resume_every_ms
        self.polls_to_fetch[member] = behaviour.polls.to_fetch
        # The new member has no assignment yet with which it could rejoin; the first generation sets this to
        # True.
        self.carries[member] = False

    def enter(self, member: int, now_ms: float, started_ms: float) -> None:
        """Add a member to the group, which arrives at the barrier now; its process started at `started_ms`.

        It is last in `rows`, whose order the assignor sees. The array is replaced and not changed in place,
        because others may hold the old one.
        """
        self.wake(member, now_ms, started_ms)
        self.joins_ms[member] = now_ms
        self.stands_ms[member] = math.nan
        self.rows = np.append(self.rows, np.int32(member))

    def wake(self, member: int, now_ms: float, started_ms: float) -> None:
        """Give a member a new process, started at `started_ms`.

        Heartbeats and the last assignment count from now. Metadata and commits count from the start of the
        process, which is earlier by the time that joining took.
        """
        self.base_ms[member] = self.assigned_ms[member] = now_ms
        self.metadata_ms[member] = self.commit_ms[member] = started_ms
        self.busy_ms[member] = -math.inf
        self.alive[member] = True

    def remove(self, member: int) -> None:
        """Remove a member from the group; its columns stay."""
        self.rows = self.rows[self.rows != member]

    def mask(self, members: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return for each membership whether it is among `members`.

        The last element, for index -1, stands for no member and is False.
        """
        mask = np.zeros(len(self.alive) + 1, np.bool_)
        mask[members] = True
        return mask

    def living(self) -> NDArray[np.int32]:
        """Return the members whose processes run and are awake, in order; do not change the result.

        If all members are alive, the result is `rows` itself, without a copy.
        """
        alive = self.alive[self.rows]
        return self.rows if np.count_nonzero(alive) == len(alive) else self.rows[alive]

    def stop_to_join(self, members: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return for each of these members whether it reads nothing while it rejoins.

        The result has shape (len(members),). A client may stop even under a cooperative strategy:
        kafka-python's `poll` returns nothing until it has rejoined.
        """
        return self.eager[members] | ~self.reads_on[members]

    def staying(self, old: NDArray[np.int32], owner: NDArray[np.int32], now_ms: float) -> NDArray[np.int32]:
        """Return the partitions that stay with owners that stood still to rejoin and revoked nothing.

        Args:
            old: the previous owner of each partition, shape (partitions,), -1 for none.
            owner: the present owner of each partition, of the same shape.
            now_ms: the time, in milliseconds.
        """
        rows = self.rows
        # NaN in `stands_ms` compares as false, so members that never stood still are left out.
        stood = rows[(self.stands_ms[rows] <= now_ms) & self.carries[rows] & ~self.eager[rows]]
        return rows_where((old == owner) & self.mask(stood)[owner]) if len(stood) else _NONE

    def restart_beats(
        self, members: NDArray[np.int32], answered_ms: float | NDArray[np.float64], assigned_ms: float
    ) -> None:
        """Set the next heartbeats of these members, whose JoinGroup is answered because the barrier opened.

        Args:
            members: the members that have joined.
            answered_ms: the time at which they get the answer to JoinGroup.
            assigned_ms: the time at which they get their assignment.
        """
        self.assigned_ms[members] = assigned_ms
        anew_ms = assigned_ms + self.commit_late_ms[members]
        # NaN marks clients whose commits a rebalance does not move.
        self.commit_ms[members] = np.where(np.isnan(anew_ms), self.commit_ms[members], anew_ms)
        keeps_beating = self.keeps_beating[members]
        if not np.count_nonzero(keeps_beating):
            self.base_ms[members] = answered_ms
            return
        base_ms, joins_ms = self.base_ms[members], self.joins_ms[members]
        every_ms = self.every_ms[members]
        due_ms = first_after_each(base_ms, every_ms, joins_ms)
        # If a rebalance does not move a client's heartbeats, and one became due while the member waited at
        # the barrier, the client sends this one at once.
        owed = (due_ms <= assigned_ms) | ~self.carries[members]  # a new member has sent none yet
        since_ms = np.stack([self.commit_ms[members], self.assigned_ms[members]])
        # The client sends a heartbeat at its first check after the interval is over; two timers make such
        # checks.
        over_ms = due_ms - every_ms + self._settings.heartbeat_interval_ms
        wakes_ms = first_after_each(since_ms, np.array(WAKES_MS)[:, None], over_ms).min(axis=0)
        kept_ms = np.where(owed, assigned_ms, wakes_ms)
        self.base_ms[members] = np.where(keeps_beating, kept_ms, answered_ms)

    def next_beats(self, members: NDArray[np.int32], now_ms: float) -> NDArray[np.float64]:
        """Return the first heartbeat of each of these members after now, in milliseconds."""
        return first_after_each(self.base_ms[members], self.every_ms[members], now_ms)

    def next_beat(self, member: int, now_ms: float) -> float:
        """Return the first heartbeat of a member after now, in milliseconds."""
        return first_after(float(self.base_ms[member]), float(self.every_ms[member]), now_ms)

    def last_heard_ms(self, member: int, now_ms: float, *, reads: bool) -> float:
        """Return the time at which the coordinator last heard of a member, in milliseconds.

        An accepted commit renews the classic session as a heartbeat does. So if the member reads partitions
        (`reads`) and its client commits offsets, its last commit counts, too.
        """
        base_ms = float(self.base_ms[member])
        beat_ms = last_until(base_ms, float(self.every_ms[member]), now_ms)
        if not reads or not self.commits[member]:
            return beat_ms
        every_ms = self._settings.auto_commit_interval_ms
        return max(beat_ms, last_until(float(self.commit_ms[member]), every_ms, now_ms))

    def _name_columns(self) -> None:
        """Name the rows of `_times` and `_flags`; each named column is a view of one row."""
        (
            self.base_ms,  # a member's heartbeats are at this time plus multiples of `every_ms`
            self.every_ms,  # the interval between a member's heartbeats, lateness included
            self.metadata_ms,  # a member refreshes metadata at this time plus multiples of the maximum age
            self.commit_ms,  # a member commits at this time plus multiples of the commit interval
            self.assigned_ms,  # when a member was last assigned partitions; NaN: before time 0
            self.joins_ms,  # when a member arrives at the present barrier; infinite: never
            self.stands_ms,  # since or from when a member stands still for the protocol; NaN: it does not
            self.busy_ms,  # until when a member's application does not poll
            self.commit_late_ms,  # `ClientBehaviour.commit_late_ms`, NaN for None
            self.resume_every_ms,  # `ClientBehaviour.resume_every_ms`
            self.polls_to_fetch,  # `Polls.to_fetch` of its client, a whole number
        ) = self._times
        (
            self.alive,  # whether a member's process runs and is awake
            self.eager,  # whether a member gives everything up before it joins
            self.keeps_beating,  # whether a rebalance leaves a member's heartbeats where they are
            self.commits,  # whether a member commits offsets
            self.background,  # whether a member rejoins outside `poll`, see `joins_in_background`
            self.reads_on,  # whether a member reads while it rejoins, unless it is eager
            self.calls_back_in_poll,  # whether a member reads nothing while a callback runs
            self.carries,  # whether a member has the last assignment when it rejoins
        ) = self._flags

    def _make_room(self, member: int) -> None:
        """Make room for members up to this number, and as many again.

        New columns are 0 and False, which is no valid state; `make` and `enter` fill them before they are
        read.
        """
        if member >= len(self.alive):
            more = 2 * member - len(self.alive)
            self._times = np.pad(self._times, ((0, 0), (0, more)))
            self._flags = np.pad(self._flags, ((0, 0), (0, more)))
            self._name_columns()


class RebalanceNotifier:
    """The clients' side of a rebalance: when each member learns of it, joins, and begins to read.

    `on_overdue` is called for a member whose batch turns out longer than `max.poll.interval.ms`. It gets the
    member, the time of its last poll and that of its next. All state is in `Members`.

    A client learns of a rebalance in the answer to a heartbeat. It finishes its present batch unless it
    rejoins in the background, revokes if it is eager, and sends JoinGroup. All these times are known when the
    rebalance begins, so they are written to the columns at once and need no timers. An event of one member
    changes that member's times.
    """

    def __init__(
        self, world: World, members: Members, on_overdue: Callable[[int, float, float], object]
    ) -> None:
        self._world = world
        self._on_overdue = on_overdue
        self._members = members
        self._costs = world.scenario.costs
        self._max_poll_ms = world.scenario.settings.max_poll_interval_ms

    def broadcast(self, now_ms: float) -> None:
        """Let every member learn of the rebalance at its next heartbeat, and join as soon as it can.

        Members that are dead or stalled learn nothing. Their `joins_ms` stays infinite, and the barrier waits
        for the end of their sessions, or for its own deadline.
        """
        members = self._members
        living = members.living()
        if len(living):
            beats_ms = members.next_beats(living, now_ms)
            self._respond(living, beats_ms + self._world.network_each(living, beats_ms))

    def notify(self, member: int, heard_ms: float) -> None:
        """Let one member learn of the rebalance at `heard_ms`, in place of the time computed before."""
        if self._members.stands_ms[member] > heard_ms:
            self._members.stands_ms[member] = np.nan
        self._respond(np.array([member], np.int32), np.array([heard_ms]))

    def stop_all(self, now_ms: float, cause: int) -> None:
        """Stop the partitions of members that have stood still to rejoin up to now, each at its time.

        This may be called several times for one barrier: partitions that have stopped already do not stop
        again. Members that will stand still later are left to the next call.
        """
        members = self._members
        living = members.living()
        stands_ms = members.stands_ms[living]
        stopped = stands_ms <= now_ms
        if np.count_nonzero(stopped):
            self._world.ledger.stop(living[stopped], stands_ms[stopped], cause)

    def begins(self, members: NDArray[np.int32], now_ms: float, cause: int) -> NDArray[np.float64] | None:
        """Return the time at which each of these members begins to read its new partitions; None: at once.

        The result has shape (len(members),), in milliseconds. With None the ledger leaves out the handover,
        which most runs without costs never need. The partitions that a member reads already are suspended
        for `cause` while its assign callback runs.
        """
        costs, random = self._costs, self._world.random
        # All members have the answer to SyncGroup now, except members with a slower network than the others.
        late_ms = (self._world.network_each(members, now_ms) - costs.network_ms) / 2
        free_ms = np.maximum(self._members.busy_ms[members], now_ms + late_ms)
        if not any((costs.assign_ms, costs.first_fetch_ms, costs.partition_ms, costs.poll_ms)):
            return free_ms if np.count_nonzero(free_ms > now_ms) else None
        # The assign callback runs inside `poll`, so it waits until the application is done with its batch.
        polls_ms = free_ms + draw_many(costs.assign_ms, random, len(members))
        begins_ms = polls_ms + draw_many(costs.first_fetch_ms, random, len(members))
        if costs.poll_ms:
            begins_ms = begins_ms + self._batches_ms(members)
        if costs.assign_ms:
            now = self._world.ledger.now
            opens = np.isin(members, now.owner[now.waiting_for(members)])
            self._suspend(members[opens], now_ms, polls_ms[opens], cause)
        return begins_ms

    def _batches_ms(self, members: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return how long members still work on records of old partitions before they get those of new ones.

        The result has shape (len(members),), in milliseconds. A member that reads nothing has no batch.
        """
        now = self._world.ledger.now
        reads = np.isin(members, now.owner[now.phase == Phase.CONSUMING])
        polls = np.where(reads, self._members.polls_to_fetch[members], 0)
        return draw_work(self._costs.poll_ms, self._world.random, polls)

    def revoke(self, members: NDArray[np.int32], now_ms: float, cause: int) -> NDArray[np.float64]:
        """Let members revoke what they must; return when JoinGroup of each of them arrives after that.

        The result has shape (len(members),), in milliseconds. The partitions that a member keeps are
        suspended for `cause` while its revoke callback runs, and until its client fetches them again.
        """
        free_ms = np.maximum(self._members.busy_ms[members], now_ms)
        revoke_ms = draw_many(self._costs.revoke_ms, self._world.random, len(members))
        ready_ms = free_ms + revoke_ms
        joins_ms = ready_ms + self._world.network_each(members, ready_ms) / 2
        if self._costs.revoke_ms:
            resumes_ms = resumed_ms(now_ms, ready_ms, self._members.resume_every_ms[members])
            # A member that reads nothing while it rejoins must not read between its callback and the join,
            # not even for 0 ms: that would be enough for all records that wait.
            stops = self._members.stop_to_join(members)
            self._suspend(members, now_ms, np.where(stops, joins_ms + 1, resumes_ms), cause)
        return joins_ms

    def _suspend(
        self, members: NDArray[np.int32], now_ms: float, ends_ms: NDArray[np.float64], cause: int
    ) -> None:
        """Let members read nothing because of their callbacks, each until its time in `ends_ms`.

        A member whose application is busy already stands still, and goes on when its batch is done. It is
        left out, so the callback that it runs after the batch does not make its pause longer.
        """
        reads = self._members.calls_back_in_poll[members] & (self._members.busy_ms[members] <= now_ms)
        self._world.ledger.suspend_members(members[reads], now_ms, ends_ms[reads], cause)

    def _respond(self, living: NDArray[np.int32], heard_ms: NDArray[np.float64]) -> None:
        """Set when these members stop and join; each learns of the rebalance at its time in `heard_ms`.

        A client that rejoins inside `poll` does so when its batch is done; others do at once.
        """
        members, costs, random = self._members, self._costs, self._world.random
        eager, busy_ms = members.eager[living], members.busy_ms[living]
        inside = ~members.background[living]
        ready_ms = heard_ms
        if np.count_nonzero(busy_ms > heard_ms):
            ready_ms = np.where(inside, np.maximum(heard_ms, busy_ms), heard_ms)
        # `busy_ms` has the end of the batch of an application that is known to be busy. For all others a
        # present batch is drawn, with the part of it that is left.
        if costs.poll_ms:
            whole_ms, left_ms = draw_batches(costs.poll_ms, random, len(living))
            idle = inside & (ready_ms == heard_ms)
            ready_ms = ready_ms + np.where(idle, left_ms, 0.0)
            for place in np.flatnonzero(idle & (whole_ms > self._max_poll_ms)).tolist():
                polled_ms = float(ready_ms[place] - whole_ms[place])
                self._on_overdue(int(living[place]), polled_ms, float(ready_ms[place]))
        stop = members.stop_to_join(living)
        if np.count_nonzero(stop):
            # `fmin` ignores NaN. A member that stands still already keeps the earlier time.
            stands_ms = members.stands_ms[living]
            members.stands_ms[living] = np.where(stop, np.fmin(ready_ms, stands_ms), stands_ms)
        # JoinGroup arrives after half a round trip, and for an eager client after its revoke callback.
        joins_ms = ready_ms + self._world.network_each(living, ready_ms) / 2
        if costs.revoke_ms:
            joins_ms = joins_ms + np.where(eager, draw_many(costs.revoke_ms, random, len(living)), 0.0)
        members.joins_ms[living] = joins_ms
