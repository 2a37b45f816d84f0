"""Model the coordinator of a consumer group (KIP-848) at work: requests, timers, and their consequences.

Kafka's decisions are in `consumer_group`, which has no timers. This module has everything around them: it
takes requests in their order, and writes the results to the run's ledger and history.
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
from copartition.simulation.group.memberships import RebalanceReason
from copartition.simulation.group.targets import Epochs, GroupTargets
from copartition.simulation.group.timers import DONE, Beats, Timer, Timers
from copartition.simulation.group.world import World
from copartition.simulation.inputs.events import Consumer
from copartition.simulation.outcome.history import AssignmentDelta
from copartition.simulation.outcome.timeline import Phase
from partitioning.java import TimelineKeys, string_hash

DEFAULT = "uniform"
"""The assignor of a group whose members name none: the first of `group.consumer.assignors`."""


class MemberClient(Protocol):
    """The client of a member, as far as the coordinator knows it; partitions are flat indexes.

    Tests of the coordinator alone use objects that only have these attributes. The coordinator reads all of
    them, and writes none.
    """

    classic: ClassVar[bool]  # whether it speaks the classic protocol
    consumer: int  # the number of its consumer
    configured: Consumer  # the consumer as it was configured when it joined
    member: int  # its membership
    every_ms: float  # the interval between its heartbeats, lateness included
    session_ms: float  # the coordinator drops the client after this long without a heartbeat
    owned: frozenset[int]  # the partitions it has
    assigned: frozenset[int]  # the partitions that the coordinator sent last
    gone: bool  # whether its process has ended

    @property
    def leaving(self) -> bool:
        """True if the process has closed and sent its leave, which has not arrived at the coordinator yet."""

    def begin_as_member(self, partitions: frozenset[int]) -> None:
        """Let the client be a member with these partitions already."""

    def expects_news(self) -> None:
        """Simulate the client's next heartbeat, because its answer may bring news."""

    def beat(self) -> None:
        """Let the client send a heartbeat now."""

    def on_expelled(self) -> None:
        """Record that the coordinator has dropped the member; its process does not know it yet."""


