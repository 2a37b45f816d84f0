"""The "sticky" assignor (KIP-54), and the leader it shares with "cooperative-sticky"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.errors import ProtocolError
from assignors.group import StickyUserData
from assignors.interface import RebalanceProtocol
from assignors.partition_list import PartitionList
from assignors.sticky.catalogue import Catalogue
from assignors.sticky.constrained import assign_constrained
from assignors.sticky.general import assign_general
from assignors.sticky.ownership import NO_GENERATION, Memory, Ownership, ownership
from assignors.sticky.racks import Racks

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignors.assignment import Assignment
    from assignors.group import Group, Member
    from assignors.sticky.outcome import Outcome


class StickyLeader:
    """A leader's sticky decisions; it remembers the highest generation it has seen."""

    def __init__(self, recall: Callable[[Member], Memory]) -> None:
        self._recall = recall
        self._highest = NO_GENERATION

    def decide(self, group: Group) -> tuple[Catalogue, Ownership, Outcome]:
        """Who gets what, and what that was decided from."""
        catalogue = Catalogue.of(group)
        owned = ownership(catalogue, self._recall, self._highest)
        self._highest = owned.highest
        racks = Racks.of(group.topics, catalogue)
        assign = assign_constrained if catalogue.all_equal else assign_general
        return catalogue, owned, assign(catalogue, owned, racks)


class StickyAssignor:
    """Balanced as far as subscriptions allow, with as few moves as possible; members remember in user data."""

    name = "sticky"
    protocols = frozenset({RebalanceProtocol.EAGER})

    def __init__(self) -> None:
        self._leader = StickyLeader(recall_user_data)

    def assign(self, group: Group) -> Assignment:
        """Who gets what.

        Raises:
            AssignorError: where the JVM throws.
        """
        catalogue, _, outcome = self._leader.decide(group)
        return outcome.assignment(catalogue, hold_back=False)


def recall_user_data(member: Member) -> Memory:
    """What a member of a "sticky" group remembers: all of it is in the user data (KIP-341)."""
    data = member.user_data
    if isinstance(data, StickyUserData):
        return Memory(data.partitions, data.generation)
    if not data:
        return Memory((), None)
    from assignors.protocol import decode_sticky_user_data  # noqa: PLC0415 - bytes are read only where there are some

    try:
        return Memory(*decode_sticky_user_data(data))
    except ProtocolError:
        return Memory((), NO_GENERATION)
