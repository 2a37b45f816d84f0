"""Which partitions moved between which members in a rebalance.

Kafka: `AbstractStickyAssignor.PartitionMovements` in clients 4.4.0 (as 4.1 to 4.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from partitioning.java.hash_map import HashSet

if TYPE_CHECKING:
    from collections.abc import Hashable

    from partitioning.topic_partition import TopicPartition


class ConsumerPair(NamedTuple):
    """A move: from whom, and to whom."""

    source: str
    destination: str


class PartitionMovements:
    """The moves so far, so that no two members swap partitions of a topic.

    Java asks its maps only about single keys; of its sets of partitions it takes the first element.
    """

    def __init__(self) -> None:
        self._partition_movements: dict[TopicPartition, ConsumerPair] = {}
        self._partition_movements_by_topic: dict[str, dict[ConsumerPair, HashSet[TopicPartition]]] = {}

    def move_partition(self, partition: TopicPartition, old_consumer: str, new_consumer: str) -> None:
        """Writes a move down; a partition that moved before counts as moved from where it was first."""
        first_consumer = old_consumer
        if partition in self._partition_movements:
            first_consumer = self._remove_movement_record(partition).source
            if first_consumer == new_consumer:
                return  # it is back where it was first
        self._add_movement_record(partition, ConsumerPair(first_consumer, new_consumer))

    def actual_partition_to_be_moved(
        self, partition: TopicPartition, old_consumer: str, new_consumer: str
    ) -> TopicPartition:
        """This partition, or one of its topic that has moved the opposite way and can go back instead.

        Quirk: for a partition that moved before, the opposite way starts where it was first. So the partition
        that goes back can be one that `old_consumer` does not have.
        """
        if partition in self._partition_movements:
            old_consumer = self._partition_movements[partition].source
        moves = self._partition_movements_by_topic.get(partition.topic, {})
        reverse_pair = ConsumerPair(new_consumer, old_consumer)
        return next(iter(moves[reverse_pair])) if reverse_pair in moves else partition

    def state(self) -> Hashable:
        """All that later answers depend on."""
        return frozenset(
            (topic, pair, partitions.state())
            for topic, moves in self._partition_movements_by_topic.items()
            for pair, partitions in moves.items()
        )

    def _add_movement_record(self, partition: TopicPartition, pair: ConsumerPair) -> None:
        self._partition_movements[partition] = pair
        moves = self._partition_movements_by_topic.setdefault(partition.topic, {})
        moves.setdefault(pair, HashSet()).add(partition)

    def _remove_movement_record(self, partition: TopicPartition) -> ConsumerPair:
        pair = self._partition_movements.pop(partition)
        moves = self._partition_movements_by_topic[partition.topic]
        moves[pair].discard(partition)
        if not moves[pair]:
            del moves[pair]
        return pair
