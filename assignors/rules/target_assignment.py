"""The target assignment of one member, as the coordinator holds it (KIP-848); Kafka 4.4.0, as 4.1 to 4.4."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from partitioning.java.hash_map import HashMap, HashSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partitioning.topic_partition import TopicPartition

TargetAssignment = HashMap[uuid.UUID, HashSet[int]]
"""The partition numbers of each topic id."""


def from_record(partitions: Iterable[TopicPartition], ids: Mapping[str, uuid.UUID]) -> TargetAssignment:
    """A target read from its record in the coordinator's log (`modern.Assignment.fromRecord`).

    Args:
        partitions: what the record lists, in order.
        ids: the topics' ids by name.
    """
    record: dict[str, list[int]] = {}
    for topic, partition in partitions:
        record.setdefault(topic, []).append(partition)
    target: TargetAssignment = HashMap()
    for topic, numbers in record.items():
        target[ids[topic]] = HashSet(numbers)
    return target


def deep_copy_assignment(assignment: TargetAssignment) -> TargetAssignment:
    """A copy that may be changed (`AssignorHelpers.deepCopyAssignment`).

    Quirk: Java sizes the tables of a copy anew, so its order can be another.
    """
    copy: TargetAssignment = HashMap(capacity=len(assignment))
    for topic, partitions in assignment.items():
        copy[topic] = HashSet(partitions)
    return copy


def remove_partition(assignment: TargetAssignment, topic: uuid.UUID, partition: int) -> None:
    """Takes a partition out, and its topic where it was the last one."""
    partitions = assignment.get(topic)
    if partitions is not None:
        partitions.discard(partition)
        if not partitions:
            del assignment[topic]
