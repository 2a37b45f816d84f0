"""Model the coordinator of a consumer group (KIP-848) at work: requests, timers, and their consequences.

Kafka's decisions are in `consumer_group`, without time of its own; here is what surrounds them: who is asked
when, and what the run's ledger and history are told.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from assignors.group import Topic
from copartition.simulation.group.consumer_group import Answer, ConsumerGroup, Error, GroupMember
from copartition.simulation.group.leader import (
    Decisions,
    assignor_ms,
    share_strategy,
    strategies_of,
    topics_with,
)
from copartition.simulation.group.memberships import Reason
from copartition.simulation.group.targets import Epochs, Targets
from copartition.simulation.group.timers import DONE, Beats, Timer, Timers
from copartition.simulation.group.world import World
from copartition.simulation.inputs.events import Consumer
from copartition.simulation.outcome.history import Change
from copartition.simulation.outcome.timeline import Phase
from partitioning.java import TimelineKeys, string_hash

DEFAULT = "uniform"
"""The assignor of a group whose members name none: the first of `group.consumer.assignors`."""


class MemberClient(Protocol):
    """The client behind a member, as far as the coordinator knows it; partitions are flat indexes.

    A coordinator is tested alone with objects that only have these names.

    The coordinator reads all of these, and writes `owned` and `assigned` only in `GroupCoordinator.begin`.
    """

    classic: ClassVar[bool]  # whether it speaks the classic protocol
    consumer: int  # the number of its consumer
    configured: Consumer  # that consumer, as it was when it joined
    member: int  # its membership
    every_ms: float  # the interval between its heartbeats, lateness included
    session_ms: float  # after so long without a heartbeat it is dropped
    owned: frozenset[int]  # the partitions it has
    assigned: frozenset[int]  # the partitions that the coordinator sent last
    gone: bool  # whether its process has ended

    @property
    def leaving(self) -> bool:
        """True if the process has closed and told the coordinator, which has not heard it yet."""

    def expects_news(self) -> None:
        """Let the client's next heartbeat happen, as its answer may tell something."""

    def beat(self) -> None:
        """Let the client send a heartbeat now."""

    def on_expelled(self) -> None:
        """Note that the coordinator has dropped the member; its client does not know yet."""


