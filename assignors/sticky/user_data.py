"""What members of a "sticky" group remember in their user data (KIP-341)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from assignors.group import StickyUserData
from assignors.partition_list import PartitionList
from assignors.protocol import decode_sticky_user_data
from assignors.sticky.ownership import Memory
from partitioning.hash_table import TREEIFY
from partitioning.java import hash_map_order, string_hashes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.sticky.catalogue import Catalogue
    from partitioning.topic_partition import TopicPartition

_BINS = 16  # of a new HashMap


def recall_user_data(catalogue: Catalogue) -> Memory:
    """What the members remember."""
    partitions: list[Sequence[TopicPartition]] = []
    generation: list[int | None] = []
    told: dict[int, list[int]] = {}  # rows that share their names, as members of one `Group.next` do
    for row, member in enumerate(catalogue.members):
        data = member.user_data
        if isinstance(data, StickyUserData):
            partitions.append(data.partitions)
            generation.append(data.generation)
            told.setdefault(id(data.partitions.names), []).append(row)
        else:
            remembered, since = decode_sticky_user_data(data or b"")
            partitions.append(remembered)
            generation.append(since)
    if not catalogue.all_equal:  # else the order of claims does not matter
        for rows in told.values():
            lists = [cast("PartitionList", partitions[row]) for row in rows]
            for row, arrived in zip(rows, _as_they_arrive(lists), strict=True):
                partitions[row] = arrived
    return Memory(partitions, generation)


def _as_they_arrive(lists: Sequence[PartitionList]) -> list[PartitionList]:
    """Lists with the same names as they arrive in user data: by topic, topics as a HashMap iterates.

    The map is filled by `computeIfAbsent`, one call a partition, from the assignment as it came from the
    coordinator: by topic, topics in the order of their first partitions.
    """
    names = lists[0].names
    sizes = np.array([len(each.topics) for each in lists])
    owner = np.repeat(np.arange(len(lists)), sizes)
    topics = np.concatenate([each.topics for each in lists])
    _, first, slot = np.unique(owner * len(names) + topics, return_index=True, return_inverse=True)
    hashes = string_hashes(names)
    unsigned = hashes.view(np.uint32)
    in_bin = (unsigned ^ (unsigned >> np.uint32(16))) & np.uint32(_BINS - 1)
    # A new topic comes first in its bin.
    rows = np.lexsort((-first[slot], in_bin[topics], owner))
    sorted_topics, numbers = topics[rows], np.concatenate([each.partitions for each in lists])[rows]
    ends = np.cumsum(sizes)
    arrived = [
        PartitionList(names, sorted_topics[start:end], numbers[start:end])
        for start, end in zip((ends - sizes).tolist(), ends.tolist(), strict=True)
    ]
    bins = np.bincount(owner[first] * _BINS + in_bin[topics[first]], minlength=len(lists) * _BINS)
    bins = bins.reshape(len(lists), _BINS)
    changed = (bins.sum(axis=1) > _BINS * 3 // 4) | (bins.max(axis=1) >= TREEIFY)
    for row in np.flatnonzero(changed).tolist():
        arrived[row] = _arrived(lists[row], hashes)
    return arrived


def _arrived(partitions: PartitionList, hashes: NDArray[np.int32]) -> PartitionList:
    """One list in that order, also where the map has grown or has crowded bins."""
    numbers: dict[int, list[int]] = {}
    for topic, number in zip(partitions.topics.tolist(), partitions.partitions.tolist(), strict=True):
        numbers.setdefault(topic, []).append(number)
    topics = list(numbers)
    order = hash_map_order(
        hashes[topics],
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
