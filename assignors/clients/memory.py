"""What a consumer tells its group when it joins: the part of a client that an assignor depends on."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from assignors.interface import RebalanceProtocol
from assignors.partition_list import NOTHING, PartitionList
from assignors.protocol import encode_cooperative_user_data, encode_sticky_user_data
from assignors.registry import get_assignor

if TYPE_CHECKING:
    from assignors.interface import Assignor


class Memory:
    """One consumer's assignor and what it was assigned last.

    Args:
        assignor: the strategy, or its name in the registry.
    """

    def __init__(self, assignor: Assignor | str) -> None:
        self.assignor = get_assignor(assignor) if isinstance(assignor, str) else assignor
        self.owned = NOTHING
        self.generation = -1

    def remember(self, owned: PartitionList, generation: int) -> None:
        """An assignment has arrived."""
        self.owned, self.generation = owned, generation

    @property
    def cooperative(self) -> bool:
        """Whether members keep what they have while they join."""
        return RebalanceProtocol.COOPERATIVE in self.assignor.protocols

    @property
    def user_data(self) -> bytes | None:
        """What the JVM's assignor of this name would send along; None where it sends nothing.

        Ours remember in the same form.
        """
        if self.assignor.name in {"cooperative-sticky", "cooperative-optimal"}:
            return encode_cooperative_user_data(self.generation)
        if self.assignor.name in {"sticky", "optimal"} and self.generation >= 0:
            return encode_sticky_user_data(self.owned, self.generation)
        return None


def by_topic(partitions: PartitionList) -> list[tuple[str, list[int]]]:
    """The partitions as a wire format groups them, topics in order of their first one."""
    groups: dict[str, list[int]] = {}
    for topic, group in groupby(partitions, key=lambda partition: partition.topic):
        groups.setdefault(topic, []).extend(partition.partition for partition in group)
    return list(groups.items())
