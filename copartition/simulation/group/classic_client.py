"""Model clients of the classic protocol in a consumer group (KIP-848) during a migration.

The coordinator asks such a client to join again in the answer to a heartbeat, once for each new target and
whenever it could get more partitions. It answers JoinGroup and SyncGroup at once.
"""

import math

from numpy.random import Generator

from copartition.simulation.group.consumer_client import Client
from copartition.simulation.group.consumer_group import NOTHING, Answer, Error
from copartition.simulation.group.group_coordinator import GroupCoordinator
from copartition.simulation.group.leader import speaks_eager
from copartition.simulation.group.memberships import Process
from copartition.simulation.group.timers import DONE, Timers
from copartition.simulation.group.world import World
from copartition.simulation.inputs.durations import draw
from copartition.simulation.outcome.timeline import Phase


class ClassicClient(Client):
    """A process that speaks the classic protocol, in a group of the consumer protocol; see `Client`.

    The answer to a heartbeat asks it to join again. Under an eager strategy it gives up all partitions before
    it does. Under a cooperative one it joins once more after each assignment that took partitions away.
    """

    classic = True

    def __init__(
        self, world: World, coordinator: GroupCoordinator, timers: Timers, consumer: int, member: int
    ) -> None:
        super().__init__(world, coordinator, timers, consumer, member)
        self._eager = any(speaks_eager(self.configured, world))
        self._revoked = False  # whether the last assignment took partitions away

    def go_on(self, process: Process) -> None:
        """Go on with a process that was a member of a classic group until now.

        What the process would do next by itself is taken over: it wakes up, continues to read after a slow
        batch, or asks again for the assignment that the old coordinator never sent.
        """
        now_ms, coordinator = self._world.now_ms, self._coordinator
        self.owned = self.assigned = process.owned
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
            self._timers.at(asks_ms, self._join_again)

    def process(self) -> Process:
        """Return what a classic group needs to continue with this process."""
        beats, absence = self._coordinator.beats, self._coordinator.absence_of(self.member)
        assigned = self._coordinator.group.members[self.member].assigned
        return Process(
            self.consumer,
            self.member,
            assigned if self._reconciling else self.owned,
            beats.last_ms(self.member, self._world.now_ms),
            self.every_ms,
            self.busy_ms,
            -math.inf if absence is None else self.wakes_ms if self._asleep and not self.gone else math.inf,
            beats.last_ms(self.member, min(self._slept_ms, self._world.now_ms)),
            absence,
            self._reconciling,
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
            self._join_again()
        else:
            super()._hear_error(error)

    def _join_again(self) -> None:
        """Join again, at once if the client does so in the background, else when its application polls.

        The request to join again is dropped if the client is joining or working on an assignment; the
        coordinator repeats it in answers to later heartbeats.
        """
        if not self._reconciling:
            self._reconciling = True
            self._do_at(self._world.now_ms if self._in_background else self._polls_ms(), self._prepare)

    def _prepare(self) -> None:
        """Get ready to join again; under an eager strategy the client first gives up all its partitions.

        A cooperative client keeps all its partitions and names them in JoinGroup.
        """
        self._step = DONE
        now_ms = done_ms = self._world.now_ms
        if self._eager and self.owned:
            self._release(self.owned, Phase.PAUSED, self._coordinator.epochs.cause, commits=True)
            done_ms += draw(self._costs.revoke_ms, self._world.random)
            self.owned = self.assigned = NOTHING
            self.stands_ms = now_ms
        self._do_at(done_ms, self._join)

    def _arrive(self) -> None:
        """Handle the JoinGroup at the coordinator; the client reconciles until SyncGroup is answered."""
        self._reconciling = True
        self._ask(lambda: self._coordinator.join(self, self.owned), self._on_joined, self._life)

    def _on_joined(self, _: Answer) -> None:
        """Handle the answer to JoinGroup, and send SyncGroup.

        Its heartbeats start again at this time.
        """
        self._beat.cancel()
        self._coordinator.beats.restart(self.member, self._world.now_ms)
        self._send(lambda: self._coordinator.sync(self), self._on_synced)

    def _on_synced(self, answer: Answer) -> None:
        """Handle the answer to SyncGroup; if that has no assignment, the client joins once more.

        A client that is inside `poll` works on the assignment at once. One that joined in the background
        waits for its application to poll.
        """
        self._reconciling = False
        if answer.partitions is None:
            self._join_again()
            return
        self.assigned = answer.partitions
        self._await_partitions()
        if self.assigned == self.owned:
            self.expects_news()
        elif self._in_background:
            self._catch_up()
        else:  # it is inside `poll`
            self._reconciling = True
            self._reconcile()

    def _catch_up(self) -> None:
        """Begin to work on the last assignment, unless the client is joining or working on another."""
        if self.assigned != self.owned and not self._reconciling:
            self._reconciling = True
            self._do_at(self._polls_ms(), self._reconcile)

    def _reconcile(self) -> None:
        """Let the application poll, and remember whether the assignment takes partitions away."""
        self._revoked = not self.owned <= self.assigned
        super()._reconcile()

    def _acknowledge(self, assigned: frozenset[int]) -> None:  # noqa: ARG002 - it acknowledges by joining
        """Join again if partitions were given up: only this tells the coordinator that they are free."""
        self._step, self._polled, self._reconciling = DONE, False, False
        if self._revoked:
            self._reconciling = True
            self._prepare()
        else:
            self.expects_news()

    def _rejoin(self) -> None:
        """Begin a new membership, which has a new member id.

        A client of the consumer protocol keeps its member id then. A classic client gets a new one, so a
        membership is added.
        """
        self.member = self._world.memberships.add(self.consumer, self.configured)
        super()._rejoin()
