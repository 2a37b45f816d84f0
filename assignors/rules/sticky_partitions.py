"""What both sticky builders ask about partitions.

Kafka: `AbstractStickyAssignor.AbstractAssignmentBuilder`, and `getUnassignedPartitions` of both builders, in
clients 4.4.0 (as 4.1 to 4.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partitioning.topic_partition import TopicPartition


def all_topic_partitions(
    sorted_all_topics: Iterable[str], partitions_per_topic: Mapping[str, list[TopicPartition]]
) -> list[TopicPartition]:
    """The partitions of all topics, topic by topic."""
    return [partition for topic in sorted_all_topics for partition in partitions_per_topic[topic]]


def unassigned_partitions(
    sorted_all_partitions: Iterable[TopicPartition], sorted_assigned_partitions: Iterable[TopicPartition]
) -> list[TopicPartition]:
    """The partitions that nobody has, found by walking all partitions and the assigned ones side by side.

    Quirk: the walk waits for the next assigned partition to come up. One that does not exist never does, so
    every partition after it passes for unassigned, and those that somebody keeps are assigned once more.
    """
    assigned = iter(sorted_assigned_partitions)
    next_assigned = next(assigned, None)
    unassigned = []
    for partition in sorted_all_partitions:
        if partition == next_assigned:
            next_assigned = next(assigned, None)
        else:
            unassigned.append(partition)
    return unassigned
