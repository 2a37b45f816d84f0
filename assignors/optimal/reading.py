"""What a group asks for, as numbers that do not depend on any order."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.claims import rightful_members
from assignors.columnar.numbering import topics_that_exist
from assignors.columns import bounds
from assignors.optimal.readers import Readers
from assignors.partition_list import join_lists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.group import Group, Member
    from assignors.partition_list import PartitionList

# As clients make member ids: the client id, then a random one.
_MEMBER_ID = re.compile(r"(.+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def client_of(member_id: str) -> str | None:
    """The client id in a member id; None where it is not made as clients make it."""
    found = _MEMBER_ID.fullmatch(member_id)
    return found[1] if found else None


class Memory(NamedTuple):
    """What members say they had.

    Attributes:
        partitions: of each member.
        generation: in which generation each got them, -1 where it does not say.
    """

    partitions: list[PartitionList]
    generation: list[int]


class Owned(NamedTuple):
    """Who says to have what, one claim a row.

    Attributes:
        member: who says so.
        partition: the partition.
    """

    member: NDArray[np.intp]
    partition: NDArray[np.intp]


class Reading(NamedTuple):
    """A group in numbers.

    Members are ordered by instance id, then by client id where no other member has it, then by what they own
    and what they read; ids decide only between members that are alike in all of that.

    Attributes:
        members: where in the group each member is.
        topics: the names of the topics that have partitions and readers, in order.
        counts: partitions of each.
        starts: partition p of topic t has the number `starts[t] + p`; last comes how many there are.
        topic_of: the topic of each partition.
        readers: who may get what.
        claims: what members had, as far as it exists; none twice.
        rightful: the member whose claim counts for each partition, -1 where none does: claims of the latest
            generation count, and none where that has two.
        holder: the same where that member may get it again.
    """

    members: NDArray[np.intp]
    topics: tuple[str, ...]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    topic_of: NDArray[np.intp]
    readers: Readers
    claims: Owned
    rightful: NDArray[np.intp]
    holder: NDArray[np.intp]


def read_group(group: Group, memory: Memory) -> Reading:
    """A group in numbers.

    Args:
        group: the group.
        memory: what its members say they had, in the order of the group.
    """
    of_member, subscriptions = _classes(group.members)
    found = topics_that_exist(group, set().union(*subscriptions))
    topics = tuple(sorted(found))
    row = {name: number for number, name in enumerate(topics)}
    counts = np.array([found[name].partitions for name in topics], np.int64)
    starts = bounds(counts)
    lists = [tuple(sorted(row[name] for name in names if name in row)) for names in subscriptions]
    distinct = {topics: number for number, topics in enumerate(sorted(set(lists)))}
    of_member = np.array([distinct[each] for each in lists], np.intp)[of_member]

    claims, generation = _claims(memory, row, counts, starts)
    members = _order(group.members, of_member, claims)
    place = np.empty(len(members), np.intp)
    place[members] = np.arange(len(members))
    claims = Owned(place[claims.member], claims.partition)
    readers = Readers.of_classes(
        of_member[members], [np.array(each, np.intp) for each in distinct], len(topics)
    )
    topic_of = np.repeat(np.arange(len(topics)), counts)
    rightful = rightful_members(*claims, generation, int(starts[-1]))
    holder = rightful
    if len(distinct) > 1:
        held = np.flatnonzero(rightful >= 0)
        lost = held[~readers.has(readers.of_member[rightful[held]], topic_of[held])]
        holder = rightful.copy()
        holder[lost] = -1
    return Reading(members, topics, counts, starts, topic_of, readers, claims, rightful, holder)


def _classes(members: Sequence[Member]) -> tuple[NDArray[np.intp], list[frozenset[str]]]:
    """The different subscriptions, and which of them each member has."""
    codes: dict[frozenset[str], int] = {}
    by_identity: dict[int, int] = {}  # members often share a list, which need not be hashed again
    of_member = np.empty(len(members), np.intp)
    for number, member in enumerate(members):
        code = by_identity.get(id(member.topics))
        if code is None:
            code = codes.setdefault(frozenset(member.topics), len(codes))
            by_identity[id(member.topics)] = code
        of_member[number] = code
    return of_member, list(codes)


def _claims(
    memory: Memory, row: dict[str, int], counts: NDArray[np.int64], starts: NDArray[np.int64]
) -> tuple[Owned, NDArray[np.int64]]:
    """What members claim, by member and partition, and the generation of each claim."""
    (names, column, number), sizes = join_lists(memory.partitions)
    member = np.repeat(np.arange(len(sizes)), sizes)
    topic = np.array([row.get(name, -1) for name in names], np.intp)[column]
    real = (topic >= 0) & (number >= 0)
    real[real] = number[real] < counts[topic[real]]
    member, topic, number = member[real], topic[real], number[real]
    partition = starts[topic] + number
    key = member * starts[-1] + partition
    if (np.diff(key) <= 0).any():
        key = np.unique(key)
        member, partition = np.divmod(key, starts[-1])
    generation = np.maximum(np.array(memory.generation, np.int64), -1)[member]
    return Owned(member, partition.astype(np.intp)), generation


def _order(members: Sequence[Member], of_member: NDArray[np.intp], claims: Owned) -> NDArray[np.intp]:
    """The members in an order that does not depend on the one they come in."""
    clients = [_MEMBER_ID.fullmatch(member.id) for member in members]
    times = Counter(client[1] for client in clients if client)
    owned = claims.partition.astype(">u4").tobytes()
    ends = np.searchsorted(claims.member, np.arange(len(members) + 1)) * 4
    keys = []
    for member, client, kind, start, end in zip(
        members, clients, of_member.tolist(), ends.tolist(), ends[1:].tolist(), strict=False
    ):
        if member.instance_id is not None:
            keys.append((0, member.instance_id, b"", kind, member.id))
        elif client and times[client[1]] == 1:
            keys.append((1, client[1], b"", kind, member.id))
        else:
            keys.append((2, "", owned[start:end], kind, member.id))
    return np.array(sorted(range(len(members)), key=keys.__getitem__), np.intp)
