"""In which order the Java client lists partitions, after the metadata responses it has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partitioning.java import hash_map_order, string_hashes, topic_partition_hashes
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class MetadataOrder:
    """The Java client's metadata cache, as far as the order of partitions goes.

    The client keeps the partitions of all topics it knows in one HashMap, sized by the number of partitions;
    `RoundRobinPartitioner` follows its order.
    """

    def __init__(self) -> None:
        self._partitions: list[TopicPartition] = []

    def update(self, partitions: Iterable[tuple[str, int]], *, partial: bool) -> None:
        """A metadata response has come.

        Args:
            partitions: the partitions it names, in its order.
            partial: whether the client asked for new topics only, and keeps what it knows of the others.

        Raises:
            TreeBinError: partitions of a topic come in another order in every run of the JVM.
        """
        named = [TopicPartition(*partition) for partition in partitions]
        if partial:
            kept = dict.fromkeys([*named, *self._partitions])
            named = _order(list(kept), capacity=len(named), sure=False)
        self._partitions = _order(named, capacity=len(named), sure=not partial)

    def partitions(self, topic: str) -> list[int]:
        """The topic's partitions in the client's order."""
        return [partition for name, partition in self._partitions if name == topic]


def _order(partitions: Sequence[TopicPartition], *, capacity: int, sure: bool) -> list[TopicPartition]:
    """Distinct partitions in the order of a HashMap of this capacity they were put into.

    Java cannot compare partitions, so where they crowd, those of different topics may come in any order. Then
    a map that is filled from another one (not `sure`) is filled in any order too.
    """
    number = {topic: i for i, topic in enumerate({topic: None for topic, _ in partitions})}
    topics = [number[topic] for topic, _ in partitions]
    hashes = topic_partition_hashes(
        string_hashes(list(number))[topics], np.array([partition for _, partition in partitions], np.int32)
    )
    order = hash_map_order(hashes, capacity=capacity, apart=topics, sure=sure)
    return [partitions[i] for i in order.tolist()]
