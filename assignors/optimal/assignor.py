"""The assignors whose answers are provably best."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from assignors.interface import RebalanceProtocol
from assignors.optimal.deciding import decide
from assignors.optimal.decision import Deciding, Decision, find_held_back
from assignors.optimal.racks import find_kinds
from assignors.optimal.reading import read_group, recall_owned, recall_user_data
from assignors.protocol import encode_cooperative_user_data, encode_sticky_user_data
from partitioning.errors import InvalidConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.group import Group
    from assignors.optimal.reading import Reading
    from assignors.partition_list import PartitionList


class _Optimal(Deciding):
    """What both assignors share.

    Args:
        spread: whether topics are spread over members as evenly as can be, up to 20,000 pairs of a member and
            a topic it subscribes to; without it, beyond, and where racks matter, they are spread roughly.
        racks: whether the fewest partitions are far from their member's rack "after-moves", among answers
            with the fewest moves, or "before-moves", at the price of moves; "ignore": racks do not matter.

    Raises:
        InvalidConfigError: `racks` is something else.
    """

    def __init__(
        self, *, spread: bool = True, racks: Literal["after-moves", "before-moves", "ignore"] = "after-moves"
    ) -> None:
        if racks not in {"after-moves", "before-moves", "ignore"}:
            raise InvalidConfigError(f"racks is {racks!r}; give 'after-moves', 'before-moves' or 'ignore'")
        self._spread = spread
        self._racks = racks

    def _owners(self, group: Group, reading: Reading) -> NDArray[np.intp]:
        near = None if self._racks == "ignore" else find_kinds(group, reading)
        return decide(reading, spread=self._spread, near=near, near_first=self._racks == "before-moves")


class OptimalAssignor(_Optimal):
    """The best loads there are, with the fewest moves, whatever members subscribe to.

    Members remember in user data, in the form of "sticky"; what cannot be read counts as nothing. The answer
    depends neither on the order of members or topics nor on earlier answers of this leader.
    """

    name: ClassVar[str] = "optimal"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.EAGER})

    def _decide(self, group: Group) -> Decision:
        reading = read_group(group, recall_user_data(group.members))
        owner = self._owners(group, reading)
        return Decision(reading, owner, np.zeros(len(owner), np.bool_))

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """What "sticky" sends: nothing before the first assignment."""
        return encode_sticky_user_data(owned, generation) if generation >= 0 else None


class CooperativeOptimalAssignor(_Optimal):
    """As "optimal", but a partition waits a round before it moves, so that its old owner can give it up.

    What waits is in the assignment's `transferring`; members that lose partitions rejoin at once (KIP-429).
    In the second round nothing moves any more.

    A partition is held back if a member that does not get it says it has it. Only the member whose claim
    counts, because it is of the latest generation, need not wait for one with an earlier claim.
    """

    name: ClassVar[str] = "cooperative-optimal"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset(RebalanceProtocol)

    def _decide(self, group: Group) -> Decision:
        reading = read_group(group, recall_owned(group.members))
        owner = self._owners(group, reading)
        return Decision(reading, owner, find_held_back(reading, owner))

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:  # noqa: ARG002 - KIP-429 sends it
        """What "cooperative-sticky" sends: the generation of the claim that travels beside it."""
        return encode_cooperative_user_data(generation)
