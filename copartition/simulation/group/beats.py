"""When the members of a consumer group send heartbeats, each by a timer of its own (KIP-848)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from copartition.simulation.group.recurring import first_after, first_after_each, last_until

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.random import Generator
    from numpy.typing import NDArray


RETRY_MS = 100
"""How often clients ask again after a failure (`retry.backoff.ms`)."""


class Beats:
    """The members as columns, by the number of their membership.

    Attributes:
        rows: those that are in the group.
    """

    def __init__(self) -> None:
        self.rows: NDArray[np.int64] = np.empty(0, np.int64)
        self._base_ms = np.zeros(64)
        self._every_ms = np.ones(64)
        self._speaks = np.zeros(64, np.bool_)
        self._moves = np.zeros(64, np.bool_)

    def add(self, member: int, base_ms: float, every_ms: float, *, moves: bool) -> None:
        """A member joins with a heartbeat at this time, and sends one every so often.

        Args:
            member: which.
            base_ms: when.
            every_ms: how often.
            moves: whether the coordinator does more than to answer it, as for the consumer protocol.
        """
        while member >= len(self._base_ms):
            for column in ("_base_ms", "_every_ms", "_speaks", "_moves"):
                old = getattr(self, column)
                setattr(self, column, np.concatenate([old, np.ones_like(old)]))
        self.rows = np.append(self.rows, member)
        self._every_ms[member] = every_ms
        self._moves[member] = moves
        self.restart(member, base_ms)

    def remove(self, member: int) -> None:
        """A member is gone."""
        self.rows = self.rows[self.rows != member]

    def restart(self, member: int, at_ms: float) -> None:
        """A member sends one at this time, and the next a whole interval later."""
        self._base_ms[member] = at_ms
        self._speaks[member] = True

    def silence(self, member: int) -> None:
        """A member sends no more."""
        self._speaks[member] = False

    def speak(self, member: int) -> None:
        """A silent member goes on where it was."""
        self._speaks[member] = True

    def speaks(self, member: int) -> bool:
        """Whether a member sends heartbeats."""
        return bool(self._speaks[member])

    def next_ms(self, member: int, after_ms: float) -> float:
        """A member's first one after some time."""
        return first_after(float(self._base_ms[member]), float(self._every_ms[member]), after_ms)

    def last_ms(self, member: int, until_ms: float) -> float:
        """A member's last one up to some time."""
        return last_until(float(self._base_ms[member]), float(self._every_ms[member]), until_ms)

    def first_of_all(self, after_ms: float) -> tuple[float, int]:
        """The first one after some time that moves the group, and whose it is; infinite where none does."""
        rows = self.rows[self._speaks[self.rows] & self._moves[self.rows]]
        if len(rows) == 0:
            return math.inf, -1
        times = first_after_each(self._base_ms[rows], self._every_ms[rows], after_ms)
        place = int(times.argmin())
        return float(times[place]), int(rows[place])

    def last_of_all(self, after_ms: float, besides: Collection[int]) -> float:
        """When everybody who sends any, but these, has sent one after some time."""
        looked_at = self._speaks.copy()
        looked_at[list(besides)] = False
        rows = self.rows[looked_at[self.rows]]
        times = first_after_each(self._base_ms[rows], self._every_ms[rows], after_ms)
        return float(times.max(initial=after_ms))

    def postpone(self, from_ms: float, until_ms: float, random: Generator) -> None:
        """Whatever is due in between is sent after it, as soon as each has asked again."""
        rows = self.rows
        late = rows[first_after_each(self._base_ms[rows], self._every_ms[rows], from_ms) < until_ms]
        self._base_ms[late] = until_ms + random.uniform(0, RETRY_MS, len(late)) - self._every_ms[late]
