"""The target assignment of one member, as the coordinator holds it (KIP-848); Kafka 4.4.0, as 4.1 to 4.4."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from partitioning.java.hash_map import HashMap, HashSet

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

TargetAssignment = HashMap[uuid.UUID, HashSet[int]]
"""The partition numbers of each topic id."""


def from_record(record: Mapping[uuid.UUID, Collection[int]]) -> TargetAssignment:
    """A target read back from the coordinator's log (`modern.Assignment.fromRecord`)."""
    target: TargetAssignment = HashMap()
    for topic, partitions in record.items():
        target[topic] = HashSet(partitions)
    return target


def deep_copy_assignment(assignment: TargetAssignment) -> TargetAssignment:
    """A copy that may be changed (`AssignorHelpers.deepCopyAssignment`).

    Quirk: Java sizes the tables of a copy anew, so its order can be another.
    """
    copy: TargetAssignment = HashMap(capacity=len(assignment))
    for topic, partitions in assignment.items():
        copy[topic] = HashSet(partitions)
    return copy


def is_settled(assignment: TargetAssignment) -> bool:
    """Whether a copy has the same order; crowded sets, such as of 0, 16, 32 and so on, can have another."""
    return all(list(HashSet(partitions)) == list(partitions) for partitions in assignment.values())


def remove_partition(assignment: TargetAssignment, topic: uuid.UUID, partition: int) -> None:
    """Takes a partition out, and its topic where it was the last one."""
    partitions = assignment.get(topic)
    if partitions is not None:
        partitions.discard(partition)
        if not partitions:
            del assignment[topic]
