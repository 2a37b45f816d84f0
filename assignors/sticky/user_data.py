"""What members of a "sticky" group remember in their user data (KIP-341)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from assignors.group import StickyUserData
from assignors.partition_list import PartitionColumns, PartitionList, join_lists
from assignors.protocol import as_it_travels, decode_sticky_user_data
from assignors.sticky.ownership import Memory
from partitioning.java import string_hashes
from partitioning.java.hash_codes import spread
from partitioning.java.many_maps import crowded_maps, map_order
from partitioning.java.sizes import DEFAULT_LENGTH, grown_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignors.sticky.catalogue import Catalogue
    from partitioning.topic_partition import TopicPartition


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

    As `as_it_travels`, but for many members at once while their maps have neither grown nor become crowded.
    """
    (names, topics, partitions), sizes = join_lists(lists)
    owner = np.repeat(np.arange(len(lists)), sizes)
    _, first, slot = np.unique(owner * len(names) + topics, return_index=True, return_inverse=True)
    newest = np.argsort(-first)  # a new topic comes before those that share its place in the map
    maps = owner[first[newest]]
    hashes = spread(string_hashes(names))[topics[first[newest]]]
    lengths = grown_lengths(np.full(len(lists), DEFAULT_LENGTH), np.bincount(maps, minlength=len(lists)))
    turn = np.empty(len(first), np.intp)
    turn[newest[map_order(maps, hashes, lengths[maps])]] = np.arange(len(first))
    rows = np.argsort(turn[slot], kind="stable")
    columns = PartitionColumns(names, topics[rows], partitions[rows])
    ends = np.cumsum(sizes)
    arrived = [
        PartitionList.part(columns, start, end)
        for start, end in zip((ends - sizes).tolist(), ends.tolist(), strict=True)
    ]
    grown = np.flatnonzero(lengths > DEFAULT_LENGTH)
    for row in {*grown.tolist(), *crowded_maps(maps[::-1], hashes[::-1], lengths).tolist()}:
        arrived[row] = as_it_travels(lists[row])
    return arrived
