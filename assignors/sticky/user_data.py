"""What members of a "sticky" group remember in their user data (KIP-341)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.group import StickyUserData
from assignors.partition_list import PartitionList
from assignors.protocol import decode_sticky_user_data
from assignors.sticky.ownership import Memory
from partitioning.java import hash_map_order, string_hashes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.sticky.catalogue import Catalogue
    from partitioning.topic_partition import TopicPartition


def recall_user_data(catalogue: Catalogue) -> Memory:
    """What the members remember."""
    partitions: list[Sequence[TopicPartition]] = []
    generation: list[int | None] = []
    travel = _Travel()
    for member in catalogue.members:
        data = member.user_data
        if isinstance(data, StickyUserData):
            # The order of claims matters where subscriptions differ.
            remembered = data.partitions if catalogue.all_equal else travel.order(data.partitions)
            since = data.generation
        else:
            remembered, since = decode_sticky_user_data(data or b"")
        partitions.append(remembered)
        generation.append(since)
    return Memory(partitions, generation)


class _Travel:
    """In which order partitions arrive that travel as user data: by topic, topics as a HashMap iterates.

    The map is filled by `computeIfAbsent`, one call a partition, from the assignment as it came from the
    coordinator: by topic, topics in the order of their first partitions.
    """

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._hashes: NDArray[np.int32] = np.empty(0, np.int32)

    def order(self, partitions: PartitionList) -> PartitionList:
        """The partitions in that order."""
        if partitions.names is not self._names:  # members of one `Group.next` share their names
            self._names = partitions.names
            self._hashes = string_hashes(partitions.names)
        numbers: dict[int, list[int]] = {}
        for topic, number in zip(partitions.topics.tolist(), partitions.partitions.tolist(), strict=True):
            numbers.setdefault(topic, []).append(number)
        if len(numbers) <= 1:
            return partitions
        topics = list(numbers)
        order = hash_map_order(
            self._hashes[topics],
            insert="head",
            called_again=len(numbers[topics[-1]]) > 1,
            keys=[partitions.names[topic] for topic in topics],
        )
        topics = [topics[position] for position in order.tolist()]
        return PartitionList(
            partitions.names,
            np.repeat(np.array(topics, np.int32), [len(numbers[topic]) for topic in topics]),
            np.array([number for topic in topics for number in numbers[topic]], np.int32),
        )