class GroupCoordinator:
    """A consumer group on its broker: it takes requests in turn, and keeps sessions and deadlines.

    Members are numbers of `World.memberships`, times are milliseconds. `group` holds the state of Kafka's
    coordinator. This class calls it, passes the reasons of its moves to `epochs`, and sets the timers that
    follow. Between two requests, `_epoch` is the epoch up to which reasons have been recorded. A member is in
    `_sessions` from `fall_silent` until it speaks or is dropped. `_watch` is the next heartbeat of any member
    that moves the group.
    """

    def __init__(
        self,
        world: World,
        decisions: Decisions,
        timers: Timers,
        downgrade: Callable[[RebalanceReason | None], None],
    ) -> None:
        # `downgrade` is called when only members of the classic protocol are left. It gets the reason to
        # rebalance if there is one.
        self._downgrade = downgrade
        partitions, settings, describe = world.partitions, world.scenario.settings, world.memberships.describe
        self._world = world
        self._timers = timers
        self._names = tuple(topic.name for topic in world.scenario.topics)
        self._targets = GroupTargets(
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
        )  # the state of Kafka's coordinator
        self.beats = Beats()  # when members send heartbeats
        self.epochs = Epochs(world, self.group, self.beats, timers)  # the rebalances
        self.clients: dict[int, MemberClient] = {}  # the client of each member
        self.down_ms = 0.0  # the coordinator answers no member until then
        self.busy_ms = 0.0  # the coordinator's assignor is at work until then
        # Whether the present request has called the assignor; `_follow` resets it.
        self._computed = False
        self._epoch = self.group.epoch
        # Silent member -> the timer that ends its session, and the cause of its partitions' pauses.
        self._sessions: dict[int, tuple[Timer, int]] = {}
        # Member -> the timer that expels it unless it gives up partitions or joins again first.
        self._deadlines: dict[int, Timer] = {}
        self._watch = DONE, math.inf, -1  # the next heartbeat that is simulated: its timer, time and member

    def has_nothing_for(self, member: int) -> bool:
        """Return whether a member is to have no partitions, as far as that is decided.

        It is False while another target is due, since that may bring the member partitions.
        """
        return self.group.epoch == self.group.target_epoch and not self.group.targets.get(member)

    # Requests.

    def take(self, request: Callable[[], None]) -> None:
        """Take a request that arrives now, as soon as the coordinator is neither down nor busy.

        A request that must wait is taken again later, after requests that already wait for the same time. If
        the coordinator is busy again by then, it waits once more.
        """
        free_ms = max(self.down_ms, self.busy_ms)
        if free_ms > self._world.now_ms:
            self._timers.at(free_ms, lambda: self.take(request))
        else:
            request()

    def join(self, client: MemberClient, owned: Collection[int]) -> Answer | Error:
        """Answer a member's first heartbeat, or its JoinGroup, which reports `owned` partitions.

        The result is an error if the member may not join.
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
        # `migrates` is read before the group acts, because afterwards the previous member is no longer in the
        # group.
        migrates = before is not None and not group.members[before].classic
        answer = group.join(member, now_ms, owned)
        if isinstance(answer, Error):
            return answer
        self.clients[client.member] = client
        # A static member is back, perhaps under another member id. Cancel the timers of its previous
        # membership.
        if before is not None:
            absence = self._forget_session(before)
            if absence is not None:
                world.ledger.causes[absence] = f"{client.configured.name} was away"
            self._watch_deadline(before, math.inf)
            self.beats.remove(before)
        if before is not None or not is_member:
            self.beats.add(client.member, now_ms, client.every_ms, moves=not client.classic)
        text = f"{client.configured.name} joined"
        # A member that the group knows, or a static one that is back, raises the epoch only if something
        # about it is new. So its join is not certainly the reason.
        self._follow(text, None, client.member, certain=before is None and not is_member)
        if migrates and group.only_classic:
            self._downgrade(None)
        return answer

    def sync(self, client: MemberClient) -> Answer | Error:
        """Answer SyncGroup of a member of the classic protocol.

        If the group refuses the request, the answer's partitions are None, which makes the client join once
        more.
        """
        member = self.group.members.get(client.member)
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        assigned = self.group.sync(client.member, member.epoch, self._world.now_ms)
        self._follow("", None, client.member)
        return Answer(member.epoch, None if isinstance(assigned, Error) else assigned)

    def _member(self, client: MemberClient) -> GroupMember:
        """Return a client as the coordinator would store it.

        Each call makes a new object, with the state of a member that has just come. `ConsumerGroup.join` uses
        it for a member that is new or replaces another one.
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
        """Answer a heartbeat; `owned` is given if the member reports that it has reached its assignment.

        The answer tells a member of the classic protocol whether to join again.
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

        Nothing happens if it is no member any more. `text` and `cause` are the reason, in words and as a
        number.

        Timers are cancelled before the group drops the member. If only members of the classic protocol are
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
            self._downgrade(RebalanceReason(text, cause))
            return
        self.epochs.on_reached(member)
        self._follow(text, cause, member)
        if not self.group.members:
            self.epochs.on_empty()

    def leave_for_a_while(self, member: int) -> None:
        """Keep the place of a static member that has said that it will be back."""
        if member in self.group.members:
            self.group.leave_for_a_while(member)
            self._follow("", None, member)

    def fall_silent(self, member: int, heard_ms: float, absence: int) -> None:
        """Record that a member is silent; the coordinator drops it when its session ends.

        From now on no rebalance waits for it. Its partitions stay its own until its session ends.

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

        The result is the cause of its partitions' pauses; it is None if the member was not silent.
        """
        self.beats.speak(member)
        absence = self._forget_session(member)
        self._look_ahead()
        return absence

    def failover(self, now_ms: float, until_ms: float) -> None:
        """Answer no member until `until_ms`, when another broker has loaded the group.

        All sessions start again at that time.
        """
        self.down_ms = until_ms
        self.beats.postpone(now_ms, until_ms, self._world.random)
        for member, (timer, absence) in list(self._sessions.items()):
            timer.cancel()
            self._watch_session(member, until_ms, absence)
        self._look_ahead()

    def on_growth(self, topic: int, *, created: bool) -> None:
        """Record that a topic has more partitions, or was created."""
        self.group.topic_changed(self._world.partitions.topics[topic], created=created)
        self._look_ahead()

    def enter(self, client: MemberClient, beats_ms: float) -> None:
        """Add one of the members at time 0, with a heartbeat at `beats_ms`; `begin` makes a group of them.

        Its heartbeats before time 0 count as sent, so `beats_ms` may be negative; it is in milliseconds.
        """
        self.clients[client.member] = client
        self.beats.add(client.member, beats_ms, client.every_ms, moves=not client.classic)

    def begin(self) -> None:
        """Make the members that were entered the stable group at time 0.

        The target counts as computed `settled_ms` before time 0. So a group that has been quiet for an
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
        change = AssignmentDelta.between(now.owner, now.position, owner, position)
        world.ledger.own(*change, 0.0, self.epochs.cause)
        world.ledger.begin(0.0)
        for number, client in self.clients.items():
            client.begin_as_member(group.members[number].assigned)

    def adopt(self, clients: Iterable[MemberClient], generation: int) -> None:
        """Make the members of a classic group the members of this group, which has none yet.

        `generation` is the generation of the classic group.

        Members keep the partitions they were assigned last, at the same positions of their lists. The epoch
        does not rise, so no partition moves until something raises it.
        """
        group, ledger = self.group, self._world.ledger
        members = []
        for client in clients:
            self.clients[client.member] = client
            member = self._member(client)
            assigned = ledger.owned_partitions(client.member)
            member.assigned = frozenset(assigned.tolist())
            self._targets.adopt(client.member, assigned, ledger.now.position[assigned])
            members.append(member)
        group.adopt(members, generation)
        self._epoch = group.epoch

    # The effects of requests on timers, targets and heartbeats.

    def _follow(self, text: str, cause: int | None, member: int, *, certain: bool = True) -> None:
        """Record why a request moved the group, lead members to a new target, and set timers.

        This is called after every request, since each may have raised the epoch, computed a target or moved a
        member. The order of the steps is that of cause and effect.

        Args:
            text: the reason in words, empty if the request itself is not a reason.
            cause: the number of the reason; None if it has none yet.
            member: the member that the request was about.
            certain: True if the request raises the epoch; False if new partitions that were noticed may have
                raised it instead.
        """
        group = self.group
        if group.epoch != self._epoch:
            self._epoch = group.epoch
            for reason, number in self._reasons(text, cause, certain=certain):
                self.epochs.request(reason, number)
        if self._computed:
            self._computed = False
            self._on_new_target()
            # If the epoch rose once more after the target was computed, another target is due for the same
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
        """Return the reasons why the epoch rose, in words and by number.

        Reasons are topics whose new partitions were noticed, and the member that came or went.
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

        Until the assignor is done, partitions that the target moves and that wait for an owner are in
        COMPUTING.
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
        """End the assignor's work; partitions that waited for it now wait for their next owner.

        Partitions whose phase has changed meanwhile, because their new owner left or was dropped, stay as
        they are.
        """
        still = partitions[self._world.ledger.now.phase[partitions] == Phase.COMPUTING]
        self._world.ledger.settle(still.tolist(), self._world.now_ms, Phase.PAUSED, None)

    def _look_ahead(self) -> None:
        """Set the timer for the next heartbeat of any member that would move the group.

        All other heartbeats need not be simulated. This is called whenever heartbeats, epochs or topics have
        changed. It keeps the present timer if that is still right.
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
        """Return the owner of each partition by the assignor, -1 for none; be busy while it works.

        The clock of the machine is read only if the scenario measures the assignor. `busy_ms` puts off the
        answer to this request, and all requests that come meanwhile.
        """
        began = time.perf_counter()
        owner = self._targets(group)
        self.busy_ms = self._world.now_ms + assignor_ms(self._world, began)
        self._computed = True
        return owner

    def _strategy(self) -> str:
        """Return the broker's assignor that most members name; the default one if no member names any.

        Members of the classic protocol have no vote, because their strategies are not the broker's. If
        several assignors have the same number of votes, the one that was named first is used, in the order in
        which members joined.
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

        Its process, if it still runs, learns of it with its next request.
        """
        name = self._world.memberships.consumers[member].name
        self._world.note("session-expired", name)
        self.clients[member].on_expelled()
        self.leave(member, f"session of {name} timed out", absence)

    def absence_of(self, member: int) -> int | None:
        """Return the cause of a silent member's pauses; None if it is not silent."""
        return self._sessions[member][1] if member in self._sessions else None

    def _forget_session(self, member: int) -> int | None:
        """End the silence of a member; return the cause of its pauses, None if it was not silent."""
        timer, absence = self._sessions.pop(member, (DONE, None))
        timer.cancel()
        return absence

    def _watch_deadline(self, member: int, deadline_ms: float) -> None:
        """Plan to expel a member at a time, unless it revokes or joins again before; infinite means never."""
        self._deadlines.pop(member, DONE).cancel()
        if deadline_ms < math.inf:
            self._deadlines[member] = self._timers.at(deadline_ms, lambda: self._expel(member))

    def _expel(self, member: int) -> None:
        """Expel a member that did not revoke or join again within its rebalance timeout.

        Its partitions stop without a commit, and are free for other members at once. Its session ends, too.
        """
        name = self._world.memberships.consumers[member].name
        text = f"{name} did not give its partitions up in time"
        cause = self._world.ledger.cause(text)
        self._world.ledger.halt_member(member, self._world.now_ms, Phase.PAUSED, cause, committed=False)
        self.clients[member].on_expelled()
        self.leave(member, text, cause)
