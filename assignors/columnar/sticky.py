"""What a leader of a "sticky" or "cooperative-sticky" group decides: who owns what, then who gets what."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, cast

import numpy as np

from assignors.columnar.numbering import Numbering, Subscriptions, in_name_order, topics_that_exist
from assignors.columnar.odd_group import OddGroup
from assignors.columnar.racks import Racks
from assignors.columnar.sticky_constrained import assign_constrained
from assignors.columnar.sticky_general import assign_general
from assignors.columnar.sticky_structures import Memory, read_claims
from assignors.group import StickyUserData
from assignors.partition_list import PartitionColumns, PartitionList, join_lists
from assignors.protocol import as_it_travels, decode_cooperative_user_data, decode_sticky_user_data
from partitioning.java import string_hashes
from partitioning.java.hash_codes import spread
from partitioning.java.many_maps import crowded_maps, map_order
from partitioning.java.sizes import DEFAULT_LENGTH, grown_lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assignors.assignment import Assignment
    from assignors.columnar.sticky_structures import Claims, Outcome
    from assignors.group import Group, Member
    from partitioning.topic_partition import TopicPartition


def assign_sticky(group: Group, highest: int) -> tuple[Assignment, int]:
    """The assignment of "sticky", and the highest generation the leader has seen by then.

    Args:
        group: the group.
        highest: the highest generation the leader has seen before.

    Raises:
        OddGroup: the rule has to answer.
    """
    numbering, claims, outcome = _decide(group, highest, recall_user_data)
    return outcome.assignment(numbering, hold_back=False), claims.highest


def assign_cooperative_sticky(group: Group, highest: int) -> tuple[Assignment, int]:
    """The same for "cooperative-sticky", which holds back what another member has to give up first."""
    numbering, claims, outcome = _decide(group, highest, recall_owned)
    if not numbering.subscriptions.are_equal:
        outcome = with_transfers(numbering, claims, outcome)
    return outcome.assignment(numbering, hold_back=True), claims.highest


def _decide(
    group: Group, highest: int, recall: Callable[[Numbering], Memory]
) -> tuple[Numbering, Claims, Outcome]:
    """Who gets what, and what that was decided from."""
    subscriptions = Subscriptions.of(group.members)
    if not group.members or (len(subscriptions.lists) > 1 and () in subscriptions.lists):
        raise OddGroup
    topics = topics_that_exist(group, set().union(*subscriptions.lists))
    numbering = Numbering.of(group.members, subscriptions, in_name_order(topics.values()))
    claims = read_claims(numbering, recall(numbering), highest)
    assign = assign_constrained if subscriptions.are_equal else assign_general
    return numbering, claims, assign(numbering, claims, Racks.of(topics, numbering))


def recall_user_data(numbering: Numbering) -> Memory:
    """What the members remember."""
    data = [
        member.user_data
        if isinstance(member.user_data, StickyUserData)
        else StickyUserData(*decode_sticky_user_data(member.user_data or b""))
        for member in numbering.members
    ]
    partitions: list[Sequence[TopicPartition]] = [memory.partitions for memory in data]
    if not numbering.subscriptions.are_equal:  # else the order of claims does not matter
        # Rows that share their names, as members of one `Group.next` do.
        sharing_names: dict[int, list[int]] = {}
        for row, member in enumerate(numbering.members):
            if isinstance(member.user_data, StickyUserData):
                sharing_names.setdefault(id(member.user_data.partitions.names), []).append(row)
        for rows in sharing_names.values():
            lists = [cast("PartitionList", partitions[row]) for row in rows]
            for row, arrived in zip(rows, _as_they_arrive(lists), strict=True):
                partitions[row] = arrived
    return Memory(partitions=partitions, generation=[memory.generation for memory in data])


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
    lookups = np.bincount(owner[first], minlength=len(lists))
    filled = np.flatnonzero(sizes)
    begins = np.flatnonzero(np.diff(owner[first], prepend=-1))
    last_topic = group[np.maximum.reduceat(first, begins)] if len(begins) else begins
    lookups[filled] -= np.bincount(group)[last_topic] == 1
    lengths = grown_lengths(np.full(len(lists), DEFAULT_LENGTH), lookups)
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


def recall_owned(numbering: Numbering) -> Memory:
    """What cooperative members remember: the partitions they own, and since which generation (KIP-792)."""
    members = numbering.members
    return Memory(
        partitions=[member.owned for member in members],
        generation=[
            _generation_before_kip_792(member) if generation is None or generation < 0 else generation
            for member, generation in zip(members, map(attrgetter("generation"), members), strict=True)
        ],
    )


def _generation_before_kip_792(member: Member) -> int | None:
    """A member's generation where its subscription has none: from its user data."""
    data = member.user_data
    return None if data is None else decode_cooperative_user_data(bytes(data))


def with_transfers(numbering: Numbering, claims: Claims, outcome: Outcome) -> Outcome:
    """Marks what is new to its member and given up by another one that claims it."""
    ids = numbering.starts[outcome.topic] + outcome.number
    owner = np.full(numbering.total, -1, np.int32)
    owner[claims.id] = claims.member
    had = owner[ids]
    moving = (had >= 0) & (had != outcome.member)
    return replace(outcome, transferring=moving) if moving.any() else outcome
