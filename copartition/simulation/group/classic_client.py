"""Model clients of the classic protocol in a consumer group (KIP-848) during a migration.

The coordinator asks such a client to join again in the answer to a heartbeat, once for each new target and
whenever it could get more partitions. It answers JoinGroup and SyncGroup at once.
"""

import math
from enum import Enum
from functools import partial
from typing import ClassVar

from numpy.random import Generator

from copartition.simulation.group.client import Client
from copartition.simulation.group.client_states import ClassicClientState, ClientEvent, ClientMoves, rows
from copartition.simulation.group.consumer_group import NOTHING, Answer
from copartition.simulation.group.leader import speaks_eager
from copartition.simulation.group.memberships import MemberProcess
from copartition.simulation.inputs.durations import draw
from copartition.simulation.outcome.timeline import Phase

_UNJOINED, _PREPARING, _COMPLETING, _STABLE = ClassicClientState
_MEMBER = (_PREPARING, _COMPLETING, _STABLE)


class ClassicClient(Client):
    """A process that speaks the classic protocol, in a group of the consumer protocol; see `Client`.

    The answer to a heartbeat asks it to join again. Under an eager strategy the client gives up all
    partitions before it joins again. Under a cooperative strategy it joins once more after each assignment
    that took partitions away.
    """

    classic = True
    first_state: ClassVar[Enum] = _UNJOINED

    def go_on(self, process: MemberProcess) -> None:
        """Go on with a process that was a member of a classic group until now.

        What the process would do next by itself is taken over: it wakes up, continues to read after a slow
        batch, or asks again for the assignment that the old coordinator never sent.
        """
        now_ms, coordinator = self._world.now_ms, self._coordinator
        self.begin_as_member(process.owned)
        self.every_ms, self.busy_ms = process.every_ms, process.busy_ms
        coordinator.beats.add(self.member, process.base_ms, self.every_ms, moves=False)
        if process.absence is not None:
            self._slept_ms, self.wakes_ms = now_ms, process.wakes_ms
            self.gone = process.wakes_ms == math.inf
            if not self.gone:
                self._plan(process.wakes_ms, self._wake)
            coordinator.fall_silent(self.member, process.heard_ms, process.absence)
        elif self.busy_ms > now_ms:
            self._plan(self.busy_ms, self._resume)
        elif process.joining:
            asks_ms = now_ms + self._world.network_ms(self.consumer, now_ms) / 2
            self._timers.at(asks_ms, partial(self._on, ClientEvent.REBALANCE))

    def process(self) -> MemberProcess:
        """Return what a classic group needs to continue with this process."""
        beats, absence = self._coordinator.beats, self._coordinator.absence_of(self.member)
        assigned = self._coordinator.group.members[self.member].assigned
        rebalances = self.state in {_PREPARING, _COMPLETING}
        return MemberProcess(
            self.consumer,
            self.member,
            assigned if rebalances else self.owned,
            beats.last_ms(self.member, self._world.now_ms),
            self.every_ms,
            self.busy_ms,
            -math.inf if absence is None else self.wakes_ms if self._asleep and not self.gone else math.inf,
            beats.last_ms(self.member, min(self._slept_ms, self._world.now_ms)),
            absence,
            rebalances,
        )

    def _intervals(self, random: Generator) -> tuple[float, float]:
        """Return the milliseconds of a member's heartbeat interval and session, by its classic settings."""
        settings = self._settings
        late_ms = float(random.uniform(*self._behaviour.late_ms))
        return settings.heartbeat_interval_ms + late_ms, settings.session_timeout_ms

    def _notices_ms(self, overdue_ms: float) -> float:
        """Return the time of the first check after `overdue_ms`; checks have an interval of their own."""
        return overdue_ms + float(self._world.random.uniform(0, self._behaviour.poll_check_ms))

    @property
    def _eager(self) -> bool:
        """True if one of the client's strategies is eager, which makes the whole client eager."""
        return any(speaks_eager(self.configured, self._world))

    @property
    def _in_background(self) -> bool:
        """True if the client joins again without waiting for its application to poll."""
        return self._behaviour.in_background(eager=self._eager)

    def _arrive(self, life: int) -> None:
        """Handle the JoinGroup at the coordinator; `life` is the number of the membership that sent it."""
        self._ask(lambda: self._coordinator.join(self, self.owned), self._hear_joined, life)

    def _hear_joined(self, _: Answer) -> None:
        """Handle the answer to JoinGroup, which brings no partitions yet."""
        self._on(ClientEvent.JOINED)

    def _hear_synced(self, answer: Answer) -> None:
        """Handle the answer to SyncGroup; its partitions are None if the client must join once more."""
        if answer.partitions is None:
            self._on(ClientEvent.UNASSIGNED)
            return
        self.assigned = answer.partitions
        self._on(ClientEvent.SYNCED if self.assigned == self.owned else ClientEvent.ASSIGNED)

    # The methods that only this `MOVES` calls.

    def join_when_free(self) -> None:
        """Join again: at once if the client does so in the background, else when its application polls."""
        if self._in_background:
            self._poll_at(self._world.now_ms)
        else:
            self._poll_next()

    def prepare(self) -> None:
        """Get ready to join again; under an eager strategy the client first gives up all its partitions.

        A cooperative client keeps all its partitions and names them in JoinGroup.
        """
        now_ms = done_ms = self._world.now_ms
        if self._eager and self.owned:
            self._release(self.owned, Phase.PAUSED, self._coordinator.epochs.cause, commits=True)
            done_ms += draw(self._costs.revoke_ms, self._world.random)
            self.owned = self.assigned = NOTHING
            self.stands_ms = now_ms
        self._done_at(done_ms, ClientEvent.DONE)

    def sync(self) -> None:
        """Send SyncGroup; the client's heartbeats start again at this time."""
        self._beat.cancel()
        self._coordinator.beats.restart(self.member, self._world.now_ms)
        self._send(lambda: self._coordinator.sync(self), self._hear_synced)

    def open_when_free(self) -> None:
        """Work on the assignment: at once if the client is inside `poll`, else when its application polls.

        A client is inside `poll` unless it has joined in the background.
        """
        if self._in_background:
            self._poll_next()
        else:
            self._poll_at(self._world.now_ms)

    def catch_up(self) -> None:
        """Go on with an assignment that the client had not opened when its process stood still."""
        if self.assigned != self.owned:
            self._on(ClientEvent.ASSIGNED)

    def rejoin(self) -> None:
        """Begin a new membership, which has a new member id.

        A client of the consumer protocol keeps its member id then. A classic client gets a new one, so a
        membership is added.
        """
        self.member = self._world.memberships.add(self.consumer, self.configured)
        super().rejoin()

    MOVES: ClassVar[ClientMoves] = {
        **rows(ClientEvent.FOUND, (_UNJOINED,), _STABLE),
        **rows(ClientEvent.STARTED, (_UNJOINED,), _PREPARING),
        **rows(ClientEvent.REBALANCE, (_STABLE,), _PREPARING, join_when_free),
        # The coordinator repeats in its answers to later heartbeats that the group rebalances.
        **rows(ClientEvent.REBALANCE, (_UNJOINED, _PREPARING, _COMPLETING), None),
        **rows(ClientEvent.UNCHANGED, ClassicClientState, None, Client.expect_nothing),
        **rows(ClientEvent.POLLED, (_PREPARING,), None, prepare),
        **rows(ClientEvent.DONE, (_PREPARING,), None, Client.join),
        **rows(ClientEvent.JOINED, (_PREPARING,), _COMPLETING, sync),
        **rows(ClientEvent.SYNCED, (_COMPLETING,), _STABLE, Client.await_partitions, Client.expects_news),
        **rows(ClientEvent.ASSIGNED, (_COMPLETING,), None, Client.await_partitions, open_when_free),
        **rows(ClientEvent.UNASSIGNED, (_COMPLETING,), _PREPARING, join_when_free),
        **rows(ClientEvent.POLLED, (_COMPLETING,), None, Client.call_back),
        **rows(ClientEvent.DONE, (_COMPLETING,), _STABLE, Client.expects_news),
        # These answers come for a static member that became overdue after it had sent the request. As in
        # Kafka, the client ignores them.
        **rows(ClientEvent.JOINED, (_UNJOINED,), None),
        **rows(ClientEvent.SYNCED, (_UNJOINED,), None),
        **rows(ClientEvent.ASSIGNED, (_UNJOINED,), None),
        **rows(ClientEvent.UNASSIGNED, (_UNJOINED,), None),
        # Only a new join tells the coordinator that the revoked partitions are free.
        **rows(ClientEvent.DONE_REVOKING, (_COMPLETING,), _PREPARING, prepare),
        # The coordinator will ask the client again to join. FROZEN does not come while a request is on its
        # way.
        **rows(ClientEvent.FROZEN, (_PREPARING, _COMPLETING), _STABLE),
        **rows(ClientEvent.WOKEN, (_STABLE,), None, catch_up),
        **rows(ClientEvent.ASSIGNED, (_STABLE,), _COMPLETING, Client.await_poll),
        **rows(ClientEvent.WOKEN, (_PREPARING, _COMPLETING), None),
        **rows(ClientEvent.FORGOTTEN, _MEMBER, _UNJOINED, Client.read_on),
        **rows(ClientEvent.FENCED, ClassicClientState, _UNJOINED, Client.note_fenced, Client.await_poll),
        **rows(ClientEvent.POLLED, (_UNJOINED,), _PREPARING, rejoin),
        # The client joins again when the batch is done. If it is waiting for that already, it ignores the
        # answer, as Kafka's client does.
        **rows(ClientEvent.FENCED_BUSY, _MEMBER, _UNJOINED, Client.note_fenced, Client.await_return),
        **rows(ClientEvent.FENCED_BUSY, (_UNJOINED,), None),
        **rows(ClientEvent.BUSY, _MEMBER, None, Client.work),
        **rows(ClientEvent.BUSY, (_UNJOINED,), None, Client.await_return),
        **rows(ClientEvent.OVERDUE, _MEMBER, _UNJOINED, Client.give_up),
        **rows(ClientEvent.RETURNED, (_UNJOINED,), _PREPARING, Client.lose_commit, rejoin),
        **rows(ClientEvent.REFUSED, (_PREPARING, _UNJOINED), _UNJOINED, Client.end),
    }
    """What the client does about each event. A pair of state and event that is missing cannot happen."""
