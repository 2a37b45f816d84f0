"""Model what clients of a consumer group (KIP-848) do under either protocol.

`consumer_client` has the clients of the consumer protocol, and `classic_client` those of the classic
protocol. Each class ends with its table of moves, which calls methods of that class and of `Client`.

A request takes half a round trip to arrive, and its answer the other half. `Client` is the state of the
process itself. `GroupMember` is what the coordinator knows of it. The two differ while a message is on its
way.

Sources: Kafka's AbstractMembershipManager and AbstractCoordinator; `benchmarks/rebalances/facts.md`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sized
from enum import Enum
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from copartition.simulation.group.client_states import ClientEvent, ClientMoves
from copartition.simulation.group.clients import BEHAVIOURS, draw_batches, draw_work, resumed_ms
from copartition.simulation.group.consumer_group import NOTHING, Answer, Error
from copartition.simulation.group.group_coordinator import GroupCoordinator
from copartition.simulation.group.timers import DONE, Plans, Timers
from copartition.simulation.group.world import World
from copartition.simulation.inputs.durations import draw
from copartition.simulation.inputs.events import REFUSED
from copartition.simulation.ledger import rows_of
from copartition.simulation.outcome.timeline import Phase


class Client(ABC):
    """One process, from its start to its end.

    Partitions are flat indexes, times are milliseconds. `owned` are the partitions whose records the
    application gets; `assigned` are the ones that the coordinator sent last. What happens to the client is an
    event of `MOVES`, the table of its protocol; `_on` is the only place that changes `state`.

    `_poll` and `_callbacks` are the timers that bring POLLED and DONE, and `_beat` is the only heartbeat that
    is simulated. Everything else that the process will do by itself is in `_plans`, to be cancelled or
    postponed together. Requests and answers on their way are in none of them.

    `_life` counts the memberships: an answer to a request of an earlier membership is dropped.
    """

    classic: ClassVar[bool] = False  # whether the client speaks the classic protocol
    first_state: ClassVar[Enum]  # the state of a process that has not started
    # What the client does about each event. A pair of state and event that is missing cannot happen.
    MOVES: ClassVar[ClientMoves]

    def __init__(
        self,
        world: World,
        coordinator: GroupCoordinator,
        timers: Timers,
        consumer: int,
        member: int,
    ) -> None:
        self.consumer = consumer  # the consumer's number
        self.configured = world.memberships.consumers[member]
        self.member = member  # the number of its membership
        self._behaviour = BEHAVIOURS[self.configured.client]
        self._needed = self._behaviour.polls if self.classic else self._behaviour.consumer_polls
        self._settings = world.scenario.settings
        self.every_ms, self.session_ms = self._intervals(world.random)
        self.state = self.first_state
        # The partitions that the client has, and those that the coordinator has assigned to the client.
        self.owned = self.assigned = NOTHING
        # The time since which the client waits for its first partitions; None: it does not wait.
        self.stands_ms: float | None = None
        # The application does not poll before `busy_ms`, the process stands still until `wakes_ms`, and the
        # join arrives at `joins_ms`. Each of these times may be past.
        self.busy_ms = self.wakes_ms = self.joins_ms = -math.inf
        self.gone = False  # whether the process has ended
        self._life = 0  # the number of its earlier memberships
        self._world = world
        self._coordinator = coordinator
        self._timers = timers
        self._costs = world.scenario.costs
        # The time since which the process stands still, or stood still last; infinite: it never did.
        self._slept_ms = math.inf
        self._beat = DONE  # a heartbeat that is simulated
        self._plans = Plans(timers)  # what the process will do by itself
        self._poll = DONE  # the poll that the client waits for
        self._callbacks = DONE  # the end of the callbacks that run
        # `_had` is kept apart from `owned`: the process goes on with these partitions, while for the group
        # the client has none.
        self._had = rows_of(NOTHING)  # the partitions it had when the coordinator dropped it

    # What differs from one protocol to the other, besides `MOVES`.

    @abstractmethod
    def _intervals(self, random: Generator) -> tuple[float, float]:
        """Return this member's heartbeat interval with its lateness, and its session, in milliseconds."""

    @abstractmethod
    def _notices_ms(self, overdue_ms: float) -> float:
        """Return the time at which the client notices that its application did not poll by `overdue_ms`."""

    @abstractmethod
    def _arrive(self, life: int) -> None:
        """Handle the join at the coordinator; `life` is the number of the membership that sent it."""

    # What people and machines do to the process.

    def start(self, now_ms: float) -> None:
        """Find the coordinator and join; a dynamic member of the classic protocol joins twice (KIP-394).

        The join reaches the coordinator after three times half a round trip: FindCoordinator, its answer, and
        the join itself. A second join takes one more round trip. The client's pause counts from `now_ms`
        until it learns of its first partitions, or that there are none for it.
        """
        self.stands_ms = now_ms
        rounds = 2.5 if self.classic and not self.configured.static else 1.5
        self.joins_ms = now_ms + rounds * self._world.network_ms(self.consumer, now_ms)
        self._on(ClientEvent.STARTED)
        self._plan(self.joins_ms, partial(self._arrive, self._life))

    def begin_as_member(self, partitions: frozenset[int]) -> None:
        """Let the client be a member with these partitions already.

        This is called for the members of the group at time 0, and for members that a group of another kind
        has handed over.
        """
        self.owned = self.assigned = partitions
        self._on(ClientEvent.FOUND)

    def stop(self, now_ms: float, *, cleanly: bool) -> None:
        """End the process; if it closes cleanly, it tells the coordinator once its callbacks are done.

        A process that is no longer a member only ends. Its requests that are on their way are dropped when
        they arrive, except the request that says that the client leaves.
        """
        coordinator, ledger = self._coordinator, self._world.ledger
        self.gone = True
        self._count_pause()
        self._forget_plans()
        ledger.end_process(self.consumer, now_ms)
        if not self._is_member or not coordinator.beats.speaks(self.member):
            return  # the client is no longer a member, or its session is running out already
        name = self.configured.name
        announced = cleanly and now_ms >= coordinator.down_ms
        tells = announced and self.configured.leaves(classic=self.classic)
        text = f"{name} left" if tells else f"session of {name} timed out"
        cause = ledger.cause(text)
        # The request that says that the client leaves is sent after the final commit and, if it has
        # partitions, after the revoke callback.
        says_ms = now_ms + self._world.network_ms(self.consumer, now_ms) / 2
        if self.owned and announced:
            says_ms += draw(self._costs.revoke_ms, self._world.random)
        self._release(
            self.owned | self.assigned, Phase.PAUSED if tells else Phase.UNNOTICED, cause, commits=announced
        )
        if tells:
            coordinator.beats.silence(self.member)
            self._timers.soon(says_ms, now_ms, lambda: coordinator.leave(self.member, text, cause))
            return
        coordinator.fall_silent(self.member, coordinator.beats.last_ms(self.member, now_ms), cause)
        # A static member keeps its session after this. The coordinator only learns that another process may
        # take its place.
        if announced and not self.classic:
            self._timers.soon(says_ms, now_ms, lambda: coordinator.leave_for_a_while(self.member))

    def slow(self, now_ms: float, until_ms: float) -> None:
        """Keep the application at work on one batch until `until_ms`.

        Heartbeats go on, so the coordinator notices nothing unless the client leaves. A second slow batch
        replaces what was planned for the end of the first.
        """
        ledger = self._world.ledger
        if not self._is_member or self._asleep:
            return
        self._plans.forget()
        cause = ledger.cause(f"{self.configured.name} was busy")
        ledger.halt_member(self.member, now_ms, Phase.UNNOTICED, cause, committed=None)
        self.busy_ms = until_ms
        self._on(ClientEvent.BUSY)
        # A poll that the client waits for is later now. Callbacks that have begun are not interrupted.
        if not self._poll.is_done:
            self._poll.cancel()
            self._poll_at(until_ms)

    def stall(self, now_ms: float, until_ms: float) -> None:
        """Stop the process until `until_ms`.

        If the process is not a member yet, or is silent already, it only acts later. Otherwise its session
        runs from its last heartbeat, as after a crash.
        """
        coordinator, ledger = self._coordinator, self._world.ledger
        if self._asleep:
            return
        self._slept_ms, self.wakes_ms = now_ms, until_ms
        if not self._is_member or not coordinator.beats.speaks(self.member):
            self._plans.postpone(until_ms)
            return
        if not (self._poll.is_done and self._callbacks.is_done):
            self._on(ClientEvent.FROZEN)
        self._forget_plans()
        cause = ledger.cause(f"session of {self.configured.name} timed out")
        self._release(self.owned | self.assigned, Phase.UNNOTICED, cause, commits=None)
        coordinator.fall_silent(self.member, coordinator.beats.last_ms(self.member, now_ms), cause)
        self._plan(until_ms, self._wake)

    def on_expelled(self) -> None:
        """Drop all partitions, since the coordinator has dropped the member; the process does not know yet.

        If its application is busy, it goes on with records of partitions that other members may read by now.
        """
        # The client learns that it was dropped with its next request, in `lose_commit` or `_hear_error`.
        self._had = rows_of(self.owned)
        self.owned = self.assigned = NOTHING
        if self.busy_ms > self._world.now_ms and not self.gone:
            self._world.ledger.zombie(self._had, self.member, self._world.now_ms, self.busy_ms, reads=False)

    def expects_news(self) -> None:
        """Simulate the next heartbeat, because its answer may bring news to the client.

        Heartbeats without news are not simulated.
        """
        coordinator = self._coordinator
        if self._beat.is_done and coordinator.beats.speaks(self.member):
            beats_ms = coordinator.beats.next_ms(self.member, self._world.now_ms)
            self._beat = self._timers.at(beats_ms, self.beat)

    def beat(self) -> None:
        """Send a heartbeat that reports no partitions.

        It replaces a planned heartbeat. Its answer brings everything that the coordinator has for the member
        by then.
        """
        self._beat.cancel()
        self._send(lambda: self._coordinator.heartbeat(self, None), self._hear)

    # Requests and their answers.

    def join(self) -> None:
        """Send the join of a membership: its first heartbeat, or JoinGroup."""
        now_ms = self._world.now_ms
        self.joins_ms = now_ms + self._world.network_ms(self.consumer, now_ms) / 2
        self._later(self.joins_ms, partial(self._arrive, self._life))

    def _send(self, request: Callable[[], Answer | Error], hear: Callable[[Answer], None]) -> None:
        """Send a request, which arrives half a round trip later.

        The request arrives even if the process stands still or ends meanwhile. `_ask` and `_receive` handle
        these cases.
        """
        life = self._life
        now_ms = self._world.now_ms
        arrives_ms = now_ms + self._world.network_ms(self.consumer, now_ms) / 2
        self._later(arrives_ms, lambda: self._ask(request, hear, life))

    def _ask(self, request: Callable[[], Answer | Error], hear: Callable[[Answer], None], life: int) -> None:
        """Hand a request that has arrived to the coordinator, and plan the arrival of its answer.

        Args:
            request: the coordinator's work; it is called when the coordinator is neither down nor busy.
            hear: called with the answer, unless a new membership has begun meanwhile.
            life: the number of the membership that sent the request.
        """

        def answer() -> None:
            if self.gone or life != self._life:
                return
            # The coordinator decides now. If this request calls the assignor, the answer comes only when the
            # assignor is done.
            reply = request()
            answered_ms = max(self._world.now_ms, self._coordinator.busy_ms)
            heard_ms = answered_ms + self._world.network_ms(self.consumer, answered_ms) / 2
            self._later(heard_ms, lambda: self._receive(reply, life, hear))

        self._coordinator.take(answer)

    def _receive(self, answer: Answer | Error, life: int, hear: Callable[[Answer], None]) -> None:
        """Receive an answer; a process that stands still receives it when it wakes up.

        An answer to an earlier membership is dropped, since its epoch and partitions belong to that
        membership.
        """
        if self.gone or life != self._life:
            return
        if self._asleep:
            self._timers.at(self.wakes_ms, lambda: self._receive(answer, life, hear))
        elif isinstance(answer, Error):
            self._hear_error(answer)
        # If the client is no member now, it was dropped after its request. Then this answer is ignored, and a
        # later answer will say so.
        elif self._is_member:
            hear(answer)

    def _hear(self, answer: Answer) -> None:
        """Store the assignment of the answer to a heartbeat.

        `answer.partitions` is None if nothing has changed, and always under the classic protocol. An answer
        that repeats the present assignment brings nothing new either.
        """
        if answer.partitions is None or answer.partitions == self.assigned:
            self._on(ClientEvent.UNCHANGED)
        else:
            self.assigned = answer.partitions
            self._on(ClientEvent.ASSIGNED)

    def _hear_error(self, error: Error) -> None:
        """Handle an error: the client must join again, may never join, or is no member any more."""
        if error is Error.REBALANCE_IN_PROGRESS:
            self._on(ClientEvent.REBALANCE)
        elif error in (Error.UNRELEASED_INSTANCE_ID, Error.INCONSISTENT_GROUP_PROTOCOL):
            self._on(ClientEvent.REFUSED)
            self._world.refuse(self.consumer, error.name)
        else:
            busy = self.busy_ms > self._world.now_ms
            self._on(ClientEvent.FENCED_BUSY if busy else ClientEvent.FENCED)

    def _on(self, event: ClientEvent) -> None:
        """Go to the state that the table gives for an event, and do what the table says.

        An action may bring the next event at once, for example if the application polls now. If that has led
        to another state, the remaining actions of the row are out of date and are left out.
        """
        to, actions = self.MOVES[self.state, event]
        self.state = to
        for action in actions:
            if self.state is to:
                action(self)

    # The methods that the tables of both protocols call.

    def await_partitions(self) -> None:
        """Record that the partitions of a new assignment now wait only for this client.

        From here on their pause counts as handover and no longer as waiting at the barrier. They keep their
        causes.
        """
        self._world.ledger.settle(self.assigned - self.owned, self._world.now_ms, Phase.HANDOVER, None)
        if self.assigned or self._coordinator.has_nothing_for(self.member):
            self._count_pause()

    def expect_nothing(self) -> None:
        """End the client's pause if it is to have no partitions."""
        if self._coordinator.has_nothing_for(self.member):
            self._count_pause()

    def work(self) -> None:
        """Let the application work on a slow batch, and then read on, unless the client leaves before."""
        if not self._leaves_when_overdue(self._world.now_ms, self.busy_ms):
            self._plan(self.busy_ms, self._resume)

    def await_return(self) -> None:
        """Plan to join again when the slow batch is done, and to do nothing else before that."""
        self._forget_assignment()
        self._plans.forget()
        self._plan(self.busy_ms, partial(self._on, ClientEvent.RETURNED))

    def await_poll(self) -> None:
        """Wait for the application's next poll, unless the client waits for one or runs callbacks already."""
        if self._poll.is_done and self._callbacks.is_done:
            self._poll_next()

    def call_back(self) -> None:
        """Let the application, which polls, give up the partitions it lost, and open the ones it got.

        The times follow one another: the revoke callback, the assign callback, the first fetch, and with some
        clients batches of the partitions that it keeps. DONE does not wait for the fetch.

        All its partitions stop at once, since its `poll` is inside the callbacks. Kept partitions are read
        again when the callbacks are done.
        """
        now_ms, costs, random = self._world.now_ms, self._costs, self._world.random
        cause, behaviour = self._coordinator.epochs.cause, self._behaviour
        done_ms = resumes_ms = now_ms
        lost, won = self.owned - self.assigned, self.assigned - self.owned
        kept = rows_of(self.owned & self.assigned)
        if lost:
            self._release(lost, Phase.PAUSED, cause, commits=True)
            done_ms += draw(costs.revoke_ms, random)
            if done_ms > now_ms:
                resumes_ms = float(resumed_ms(now_ms, done_ms, behaviour.resume_every_ms))
            done_ms += self._work_ms(kept, self._needed.after_revoking)
        if won:
            done_ms = resumes_ms = done_ms + draw(costs.assign_ms, random)
            begins_ms = done_ms + draw(costs.first_fetch_ms, random)
            begins_ms += self._work_ms(kept, self._needed.to_fetch)
            starts_ms = begins_ms if begins_ms > now_ms else None
            self._world.ledger.open(won, self.member, now_ms, starts_ms)
        if resumes_ms > now_ms and behaviour.calls_back_in_poll:
            self._world.ledger.suspend(kept, now_ms, resumes_ms, cause)
        self.owned = self.assigned
        self._done_at(done_ms, ClientEvent.DONE_REVOKING if lost else ClientEvent.DONE)

    def note_fenced(self) -> None:
        """Write to the log that the client knows it is no member, and drop what it was about to do."""
        self._world.note("fenced", self.configured.name)
        self._forget_assignment()

    def end(self) -> None:
        """End the process, which the coordinator does not let join."""
        self.gone = True
        self._count_pause()

    def rejoin(self) -> None:
        """Begin a new membership without partitions, because the client has learned that it was dropped."""
        self._forget_plans()
        # From here on, answers to requests of the earlier membership are dropped.
        self._life += 1
        self.owned = self.assigned = NOTHING
        self.stands_ms = self._world.now_ms
        # This is a timer, so that an event that waits for the refused commit can end the process before it
        # joins.
        self._plans.at(self._world.now_ms, self.join)

    def _polls_ms(self) -> float:
        """Return the time of the application's next poll, which is when its present batch is done.

        That is now if it has no partitions.
        """
        now_ms = self._world.now_ms
        if self.busy_ms > now_ms:
            return self.busy_ms
        if not self._costs.poll_ms or not self.owned:
            return now_ms  # without partitions there is no batch to work on
        whole_ms, left_ms = (
            float(batch[0]) for batch in draw_batches(self._costs.poll_ms, self._world.random, 1)
        )
        # A batch longer than `max.poll.interval.ms` makes the client leave, perhaps before this poll. The
        # batch began `whole_ms - left_ms` ago.
        if whole_ms > self._settings.max_poll_interval_ms:
            self._leaves_when_overdue(now_ms + left_ms - whole_ms, now_ms + left_ms)
        return now_ms + left_ms

    # What happens to its process.

    def _resume(self) -> None:
        """Go on reading, because the application polls again in time."""
        if self._is_member:
            self._world.ledger.read(rows_of(self.owned), self._world.now_ms)

    def _wake(self) -> None:
        """Go on after standing still as if nothing had happened.

        If the client is still a member, the cause of its pause becomes a stall.
        """
        now_ms, world, coordinator = self._world.now_ms, self._world, self._coordinator
        self.busy_ms = -math.inf
        if not self._is_member:
            self._on(ClientEvent.FORGOTTEN)
            return
        absence = coordinator.speaks(self.member)
        if absence is not None:
            world.ledger.causes[absence] = f"{self.configured.name} stalled"
        # If a heartbeat became due while the process stood still, the process sends one at once.
        if coordinator.beats.next_ms(self.member, self._slept_ms) <= now_ms:
            coordinator.beats.restart(self.member, now_ms)
            self.beat()
        else:
            self.expects_news()
        world.ledger.read(rows_of(self.owned), now_ms)
        self._on(ClientEvent.WOKEN)

    def read_on(self) -> None:
        """Go on reading as a second reader, because the client does not know that its session has ended.

        It reads until an answer says so, or until its batch is done, whichever is later.
        """
        now_ms, world = self._world.now_ms, self._world
        hears_ms = max(self._polls_ms(), now_ms + world.network_ms(self.consumer, now_ms))
        world.ledger.zombie(self._had, self.member, now_ms, hears_ms, reads=True)
        self._plan(hears_ms, partial(self._on, ClientEvent.RETURNED))

    def _leaves_when_overdue(self, polled_ms: float, polls_ms: float) -> bool:
        """Plan that the client leaves if its application polls too late; return whether that will happen.

        Args:
            polled_ms: the time of the application's last poll.
            polls_ms: the time of its next one.
        """
        notices_ms = self._notices_ms(polled_ms + self._settings.max_poll_interval_ms)
        if notices_ms >= polls_ms:
            return False
        # The length of the batch has been drawn and is known now, so it is not drawn again for this poll.
        self.busy_ms = polls_ms
        self._plan(max(notices_ms, self._world.now_ms), partial(self._on, ClientEvent.OVERDUE))
        return True

    def give_up(self) -> None:
        """Let the client leave or fall silent; its application does not know, and goes on with its batch."""
        now_ms, coordinator, ledger = self._world.now_ms, self._coordinator, self._world.ledger
        name = self.configured.name
        self.await_return()
        self._had = rows_of(self.owned)
        if not self._is_member:
            return
        self._world.note("left", name, reason="max.poll.interval.ms")
        tells = (self.classic or self._behaviour.leaves_when_late) and now_ms >= coordinator.down_ms
        if tells and not self.configured.static:
            text = f"{name} did not poll in time"
            cause = ledger.cause(text)
            self._release(self.owned | self.assigned, Phase.PAUSED, cause, commits=False)
            self.on_expelled()
            coordinator.leave(self.member, text, cause)
            return
        cause = ledger.cause(f"session of {name} timed out")
        self._release(self.owned | self.assigned, Phase.UNNOTICED, cause, commits=False)
        coordinator.fall_silent(self.member, coordinator.beats.last_ms(self.member, now_ms), cause)
        if tells and not self.classic:
            coordinator.leave_for_a_while(self.member)
            # The coordinator keeps the static member's assigned partitions. All others that the process holds
            # are free for other members, though the process still works on them.
            kept = coordinator.group.members[self.member].assigned
            lost = rows_of(self.owned - kept)
            ledger.zombie(lost, self.member, now_ms, self.busy_ms, reads=False)
            self.owned &= kept

    def lose_commit(self) -> None:
        """Have the commit of the late batch refused.

        The coordinator may not have dropped the member yet. A member that fell silent tells it now, before it
        joins again.
        """
        name = self.configured.name
        if len(self._had):
            self._world.note(REFUSED, name, error=Error.UNKNOWN_MEMBER_ID.name)
        if self._is_member and self.configured.static:
            self._coordinator.leave_for_a_while(self.member)
        elif self._is_member:
            text = f"{name} did not poll in time"
            self._coordinator.leave(self.member, text, self._world.ledger.cause(text))

    # Helpers.

    @property
    def leaving(self) -> bool:
        """True if the process has closed and sent its leave, which has not arrived at the coordinator yet."""
        return self.gone and self._coordinator.absence_of(self.member) is None

    @property
    def _is_member(self) -> bool:
        """True if this membership is in the coordinator's group."""
        return self.member in self._coordinator.group.members

    @property
    def _asleep(self) -> bool:
        """True if the process stands still now."""
        return self._slept_ms <= self._world.now_ms < self.wakes_ms

    def _release(
        self, partitions: Collection[int], phase: Phase, cause: int, *, commits: bool | None
    ) -> None:
        """Stop reading these partitions; `commits` is as `committed` of `Ledger.halt`."""
        self._world.ledger.halt(partitions, self._world.now_ms, phase, cause, committed=commits)

    def _count_pause(self) -> None:
        """Add to the run's sum, once, the time for which this client waited for its first partitions.

        `stands_ms` is set when the client starts or rejoins, and reset to None here, so each wait is counted
        once.
        """
        if self.stands_ms is not None:
            self._world.member_pause_ms += self._world.now_ms - self.stands_ms
            self.stands_ms = None

    def _later(self, at_ms: float, action: Callable[[], None]) -> None:
        """Do this at `at_ms`, or at once if that time is past, even if the process has ended by then.

        This is for requests and answers: a message on the network arrives, whatever happens to its sender.
        """
        self._timers.soon(at_ms, self._world.now_ms, action)

    def _poll_next(self) -> None:
        """Let the application poll when its present batch is done.

        If the batch lasts too long, `_polls_ms` may have made the client leave; then the client does not wait
        for this poll.
        """
        state = self.state
        polls_ms = self._polls_ms() + self._work_ms(self.owned, self._needed.to_reconcile)
        if self.state is state:
            self._poll_at(polls_ms)

    def _work_ms(self, read: Sized, polls: int) -> float:
        """Return how long the application works on batches of the partitions that it reads, in milliseconds.

        Without such partitions there is no batch to work on.
        """
        if not (polls and self._costs.poll_ms and len(read)):
            return 0.0
        return float(draw_work(self._costs.poll_ms, self._world.random, np.array([polls]))[0])

    def _poll_at(self, at_ms: float) -> None:
        """Let the application poll at `at_ms`; at once if that time is past."""
        if at_ms <= self._world.now_ms:
            self._on(ClientEvent.POLLED)
        else:
            self._poll = self._timers.at(at_ms, partial(self._on, ClientEvent.POLLED))

    def _done_at(self, at_ms: float, event: ClientEvent) -> None:
        """Let callbacks end at `at_ms` with this event; at once if that time is past."""
        if at_ms <= self._world.now_ms:
            self._on(event)
        else:
            self._callbacks = self._timers.at(at_ms, partial(self._on, event))

    def _plan(self, at_ms: float, action: Callable[[], None]) -> None:
        """Let the process do this at `at_ms`, unless it ends before; at once if that time is past."""
        self._plans.soon(at_ms, self._world.now_ms, action)

    def _forget_plans(self) -> None:
        """Cancel everything that the process would do by itself."""
        self._beat.cancel()
        self._forget_assignment()
        self._plans.forget()

    def _forget_assignment(self) -> None:
        """Stop waiting for a poll; callbacks under way end without effect."""
        self._poll.cancel()
        self._callbacks.cancel()
