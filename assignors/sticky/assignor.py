"""The "sticky" assignor (KIP-54), and the leader it shares with "cooperative-sticky"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.interface import RebalanceProtocol
from assignors.sticky.catalogue import Catalogue
from assignors.sticky.constrained import assign_constrained
from assignors.sticky.general import assign_general
from assignors.sticky.ownership import NO_GENERATION, ownership
from assignors.sticky.racks import Racks
from assignors.sticky.user_data import recall_user_data

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignors.assignment import Assignment
    from assignors.group import Group
    from assignors.sticky.outcome import Outcome
    from assignors.sticky.ownership import Memory, Ownership


class StickyLeader:
    """A leader's sticky decisions; it remembers the highest generation it has seen.

    Args:
        recall: reads what members remember.
    """

    def __init__(self, recall: Callable[[Catalogue], Memory]) -> None:
        self._recall = recall
        self._highest = NO_GENERATION

    def decide(self, group: Group) -> tuple[Catalogue, Ownership, Outcome]:
        """Who gets what, and what that was decided from."""
        catalogue = Catalogue.of(group)
        owned = ownership(catalogue, self._recall(catalogue), self._highest)
        self._highest = owned.highest
        assign = assign_constrained if catalogue.all_equal else assign_general
        return catalogue, owned, assign(catalogue, owned, Racks.of(group.topics, catalogue))


class StickyAssignor:
    """Balanced as far as subscriptions allow, with few moves; members remember in their user data."""

    name = "sticky"
    protocols = frozenset({RebalanceProtocol.EAGER})

    def __init__(self) -> None:
        self._leader = StickyLeader(recall_user_data)

    def assign(self, group: Group) -> Assignment:
        """Who gets what.

        Raises:
            AssignorError: where the JVM throws, or never ends.
        """
        catalogue, _, outcome = self._leader.decide(group)
        return outcome.assignment(catalogue, hold_back=False)
