"""What leaders decided, kept for other runs that come to the same point.

Runs of one scenario differ in time, seldom in who joins and leaves between two rebalances. An assignor gives
the same answer to the same history, so it is asked once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assignors.registry import get_assignor

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from assignors.assignment import Assignment
    from assignors.group import Group
    from assignors.interface import Assignor

LIMIT = 1_000
"""Decisions kept at a time; one of a group of forty takes some tens of kilobytes."""


@dataclass(slots=True, eq=False)
class Decision:
    """A rebalance and everything that led to it.

    Attributes:
        group: what the leader was told; None before the first rebalance.
        assignment: what it answered.
        before: the decision before.
        first_of_leader: whether its leader began with it.
        assignor: the leader's, as this decision left it; the one that follows takes it over.
        next: decisions that followed, by what changed.
    """

    group: Group | None = None
    assignment: Assignment | None = None
    before: Decision | None = None
    first_of_leader: bool = True
    assignor: Assignor | None = None
    next: dict[Hashable, Decision] = field(default_factory=dict)


class Decisions:
    """The decisions of one assignor, as a tree of histories."""

    def __init__(self, assignor: str) -> None:
        self.name = assignor
        self.start = Decision()
        self._kept = 0

    def decide(
        self, before: Decision, change: Hashable, group: Callable[[], Group], *, new_leader: bool
    ) -> Decision:
        """The decision after `before` where the group changes so.

        Args:
            before: the last decision.
            change: everything in which the next group can differ from another one after the same history.
            group: makes it.
            new_leader: whether its leader starts without a memory.
        """
        key = (change, new_leader)
        known = before.next.get(key)
        if known is not None:
            return known
        assignor = get_assignor(self.name) if new_leader else _memory(before, self.name)
        told = group()
        made = Decision(told, assignor.assign(told), before, new_leader, assignor)
        if self._kept >= LIMIT:
            self.start.next.clear()
            self._kept = 0
        before.next[key] = made
        self._kept += 1
        return made


def _memory(decision: Decision, name: str) -> Assignor:
    """The leader's assignor after this decision: as it was left, or told its groups once more."""
    assignor, decision.assignor = decision.assignor, None
    if assignor is not None:
        return assignor
    history = [decision]
    while not history[-1].first_of_leader and history[-1].before is not None:
        history.append(history[-1].before)
    assignor = get_assignor(name)
    for each in reversed(history):
        assert each.group is not None
        assignor.assign(each.group)
    return assignor
