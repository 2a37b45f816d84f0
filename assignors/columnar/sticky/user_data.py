"""What members of a "sticky" group remember in their user data (KIP-341)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from assignors.columnar.sticky.claims import Memory
from assignors.group import StickyUserData
from assignors.partition_list import PartitionColumns, PartitionList, join_lists
from assignors.protocol import as_it_travels, decode_sticky_user_data
from partitioning.java import string_hashes
from partitioning.java.hash_codes import spread
from partitioning.java.many_maps import crowded_maps, map_order
from partitioning.java.sizes import DEFAULT_LENGTH, grown_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignors.columnar.numbering import Numbering
    from partitioning.topic_partition import TopicPartition


def recall_user_data(numbering: Numbering) -> Memory:
    """What the members remember."""
    data = [
        member.user_data
        if isinstance(member.user_data, StickyUserData)
        else StickyUserData(*decode_sticky_user_data(member.user_data or b""))
        for member in numbering.members
    ]
    partitions: list[Sequence[TopicPartition]] = [each.partitions for each in data]
    if not numbering.subscriptions.are_equal:  # else the order of claims does not matter
        told: dict[int, list[int]] = {}  # rows that share their names, as members of one `Group.next` do
        for row, member in enumerate(numbering.members):
            if isinstance(member.user_data, StickyUserData):
                told.setdefault(id(member.user_data.partitions.names), []).append(row)
        for rows in told.values():
            lists = [cast("PartitionList", partitions[row]) for row in rows]
            for row, arrived in zip(rows, _as_they_arrive(lists), strict=True):
                partitions[row] = arrived
    return Memory(partitions=partitions, generation=[each.generation for each in data])


def _as_they_arrive(lists: Sequence[PartitionList]) -> list[PartitionList]:
    """Lists with the same names as they arrive in user data: by topic, topics as a HashMap iterates.

    As `as_it_travels`, but for many members at once, as far as their maps are not crowded.
    """
    (names, topics, partitions), sizes = join_lists(lists)
    ends = np.cumsum(sizes)
    owner = np.repeat(np.arange(len(lists)), sizes)
    _, first, group = np.unique(owner * len(names) + topics, return_index=True, return_inverse=True)

    # Each partition asks the map for its topic, topic after topic. Asking makes the map grow before it adds a
    # topic, so the last topic does not count if only one partition asks for it.
    asked = np.bincount(owner[first], minlength=len(lists))
    filled = np.flatnonzero(sizes)
    begins = np.flatnonzero(np.diff(owner[first], prepend=-1))
    last_topic = group[np.maximum.reduceat(first, begins)] if len(begins) else begins
    asked[filled] -= np.bincount(group)[last_topic] == 1
    lengths = grown_lengths(np.full(len(lists), DEFAULT_LENGTH), asked)
    hashes = spread(string_hashes(names))[topics[first]]
    # A new topic comes first in its bin, so the last one is looked at first.
    latest = np.argsort(-first, kind="stable")
    of_latest = owner[first[latest]]
    place = np.empty(len(first), np.intp)
    place[latest[map_order(of_latest, hashes[latest], lengths[of_latest])]] = np.arange(len(first))
    rows = np.argsort(place[group], kind="stable")
    columns = PartitionColumns(names, topics[rows], partitions[rows])
    arrived = [
        PartitionList.part(columns, start, end)
        for start, end in zip((ends - sizes).tolist(), ends.tolist(), strict=True)
    ]
    for row in crowded_maps(owner[first], hashes, lengths).tolist():
        arrived[row] = as_it_travels(lists[row])
    return arrived
