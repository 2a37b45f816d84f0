"""The classic group coordinator: who is in, who waits for whom, who gets what.

A rebalance is a few operations on columns: everybody hears at its next heartbeat, joins, is answered, opens
what it got. What befalls a single member meanwhile edits its row. Sources: KIP-62 (heartbeats), KIP-134
(initial delay), KIP-345 and KIP-814 (static members), KIP-429 (cooperative), `GroupMetadataManager`.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.kit.words import first_of
from copartition.simulation.group.clients import PROFILES
from copartition.simulation.group.leader import Answer, Decisions, Leader, subscription
from copartition.simulation.group.members import Members, RebalanceNotifier, State
from copartition.simulation.group.timers import DONE, RETRY_MS, Timer, Timers, first_after
from copartition.simulation.group.world import World
from copartition.simulation.outcome.timeline import Phase

FOLLOW_UP = "partitions revoked"
"""Why a cooperative group rebalances once more, for the causes of the rebalance before."""
BLAMED = 3
"""So many causes of one rebalance are named where it stops somebody."""


class ClassicGroup:
    """A classic group on its broker."""

    def __init__(
        self,
        world: World,
        decisions: Decisions,
        members: Members,
        timers: Timers,
        notifier: RebalanceNotifier,
        on_expelled: Callable[[int, int], object],
    ) -> None:
        # Called for a member that the barrier waits for no longer, with the cause of what is not read. A
        # static member stays in the group, and has what it was given when it joins again.
        self._on_expelled = on_expelled
        self.state = State.EMPTY  # what the group is doing
        self.cause = 0  # the number of what began the rebalance under way
        self.down_ms = -math.inf  # until when it answers nobody
        # The leader, and what it decides.
        self.leader = Leader(world, decisions, members, notifier)
        # Who notices new partitions, and when.
        self.metadata = Metadata(world, self, members, timers, notifier)
        self._world = world
        self._members = members
        self._timers = timers
        self._notifier = notifier
        self._settings = world.scenario.settings
        self._costs = world.scenario.costs
        self._sessions: dict[int, Timer] = {}  # of members that are silent
        self._absence: dict[int, int] = {}  # why they do not read
        self._causes: list[str] = []  # of the rebalance under way
        self._blamed: list[str] = []  # what `cause` stands for
        self._started_ms = 0.0
        self._deadline_ms = math.inf
        self._delay_ms: float | None = None  # end of the initial delay of a group that was empty
        self._delay_left_ms = 0.0
        self._newcomer = False
        self._answer = DONE  # when the leader's is there
        self._computed_ms = 0.0
        self._revoking: tuple[NDArray[np.int32], NDArray[np.float64]] | None = None  # who rejoins, when
        self._follow_up = DONE

    def begin(self) -> None:
        """The members there are, all of them newcomers, are the stable group at time 0."""
        self._causes = ["the group at the start"]
        self.cause = self._world.partitions.cause(self._causes[0])
        self._members.joins_ms[self._members.rows] = 0.0
        self.leader.elect()
        answer = self.leader.decide(self.metadata.counts())
        self.state = State.STABLE
        self._world.history.start = self.leader.apply(
            answer, self.cause, 0.0, tuple(self._causes), {}, at_rest=True
        )
        self.metadata.watch()

    def adopt_members(self, generation: int, owned: Sequence[Sequence[int]]) -> None:
        """The members there are come from another kind of group, with what they own; the group is stable."""
        partitions, rows = self._world.partitions, self._members.rows.tolist()
        self.leader.generation = generation
        if rows:
            lists = [[partitions.name(partition) for partition in mine] for mine in owned]
            self.leader.adopt(lists, generation)
            self.state = State.STABLE
            self.metadata.watch()

    # Messages and sessions.

    def join(self, member: int, since_ms: float) -> None:
        """A new member's JoinGroup; it has waited since it started."""
        name = self._world.memberships.consumers[member].name
        cause = self._world.partitions.cause(f"{name} joined")
        if self.state is State.EMPTY:
            self._open_initial(cause)
        elif self._delay_ms is not None:
            self._newcomer = True
        self.prepare(f"{name} joined", cause)
        self._members.enter(member, self._world.now_ms, since_ms)
        self._members.stands_ms[member] = since_ms

    def rejoin(self, member: int, since_ms: float, *, changed: bool) -> None:
        """A static member is back under its instance id: in a stable group nobody else hears of it.

        `changed`: the group's strategy will be another one with this member, whose process started at
        `since_ms`.
        """
        members, now_ms = self._members, self._world.now_ms
        name = self._world.memberships.consumers[member].name
        absence = self._forget_session(member)
        members.wake(member, now_ms, since_ms)
        if member == self.leader.member:
            self.leader.new = True
        if self.state is State.STABLE and not changed:
            if absence is not None:
                self._world.partitions.causes[absence] = f"{name} was away"
            self.leader.open(np.array([member], np.int32), self.cause if absence is None else absence)
            if member == self.leader.member:
                # It takes the topics it finds for the assigned ones, so it overlooks what grew while it
                # was away (KIP-814).
                self.leader.counts = list(self._world.partitions.counts)
            self.metadata.watch()
            return
        if members.carries[member]:
            self.leader.gone.add(self._world.memberships.ids[member])
            members.carries[member] = False
        cause = self._world.partitions.cause(f"{name} joined") if absence is None else absence
        self._world.partitions.notice(member, now_ms, cause)
        if self.state is not State.PREPARING:
            self.prepare(f"{name} joined", cause)
        members.joins_ms[member] = now_ms
        members.stands_ms[member] = since_ms

    def drop(self, member: int, text: str, cause: int) -> None:
        """The group loses a member: it left, or its session is over."""
        self._forget_session(member)
        self._members.remove(member)
        if self._members.carries[member]:
            self.leader.gone.add(self._world.memberships.ids[member])
        if member == self.leader.member:
            self.leader.member = None
        self._world.partitions.notice(member, self._world.now_ms, cause)
        if len(self._members):
            self.prepare(text, cause)
            return
        self._answer.cancel()
        self.state = State.EMPTY
        self.leader.over = True
        self.leader.gone.clear()
        self._delay_ms = None
        self._world.note("empty")

    def fall_silent(self, member: int, heard_ms: float, absence: int) -> None:
        """A member last heard of at `heard_ms` is silent, and is missed when its session is over.

        `absence` is the cause of what it does not read.
        """
        self._absence[member] = absence
        if self.state is State.PREPARING:
            if self._members.joins_ms[member] <= self._world.now_ms:
                return  # who waits at the barrier has no session to lose; it gets one with the assignment
            self._members.joins_ms[member] = math.inf
        elif self.state is State.COMPLETING:
            if member != self.leader.member:
                return
            self._answer.cancel()
        self._watch_session(member, max(heard_ms, self.down_ms))

    def speaks(self, member: int) -> bool:
        """Return a silent member speaks again before it was missed.

        Gives whether it finds a barrier to pass.
        """
        self._forget_session(member)
        if self.state is State.COMPLETING and member == self.leader.member and self._answer.is_done:
            self._complete()
            return False
        self.metadata.watch()
        return self.state is State.PREPARING and not self._members.joins_ms[member] <= self._world.now_ms

    def silence_of(self, member: int) -> tuple[float, int] | None:
        """Return when a silent member was last heard of, and the cause of what it does not read.

        None for others.
        """
        if member not in self._absence:
            return None
        timer = self._sessions.get(member)
        ends_ms = math.inf if timer is None else timer.at_ms
        heard_ms = min(self._world.now_ms, ends_ms - self._settings.session_timeout_ms)
        return heard_ms, self._absence[member]

    def arrives(self, member: int, joins_ms: float, stands_ms: float) -> None:
        """A member will pass the barrier at another time than was thought."""
        self._members.joins_ms[member] = joins_ms
        if self._members.stop_to_join(np.array([member]))[0]:
            self._members.stands_ms[member] = stands_ms

    def waits(self, member: int) -> bool:
        """Return whether a member has joined and waits for its assignment."""
        if self.state is State.PREPARING:
            return bool(self._members.joins_ms[member] <= self._world.now_ms)
        return self.state is State.COMPLETING

    def failover(self, now_ms: float, until_ms: float) -> None:
        """Nobody is answered until then; sessions begin anew when the group is loaded."""
        self.down_ms = until_ms
        members = self._members
        for member in list(self._sessions):
            self._watch_session(member, until_ms)
        living = members.living()
        late = living[members.next_beats(living, now_ms) < until_ms]
        members.base_ms[late] = until_ms + self._world.random.uniform(0, RETRY_MS, len(late))
        if self.state is State.COMPLETING:
            self.prepare("coordinator failed over", self._world.partitions.cause("coordinator failed over"))
        if self.state is State.PREPARING:
            rows = members.rows
            members.joins_ms[rows] = np.maximum(members.joins_ms[rows], until_ms)
            self._deadline_ms = until_ms + self._settings.max_poll_interval_ms
            if self._delay_ms is not None:
                self._delay_ms = max(self._delay_ms, until_ms)

    # The barrier.

    def barrier_ms(self) -> float:
        """Return when the join barrier opens; infinite where there is none."""
        if self.state is not State.PREPARING:
            return math.inf
        if self._delay_ms is not None:
            return self._delay_ms
        last_ms = float(self._members.joins_ms[self._members.rows].max())
        return max(min(last_ms, self._deadline_ms), self._world.now_ms)

    def prepare(self, text: str, cause: int) -> None:
        """Open the join barrier, or note one more reason for the open one."""
        now_ms = self._world.now_ms
        members = self._members
        if self.state is State.STABLE:
            self._open_barrier(cause)
        elif self.state is State.COMPLETING:
            # Who waits for its assignment is sent back; the leader hears of it when its assignor is done.
            self._answer.cancel()
            self.cause, self._blamed = cause, []
            self._world.partitions.turn(Phase.COMPUTING, now_ms, Phase.PAUSED, cause)
            members.joins_ms[members.rows] = math.inf
            members.joins_ms[members.living()] = now_ms + self._costs.network_ms
            if self.leader.member is not None and members.alive[self.leader.member]:
                members.joins_ms[self.leader.member] = max(now_ms, self._computed_ms) + self._costs.network_ms
            self.state = State.PREPARING
            self._deadline_ms = now_ms + self._settings.max_poll_interval_ms
        self._causes.append(text)
        if text not in {FOLLOW_UP, *self._blamed}:
            self._blamed.append(text)
        if len(self._blamed) > 1:  # whoever stops does so for all of them
            self._world.partitions.causes[self.cause] = first_of(self._blamed, BLAMED)

    def pass_barrier(self) -> None:
        """Everybody is here, or has been waited for long enough."""
        now_ms, members = self._world.now_ms, self._members
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
            if consumer.static and not members.alive[member]:
                continue
            text = f"{consumer.name} did not rejoin in time"
            cause = self._world.partitions.cause(text)
            self._on_expelled(member, cause)
            if consumer.static:  # it stays, to be missed when its session is over
                self.fall_silent(member, now_ms, cause)
            else:
                self.drop(member, text, cause)
        if self.state is not State.PREPARING:
            return
        if len(late) and (members.joins_ms[members.rows] > now_ms).all():
            self._deadline_ms = now_ms + self._settings.max_poll_interval_ms
            return
        self.leader.elect()
        self._complete()

    def _open_initial(self, cause: int) -> None:
        self._open_barrier(cause)
        delay_ms = self._settings.group_initial_rebalance_delay_ms
        self._delay_ms = self._world.now_ms + delay_ms
        self._delay_left_ms = max(self._settings.max_poll_interval_ms - delay_ms, 0)
        self._newcomer = False

    def _open_barrier(self, cause: int) -> None:
        members, now_ms = self._members, self._world.now_ms
        self.state = State.PREPARING
        if cause != self.cause:
            self._blamed = []
        self.cause = cause
        self._causes = []
        self._started_ms = now_ms
        self._deadline_ms = now_ms + self._settings.max_poll_interval_ms
        members.joins_ms[members.rows] = math.inf
        self._notifier.broadcast(now_ms)
        if self._revoking is not None:
            awake = members.alive[self._revoking[0]]
            rows, joins_ms = self._revoking[0][awake], self._revoking[1][awake]
            members.joins_ms[rows] = joins_ms
            members.stands_ms[rows] = np.where(members.stop_to_join(rows), joins_ms, members.stands_ms[rows])
        self._revoking = None
        self._follow_up.cancel()
        self.metadata.forget()
        self._world.note("rebalance", cause=self._world.partitions.causes[cause])

    # The assignment.

    def _complete(self) -> None:
        """The members are known: JoinGroup is answered, and the leader's assignor is at work."""
        now_ms, members = self._world.now_ms, self._members
        joined = members.rows[members.joins_ms[members.rows] <= now_ms]
        self._notifier.stop_all(now_ms, self.cause)
        answer = self.leader.decide(self.metadata.counts())
        self._computed_ms = now_ms + self._costs.network_ms / 2 + answer.took_ms
        known_ms = self._computed_ms + self._costs.network_ms
        leader = self.leader.member
        assert leader is not None, "there is one that has decided"
        if PROFILES[self._world.memberships.consumers[leader].client].refreshes_as_it_assigns:
            members.metadata_ms[leader] = self._computed_ms
        members.restart_beats(joined, now_ms + self._costs.network_ms / 2, known_ms)
        if known_ms <= now_ms:
            self._sync(answer)
            return
        self.state = State.COMPLETING
        self._world.partitions.turn(Phase.PAUSED, now_ms, Phase.COMPUTING, self.cause)
        self._answer = self._timers.at(known_ms, lambda: self._sync(answer))

    def _sync(self, answer: Answer) -> None:
        """Everybody has the assignment."""
        now_ms = self._world.now_ms
        self.state = State.STABLE
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
        rejoins_ms = self._notifier.after_revoking(revoking, now_ms)
        self._revoking = revoking, rejoins_ms
        first_ms = float(rejoins_ms.min())
        if first_ms <= now_ms:
            self._rejoin_first()
        else:
            self._follow_up = self._timers.at(first_ms, self._rejoin_first)
            self.metadata.watch()

    def _stop_holding(self) -> None:
        """What lost members had is given to others: all members know the time, and rejoin."""
        holds_ms, now_ms = self.leader.holds_ms, self._world.now_ms
        if self.state is State.STABLE and holds_ms is not None and holds_ms <= now_ms:
            text = "scheduled.rebalance.max.delay.ms is over"
            self.prepare(text, self._world.partitions.cause(text))
            for member in self._members.living().tolist():
                self._notifier.notify(member, now_ms)

    def _rejoin_first(self) -> None:
        """The first member that gave something up is back, so that its next owner can have it."""
        if self._world.now_ms < self.down_ms:
            self._follow_up = self._timers.at(self.down_ms, self._rejoin_first)
            return
        self.prepare(FOLLOW_UP, self.cause)

    # Sessions.

    def _watch_session(self, member: int, heard_ms: float) -> None:
        self._sessions.get(member, DONE).cancel()
        ends_ms = max(heard_ms + self._settings.session_timeout_ms, self._world.now_ms)
        self._sessions[member] = self._timers.at(ends_ms, lambda: self._expire(member))

    def _expire(self, member: int) -> None:
        name = self._world.memberships.consumers[member].name
        self._world.note("session-expired", name)
        self.drop(member, f"session of {name} timed out", self._absence[member])

    def _forget_session(self, member: int) -> int | None:
        self._sessions.pop(member, DONE).cancel()
        return self._absence.pop(member, None)


