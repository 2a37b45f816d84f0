"""Racks of consumers and of replicas (KIP-881), as the sticky assignors look at them.

Kafka: `AbstractStickyAssignor.RackInfo` and `AbstractPartitionAssignor.useRackAwareAssignment` in clients
4.4.0 (as 4.1 to 4.4).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assignors.group import Member, Topic

NO_RACKS: frozenset[str] = frozenset()


class RackInfo:
    """Which consumers are near which partitions; where racks decide nothing, it knows of no rack.

    Args:
        topics: the subscribed topics.
        members: the consumers.

    Attributes:
        consumer_racks: the rack of each consumer that has one.
        partition_racks: the racks of each partition's replicas.
    """

    def __init__(self, topics: Iterable[Topic], members: Iterable[Member]) -> None:
        self.consumer_racks: dict[str, str] = {member.id: member.rack for member in members if member.rack}
        self.partition_racks: dict[TopicPartition, frozenset[str]] = {}
        if self.consumer_racks:
            self.partition_racks = _partition_racks(topics)
        if not _use_rack_aware_assignment(self.consumer_racks.values(), self.partition_racks.values()):
            self.consumer_racks, self.partition_racks = {}, {}
        self._consumers_in_rack = Counter(self.consumer_racks.values())

    def is_near(self, consumer: str, partition: TopicPartition) -> bool:
        """Whether the consumer has a rack and the partition has a replica there."""
        rack = self.consumer_racks.get(consumer)
        return rack is not None and rack in self.partition_racks.get(partition, NO_RACKS)

    def racks_mismatch(self, consumer: str, partition: TopicPartition) -> bool:
        """Whether the consumer has a rack but the partition has no replica there."""
        return consumer in self.consumer_racks and not self.is_near(consumer, partition)

    def sort_partitions_by_rack_consumers(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """The partitions that the fewest consumers are near first; ties stay as they are."""

        def num_consumers(partition: TopicPartition) -> int:
            racks = self.partition_racks.get(partition, NO_RACKS)
            return sum(self._consumers_in_rack[rack] for rack in racks)

        return sorted(partitions, key=num_consumers) if self.consumer_racks else partitions

    def next_rack_consumer(
        self, partition: TopicPartition, consumers: Sequence[str], first_index: int
    ) -> int | None:
        """The position of the first consumer near the partition, going round the list from `first_index`."""
        for i in range(len(consumers)):
            index = (first_index + i) % len(consumers)
            if self.is_near(consumers[index], partition):
                return index
        return None


def _partition_racks(topics: Iterable[Topic]) -> dict[TopicPartition, frozenset[str]]:
    return {
        TopicPartition(topic.name, number): frozenset(racks).difference((None,))
        for topic in topics
        for number, racks in enumerate(topic.racks or [()] * topic.partitions)
    }


def _use_rack_aware_assignment(
    consumer_racks: Iterable[str], racks_per_partition: Iterable[frozenset[str]]
) -> bool:
    """Whether some replica is in a consumer's rack, but not every partition has one in every rack."""
    distinct = set(racks_per_partition)
    all_partition_racks = NO_RACKS.union(*distinct)
    if all_partition_racks.isdisjoint(consumer_racks):
        return False
    return any(racks != all_partition_racks for racks in distinct)
