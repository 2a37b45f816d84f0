"""Model the coordinator of a classic group: its members, its join barrier and its assignments.

The members of a group are the rows of a few columns, so a rebalance is a few operations: all members learn of
it at their next heartbeats, join, get an answer, and open their partitions. An event of one member in the
meantime changes only that member's row.

Sources: KIP-62 (heartbeats), KIP-134 (initial delay), KIP-345 and KIP-814 (static members), KIP-429
(cooperative), `GroupMetadataManager`.

The table in `classic_states` has the states of the group, and the events that move it from one to another.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from copartition.kit.words import first_of
from copartition.simulation.group.classic_states import MOVES, ClassicGroupState, GroupEvent
from copartition.simulation.group.client_states import ClassicClientState
from copartition.simulation.group.clients import BEHAVIOURS
from copartition.simulation.group.leader import Decisions, Leader, LeaderAnswer
from copartition.simulation.group.members import Members, RebalanceNotifier
from copartition.simulation.group.metadata import Metadata
from copartition.simulation.group.timers import DONE, RETRY_MS, Timer, Timers
from copartition.simulation.group.world import World
from copartition.simulation.outcome.timeline import Phase

FOLLOW_UP = "partitions revoked"
"""The cause, in words, of the second cooperative rebalance, in which revoked partitions get owners."""
BLAMED = 3
"""The most causes of one rebalance that a pause names; its text says how many more there are."""


class ClassicGroup:
    """The state of a classic group on its broker, and the transitions between its states.

    Members are numbers of `World.memberships`, causes are numbers of `Ledger.causes`, times are milliseconds
    of the run. The columns of `Members` are shared with `RebalanceNotifier`: it writes when each member
    arrives at the barrier, and this class decides when the barrier opens.

    Between two calls, a member is in `_absence` from `fall_silent` until it speaks or is dropped. It is also
    in `_sessions` if its session runs; a member that waits at the barrier has none. `cause` is the cause of
    all partitions that stop for the present rebalance. Its text is rewritten when further causes are added.
    """

    def __init__(
        self,
        world: World,
        decisions: Decisions,
        members: Members,
        timers: Timers,
        notifier: RebalanceNotifier,
        on_expelled: Callable[[int, int], object],
    ) -> None:
        # `on_expelled` is called for a member that the barrier no longer waits for, with the cause of its
        # partitions' pauses. A static member stays in the group, and gets its partitions back when it joins
        # again.
        self._on_expelled = on_expelled
        self.state = ClassicGroupState.EMPTY  # the present state of the group
        self.cause = 0  # the number of the cause of the present rebalance
        self.down_ms = -math.inf  # the coordinator answers no member until then
        # `Leader` knows which member leads, and makes its decisions.
        self.leader = Leader(world, decisions, members, notifier)
        # `Metadata` knows when members notice new partitions.
        self.metadata = Metadata(world, self, members, timers, notifier)
        self._world = world
        self._members = members
        self._timers = timers
        self._notifier = notifier
        self._settings = world.scenario.settings
        self._costs = world.scenario.costs
        self._sessions: dict[int, Timer] = {}  # silent member -> the timer that ends its session
        self._absence: dict[int, int] = {}  # silent member -> the cause of its partitions' pauses
        self._causes: list[str] = []  # reasons for the present rebalance, in words
        self._blamed: list[str] = []  # the reasons that the text of `cause` is made from
        self._started_ms = 0.0
        # The two ends of the barrier: it waits for no member beyond the deadline, and it waits for further
        # members until the initial delay is over.
        self._deadline_ms = math.inf
        self._delay_ms: float | None = None  # end of the initial delay of a group that was empty
        # `_delay_left_ms`: by how much the initial delay may still grow. `_newcomer`: whether a member has
        # joined since the delay grew last.
        self._delay_left_ms = 0.0
        self._newcomer = False
        self._answer = DONE  # the timer at which the members have the leader's assignment
        # The time at which the leader's assignor is done with the last generation.
        self._computed_ms = 0.0
        # The members that revoke partitions and then rejoin, and the times at which they rejoin.
        self._revoking: tuple[NDArray[np.int32], NDArray[np.float64]] | None = None
        self._follow_up = DONE

    def begin(self) -> None:
        """Make the members that exist the stable group at time 0; the leader knows none of them yet.

        `joins_ms` is 0 for all, so that all are at the barrier when a leader is elected; the first in order
        leads.
        """
        self._causes = ["the group at the start"]
        self.cause = self._world.ledger.cause(self._causes[0])
        self._members.joins_ms[self._members.rows] = 0.0
        self.leader.elect()
        answer = self.leader.decide(self.metadata.counts())
        self._move(GroupEvent.FOUND)
        self._world.history.start = self.leader.apply(
            answer, self.cause, 0.0, tuple(self._causes), {}, at_rest=True
        )
        self.metadata.watch()

    def adopt_members(self, generation: int, owned: Sequence[Sequence[int]]) -> None:
        """Take over the members that exist from another kind of group; the group is stable afterwards.

        No partition stops and none is opened: partitions stay with their owners. Without members the group
        stays empty.

        Args:
            generation: the generation of the classic group, or the epoch of the consumer group, that it was.
            owned: flat indexes of the partitions of each member, in the order of `Members.rows`.
        """
        partitions, rows = self._world.partitions, self._members.rows.tolist()
        self.leader.generation = generation
        if rows:
            lists = [[partitions.name(partition) for partition in mine] for mine in owned]
            self.leader.adopt(lists, generation)
            self._move(GroupEvent.FOUND)
            self.metadata.watch()

    def _move(self, event: GroupEvent) -> None:
        """Go to the state that the table gives for an event; the table has every possible move."""
        self.state = MOVES[self.state, event].to

    # Messages and sessions.

    def join(self, member: int, since_ms: float) -> None:
        """Add a new member, whose JoinGroup arrives now; its process started at `since_ms`.

        The barrier is prepared before the member is added, so that it does not learn of a rebalance that it
        starts itself. Its own pause begins at `since_ms`.
        """
        name = self._world.memberships.consumers[member].name
        cause = self._world.ledger.cause(f"{name} joined")
        if self.state is ClassicGroupState.EMPTY:
            self._open_initial(cause)
        elif self._delay_ms is not None:
            self._newcomer = True
        self.prepare(f"{name} joined", cause)
        self._members.enter(member, self._world.now_ms, since_ms)
        self._members.stands_ms[member] = since_ms

    def rejoin(self, member: int, since_ms: float, *, changed: bool) -> None:
        """Let a static member join again under its instance id.

        In a stable group the other members do not learn of it, unless `changed`.

        Args:
            member: the number of the member's membership, which stays the same.
            since_ms: the time at which the new process started; the member counts as standing still from then
                on.
            changed: True if the new process makes the group choose another strategy, so that the group must
                rebalance.
        """
        members, now_ms = self._members, self._world.now_ms
        name = self._world.memberships.consumers[member].name
        absence = self._forget_session(member)
        members.wake(member, now_ms, since_ms)
        # The new process does not remember the last decision, though it leads under the same membership.
        if member == self.leader.member:
            self.leader.new = True
        if self.state is ClassicGroupState.STABLE and not changed:
            if absence is not None:
                self._world.ledger.causes[absence] = f"{name} was away"
            self.leader.open(np.array([member], np.int32), self.cause if absence is None else absence)
            if member == self.leader.member:
                # The new process takes the topics that it finds for those that were assigned, so it overlooks
                # partitions that were added while it was away (KIP-814).
                self.leader.counts = list(self._world.partitions.counts)
            self.metadata.watch()
            return
        # The new process joins without the partitions of the old process. So the assignor is told that one
        # member has gone and a new member has come.
        if members.carries[member]:
            self.leader.gone.add(self._world.memberships.ids[member])
            members.carries[member] = False
        cause = self._world.ledger.cause(f"{name} joined") if absence is None else absence
        self._world.ledger.notice(member, now_ms, cause)
        if self.state is not ClassicGroupState.PREPARING_REBALANCE:
            self.prepare(f"{name} joined", cause)
        members.joins_ms[member] = now_ms
        members.stands_ms[member] = since_ms

    def drop(self, member: int, text: str, cause: int) -> None:
        """Remove a member that left, or whose session ended; the others rebalance, or the group is empty.

        `text` and `cause` are the reason, in words and as a number. If the last member is removed, the
        assignor's work is dropped, and the next generation starts without any previous owners.
        """
        self._forget_session(member)
        self._members.remove(member)
        # If the member has not got the last assignment, the leader's last decision does not know it, so the
        # next decision need not treat it as gone.
        if self._members.carries[member]:
            self.leader.gone.add(self._world.memberships.ids[member])
        if member == self.leader.member:
            self.leader.lose()
        self._world.ledger.notice(member, self._world.now_ms, cause)
        if len(self._members):
            self.prepare(text, cause)
            return
        self._answer.cancel()
        self._move(GroupEvent.DESERTED)
        self.leader.over = True
        self.leader.gone.clear()
        self._delay_ms = None
        self._world.note("empty")

    def fall_silent(self, member: int, heard_ms: float, absence: int) -> None:
        """Record that a member is silent; the coordinator drops it when its session ends.

        Args:
            member: the member; its client is dead, stalled, or a static one that closed.
            heard_ms: the time at which the coordinator last heard of it; its session runs from then.
            absence: the cause of the pauses of its partitions.
        """
        self._absence[member] = absence
        if self.state is ClassicGroupState.PREPARING_REBALANCE:
            if self._members.joins_ms[member] <= self._world.now_ms:
                return  # a member at the barrier has no session; it gets one with the assignment
            self._members.joins_ms[member] = math.inf
        elif self.state is ClassicGroupState.COMPLETING_REBALANCE:
            # A follower gets its session with the assignment. Without the leader there is no assignment, so
            # the leader's own session runs now.
            if member != self.leader.member:
                return
            self._answer.cancel()
        self._watch_session(member, max(heard_ms, self.down_ms))

    def speaks(self, member: int) -> bool:
        """Let a silent member speak again before its session ends; return whether it must join a barrier."""
        self._forget_session(member)
        # The leader's silence had cancelled the assignment. The leader assigns now, and the rebalance
        # completes.
        if (
            self.state is ClassicGroupState.COMPLETING_REBALANCE
            and member == self.leader.member
            and self._answer.is_done
        ):
            self._complete()
            return False
        # The member may see new partitions that no other member sees, so find the time of the next notice
        # again.
        self.metadata.watch()
        return (
            self.state is ClassicGroupState.PREPARING_REBALANCE
            and not self._members.joins_ms[member] <= self._world.now_ms
        )

    def silence_of(self, member: int) -> tuple[float, int] | None:
        """Return when a silent member was last heard of, and the cause of its partitions' pauses.

        The result is None if the member is not silent.
        """
        if member not in self._absence:
            return None
        timer = self._sessions.get(member)
        ends_ms = math.inf if timer is None else timer.at_ms
        heard_ms = min(self._world.now_ms, ends_ms - self._settings.session_timeout_ms)
        return heard_ms, self._absence[member]

    def arrives(self, member: int, joins_ms: float, stands_ms: float) -> None:
        """Set the time at which a member joins; if it must stop reading to join, it stops at `stands_ms`.

        A cooperative member does not stop to join: it reads until it learns which partitions it loses. Times
        are milliseconds.
        """
        self._members.joins_ms[member] = joins_ms
        if self._members.stop_to_join(np.array([member]))[0]:
            self._members.stands_ms[member] = stands_ms

    def client_state(self, member: int) -> ClassicClientState:
        """Return the state of a member's client, which follows from its columns and the group's state.

        No table moves such a client, because the times at which it stops, joins and reads are computed all at
        once. It counts as STABLE until its JoinGroup arrives, because no column has the time at which it
        hears of the rebalance.
        """
        if not self._members.alive[member]:
            return ClassicClientState.UNJOINED
        if self.state is ClassicGroupState.COMPLETING_REBALANCE:
            return ClassicClientState.COMPLETING_REBALANCE
        if (
            self.state is ClassicGroupState.PREPARING_REBALANCE
            and self._members.joins_ms[member] <= self._world.now_ms
        ):
            return ClassicClientState.PREPARING_REBALANCE
        return ClassicClientState.STABLE

    def failover(self, now_ms: float, until_ms: float) -> None:
        """Answer no member until `until_ms`, when another broker has loaded the group.

        All sessions start again at that time.
        """
        self.down_ms = until_ms
        members = self._members
        for member in list(self._sessions):
            # The new coordinator hears of no member before it is up.
            self._watch_session(member, until_ms)
        living = members.living()
        late = living[members.next_beats(living, now_ms) < until_ms]
        members.base_ms[late] = until_ms + self._world.random.uniform(0, RETRY_MS, len(late))
        # The leader's assignment had not reached the old coordinator, so all members join again at the new
        # one.
        if self.state is ClassicGroupState.COMPLETING_REBALANCE:
            self.prepare("coordinator failed over", self._world.ledger.cause("coordinator failed over"))
        if self.state is ClassicGroupState.PREPARING_REBALANCE:
            rows = members.rows
            # Members that were at the barrier of the old coordinator join again as soon as the new one
            # answers.
            members.joins_ms[rows] = np.maximum(members.joins_ms[rows], until_ms)
            self._deadline_ms = until_ms + self._settings.max_poll_interval_ms
            if self._delay_ms is not None:
                self._delay_ms = max(self._delay_ms, until_ms)

    # The barrier.

    def barrier_ms(self) -> float:
        """Return the time at which the join barrier opens; infinite if there is none.

        A member that will not join by itself has an infinite `joins_ms`, so the deadline counts, unless its
        session ends before and removes it. The result is never in the past.
        """
        if self.state is not ClassicGroupState.PREPARING_REBALANCE:
            return math.inf
        if self._delay_ms is not None:
            return self._delay_ms
        last_ms = float(self._members.joins_ms[self._members.rows].max())
        return max(min(last_ms, self._deadline_ms), self._world.now_ms)

    def prepare(self, text: str, cause: int) -> None:
        """Start a rebalance: set up the join barrier, or add a reason if there is one already.

        `text` and `cause` are the reason, in words and as a number. Members that have learned of the
        rebalance are not notified a second time.
        """
        now_ms = self._world.now_ms
        members = self._members
        if self.state is ClassicGroupState.STABLE:
            self._open_barrier(cause)
        elif self.state is ClassicGroupState.COMPLETING_REBALANCE:
            # Members that wait for their assignment must join again at once; the leader learns of it when its
            # assignor is done.
            self._answer.cancel()
            self.cause, self._blamed = cause, []
            self._world.ledger.settle_all(Phase.COMPUTING, now_ms, Phase.PAUSED, cause)
            members.joins_ms[members.rows] = math.inf
            living, leader = members.living(), self.leader.member
            members.joins_ms[living] = now_ms + self._world.network_each(living, now_ms)
            # The leader is inside its assignor, and learns of the new rebalance only when it sends SyncGroup.
            if leader is not None and members.alive[leader]:
                asks_ms = max(now_ms, self._computed_ms)
                members.joins_ms[leader] = asks_ms + self._network_ms(leader, asks_ms)
            self._move(GroupEvent.REBALANCE)
            self._deadline_ms = now_ms + self._settings.max_poll_interval_ms
        self._causes.append(text)
        # The follow-up of a cooperative rebalance is no reason of its own: its pauses belong to the cause of
        # the first rebalance.
        if text not in {FOLLOW_UP, *self._blamed}:
            self._blamed.append(text)
        # Partitions that stop from now on stop for all these reasons.
        if len(self._blamed) > 1:
            self._world.ledger.causes[self.cause] = first_of(self._blamed, BLAMED)

    def pass_barrier(self) -> None:
        """Open the join barrier, because all members have joined or it has waited for them long enough.

        This is called at `barrier_ms`. The barrier stays closed if the initial delay grows, or if no member
        has joined, since then none can lead.
        """
        now_ms, members = self._world.now_ms, self._members
        # A member that joins during the initial delay makes it longer (KIP-134), up to `max.poll.interval.ms`
        # in total.
        if self._delay_ms is not None and self._newcomer and self._delay_left_ms > 0:
            delay_ms = min(self._settings.group_initial_rebalance_delay_ms, self._delay_left_ms)
            self._delay_left_ms -= delay_ms
            self._delay_ms += delay_ms
            self._newcomer = False
            return
        self._delay_ms = None
        late = members.rows[members.joins_ms[members.rows] > now_ms]
        for member in late.tolist():
            consumer = self._world.memberships.consumers[member]
            # A static member whose process is away keeps its place until its session ends; the others do not
            # wait for it.
            if consumer.static and not members.alive[member]:
                continue
            text = f"{consumer.name} did not rejoin in time"
            cause = self._world.ledger.cause(text)
            self._on_expelled(member, cause)
            if consumer.static:  # the static member stays in the group until its session ends
                self.fall_silent(member, now_ms, cause)
            else:
                self.drop(member, text, cause)
        # If the last member was dropped just now, the group is empty.
        if self.state is not ClassicGroupState.PREPARING_REBALANCE:
            return
        # If no member has joined, none can lead. So the barrier waits once more, as in Kafka, until sessions
        # end.
        if len(late) and (members.joins_ms[members.rows] > now_ms).all():
            self._deadline_ms = now_ms + self._settings.max_poll_interval_ms
            return
        self.leader.elect()
        self._complete()

    def _open_initial(self, cause: int) -> None:
        """Begin the first rebalance of an empty group, whose barrier waits for further members (KIP-134)."""
        self._open_barrier(cause)
        delay_ms = self._settings.group_initial_rebalance_delay_ms
        self._delay_ms = self._world.now_ms + delay_ms
        self._delay_left_ms = max(self._settings.max_poll_interval_ms - delay_ms, 0)
        self._newcomer = False

    def _open_barrier(self, cause: int) -> None:
        """Begin a rebalance for `cause`.

        All members learn of it, and those that revoked partitions join by themselves.

        If `cause` is that of the rebalance before, this is the follow-up, whose pauses keep the causes
        collected so far.
        """
        members, now_ms = self._members, self._world.now_ms
        self._move(GroupEvent.REBALANCE)
        if cause != self.cause:
            self._blamed = []
        self.cause = cause
        self._causes = []
        self._started_ms = now_ms
        self._deadline_ms = now_ms + self._settings.max_poll_interval_ms
        members.joins_ms[members.rows] = math.inf
        self._notifier.broadcast(now_ms)
        # These members rejoin by themselves once they have revoked (KIP-429). The times are known already.
        if self._revoking is not None:
            awake = members.alive[self._revoking[0]]
            rows, joins_ms = self._revoking[0][awake], self._revoking[1][awake]
            members.joins_ms[rows] = joins_ms
            members.stands_ms[rows] = np.where(members.stop_to_join(rows), joins_ms, members.stands_ms[rows])
        self._revoking = None
        self._follow_up.cancel()
        self.metadata.forget()
        self._world.note("rebalance", cause=self._world.ledger.causes[cause])

    # The assignment.

    def _complete(self) -> None:
        """Answer JoinGroup, since all members are known, and let the leader's assignor work.

        The assignor is called now, and its answer is kept until the time at which the members have it. Until
        then waiting partitions are in COMPUTING. If all this takes no time, the group is stable at once.
        """
        now_ms, members = self._world.now_ms, self._members
        joined = members.rows[members.joins_ms[members.rows] <= now_ms]
        self._notifier.stop_all(now_ms, self.cause)
        answer = self.leader.decide(self.metadata.counts())
        leader = self.leader.member
        assert leader is not None, "there is one that has decided"
        self._computed_ms = now_ms + self._network_ms(leader, now_ms) / 2 + answer.took_ms
        # The leader's SyncGroup takes half of the leader's round trip, and the answers take half of an
        # ordinary one. `RebalanceNotifier.begins` adds the delay of members with a slower network.
        told_ms = self._network_ms(leader, self._computed_ms) + self._costs.network_ms
        known_ms = self._computed_ms + told_ms / 2
        if BEHAVIOURS[self._world.memberships.consumers[leader].client].refreshes_as_it_assigns:
            members.metadata_ms[leader] = self._computed_ms
        answered_ms = now_ms + self._world.network_each(joined, now_ms) / 2
        members.restart_beats(joined, answered_ms, known_ms)
        self._move(GroupEvent.ALL_JOINED)
        if known_ms <= now_ms:
            self._sync(answer)
            return
        self._world.ledger.settle_all(Phase.PAUSED, now_ms, Phase.COMPUTING, self.cause)
        self._answer = self._timers.at(known_ms, lambda: self._sync(answer))

    def _network_ms(self, member: int, at_ms: float) -> float:
        """Return how many milliseconds a request that a member sends at `at_ms` takes, with its answer."""
        return self._world.network_ms(int(self._world.memberships.consumer[member]), at_ms)

    def _sync(self, answer: LeaderAnswer) -> None:
        """Give all members their assignment, and plan what follows from it.

        Sessions of silent members run from now, because a follower gets its session with the assignment. If
        members must give partitions up, the follow-up rebalance is planned for the time at which the first of
        them is done.
        """
        now_ms = self._world.now_ms
        self._move(GroupEvent.ASSIGNED)
        self._world.history.rebalances.append(
            self.leader.apply(answer, self.cause, self._started_ms, tuple(self._causes), self._absence)
        )
        for member in self._absence:
            self._watch_session(member, now_ms)
        if answer.held:
            self._timers.at(self.leader.holds_ms or now_ms, self._stop_holding)
        revoking = self.leader.revoking
        if len(revoking) == 0:
            self.metadata.watch()
            return
        rejoins_ms = self._notifier.revoke(revoking, now_ms, self.cause)
        self._revoking = revoking, rejoins_ms
        first_ms = float(rejoins_ms.min())
        if first_ms <= now_ms:
            self._rejoin_first()
        else:
            self._follow_up = self._timers.at(first_ms, self._rejoin_first)
            self.metadata.watch()

    def _stop_holding(self) -> None:
        """End the delay for which the leader keeps lost tasks (KIP-415).

        All members know the time and rejoin, and lost partitions get new owners. Nothing happens if another
        rebalance has ended the delay before, or is under way.
        """
        holds_ms, now_ms = self.leader.holds_ms, self._world.now_ms
        if self.state is ClassicGroupState.STABLE and holds_ms is not None and holds_ms <= now_ms:
            text = "scheduled.rebalance.max.delay.ms is over"
            self.prepare(text, self._world.ledger.cause(text))
            for member in self._members.living().tolist():
                self._notifier.notify(member, now_ms)

    def _rejoin_first(self) -> None:
        """Begin the follow-up rebalance: the first member that revoked is back."""
        if self._world.now_ms < self.down_ms:
            self._follow_up = self._timers.at(self.down_ms, self._rejoin_first)
            return
        self.prepare(FOLLOW_UP, self.cause)

    # Sessions.

    def _watch_session(self, member: int, heard_ms: float) -> None:
        """Let the member's session run from `heard_ms`, in place of an earlier one.

        A session that should have ended in the past ends now.
        """
        self._sessions.get(member, DONE).cancel()
        ends_ms = max(heard_ms + self._settings.session_timeout_ms, self._world.now_ms)
        self._sessions[member] = self._timers.at(ends_ms, lambda: self._expire(member))

    def _expire(self, member: int) -> None:
        """Drop a member whose session has ended."""
        name = self._world.memberships.consumers[member].name
        self._world.note("session-expired", name)
        self.drop(member, f"session of {name} timed out", self._absence[member])

    def _forget_session(self, member: int) -> int | None:
        """End the silence of a member; return the cause of its pauses, None if it was not silent."""
        self._sessions.pop(member, DONE).cancel()
        return self._absence.pop(member, None)