MISSING_TOPIC_MS = 1_000
"""How often clients ask again for a topic that they subscribe to by name and that does not exist
(`retry.backoff.max.ms`)."""


class _Growth(NamedTuple):
    at_ms: float
    topic: int
    partitions: int
    created: bool


class Metadata:
    """What members know of the topics, and when they know more."""

    def __init__(
        self,
        world: World,
        coordinator: ClassicGroup,
        members: Members,
        timers: Timers,
        notifier: RebalanceNotifier,
    ) -> None:
        self._world = world
        self._coordinator = coordinator
        self._members = members
        self._timers = timers
        self._notifier = notifier
        self._growth: list[_Growth] = []
        self._timer = DONE

    def on_growth(self, topic: int, *, created: bool) -> None:
        """A topic has more partitions, or is there at last."""
        count = self._world.partitions.counts[topic]
        self._growth.append(_Growth(self._world.now_ms, topic, count, created))
        self.watch()

    def counts(self) -> list[int]:
        """Return partitions of each topic, as the leader has them when it assigns."""
        now_ms, leader = self._world.now_ms, self._coordinator.leader.member
        assert leader is not None
        consumer = self._world.memberships.consumers[leader]
        # A pattern is matched against what there is (Java asks before each join), librdkafka asks anyhow.
        if consumer.pattern is not None or PROFILES[consumer.client].asks_before_assigning:
            return list(self._world.partitions.counts)
        # A leader asks anew where others subscribe to topics that are none of its own.
        own = subscription(consumer, self._world, self._world.partitions.counts)
        if self._growth and not self._coordinator.leader.topics().issubset(own):
            return list(self._world.partitions.counts)
        # At the least it knows what was given out last: members claim it, and ask for what they are given.
        counts = list(self._coordinator.leader.counts)
        for growth in self._growth:
            if self._sees(leader, growth) <= now_ms:
                counts[growth.topic] = max(counts[growth.topic], growth.partitions)
        return counts

    def watch(self) -> None:
        """The group is stable: wait for the first member that sees something new."""
        self.forget()
        if not self._growth or self._coordinator.state is not State.STABLE:
            return
        unseen = self._unassigned_growth()
        noticed = [
            (at_ms, member)
            for member in self._watchers()
            for growth in unseen
            if (at_ms := self._notices(member, growth)) is not None
        ]
        if noticed:
            at_ms, member = min(noticed)
            # A leader that puts its decision off (KIP-415) would hear of it in vain until then.
            holds_ms = self._coordinator.leader.holds_ms or 0.0
            at_ms = max(at_ms, self._coordinator.down_ms, holds_ms)
            self._timer = self._timers.at(at_ms, lambda: self._notice(member))

    def forget(self) -> None:
        """The group rebalances, so nobody needs to see to that."""
        self._timer.cancel()

    def _unassigned_growth(self) -> list[_Growth]:
        """Return what was not assigned yet, of the topics that some member subscribes to."""
        assigned, subscribed = self._coordinator.leader.counts, self._coordinator.leader.topics()
        return [
            growth
            for growth in self._growth
            if growth.partitions > assigned[growth.topic]
            and self._world.partitions.topics[growth.topic] in subscribed
        ]

    def _watchers(self) -> list[int]:
        """Return members that rejoin where they see something new: the leader, and some others."""
        leader = self._coordinator.leader.member
        consumers = self._world.memberships.consumers
        return [
            member
            for member in self._members.living().tolist()
            if member == leader
            or consumers[member].pattern is not None
            or PROFILES[consumers[member].client].anyone_sees_growth
        ]

    def _notices(self, member: int, growth: _Growth) -> float | None:
        """Return when a member rejoins for what is new; None if it does not."""
        consumer = self._world.memberships.consumers[member]
        name = self._world.partitions.topics[growth.topic]
        is_leader = member == self._coordinator.leader.member
        if not is_leader and name not in subscription(consumer, self._world, self._world.partitions.counts):
            return None
        # A follower that joins with the same subscription gets its generation as the answer, and nobody else
        # hears of it; a cooperative member tells what it owns besides, which is no longer what it was.
        rejoins = PROFILES[consumer.client].anyone_sees_growth and not self._members.eager[member]
        if not (is_leader or growth.created or rejoins):
            return None
        sees_ms = self._sees(member, growth)
        if sees_ms > self._world.now_ms:
            return sees_ms
        return self._world.now_ms if is_leader else None  # the others have heard of it in vain

    def _sees(self, member: int, growth: _Growth) -> float:
        """Return when a member's metadata show what is new."""
        age_ms = self._world.scenario.settings.metadata_max_age_ms
        refresh_ms = first_after(float(self._members.metadata_ms[member]), age_ms, growth.at_ms)
        named = self._world.memberships.consumers[member].topics or ()
        if growth.created and self._world.partitions.topics[growth.topic] in named:
            return min(refresh_ms, growth.at_ms + MISSING_TOPIC_MS)
        return refresh_ms

    def _notice(self, member: int) -> None:
        """A member rejoins for what it has seen; one that is dead or stands still leaves that to others."""
        if not self._members.alive[member]:
            self.watch()
            return
        world, partitions = self._world, self._world.partitions
        unseen = dict.fromkeys(growth.topic for growth in self._unassigned_growth())
        cause = partitions.growth(unseen)
        partitions.notice(-1, world.now_ms, cause)
        self._coordinator.prepare(partitions.causes[cause], cause)
        self._notifier.notify(member, world.now_ms)
        for other in self._watchers():
            seen_ms = min(self._sees(other, growth) for growth in self._growth if growth.topic in unseen)
            if world.now_ms < seen_ms < self._members.next_beat(other, world.now_ms):
                self._notifier.notify(other, seen_ms)
