"""What leaders decided, kept for other runs that come to the same point.

Runs of one scenario differ in time, seldom in who joins and leaves between two rebalances. An assignor gives
the same answer to the same history, so it is asked once.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assignors.answers import ask
from assignors.registry import get_assignor

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from assignors.assignment import Assignment
    from assignors.group import Group
    from assignors.interface import Assignor

LIMIT = 2**26
"""Bytes of decisions kept at a time."""

_BYTES_PER_MEMBER = 600
_BYTES_PER_PARTITION = 40


@dataclass(slots=True, eq=False)
class Decision:
    """A rebalance and everything that led to it.

    Attributes:
        group: what the leader was told; None before the first rebalance.
        assignment: what it answered.
        assignor: the leader's, as this decision left it.
        next: decisions that followed, by what changed.
    """

    group: Group | None = None
    assignment: Assignment | None = None
    assignor: Assignor | None = None
    next: dict[Hashable, Decision] = field(default_factory=dict)


class Decisions:
    """The decisions for one scenario, as a tree of histories.

    Args:
        shared: whether other runs will come; a single one keeps only the last decision.
    """

    def __init__(self, *, shared: bool) -> None:
        self.start = Decision()
        self._shared = shared
        self._kept = 0

    def decide(
        self, before: Decision, change: Hashable, name: str, group: Callable[[], Group], *, new_leader: bool
    ) -> Decision:
        """The decision after `before` where the group changes so.

        Args:
            before: the last decision.
            change: everything in which the next group can differ from another one after the same history.
            name: the strategy.
            group: makes the group.
            new_leader: whether its leader starts without a memory.
        """
        key = (change, name, new_leader)
        known = before.next.get(key)
        if known is not None:
            return known
        if new_leader or before.assignor is None:
            assignor = get_assignor(name)
        else:
            assignor = deepcopy(before.assignor) if self._shared else before.assignor
        told = group()
        made = Decision(told, ask(assignor, told), assignor)
        if self._shared:
            partitions = sum(topic.partitions for topic in told.topics)
            size = _BYTES_PER_MEMBER * len(told.members) + _BYTES_PER_PARTITION * partitions
            if self._kept + size > LIMIT:
                self.start.next.clear()
                self._kept = 0
            before.next[key] = made
            self._kept += size
        return made
