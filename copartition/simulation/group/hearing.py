"""How the clients of a group take part in a rebalance, all of them at once: they hear, stop, join, open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from copartition.simulation.group.clients import draw_batches, draw_many

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from copartition.simulation.group.members import Members
    from copartition.simulation.group.world import World


class Hearing:
    """The clients' side of a rebalance.

    Attributes:
        overdue: told of a member whose batch turns out longer than `max.poll.interval.ms`: the member, when
            its last poll was, and when the next will be.
    """

    overdue: Callable[[int, float, float], object]

    def __init__(self, world: World, members: Members) -> None:
        self._world = world
        self._members = members
        self._costs = world.scenario.costs
        self._max_poll_ms = world.scenario.settings.max_poll_interval_ms

    def wave(self, now_ms: float) -> None:
        """The group rebalances: every member hears at its next heartbeat, and joins as soon as it can."""
        members = self._members
        living = members.living()
        if len(living):
            heard_ms = members.next_beats(living, now_ms) + self._costs.network_ms
            self._respond(living, heard_ms)

    def hear(self, member: int, heard_ms: float) -> None:
        """One member hears of the rebalance, at that time and not when it was thought to."""
        if self._members.stands_ms[member] > heard_ms:
            self._members.stands_ms[member] = np.nan
        self._respond(np.array([member], np.int32), np.array([heard_ms]))

    def stop_all(self, now_ms: float, cause: int) -> None:
        """Members that have stopped up to now, have."""
        members = self._members
        living = members.living()
        stands_ms = members.stands_ms[living]
        stopped = members.eager[living] & (stands_ms <= now_ms)
        if stopped.any():
            self._world.partitions.stop_all(living[stopped], stands_ms[stopped], cause)

    def begins(self, members: NDArray[np.int32], now_ms: float) -> NDArray[np.float64] | None:
        """When each of these begins to read what it has been given now; None: at once."""
        costs, random = self._costs, self._world.random
        busy_ms = self._members.busy_ms[members]
        if not costs.assign_ms and not costs.first_fetch_ms and not costs.partition_ms:
            return np.maximum(busy_ms, now_ms) if (busy_ms > now_ms).any() else None
        polls_ms = np.maximum(busy_ms, now_ms) + draw_many(costs.assign_ms, random, len(members))
        return polls_ms + draw_many(costs.first_fetch_ms, random, len(members))

    def after_revoking(self, members: NDArray[np.int32], now_ms: float) -> NDArray[np.float64]:
        """When the JoinGroup of each of these arrives, once it has given up what it had to."""
        free_ms = np.maximum(self._members.busy_ms[members], now_ms)
        revoke_ms = draw_many(self._costs.revoke_ms, self._world.random, len(members))
        return free_ms + revoke_ms + self._costs.network_ms / 2

    def _respond(self, living: NDArray[np.int32], heard_ms: NDArray[np.float64]) -> None:
        members, costs, random = self._members, self._costs, self._world.random
        eager, busy_ms = members.eager[living], members.busy_ms[living]
        inside = eager | ~members.background[living]
        ready_ms = heard_ms
        if (busy_ms > heard_ms).any():
            ready_ms = np.where(inside, np.maximum(heard_ms, busy_ms), heard_ms)
        if costs.poll_ms:
            whole_ms, left_ms = draw_batches(costs.poll_ms, random, len(living))
            idle = inside & (ready_ms == heard_ms)
            ready_ms = ready_ms + np.where(idle, left_ms, 0.0)
            for place in np.flatnonzero(idle & (whole_ms > self._max_poll_ms)).tolist():
                polled_ms = float(ready_ms[place] - whole_ms[place])
                self.overdue(int(living[place]), polled_ms, float(ready_ms[place]))
        if eager.any():
            stands_ms = members.stands_ms[living]
            members.stands_ms[living] = np.where(eager, np.fmin(ready_ms, stands_ms), stands_ms)
        joins_ms = ready_ms + costs.network_ms / 2
        if costs.revoke_ms:
            joins_ms = joins_ms + np.where(eager, draw_many(costs.revoke_ms, random, len(living)), 0.0)
        members.joins_ms[living] = joins_ms