class GroupCoordinator:
    """A consumer group on its broker: it takes requests in turn, and keeps sessions and deadlines.

    Members are numbers of `World.memberships`, times milliseconds. `group` holds the state that Kafka's
    coordinator holds; this class calls it, tells `epochs` why it moved, and sets the timers that follow from
    it. Between two requests: `_epoch` is the epoch up to which reasons are noted; a member is in `_sessions`
    from `fall_silent` until it speaks or is dropped; `_watch` is the one heartbeat that is sent because it
    moves the group, no matter whose it is.
    """

    def __init__(
        self,
        world: World,
        decisions: Decisions,
        timers: Timers,
        downgrade: Callable[[Reason | None], None],
    ) -> None:
        # Called when only members of the classic protocol are left, with the reason to rebalance, if any.
        self._downgrade = downgrade
        partitions, settings, describe = world.partitions, world.scenario.settings, world.memberships.describe
        self._world = world
        self._timers = timers
        self._names = tuple(topic.name for topic in world.scenario.topics)
        self._targets = Targets(
            decisions,
            self._strategy,
            self._topics,
            partitions.first,
            partitions.topics,
            partitions.racks,
            describe,
        )
        self.group = ConsumerGroup(
            int(partitions.first[-1]),
            settings.group_consumer_assignment_interval_ms,
            self._assign,
            lambda pattern: frozenset(partitions.matching(pattern, partitions.counts)),
            TimelineKeys(lambda number: string_hash(world.memberships.ids[number])),
        )  # what it knows
        self.beats = Beats()  # when members send heartbeats
        self.epochs = Epochs(world, self.group, self.beats, timers)  # the rebalances
        self.clients: dict[int, MemberClient] = {}  # the client behind each member
        self.down_ms = 0.0  # until when it answers nobody
        self.busy_ms = 0.0  # until when its assignor is at work
        # Whether the assignor was asked during the request that is being answered; `_follow` clears it.
        self._computed = False
        self._epoch = self.group.epoch
        # Of members that are silent, and why they do not read.
        self._sessions: dict[int, tuple[Timer, int]] = {}
        # The timers of members that must give partitions up, or join again, by some time.
        self._deadlines: dict[int, Timer] = {}
        self._watch = DONE, math.inf, -1  # a heartbeat that moves the group: its timer, when, and whose

    def has_nothing_for(self, member: int) -> bool:
        """Return whether a member is to have no partitions, as far as anything is decided.

        False while another target is due, since that may bring the member partitions.
        """
        return self.group.epoch == self.group.target_epoch and not self.group.targets.get(member)

    # Requests.

    def take(self, request: Callable[[], None]) -> None:
        """Take a request that arrives now, as soon as the coordinator is neither down nor busy.

        A request that waits is taken again later, behind requests that wait already for the same time. A
        request that waited may meet the coordinator busy anew, and waits once more.
        """
        free_ms = max(self.down_ms, self.busy_ms)
        if free_ms > self._world.now_ms:
            self._timers.at(free_ms, lambda: self.take(request))
        else:
            request()

    def join(self, client: MemberClient, owned: Collection[int]) -> Answer | Error:
        """Answer a member's first heartbeat, or its JoinGroup, with `owned` partitions.

        Refuse it if it may not join.
        """
        world, group, now_ms = self._world, self.group, self._world.now_ms
        others = (
            other.configured
            for number, other in self.clients.items()
            if other.classic and number in group.members and other is not client
        )
        if client.classic and not share_strategy(client.configured, others, world):
            return Error.INCONSISTENT_GROUP_PROTOCOL
        member = self._member(client)
        before = None if member.instance is None else group.static.get(member.instance)
        is_member = client.member in group.members
        # Asked before the group acts: afterwards the member before is no longer in it.
        migrates = before is not None and not group.members[before].classic
        answer = group.join(member, now_ms, owned)
        if isinstance(answer, Error):
            return answer
        self.clients[client.member] = client
        # A static member is back, perhaps under another member id: what ran for the one before is over.
        if before is not None:
            absence = self._forget_session(before)
            if absence is not None:
                world.ledger.causes[absence] = f"{client.configured.name} was away"
            self._watch_deadline(before, math.inf)
            self.beats.remove(before)
        if before is not None or not is_member:
            self.beats.add(client.member, now_ms, client.every_ms, moves=not client.classic)
        text = f"{client.configured.name} joined"
        # A member that is known, or a static one that is back, raises the epoch only if something about it is
        # new, so its join is no certain reason.
        self._follow(text, None, client.member, certain=before is None and not is_member)
        if migrates and group.only_classic:
            self._downgrade(None)
        return answer

    def sync(self, client: MemberClient) -> Answer | Error:
        """Answer SyncGroup of a member of the classic protocol; partitions None: it must join again.

        An assignment that is refused here is answered as None, which makes the client join once more.
        """
        member = self.group.members.get(client.member)
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        assigned = self.group.sync(client.member, member.epoch, self._world.now_ms)
        self._follow("", None, client.member)
        return Answer(member.epoch, None if isinstance(assigned, Error) else assigned)

    def _member(self, client: MemberClient) -> GroupMember:
        """Return a client as the coordinator knows it.

        It is a new object at each call, with the state of a member that has just come; `ConsumerGroup.join`
        takes it for a member that is new or replaces another one.
        """
        consumer = client.configured
        return GroupMember(
            client.member,
            consumer.pattern or (self._names if consumer.topics is None else consumer.topics),
            client.consumer if consumer.static else None,
            self._world.scenario.settings.max_poll_interval_ms,
            client.classic,
            not client.classic and strategies_of(consumer, self._world)[0] != DEFAULT,
        )

    def heartbeat(self, client: MemberClient, owned: Collection[int] | None) -> Answer | Error:
        """Answer a heartbeat; one with `owned` partitions says that its member has reached its assignment.

        A member of the classic protocol is told whether to join again.
        """
        group, number, now_ms = self.group, client.member, self._world.now_ms
        member = group.members.get(number)
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        answer: Answer | Error
        if client.classic:
            answer = group.classic_heartbeat(number, member.epoch, now_ms) or Answer(member.epoch, None)
        else:
            answer = group.heartbeat(number, member.epoch, owned, now_ms)
        self._follow("", None, number)
        return answer

    def leave(self, member: int, text: str, cause: int) -> None:
        """Remove a member that has left, or is expelled; its partitions wait for other members from now on.

        Nothing happens if it is no member any more. `text` and `cause` say why, in words and as a number.

        Timers are cancelled before the group forgets the member. If only members of the classic protocol are
        left, the group becomes a classic one, and this coordinator does nothing more.
        """
        if member not in self.group.members:
            return
        self._forget_session(member)
        self._watch_deadline(member, math.inf)
        self.beats.remove(member)
        self.group.leave(member)
        self._world.ledger.notice(member, self._world.now_ms, cause)
        if self.group.only_classic:
            self._downgrade(Reason(text, cause))
            return
        self.epochs.on_reached(member)
        self._follow(text, cause, member)
        if not self.group.members:
            self.epochs.on_empty()

    def leave_for_a_while(self, member: int) -> None:
        """Keep the place of a static member that says that it will be back."""
        if member in self.group.members:
            self.group.leave_for_a_while(member)
            self._follow("", None, member)

    def fall_silent(self, member: int, heard_ms: float, absence: int) -> None:
        """Note that a member is silent; the coordinator drops it when its session ends.

        It is not waited for from now on: a rebalance may complete without it. Its partitions stay with it
        until its session ends.

        Args:
            member: the member.
            heard_ms: the time at which the coordinator last heard of it; its session runs from then.
            absence: the cause of the pauses of its partitions.
        """
        self.beats.silence(member)
        self.epochs.on_reached(member)
        self._watch_session(member, heard_ms, absence)
        self._look_ahead()

    def speaks(self, member: int) -> int | None:
        """Let a silent member speak again.

        Return the cause of its partitions' pauses, None if it was not silent.
        """
        self.beats.speak(member)
        absence = self._forget_session(member)
        self._look_ahead()
        return absence

    def failover(self, now_ms: float, until_ms: float) -> None:
        """Answer no member until `until_ms`.

        All sessions begin anew when another broker has loaded the group.
        """
        self.down_ms = until_ms
        self.beats.postpone(now_ms, until_ms, self._world.random)
        for member, (timer, absence) in list(self._sessions.items()):
            timer.cancel()
            self._watch_session(member, until_ms, absence)
        self._look_ahead()

    def on_growth(self, topic: int, *, created: bool) -> None:
        """Note that a topic has more partitions, or was created."""
        self.group.topic_changed(self._world.partitions.topics[topic], created=created)
        self._look_ahead()

    def enter(self, client: MemberClient, beats_ms: float) -> None:
        """Add one of the members at time 0, with a heartbeat at `beats_ms`; `begin` makes a group of them.

        Its heartbeats before time 0 count as sent, so `beats_ms` may be negative; milliseconds.
        """
        self.clients[client.member] = client
        self.beats.add(client.member, beats_ms, client.every_ms, moves=not client.classic)

    def begin(self) -> None:
        """Make the members that were entered the stable group at time 0.

        The target counts as computed `settled_ms` before time 0, so a group that has been quiet for an
        assignment interval need not wait for another one. All partitions with an owner are read from time 0
        on, without a handover.
        """
        if not self.clients:
            return
        world, group = self._world, self.group
        group.begin(map(self._member, self.clients.values()), -world.scenario.settled_ms)
        self._epoch, self._computed, self.busy_ms = group.epoch, False, 0.0
        self.epochs.begin(self._targets.position)
        now = world.ledger.now
        owner, position = group.target.astype(np.int32), self._targets.position
        change = Change.between(now.owner, now.position, owner, position)
        world.ledger.own(*change, 0.0, self.epochs.cause)
        world.ledger.begin(0.0)
        for number, client in self.clients.items():
            client.owned = client.assigned = group.members[number].assigned

    def adopt(self, clients: Iterable[MemberClient], generation: int) -> None:
        """Make the members of a classic group those of this one, which has none yet.

        `generation` is that of the classic group.

        Members keep what they were assigned last, at the same places of their lists, and no epoch is raised;
        so nobody moves until something raises it.
        """
        group, ledger = self.group, self._world.ledger
        members = []
        for client in clients:
            self.clients[client.member] = client
            member = self._member(client)
            assigned = ledger.owned(client.member)
            member.assigned = frozenset(assigned.tolist())
            self._targets.adopt(client.member, assigned, ledger.now.position[assigned])
            members.append(member)
        group.adopt(members, generation)
        self._epoch = group.epoch

    # What requests lead to.

    def _follow(self, text: str, cause: int | None, member: int, *, certain: bool = True) -> None:
        """Note why a request moved the group, lead members to a new target, and set timers.

        It is called after every request, since each may have raised the epoch, computed a target or moved a
        member; the order below is that of cause and effect.

        Args:
            text: the reason in words, empty if the request itself is none.
            cause: the number of the reason; None if it has none yet.
            member: the member that the request was about.
            certain: True if the request raises the epoch; else only new partitions noticed meanwhile may
                have.
        """
        group = self.group
        if group.epoch != self._epoch:
            self._epoch = group.epoch
            for reason, number in self._reasons(text, cause, certain=certain):
                self.epochs.request(reason, number)
        if self._computed:
            self._computed = False
            self._on_new_target()
            # The epoch rose once more after the target was computed, so another target is due for the same
            # reason.
            if group.epoch > group.target_epoch:
                self.epochs.request(text, self.epochs.cause)
        present = group.members.get(member)
        if present is not None:
            if group.is_reconciled(present):
                self.epochs.on_reached(member)
            self._watch_deadline(member, min(present.deadline_ms, present.join_by_ms))
        news, group.news = group.news, set()
        for number in news & group.members.keys():
            self.clients[number].expects_news()
        self._look_ahead()

    def _reasons(self, text: str, cause: int | None, *, certain: bool) -> list[tuple[str, int]]:
        """Return the reasons for which the epoch rose, in words and by number.

        They are the topics whose new partitions were noticed, and the member that came or went.
        """
        partitions, ledger, now_ms = self._world.partitions, self._world.ledger, self._world.now_ms
        reasons = []
        noticed, self.group.noticed = sorted(self.group.noticed), set()
        if noticed:
            numbers = [partitions.topic(name) for name in noticed]
            added = ledger.cause(partitions.growth(numbers))
            for number in numbers:
                rows = np.arange(partitions.first[number], partitions.first[number + 1], dtype=np.int32)
                new = (ledger.now.phase[rows] == Phase.UNNOTICED) & (ledger.now.owner[rows] < 0)
                ledger.settle(rows[new].tolist(), now_ms, Phase.PAUSED, added)
            reasons.append((ledger.causes[added], added))
        if text and (certain or not reasons):
            reasons.append((text, ledger.cause(text) if cause is None else cause))
        return reasons

    def _on_new_target(self) -> None:
        """Begin the rebalance to a target that was just computed.

        Partitions wait for the assignor meanwhile.
        """
        world, ledger = self._world, self._world.ledger
        if self.group.migrates:  # a member of the classic protocol joins again for every target
            self.group.news |= {number for number, member in self.group.members.items() if member.classic}
        change = self.epochs.replace_target(self._targets.position, self.group.news)
        if self.busy_ms <= world.now_ms:
            return
        waiting = change.partitions[ledger.now.phase[change.partitions] == Phase.PAUSED]
        ledger.settle(waiting.tolist(), world.now_ms, Phase.COMPUTING, None)
        self._timers.at(self.busy_ms, lambda: self._done_computing(waiting))

    def _done_computing(self, partitions: NDArray[np.int32]) -> None:
        """End the assignor's work; partitions that waited for it wait for their next owner to hear now.

        Partitions that have changed phase meanwhile, as their new owner left or was dropped, are left as they
        are.
        """
        still = partitions[self._world.ledger.now.phase[partitions] == Phase.COMPUTING]
        self._world.ledger.settle(still.tolist(), self._world.now_ms, Phase.PAUSED, None)

    def _look_ahead(self) -> None:
        """Set the timer for the next heartbeat of any member, if it would move the group.

        All other heartbeats need not be simulated.

        It is called whenever heartbeats, epochs or topics have changed, and keeps the present timer if that
        is still the right one.
        """
        due_ms = self.group.due_ms()
        at_ms, member = math.inf, -1
        if due_ms < math.inf:
            at_ms, member = self.beats.first_of_all(max(due_ms, self._world.now_ms))
        timer, *before = self._watch
        if before == [at_ms, member] and not timer.is_done:
            return
        timer.cancel()
        if at_ms < math.inf:
            self._watch = self._timers.at(at_ms, self.clients[member].beat), at_ms, member

    # The assignor.

    def _assign(self, group: ConsumerGroup) -> NDArray[np.int64]:
        """Return the owner of each partition by the assignor, -1 for none.

        Be busy for as long as that takes.

        The clock of the machine counts only if the scenario measures the assignor. `busy_ms` puts off the
        answer to this request and all requests that come meanwhile.
        """
        began = time.perf_counter()
        owner = self._targets(group)
        self.busy_ms = self._world.now_ms + assignor_ms(self._world, began)
        self._computed = True
        return owner

    def _strategy(self) -> str:
        """Return the broker's assignor that most members name; the default one if no member names any.

        Members of the classic protocol have no vote, as their strategies are not the broker's. Of several
        with equal votes the first wins, in the order in which members joined.
        """
        if not self._world.varied:
            return self._world.scenario.assignor
        consumers = self._world.memberships.consumers
        first = (strategies_of(consumers[number], self._world)[0] for number in self.group.members)
        wanted = Counter(name for name in first if name != DEFAULT and not self._world.protocols(name))
        return max(wanted, key=lambda name: wanted[name]) if wanted else DEFAULT

    def _topics(self) -> list[Topic]:
        """Return the topics that exist now."""
        return topics_with(self._world, self._world.partitions.counts)

    # Sessions.

    def _watch_session(self, member: int, heard_ms: float, absence: int) -> None:
        """Let a member's session run from `heard_ms`."""
        ends_ms = max(heard_ms + self.clients[member].session_ms, self._world.now_ms)
        self._sessions[member] = self._timers.at(ends_ms, lambda: self._expire(member, absence)), absence

    def _expire(self, member: int, absence: int) -> None:
        """Drop a member whose session has ended.

        Its client, if it still runs, learns of it with its next request.
        """
        name = self._world.memberships.consumers[member].name
        self._world.note("session-expired", name)
        self.clients[member].on_expelled()
        self.leave(member, f"session of {name} timed out", absence)

    def absence_of(self, member: int) -> int | None:
        """Return the cause of what a silent member does not read; None if it is not silent."""
        return self._sessions[member][1] if member in self._sessions else None

    def _forget_session(self, member: int) -> int | None:
        """End the silence of a member.

        Return the cause of its partitions' pauses, None if it was not silent.
        """
        timer, absence = self._sessions.pop(member, (DONE, None))
        timer.cancel()
        return absence

    def _watch_deadline(self, member: int, deadline_ms: float) -> None:
        """Set the time at which a member is expelled unless it revokes or joins again; infinite: never."""
        self._deadlines.pop(member, DONE).cancel()
        if deadline_ms < math.inf:
            self._deadlines[member] = self._timers.at(deadline_ms, lambda: self._expel(member))

    def _expel(self, member: int) -> None:
        """Expel a member that did not revoke or join again within its rebalance timeout.

        Its partitions stop without a commit, and are free for other members at once. The session of a member
        that is expelled is forgotten.
        """
        name = self._world.memberships.consumers[member].name
        text = f"{name} did not give its partitions up in time"
        cause = self._world.ledger.cause(text)
        self._world.ledger.halt_member(member, self._world.now_ms, Phase.PAUSED, cause, committed=False)
        self.clients[member].on_expelled()
        self.leave(member, text, cause)
