"""Model clients of the classic protocol in a consumer group (KIP-848) during a migration.

The coordinator asks such a client to join again in the answer to a heartbeat, once for each new target and
whenever it could get more partitions. It answers JoinGroup and SyncGroup at once.
"""

import math
from enum import Enum
from functools import partial
from typing import ClassVar

from numpy.random import Generator

from copartition.simulation.group.client_states import (
    ClassicClientState,
    ClientEvent,
    ClientMove,
    ClientMoves,
    go,
    stay,
)
from copartition.simulation.group.consumer_client import Client
from copartition.simulation.group.consumer_group import NOTHING, Answer, Error
from copartition.simulation.group.group_coordinator import GroupCoordinator
from copartition.simulation.group.leader import speaks_eager
from copartition.simulation.group.memberships import Process
from copartition.simulation.group.timers import Timers
from copartition.simulation.group.world import World
from copartition.simulation.inputs.durations import draw
from copartition.simulation.outcome.timeline import Phase

_UNJOINED, _PREPARING, _COMPLETING, _STABLE = ClassicClientState


class ClassicClient(Client):
    """A process that speaks the classic protocol, in a group of the consumer protocol; see `Client`.

    The answer to a heartbeat asks it to join again. Under an eager strategy it gives up all partitions before
    it does. Under a cooperative one it joins once more after each assignment that took partitions away.
    """

    classic = True
    first_state: ClassVar[Enum] = _UNJOINED

    def __init__(
        self, world: World, coordinator: GroupCoordinator, timers: Timers, consumer: int, member: int
    ) -> None:
        super().__init__(world, coordinator, timers, consumer, member)
        self._eager = any(speaks_eager(self.configured, world))

    def go_on(self, process: Process) -> None:
        """Go on with a process that was a member of a classic group until now.

        What the process would do next by itself is taken over: it wakes up, continues to read after a slow
        batch, or asks again for the assignment that the old coordinator never sent.
        """
        now_ms, coordinator = self._world.now_ms, self._coordinator
        self.find(process.owned)
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

    def process(self) -> Process:
        """Return what a classic group needs to continue with this process."""
        beats, absence = self._coordinator.beats, self._coordinator.absence_of(self.member)
        assigned = self._coordinator.group.members[self.member].assigned
        rebalances = self.state in (_PREPARING, _COMPLETING)
        return Process(
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
        late_ms = float(random.uniform(*self._profile.late_ms))
        return settings.heartbeat_interval_ms + late_ms, settings.session_timeout_ms

    @property
    def _in_background(self) -> bool:
        """True if it joins again without waiting for its application to poll."""
        return self._profile.in_background(eager=self._eager)

    def _hear_error(self, error: Error) -> None:
        """Join again if the coordinator asks for it; handle all other errors as `Client` does."""
        if error is Error.REBALANCE_IN_PROGRESS:
            self._on(ClientEvent.REBALANCE)
        else:
            super()._hear_error(error)

    def _arrive(self) -> None:
        """Handle the JoinGroup at the coordinator."""
        self._ask(lambda: self._coordinator.join(self, self.owned), self._hear_joined, self._life)

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

    # What the table has it do.

    def join_when_free(self) -> None:
        """Join again: at once if the client does so in the background, else when its application polls."""
        self._poll_at(self._world.now_ms if self._in_background else self._polls_ms())

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

        It is inside `poll` unless it has joined in the background.
        """
        self._poll_at(self._polls_ms() if self._in_background else self._world.now_ms)

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
        (_UNJOINED, ClientEvent.FOUND): ClientMove(_STABLE),
        (_UNJOINED, ClientEvent.STARTED): ClientMove(_PREPARING),
        (_STABLE, ClientEvent.REBALANCE): ClientMove(_PREPARING, (join_when_free,)),
        # The coordinator repeats this in answers to later heartbeats.
        **stay((_UNJOINED, _PREPARING, _COMPLETING), ClientEvent.REBALANCE),
        **stay(ClassicClientState, ClientEvent.UNCHANGED, Client.expect_nothing),
        (_PREPARING, ClientEvent.POLLED): ClientMove(_PREPARING, (prepare,)),
        (_PREPARING, ClientEvent.DONE): ClientMove(_PREPARING, (Client.join,)),
        # A static member whose application is late is still a member, and hears answers.
        **go((_PREPARING, _UNJOINED), ClientEvent.JOINED, _COMPLETING, sync),
        **go(
            (_COMPLETING, _UNJOINED),
            ClientEvent.SYNCED,
            _STABLE,
            Client.await_partitions,
            Client.expects_news,
        ),
        **go(
            (_COMPLETING, _UNJOINED),
            ClientEvent.ASSIGNED,
            _COMPLETING,
            Client.await_partitions,
            open_when_free,
        ),
        **go((_COMPLETING, _UNJOINED), ClientEvent.UNASSIGNED, _PREPARING, join_when_free),
        (_COMPLETING, ClientEvent.POLLED): ClientMove(_COMPLETING, (Client.call_back,)),
        (_COMPLETING, ClientEvent.DONE): ClientMove(_STABLE, (Client.expects_news,)),
        # Only a new join tells the coordinator that the partitions are free.
        (_COMPLETING, ClientEvent.DONE_REVOKING): ClientMove(_PREPARING, (prepare,)),
        # The coordinator will ask again. A request that is on its way is no reason for this event.
        **go((_PREPARING, _COMPLETING), ClientEvent.FROZEN, _STABLE),
        (_STABLE, ClientEvent.WOKEN): ClientMove(_STABLE, (catch_up,)),
        (_STABLE, ClientEvent.ASSIGNED): ClientMove(_COMPLETING, (Client.await_poll,)),
        **stay((_PREPARING, _COMPLETING), ClientEvent.WOKEN),
        **go(ClassicClientState, ClientEvent.FORGOTTEN, _UNJOINED, Client.read_on),
        **go(ClassicClientState, ClientEvent.FENCED, _UNJOINED, Client.note_fenced, Client.await_poll),
        (_UNJOINED, ClientEvent.POLLED): ClientMove(_PREPARING, (rejoin,)),
        **go(ClassicClientState, ClientEvent.OVERDUE, _UNJOINED, Client.give_up),
        **go(ClassicClientState, ClientEvent.RETURNED, _PREPARING, Client.lose_commit, rejoin),
        (_PREPARING, ClientEvent.REFUSED): ClientMove(_UNJOINED, (Client.end,)),
    }
    """What the client does about each event. A pair of state and event that is missing cannot happen."""
