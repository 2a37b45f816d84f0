"""A client of the classic protocol in a group of the consumer protocol, while that is migrated (KIP-848).

The coordinator tells it at its heartbeat to join again, for each new target once and whenever it could get
more; JoinGroup and SyncGroup are answered at once, with what it may have by then.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from copartition.simulation.group.consumer_client import Client
from copartition.simulation.group.consumer_group import NOTHING, Answer, Error
from copartition.simulation.group.leader import speaks_eager, strategies_of
from copartition.simulation.group.processes import Process
from copartition.simulation.inputs.durations import draw
from copartition.simulation.outcome.timeline import Phase

if TYPE_CHECKING:
    from numpy.random import Generator

    from copartition.simulation.group.group_coordinator import GroupCoordinator
    from copartition.simulation.group.timers import Timers
    from copartition.simulation.group.world import World


class ClassicClient(Client):
    """One process; see `Client`."""

    classic = True

    def __init__(
        self, world: World, coordinator: GroupCoordinator, timers: Timers, consumer: int, member: int
    ) -> None:
        super().__init__(world, coordinator, timers, consumer, member)
        self._eager = any(speaks_eager(strategies_of(self.configured, world)))
        self._revoked = False  # whether the last assignment took something away

    def start(self, now_ms: float) -> None:
        """Find the coordinator and join, a dynamic one twice (KIP-394)."""
        self.stands_ms = now_ms
        rounds = 1 if self.configured.static else 2
        self.joins_ms = now_ms + (rounds + 0.5) * self._costs.network_ms
        self._plan(self.joins_ms, self._arrive)

    def beat(self) -> None:
        """Ask whether it must join again."""
        self._forget_beat()
        self._send(lambda: self._coordinator.ask(self), self._hear)

    def go_on(self, process: Process) -> None:
        """It was a member of a classic group until now."""
        now_ms, coordinator = self._world.now_ms, self._coordinator
        self.owned = self.told = process.owned
        self.every_ms, self.busy_ms = process.every_ms, process.busy_ms
        coordinator.beats.add(self.member, process.base_ms, self.every_ms, moves=False)
        if process.absence is not None:
            self._slept_ms, self.wakes_ms = now_ms, process.wakes_ms
            if process.wakes_ms < math.inf:
                self._plan(process.wakes_ms, self._wake)
            coordinator.silent(self.member, process.heard_ms, process.absence)
        elif self.busy_ms > now_ms:
            self._plan(self.busy_ms, self._resume)
        elif process.joining:
            self._timers.at(now_ms + self._costs.network_ms / 2, self._join_again)

    def process(self) -> Process:
        """What a classic group must know to go on with it."""
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
        settings = self._settings
        late_ms = float(random.uniform(*self._profile.late_ms))
        return settings.heartbeat_interval_ms + late_ms, settings.session_timeout_ms

    @property
    def _in_background(self) -> bool:
        return self._profile.joins_in_background and not self._eager

    def _hear_error(self, error: Error) -> None:
        if error is Error.REBALANCE_IN_PROGRESS:
            self._join_again()
        else:
            super()._hear_error(error)

    def _join_again(self) -> None:
        """It is to join again, which most clients do in their next poll."""
        if not self._reconciling:
            self._reconciling = True
            self._do_at(self._world.now_ms if self._in_background else self._polls_ms(), self._prepare)

    def _prepare(self) -> None:
        """Under eager it gives everything up first."""
        self._step = None
        now_ms = done_ms = self._world.now_ms
        if self._eager and self.owned:
            self._release(self.owned, Phase.PAUSED, self._coordinator.epochs.cause, commits=True)
            done_ms += draw(self._costs.revoke_ms, self._world.random)
            self.owned = self.told = NOTHING
            self.stands_ms = now_ms
        self._do_at(done_ms, self._join)

    def _join(self) -> None:
        self._step = None
        super()._join()

    def _arrive(self) -> None:
        self._reconciling = True
        self._ask(lambda: self._coordinator.join(self, self.owned), self._joined, self._life)

    def _joined(self, _: Answer) -> None:
        self._forget_beat()
        self._coordinator.beats.restart(self.member, self._world.now_ms)
        self._send(lambda: self._coordinator.sync(self), self._synced)

    def _synced(self, answer: Answer) -> None:
        self._reconciling = False
        if answer.partitions is None:
            self._join_again()
            return
        self.told = answer.partitions
        self._await_partitions()
        if self.told == self.owned:
            self.expects_news()
        elif self._in_background:
            self._catch_up()
        else:  # it is inside `poll`
            self._reconciling = True
            self._reconcile()

    def _catch_up(self) -> None:
        if self.told != self.owned and not self._reconciling:
            self._reconciling = True
            self._do_at(self._polls_ms(), self._reconcile)

    def _reconcile(self) -> None:
        self._revoked = not self.owned <= self.told
        super()._reconcile()

    def _acknowledge(self, told: frozenset[int]) -> None:  # noqa: ARG002 - it acknowledges by joining
        """What it gave up is free when it has joined again, which it does at once."""
        self._step, self._polled, self._reconciling = None, False, False
        if self._revoked:
            self._reconciling = True
            self._prepare()
        else:
            self.expects_news()

    def _rejoin(self) -> None:
        self.member = self._world.memberships.add(self.consumer, self.configured)
        super()._rejoin()
