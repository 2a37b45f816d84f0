"""The rebalances of a consumer group (KIP-848): what each target is for, and when everybody has reached it.

A member that says nothing, dead or only standing still, is not waited for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from copartition.simulation.group.partitions import Change

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from copartition.simulation.group.beats import Beats
    from copartition.simulation.group.consumer_group import ConsumerGroup
    from copartition.simulation.group.timers import Timer, Timers
    from copartition.simulation.group.world import World
    from copartition.simulation.outcome.history import Rebalance


@dataclass(slots=True)
class _Target:
    """A target that not everybody has reached.

    Attributes:
        waits_for: members that have not reached it, as far as they are watched.
        others_ms: when all others have.

    The rest is as `History.made` wants it.
    """

    waits_for: set[int]
    others_ms: float
    epoch: int
    causes: tuple[str, ...]
    started_ms: float
    moved: int
    members: NDArray[np.int32]
    change: Change
    counts: tuple[int, ...]
    subscribed: frozenset[str]


class Epochs:
    """Rebalances, each from what first asked for its target until all members reached it or it was replaced.

    Attributes:
        cause: the number of what the present target is for.
    """

    def __init__(self, world: World, group: ConsumerGroup, beats: Beats, timers: Timers) -> None:
        self.cause = 0
        self._world = world
        self._group = group
        self._beats = beats
        self._timers = timers
        self._owner = world.partitions.now.owner.copy()
        self._position = world.partitions.now.position.copy()
        self._causes: list[tuple[str, int]] = []
        self._started_ms = 0.0
        self._target: _Target | None = None
        self._completion: Timer | None = None

    def asked(self, text: str, cause: int) -> None:
        """Something asks for another target."""
        if not self._causes:
            self._started_ms = self._world.now_ms
            self._world.note("rebalance", cause=text)
        self._causes.append((text, cause))

    def begin(self, position: NDArray[np.int32]) -> None:
        """The group at time 0 is at its target."""
        text = "the group at the start"
        self._causes = [(text, self._world.partitions.cause(text))]
        target = self._new_target(position, ())
        self._note(target)
        self._world.history.begin(self._made(target))

    def made(self, position: NDArray[np.int32], touched: Iterable[int]) -> Change:
        """The group has another target, which changes something for these members; the last is history."""
        self.replaced()
        target = self._target = self._new_target(position, touched)
        self._note(target)
        self._look()
        return target.change

    def reached(self, member: int) -> None:
        """A member has reached the target, or is not waited for any more: it is gone, or says nothing."""
        if self._target is not None and member in self._target.waits_for:
            self._target.waits_for.remove(member)
            self._look()

    def replaced(self) -> None:
        """There is another target, or nobody is left: the present one has had its time."""
        if self._target is not None:
            self._world.history.add(self._made(self._target))
            self._target = None
        if self._completion is not None:
            self._completion.cancel()
            self._completion = None

    def emptied(self) -> None:
        """Nobody is left who could ask for anything."""
        self.replaced()
        self._causes.clear()
        self._world.note("empty")

    def end(self) -> None:
        """The group goes on as a classic one, which begins with who has what, not with a target."""
        self.replaced()
        now = self._world.partitions.now
        target = np.flatnonzero((now.owner != self._owner) | (now.position != self._position)).astype(
            np.int32
        )
        self._world.history.goes_on(Change(target, now.owner[target], now.position[target]))

    def _new_target(self, position: NDArray[np.int32], touched: Iterable[int]) -> _Target:
        group, beats, partitions = self._group, self._beats, self._world.partitions
        owner = group.target.astype(np.int32)
        rows = np.flatnonzero((owner != self._owner) | (position != self._position)).astype(np.int32)
        change = Change(rows, owner[rows], position[rows])
        self._owner, self._position = owner, position.copy()
        causes, self._causes = self._causes, []
        self.cause = causes[0][1]
        waits_for = {member for member in touched if member in group.members and beats.speaks(member)}
        return _Target(
            waits_for,
            beats.last_of_all(self._world.now_ms, waits_for),
            group.target_epoch,
            tuple(text for text, _ in causes),
            self._started_ms,
            partitions.moved(change),
            np.array(list(group.members), np.int32),
            change,
            tuple(partitions.counts),
            frozenset().union(*map(group.topics_of, group.subscriptions)),
        )

    def _note(self, target: _Target) -> None:
        self._world.note(
            "generation",
            number=target.epoch,
            members=len(target.members),
            moved=target.moved,
            causes=list(target.causes),
        )

    def _look(self) -> None:
        target = self._target
        if target is not None and not target.waits_for and self._completion is None:
            self._completion = self._timers.at(max(target.others_ms, self._world.now_ms), self._complete)

    def _complete(self) -> None:
        self._completion = None
        self.replaced()

    def _made(self, target: _Target) -> Rebalance:
        return self._world.history.made(
            target.epoch,
            target.started_ms,
            self._world.now_ms,
            target.causes,
            target.moved,
            members=target.members,
            change=target.change,
            counts=target.counts,
            subscribed=target.subscribed,
            transferring={},
        )
