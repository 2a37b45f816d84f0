"""What a consumer tells its group when it joins: the part of a client that an assignor depends on."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from assignors.answers import checked_user_data
from assignors.interface import RebalanceProtocol, RememberingAssignor
from assignors.partition_list import NOTHING, PartitionList

if TYPE_CHECKING:
    from assignors.interface import Assignor


@dataclass
class Memory:
    """What one consumer was assigned last, whichever of its assignors the group had chosen.

    Attributes:
        owned: the partitions.
        generation: in which generation; -1 before the first.
    """

    owned: PartitionList = field(default_factory=lambda: NOTHING)
    generation: int = -1

    def user_data(self, assignor: Assignor) -> bytes | None:
        """What this consumer sends along for an assignor; None where that wants nothing.

        Raises:
            BrokenPluginError: the assignor fails, or gives something else than bytes.
        """
        if not isinstance(assignor, RememberingAssignor):
            return None
        return checked_user_data(assignor, self.owned, self.generation)


def is_cooperative(assignor: Assignor) -> bool:
    """Whether members keep what they have while they join."""
    return RebalanceProtocol.COOPERATIVE in assignor.protocols


def by_topic(partitions: PartitionList) -> list[tuple[str, list[int]]]:
    """The partitions as a wire format groups them, topics in order of their first one."""
    groups: dict[str, list[int]] = {}
    for topic, group in groupby(partitions, key=lambda partition: partition.topic):
        groups.setdefault(topic, []).extend(partition.partition for partition in group)
    return list(groups.items())
