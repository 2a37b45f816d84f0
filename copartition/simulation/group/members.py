"""The members of a classic group as columns, by the number of their membership."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.simulation.group.clients import WAKES_MS
from copartition.simulation.group.recurring import first_after, first_after_each, last_until

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copartition.simulation.group.clients import Profile
    from copartition.simulation.inputs.settings import Settings

_NONE = np.empty(0, np.int32)


class Members:
    """Memberships of a group; a consumer has at most one that lives.

    Attributes:
        rows: the members of the group now, in the order they joined; never changed in place.
        base_ms: heartbeats are at this time plus multiples of `every_ms`.
        every_ms: the interval between a member's heartbeats, lateness included.
        metadata_ms: it refreshes its metadata at this time plus any multiple of the maximum age.
        commit_ms: likewise its commits.
        assigned_ms: when it was last assigned something; NaN where that was before time 0.
        joins_ms: when it arrives at the present barrier; infinite where it does not.
        stands_ms: since when, or from when on, it stands still for the protocol; NaN where it does not.
        busy_ms: until when its application does not poll.
        alive: whether its process runs and is awake.
        eager: whether it gives everything up before it joins.
        keeps_beating: whether its heartbeats stay where they are in a rebalance.
        background: whether its client rejoins outside `poll` where it need not call back first.
        carries: whether it rejoins with what the last assignment gave it.
    """

    base_ms: NDArray[np.float64]
    every_ms: NDArray[np.float64]
    metadata_ms: NDArray[np.float64]
    commit_ms: NDArray[np.float64]
    assigned_ms: NDArray[np.float64]
    joins_ms: NDArray[np.float64]
    stands_ms: NDArray[np.float64]
    busy_ms: NDArray[np.float64]
    alive: NDArray[np.bool_]
    eager: NDArray[np.bool_]
    keeps_beating: NDArray[np.bool_]
    background: NDArray[np.bool_]
    carries: NDArray[np.bool_]

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.rows = _NONE
        self._grow(64)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, member: int) -> bool:
        return bool((self.rows == member).any())

    def make(self, member: int, late_ms: float, *, eager: bool, profile: Profile) -> None:
        """Describe a member that is about to join.

        Args:
            member: its membership.
            late_ms: how late its heartbeats are.
            eager: see the attributes.
            profile: what its client does.
        """
        if member >= len(self.alive):
            self._grow(2 * member)
        self.every_ms[member] = self._settings.heartbeat_interval_ms + late_ms
        self.eager[member] = eager
        self.keeps_beating[member] = profile.keeps_beating
        self.background[member] = profile.joins_in_background
        self.carries[member] = False

    def enter(self, member: int, now_ms: float, started_ms: float) -> None:
        """A member, whose process started at some time, joins the group and arrives at its barrier."""
        self.wake(member, now_ms, started_ms)
        self.joins_ms[member] = now_ms
        self.stands_ms[member] = math.nan
        self.rows = np.append(self.rows, np.int32(member))

    def wake(self, member: int, now_ms: float, started_ms: float) -> None:
        """A new process, that started at some time, is behind a member."""
        self.base_ms[member] = self.assigned_ms[member] = now_ms
        self.metadata_ms[member] = self.commit_ms[member] = started_ms
        self.busy_ms[member] = -math.inf
        self.alive[member] = True

    def remove(self, member: int) -> None:
        """A member is dropped."""
        self.rows = self.rows[self.rows != member]

    def mask(self, members: NDArray[np.int32]) -> NDArray[np.bool_]:
        """By membership, whether it is among these; -1, nobody, is the last element."""
        mask = np.zeros(len(self.alive) + 1, np.bool_)
        mask[members] = True
        return mask

    def living(self) -> NDArray[np.int32]:
        """Members whose processes run and are awake."""
        return self.rows[self.alive[self.rows]]

    def in_background(self, member: int) -> bool:
        """Whether a member rejoins without its application."""
        return bool(self.background[member] and not self.eager[member])

    def restart_beats(self, members: NDArray[np.int32], answered_ms: float, assigned_ms: float) -> None:
        """The barrier is open: these have their JoinGroup answered, and later their assignment."""
        self.assigned_ms[members] = assigned_ms
        keeps_beating = self.keeps_beating[members]
        if not keeps_beating.any():
            self.base_ms[members] = answered_ms
            return
        base_ms, joins_ms = self.base_ms[members], self.joins_ms[members]
        due_ms = first_after_each(base_ms, self.every_ms[members], joins_ms)
        owed = (due_ms <= assigned_ms) | ~self.carries[members]  # a newcomer has sent none yet
        since_ms = np.stack([self.commit_ms[members], self.assigned_ms[members]])
        wakes_ms = first_after_each(since_ms, np.array(WAKES_MS)[:, None], due_ms).min(axis=0)
        kept_ms = np.where(owed, assigned_ms, wakes_ms)
        self.base_ms[members] = np.where(keeps_beating, kept_ms, answered_ms)

    def next_beats(self, members: NDArray[np.int32], now_ms: float) -> NDArray[np.float64]:
        """The first heartbeat of each after now."""
        return first_after_each(self.base_ms[members], self.every_ms[members], now_ms)

    def next_beat(self, member: int, now_ms: float) -> float:
        """The first heartbeat of one after now."""
        return first_after(float(self.base_ms[member]), float(self.every_ms[member]), now_ms)

    def last_heard_ms(self, member: int, now_ms: float, *, reads: bool) -> float:
        """When the coordinator last heard of a member: a heartbeat, or a commit if it reads anything."""
        base_ms = float(self.base_ms[member])
        beat_ms = last_until(base_ms, float(self.every_ms[member]), now_ms)
        if not reads:
            return beat_ms
        every_ms = self._settings.auto_commit_interval_ms
        return max(beat_ms, last_until(float(self.commit_ms[member]), every_ms, now_ms))

    def _grow(self, size: int) -> None:
        kinds: dict[str, Any] = dict.fromkeys(Members.__annotations__, np.float64)
        kinds |= dict.fromkeys(("alive", "eager", "keeps_beating", "background", "carries"), np.bool_)
        for name, kind in kinds.items():
            column = np.zeros(size, kind)
            old = getattr(self, name, None)
            if old is not None:
                column[: len(old)] = old
            setattr(self, name, column)
