"""Model a classic group as the main loop sees it: events of processes, and the coordinator behind them.

`ClassicProtocol` knows processes and what happens to them, `ClassicGroup` knows members and the barrier, and
`RebalanceNotifier` knows when clients answer. `ClassicProtocol` calls the other two. They call it back only
for members that are late.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from copartition.simulation.group.classic_group import ClassicGroup
from copartition.simulation.group.classic_states import ClassicGroupState
from copartition.simulation.group.client_states import REBALANCING, ClassicClientState
from copartition.simulation.group.clients import BEHAVIOURS, draw_batches
from copartition.simulation.group.leader import (
    Decisions,
    require_shared_strategy,
    share_strategy,
    speaks_consumer_protocol,
    speaks_eager,
)
from copartition.simulation.group.members import Members, RebalanceNotifier
from copartition.simulation.group.memberships import Handover, MemberProcess, RebalanceReason
from copartition.simulation.group.timers import Plans, Timers, first_after
from copartition.simulation.group.world import World
from copartition.simulation.inputs.durations import draw
from copartition.simulation.inputs.events import REFUSED, Consumer
from copartition.simulation.ledger import JOINING, rows_of
from copartition.simulation.outcome.timeline import Phase
from partitioning.errors import ScenarioError


class ClassicProtocol:
    """A classic group at a moment in time; see `copartition.simulation.group.world.Engine`.

    `upgrade` is called if a consumer joins that speaks the consumer protocol (KIP-848). It gets the group as
    it is, the consumer's number, and the time at which its process started.

    Consumers are numbers of `World.consumers`, members are numbers of `World.memberships`; `_member` maps a
    consumer to its last membership. `_plans` has the timers of each consumer's process. An event of a process
    cancels or postpones them, so that a dead or stalled process does nothing. The columns of members and the
    timers belong to this class; `ClassicGroup` and `RebalanceNotifier` share them.
    """

    def __init__(
        self, world: World, decisions: Decisions, upgrade: Callable[[Handover, int, float], None]
    ) -> None:
        self._upgrade = upgrade
        self._world = world
        self._members = Members(world.scenario.settings)
        self._timers = Timers()
        # `_leave_when_overdue` is called for a batch that takes too long, `_on_expelled` for a member that
        # the barrier no longer waits for.
        self._notifier = RebalanceNotifier(world, self._members, self._leave_when_overdue)
        self._group = ClassicGroup(
            world, decisions, self._members, self._timers, self._notifier, self._on_expelled
        )
        self._settings = world.scenario.settings
        self._costs = world.scenario.costs
        self._member: dict[int, int] = {}  # the last membership of each consumer
        self._plans: dict[int, Plans] = {}  # what a consumer's process will do by itself

    @property
    def members(self) -> int:
        """The number of members the coordinator counts; see `Engine`."""
        return len(self._members)

    def start(self, consumer: int, now_ms: float) -> None:
        """Find the coordinator and send JoinGroup, which a dynamic member sends twice (KIP-394)."""
        # FindCoordinator takes a round trip, and JoinGroup half of one until it arrives. The first JoinGroup
        # of a dynamic member is answered with its member id, which takes one more round trip.
        rounds = 1.5 if self._world.consumers[consumer].static else 2.5
        arrives_ms = now_ms + rounds * self._world.network_ms(consumer, now_ms)
        self._plan(consumer, arrives_ms, lambda: self._arrive(consumer, now_ms))

    def stop(self, consumer: int, now_ms: float, *, cleanly: bool) -> None:
        """End a process; if it closes and leaves the group, it sends LeaveGroup.

        If LeaveGroup is sent, the partitions wait for the barrier at once, and LeaveGroup arrives a revoke
        callback and half a round trip later. Otherwise the partitions are unnoticed until the session ends.
        """
        self._forget_plans(consumer)
        self._world.ledger.end_process(consumer, now_ms)
        member = self._member_of(consumer)
        if member is None or not self._members.alive[member]:
            return  # the consumer is no longer a member, or its session is running out already
        configured = self._world.consumers[consumer]
        announced = cleanly and now_ms >= self._group.down_ms
        tells = announced and configured.leaves(classic=True)
        text = f"{configured.name} left" if tells else f"session of {configured.name} timed out"
        cause = self._world.ledger.cause(text)
        # Only a member that owns partitions has offsets to commit and a revoke callback to run.
        reads = len(self._world.ledger.owned_partitions(member)) > 0
        load = self._world.scenario.load
        commits = announced and reads and (load is None or load.commit_on_revoke)
        self._stand_still(
            member, now_ms, Phase.PAUSED if tells else Phase.UNNOTICED, cause, committed=commits
        )
        if not tells:
            # A commit counts as a sign of life, so the session of a consumer that closes runs from its last
            # commit.
            heard_ms = now_ms if commits else self._members.last_heard_ms(member, now_ms, reads=reads)
            self._group.fall_silent(member, heard_ms, cause)
            return
        says_ms = now_ms + self._world.network_ms(consumer, now_ms) / 2
        if reads:
            says_ms += draw(self._costs.revoke_ms, self._world.random)
        self._timers.soon(says_ms, now_ms, lambda: self._group.drop(member, text, cause))

    def slow_poll(self, consumer: int, now_ms: float, until_ms: float) -> None:
        """Keep a consumer's application from calling `poll` until `until_ms`.

        Its partitions wait until then, and so does a barrier. If that takes longer than
        `max.poll.interval.ms`, the client leaves the group meanwhile.
        """
        member = self._member_of(consumer)
        if member is None or self._group.client_state(member) is not ClassicClientState.STABLE:
            return  # the member is dead, or waits for an assignment inside `poll`
        # A second slow batch replaces the first one, so what was planned for the end of the first is
        # cancelled.
        if self._members.busy_ms[member] > now_ms:
            self._forget_plans(consumer)
        name = self._world.consumers[consumer].name
        cause = self._world.ledger.cause(f"{name} was busy")
        self._world.ledger.halt_member(member, now_ms, Phase.UNNOTICED, cause, committed=None)
        self._members.busy_ms[member] = until_ms
        if (
            self._group.state is ClassicGroupState.PREPARING_REBALANCE
            # A member that rejoins in the background does not need its application for that.
            and not self._members.background[member]
        ):
            joins_ms = until_ms + self._world.network_ms(consumer, until_ms) / 2
            self._group.arrives(member, joins_ms, until_ms)
        if not self._leave_when_overdue(member, now_ms, until_ms):
            self._plan(consumer, until_ms, lambda: self._resume(member))

    def stall(self, consumer: int, now_ms: float, until_ms: float) -> None:
        """Stop a process until `until_ms`.

        If the process stands still for longer than its session, it wakes up without knowing that it is no
        longer a member. Otherwise the coordinator never notices, and the process goes on reading where it
        was. Everything that the process would do by itself is put off until it wakes up.
        """
        if consumer in self._plans:
            self._plans[consumer].postpone(until_ms)
        member = self._member_of(consumer)
        if member is None or not self._members.alive[member]:
            return
        ledger = self._world.ledger
        cause = ledger.cause(f"session of {self._world.consumers[consumer].name} timed out")
        had = self._stand_still(member, now_ms, Phase.UNNOTICED, cause, committed=None)
        heard_ms = self._members.last_heard_ms(member, now_ms, reads=len(had) > 0)
        self._group.fall_silent(member, heard_ms, cause)
        self._plan(consumer, until_ms, lambda: self._wake(consumer, member, had, cause))

    def duplicate(self, consumer: int, now_ms: float) -> None:
        """Start a second process with the same instance id, which takes the member over from the first.

        The first process goes on reading until its next heartbeat is refused. Nothing happens to it before
        the second one's JoinGroup arrives (`_take_over`): FindCoordinator takes one round trip, and JoinGroup
        half of one.
        """
        self._forget_plans(consumer)
        arrives_ms = now_ms + 1.5 * self._world.network_ms(consumer, now_ms)
        self._plan(consumer, arrives_ms, lambda: self._take_over(consumer, now_ms))

    def failover(self, now_ms: float, until_ms: float) -> None:
        """Let another broker load the group until `until_ms`; all sessions start again at that time."""
        self._group.failover(now_ms, until_ms)

    def on_growth(self, topic: int, *, created: bool) -> None:
        """Add new partitions to the metadata; a member notices them at a refresh."""
        self._group.metadata.on_growth(topic, created=created)

    def on_racks(self, topic: int) -> None:
        """Change racks in the metadata; the leader may rejoin for them at a refresh."""
        self._group.metadata.on_racks(topic)

    def next_ms(self) -> float:
        """Return the time of the next step; see `Engine`."""
        return min(self._group.barrier_ms(), self._timers.next_ms())

    def advance(self) -> None:
        """Make the next step, a timer or the barrier; see `Engine`.

        If both are due at the same time, the barrier goes first. So a session that ends just then cannot
        change a rebalance that has all its members.
        """
        if self._timers.next_ms() < self._group.barrier_ms():
            self._timers.run()
        else:
            self._group.pass_barrier()

    def settle(self, now_ms: float) -> None:
        """Write to the ledger which members have stopped for the barrier up to now.

        The times at which members stand still are known in advance. So the stops are written only when the
        barrier opens, or when the state is read, as here.
        """
        if self._group.state is ClassicGroupState.PREPARING_REBALANCE:
            self._notifier.stop_all(now_ms, self._group.cause)

    def begin(self) -> None:
        """Make the consumers at time 0 a stable group, whose last rebalance was `Scenario.settled_ms` ago.

        Raises:
            ScenarioError: a consumer's client refuses its strategies, or the consumers have none in common.
        """
        scenario, random = self._world.scenario, self._world.random
        for consumer, configured in enumerate(scenario.consumers):
            if refusal := self._refusal(configured):
                raise ScenarioError(
                    f"{refusal}; {configured.name} would not start", path=f"$.consumers[{consumer}].assignors"
                )
            member = self._describe(consumer, configured)
            self._members.enter(member, 0.0, 0.0)
            # NaN: the last assignment was before time 0, at an unknown time.
            self._members.assigned_ms[member] = math.nan
            self._members.commit_ms[member] = self._world.commits_ms(consumer)
            self._members.metadata_ms[member] = random.uniform(0, self._settings.metadata_max_age_ms)
        rows = self._members.rows
        if len(rows) == 0:
            return
        require_shared_strategy(scenario.consumers, self._world)
        self._group.begin()
        # The last assignment was `settled_ms` ago; at that time the members' heartbeats were in step.
        self._members.base_ms[rows] = [
            -scenario.settled_ms if consumer.beat_ms is None else consumer.beat_ms
            for consumer in scenario.consumers
        ]

    def hand_over(self) -> Handover:
        """Return the group as another kind of group needs it to go on.

        Do not use this engine afterwards. Members stay in the order in which they joined. A member that
        rejoins and still has its partitions reads them again, because there is no barrier any more. A member
        that had given up everything owns nothing.
        """
        now_ms, members, ledger = self._world.now_ms, self._members, self._world.ledger
        self.settle(now_ms)
        owner = ledger.now.owner
        ledger.read(members.staying(owner, owner, now_ms), now_ms, JOINING)
        planned_ms = {consumer: plans.times_ms() for consumer, plans in self._plans.items()}
        processes = []
        for member in members.rows.tolist():
            consumer = int(self._world.memberships.consumer[member])
            planned = planned_ms.pop(consumer, ())
            silence = self._group.silence_of(member)
            if silence is None and not members.alive[member]:
                continue  # the consumer has sent LeaveGroup
            gave_up = members.eager[member] and members.stands_ms[member] <= now_ms
            processes.append(
                MemberProcess(
                    consumer,
                    member,
                    frozenset() if gave_up else frozenset(ledger.owned_partitions(member).tolist()),
                    float(members.base_ms[member]),
                    float(members.every_ms[member]),
                    float(members.busy_ms[member]),
                    max(planned, default=math.inf) if silence else -math.inf,
                    silence[0] if silence else -math.inf,
                    silence[1] if silence else None,
                    self._group.client_state(member) in REBALANCING,
                )
            )
        joining = [(consumer, min(planned)) for consumer, planned in planned_ms.items() if planned]
        return Handover(self._group.leader.generation, processes, joining, self._group.down_ms)

    def adopt(self, handover: Handover, reason: RebalanceReason | None) -> None:
        """Go on with the members of another kind of group, which rebalances now if there is a reason.

        The list of members is in the order in which they joined. A silent member stays silent: its session
        runs on from the time at which it was last heard of, and it wakes up when it would have.
        """
        now_ms, members, world = self._world.now_ms, self._members, self._world
        processes = handover.members
        self._group.down_ms = handover.down_ms
        for process in processes:
            configured = world.memberships.consumers[process.member]
            self._enter(process.consumer, process.member, configured)
            members.enter(process.member, now_ms, now_ms)
            members.base_ms[process.member] = process.base_ms
            members.every_ms[process.member] = process.every_ms
            # A group of the consumer protocol does not know when a member last refreshed its metadata, so
            # that time is drawn from the last interval.
            members.metadata_ms[process.member] -= world.random.uniform(0, self._settings.metadata_max_age_ms)
            members.busy_ms[process.member] = process.busy_ms
            members.carries[process.member] = True
            members.alive[process.member] = process.absence is None
        self._group.adopt_members(handover.generation, [sorted(process.owned) for process in processes])
        if processes and reason is not None:
            self._group.prepare(reason.text, reason.cause)
        for process in processes:
            consumer, member = process.consumer, process.member
            if process.absence is not None:
                self._group.fall_silent(member, process.heard_ms, process.absence)
                if process.wakes_ms < math.inf:
                    had, absence = world.ledger.owned_partitions(member), process.absence
                    self._plan(
                        consumer, process.wakes_ms, partial(self._wake, consumer, member, had, absence)
                    )
            elif process.busy_ms > now_ms:
                self._plan(consumer, process.busy_ms, partial(self._resume, member))
            elif process.joining and reason is not None:
                self._notifier.notify(member, now_ms)
            elif process.joining:
                self._give(process)
        for consumer, at_ms in handover.joining:
            self._plan(consumer, max(at_ms, now_ms), partial(self._arrive, consumer, now_ms))

    def _give(self, process: MemberProcess) -> None:
        """Open the partitions of a member that has just joined, if no rebalance is needed for it.

        Such a member has sent JoinGroup to the old coordinator and got no answer. Partitions that it already
        reads are left alone.
        """
        now_ms, ledger = self._world.now_ms, self._world.ledger
        rows = rows_of(process.owned)
        waiting = rows[ledger.now.phase[rows] != Phase.CONSUMING]
        begins_ms = self._notifier.begins(np.array([process.member], np.int32), now_ms, self._group.cause)
        if len(waiting):
            ledger.open(
                waiting.tolist(), process.member, now_ms, None if begins_ms is None else float(begins_ms[0])
            )

    def _describe(self, consumer: int, configured: Consumer) -> int:
        """Return a new membership of a consumer, with its row of `Members` filled in."""
        member = self._world.memberships.add(consumer, configured)
        self._enter(consumer, member, configured)
        return member

    def _enter(self, consumer: int, member: int, configured: Consumer) -> None:
        """Fill in a member's row, with the lateness of its heartbeats drawn for its client."""
        random, behaviour = self._world.random, BEHAVIOURS[configured.client]
        self._member[consumer] = member
        self._members.make(
            member,
            late_ms=float(random.uniform(*behaviour.late_ms)),
            # One eager strategy in the list makes the whole client eager.
            eager=any(speaks_eager(configured, self._world)),
            behaviour=behaviour,
        )

    def _refusal(self, consumer: Consumer) -> str | None:
        """Return the reason why a consumer's client refuses its list of strategies; None if it does not."""
        refusal = BEHAVIOURS[consumer.client].refusal(eager=speaks_eager(consumer, self._world))
        return refusal and f"{consumer.client} {refusal}"

    def _member_of(self, consumer: int) -> int | None:
        """Return the membership that a consumer has in the group; None if it has none."""
        member = self._member.get(consumer)
        return member if member is not None and member in self._members else None

    def _plans_of(self, consumer: int) -> Plans:
        """Return what a consumer's process will do by itself, to add to it."""
        return self._plans.setdefault(consumer, Plans(self._timers))

    def _plan(self, consumer: int, at_ms: float, action: Callable[[], None]) -> None:
        """Let a process do this at `at_ms`, unless it ends before; at once if that time is past."""
        self._plans_of(consumer).soon(at_ms, self._world.now_ms, action)

    def _forget_plans(self, consumer: int) -> None:
        """Cancel everything that a process would do by itself.

        The consumer is dropped from `_plans`, whose order is that in which `hand_over` lists the processes
        that are about to join.
        """
        if consumer in self._plans:
            self._plans.pop(consumer).forget()

    def _arrive(self, consumer: int, since_ms: float) -> None:
        """Handle the JoinGroup of a process that has been ready since `since_ms`.

        The group lets it in or refuses it; if the process speaks the consumer protocol, the group becomes a
        consumer group.

        A coordinator that is down does not answer, and the client tries again when it is up. `since_ms` stays
        as it was, so the new member's pause includes that wait.
        """
        if self._world.now_ms < self._group.down_ms:
            self._plan(consumer, self._group.down_ms, lambda: self._arrive(consumer, since_ms))
            return
        configured = self._world.consumers[consumer]
        if speaks_consumer_protocol(configured, self._world):
            self._upgrade(self.hand_over(), consumer, since_ms)
            return
        member = self._member_of(consumer) if configured.static else None
        leader, rows, consumers = self._group.leader, self._members.rows, self._world.memberships.consumers
        others = (consumers[row] for row in rows.tolist() if row != member)
        if refusal := self._refusal(configured):
            self._world.refuse(consumer, refusal)
        elif not share_strategy(configured, others, self._world):
            self._world.refuse(consumer, "INCONSISTENT_GROUP_PROTOCOL")
        elif member is None:
            self._group.join(self._describe(consumer, configured), since_ms)
        else:
            # This is a new process, so its strategies may differ from those under which the member joined
            # first.
            consumers[member] = configured
            self._members.eager[member] = any(speaks_eager(configured, self._world))
            changed = leader.choose(rows) != leader.strategy
            self._group.rejoin(member, since_ms, changed=changed)

    def _take_over(self, consumer: int, since_ms: float) -> None:
        """Handle the JoinGroup of a second process with an instance id, ready since `since_ms`.

        The first process does not learn of it: it goes on reading, as a second reader, until its next
        heartbeat is answered with an error. If the first process has ended or stands still, this is an
        ordinary join.
        """
        now_ms, ledger, members = self._world.now_ms, self._world.ledger, self._members
        if now_ms < self._group.down_ms:
            self._plan(consumer, self._group.down_ms, lambda: self._take_over(consumer, since_ms))
            return
        member = self._member_of(consumer)
        if member is None or not members.alive[member]:
            self._arrive(consumer, since_ms)
            return
        name = self._world.consumers[consumer].name
        beats_ms = members.next_beat(member, now_ms)
        fenced_ms = beats_ms + self._world.network_ms(consumer, beats_ms)
        cause = ledger.cause(f"session of {name} timed out")
        had = self._stand_still(member, now_ms, Phase.UNNOTICED, cause, committed=False)
        ledger.zombie(had, member, now_ms, fenced_ms, reads=True)
        self._group.fall_silent(member, now_ms, cause)
        self._arrive(consumer, since_ms)
        # The second process ended the absence at once, so the cause is no longer a session that timed out.
        ledger.causes[cause] = f"{name} was started twice"
        self._plan(consumer, fenced_ms, lambda: self._world.note("fenced", name))

    def _stand_still(
        self, member: int, now_ms: float, phase: Phase, cause: int, *, committed: bool | None
    ) -> NDArray[np.int32]:
        """Stop a process, and return the partitions that it read, by flat index.

        The member may have stopped for a barrier before; that pause counts up to now. `committed` is as in
        `Ledger.halt`.

        Afterwards the member is not alive: it answers no rebalance until it wakes up, returns or joins again.
        """
        members = self._members
        stands_ms = float(members.stands_ms[member])
        if stands_ms <= now_ms:
            self._world.member_pause_ms += now_ms - stands_ms
            row = np.array([member], np.int32)
            self._world.ledger.stop(row, members.stands_ms[row], self._group.cause)
        members.stands_ms[member] = np.nan
        members.alive[member] = False
        return self._world.ledger.halt_member(member, now_ms, phase, cause, committed=committed)

    def _resume(self, member: int) -> None:
        """Let a process go on reading, unless it stands still to rejoin.

        A member that stopped for the barrier while it was busy stays stopped. From now on the rebalance is
        the cause of its pauses.
        """
        if member not in self._members or not self._members.alive[member]:
            return
        now_ms, ledger = self._world.now_ms, self._world.ledger
        if self._group.state is not ClassicGroupState.STABLE and self._members.stands_ms[member] <= now_ms:
            ledger.notice(member, now_ms, self._group.cause, committed=True)
        else:
            ledger.read(ledger.owned_partitions(member), now_ms)

    def _leave_when_overdue(self, member: int, polled_ms: float, polls_ms: float) -> bool:
        """Plan that a client leaves if its application polls too late; return whether that will happen.

        Args:
            member: the member.
            polled_ms: the time of its application's last poll.
            polls_ms: the time of its next poll; the client leaves before it, or not at all.
        """
        consumer = int(self._world.memberships.consumer[member])
        leaves_ms = polled_ms + self._settings.max_poll_interval_ms
        behaviour, members = BEHAVIOURS[self._world.consumers[consumer].client], self._members
        check_ms = behaviour.poll_check_ms
        # Clients check at different times whether the application has polled; see `ClientBehaviour`.
        if behaviour.leaves_after_beat_ms is not None:
            beats = float(members.base_ms[member]), float(members.every_ms[member])
            leaves_ms = first_after(*beats, leaves_ms) + behaviour.leaves_after_beat_ms
        elif check_ms:
            assigned_ms = float(members.assigned_ms[member])
            since_ms = self._world.random.uniform(0, check_ms) if math.isnan(assigned_ms) else assigned_ms
            leaves_ms = first_after(since_ms, check_ms, leaves_ms)
        if leaves_ms >= polls_ms:
            return False
        # The present batch may have begun long ago, so its time may be over already.
        leaves_ms = max(leaves_ms, self._world.now_ms)
        self._plans_of(consumer).at(leaves_ms, lambda: self._give_up(consumer, member, polls_ms))
        return True

    def _give_up(self, consumer: int, member: int, polls_ms: float) -> None:
        """Let a client leave because its application polls too late; a static member only falls silent.

        The application goes on with its batch, and learns nothing before `polls_ms`.
        """
        if member not in self._members or not self._members.alive[member]:
            return
        now_ms, ledger = self._world.now_ms, self._world.ledger
        configured = self._world.consumers[consumer]
        # A static member sends no LeaveGroup, and a coordinator that is down would not hear it.
        tells = not configured.static and now_ms >= self._group.down_ms
        name = configured.name
        text = f"{name} did not poll in time" if tells else f"session of {name} timed out"
        cause = ledger.cause(text)
        self._world.note("left", name, reason="max.poll.interval.ms")
        had = self._stand_still(member, now_ms, Phase.UNNOTICED, cause, committed=False)
        if tells:
            # The member's application goes on with its batch, without new records. The next owner reads the
            # records of this batch again.
            ledger.zombie(had, member, now_ms, polls_ms, reads=False)
            self._group.drop(member, text, cause)
        else:
            heard_ms = self._members.last_heard_ms(member, now_ms, reads=False)
            self._group.fall_silent(member, heard_ms, cause)
        self._plan(consumer, polls_ms, lambda: self._return(consumer, member, had))

    def _on_expelled(self, member: int, cause: int) -> None:
        """Stop a member that the barrier no longer waits for while its application works on a batch.

        A member without a time to join is dead or stalled. The ledger knows that already, so nothing is left
        to do.
        """
        polls_ms = float(self._members.joins_ms[member])
        if not self._members.alive[member] or polls_ms == math.inf:
            return
        consumer, now_ms = int(self._world.memberships.consumer[member]), self._world.now_ms
        had = self._stand_still(member, now_ms, Phase.PAUSED, cause, committed=False)
        self._world.ledger.zombie(had, member, now_ms, polls_ms, reads=False)
        self._plan(consumer, polls_ms, lambda: self._return(consumer, member, had))

    def _return(self, consumer: int, member: int, had: NDArray[np.int32]) -> None:
        """Let a client that is no longer a member join again, after its commit has been refused.

        The refused commit may be the condition of an event that ends the process.
        """
        now_ms = self._world.now_ms
        if len(had) and member not in self._members:
            self._world.note(REFUSED, self._world.consumers[consumer].name, error="UNKNOWN_MEMBER_ID")
        # This is a timer for the present time, not a call, so that an event that waits for the refused commit
        # comes first.
        self._plans_of(consumer).at(now_ms, lambda: self._arrive(consumer, now_ms))

    def _wake(self, consumer: int, member: int, had: NDArray[np.int32], cause: int) -> None:
        """Let a process that stood still continue; its next request shows whether it is still a member."""
        now_ms, ledger = self._world.now_ms, self._world.ledger
        configured = self._world.consumers[consumer]
        if member in self._members:
            ledger.causes[cause] = f"{configured.name} stalled"
            self._members.alive[member] = True
            self._members.base_ms[member] = now_ms
            if self._group.speaks(member):
                self._notifier.notify(member, now_ms + self._world.network_ms(consumer, now_ms))
            self._resume(member)
            return
        # The process is no longer a member and does not know that. It goes on reading until the coordinator
        # has answered and its batch is done.
        _, left_ms = draw_batches(self._costs.poll_ms, self._world.random, 1)
        asks_ms = now_ms + BEHAVIOURS[configured.client].recheck_ms
        told_ms = asks_ms + self._world.network_ms(consumer, asks_ms) + float(left_ms[0])
        ledger.zombie(had, member, now_ms, told_ms, reads=True)
        self._plan(consumer, told_ms, lambda: self._return(consumer, member, had))
