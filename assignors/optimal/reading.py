"""Turns a group and its previous owners into numbers that do not depend on the order of the members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain, pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.numbering import distinct_lists, topics_that_exist
from assignors.columnar.sticky_structures import ReportedPartitions, recall_owned, recall_user_data
from assignors.group import Group, Member, name_in
from assignors.optimal.network import Ints
from partitioning.kit.columns import bounds, distinct, inverse, locate


class ClassTopics(NamedTuple):
    """Lists the topics that each class of members reads. Members with equal subscriptions are one class.

    `kind` and `topic` are the two columns of the (class, topic) pairs, sorted by class, then by topic.

    Attributes:
        topics: the number of topics, including those without a reader.
        of_member: the class of each member, of shape (members,).
        members: how many members each class has, of shape (classes,).
        kind: the class of each pair.
        topic: the topic of each pair.
    """

    topics: int
    of_member: NDArray[np.intp]
    members: NDArray[np.int64]
    kind: NDArray[np.intp]
    topic: NDArray[np.intp]

    @classmethod
    def of(cls, subscriptions: Sequence[Collection[int] | Ints], topics: int) -> ClassTopics:
        """Return the classes of these subscriptions.

        Args:
            subscriptions: the numbers of each member's topics. An array must be ascending.
            topics: the number of topics that have partitions. Topics with this number or a higher one are
                left out.
        """
        index: dict[frozenset[int] | bytes, int] = {}
        lists: list[Ints] = []
        of_member = np.empty(len(subscriptions), np.intp)
        for member, subscription in enumerate(subscriptions):
            # Arrays are ascending, so equal bytes are equal subscriptions. This saves a set for each member.
            if isinstance(subscription, np.ndarray):
                key: frozenset[int] | bytes = subscription.tobytes()
            else:
                key = frozenset(subscription)
            of_member[member] = number = index.setdefault(key, len(lists))
            if number == len(lists):
                lists.append(np.sort(np.fromiter(subscription, np.intp, len(subscription))))
        return cls.of_classes(of_member, lists, topics)

    @classmethod
    def of_classes(cls, of_member: NDArray[np.intp], lists: Sequence[Ints], topics: int) -> ClassTopics:
        """Return classes whose topics are already known.

        Args:
            of_member: the class of each member.
            lists: the topics of each class, ascending.
            topics: the number of topics that have partitions. Topics with this number or a higher one are
                left out.
        """
        kind = np.repeat(np.arange(len(lists)), [len(partitions) for partitions in lists])
        topic = np.concatenate([np.empty(0, np.intp), *lists])
        real = topic < topics
        members = np.bincount(of_member, minlength=len(lists))
        return cls(topics, of_member, members, kind[real], topic[real])

    def rows(self, kind: NDArray[np.intp], topic: Ints) -> NDArray[np.intp]:
        """Return the row of each (class, topic) pair in `self`; the class must read the topic."""
        return np.searchsorted(self.kind * self.topics + self.topic, kind * self.topics + topic)

    def has(self, kind: NDArray[np.intp], topic: Ints) -> NDArray[np.bool_]:
        """Return, for each (class, topic) pair, whether the class reads the topic; bool of the same shape."""
        _, present = locate(self.kind * self.topics + self.topic, kind * self.topics + topic)
        return present


def rightful_members(
    member: NDArray[np.integer],
    partition: NDArray[np.integer],
    generation: NDArray[np.integer],
    partitions: int,
) -> NDArray[np.intp]:
    """Return the member whose claim counts for each partition, of shape (partitions,); -1 if no claim counts.

    The claim of the latest generation counts. If two members claim a partition in that generation, neither
    claim counts.

    Args:
        member: the member of each claim.
        partition: the flat index of the partition that is claimed.
        generation: the generation of the claim, -1 if unknown.
        partitions: the number of partitions.
    """
    holder = np.full(partitions, -1, np.intp)
    # Usually no partition has more than one claim, and there is nothing to decide.
    if np.bincount(partition, minlength=1).max() > 1:
        latest = np.full(partitions, -1, np.int64)
        np.maximum.at(latest, partition, generation)
        counts = generation == latest[partition]
        member, partition = member[counts], partition[counts]
        alone = np.bincount(partition, minlength=partitions)[partition] == 1
        member, partition = member[alone], partition[alone]
    holder[partition] = member
    return holder


class OwnedRows(NamedTuple):
    """Lists the members' claims, one a row.

    Attributes:
        member: the member that reports the partition.
        partition: the flat index of the partition.
    """

    member: NDArray[np.intp]
    partition: NDArray[np.intp]


class NumberedGroup(NamedTuple):
    """Holds a group in numbers that do not depend on the order of its members or topics.

    Static members come first, by instance id. Then come members whose client id no other member has, by
    client id. The others are ordered by what they own, what they read, and their racks; only between members
    that are equal in all of that do member ids decide.

    Attributes:
        members: the position in `Group.members` of each member. An index into this array is a member's
            number.
        topics: the names of the topics that have partitions and readers, ascending. An index into this tuple
            is a topic's number.
        counts: the number of partitions of each topic.
        starts: the flat index of each topic's first partition, of shape (topics + 1,): partition p of topic t
            is `starts[t] + p`. The last value is the number of all partitions.
        topic_of: the topic of each partition, by flat index.
        readers: the topics that each class of members reads.
        claims: the members' claims on partitions that exist, without repeats, sorted by member, then by
            partition.
        rightful: the member whose claim counts for each partition (see `rightful_members`); -1 for none.
        holder: `rightful`, but -1 if that member no longer reads the topic.
    """

    members: NDArray[np.intp]
    topics: tuple[str, ...]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    topic_of: NDArray[np.intp]
    readers: ClassTopics
    claims: OwnedRows
    rightful: NDArray[np.intp]
    holder: NDArray[np.intp]


def number_group(group: Group, memory: ReportedPartitions) -> NumberedGroup:
    """Return a group in numbers.

    Args:
        group: the group.
        memory: the previous partitions of each member, in the order of `group.members`.
    """
    lists, of_member = distinct_lists([member.topics for member in group.members])
    existing = topics_that_exist(group, set(chain.from_iterable(lists)))
    topics = tuple(sorted(existing))
    row = {name: number for number, name in enumerate(topics)}
    counts = np.array([existing[name].partitions for name in topics], np.int64)
    starts = bounds(counts)
    of_list, kind, topic = _classes(lists, row)
    of_member = of_list[of_member]

    claims, generation = _claims(memory, row, counts, starts)
    members = _order(group.members, of_member, claims)
    claims = OwnedRows(inverse(members)[claims.member], claims.partition)
    classes = int(of_list.max(initial=-1)) + 1
    readers = ClassTopics(
        len(topics), of_member[members], np.bincount(of_member, minlength=classes), kind, topic
    )
    topic_of = np.repeat(np.arange(len(topics)), counts)
    rightful = rightful_members(*claims, generation, int(starts[-1]))
    holder = rightful
    if classes > 1:
        held = np.flatnonzero(rightful >= 0)
        lost = held[~readers.has(readers.of_member[rightful[held]], topic_of[held])]
        holder = rightful.copy()
        holder[lost] = -1
    return NumberedGroup(members, topics, counts, starts, topic_of, readers, claims, rightful, holder)


def _classes(
    lists: Sequence[Sequence[str]], row: dict[str, int]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the classes of these subscriptions.

    Args:
        lists: subscriptions as lists of topic names.
        row: the number of each topic that exists.

    Returns:
        The class of each list; then the (class, topic) pairs as two columns, sorted by class, then by topic.
    """
    number = np.repeat(np.arange(len(lists)), np.fromiter(map(len, lists), np.intp, len(lists)))
    topic = np.fromiter(map(row.get, chain.from_iterable(lists), repeat(-1)), np.intp, len(number))
    # A member may name a topic twice, which `distinct` removes, or name a topic that does not exist, which
    # the mask removes.
    pairs = distinct((number * len(row) + topic)[topic >= 0])
    number, topic = np.divmod(pairs, max(len(row), 1))
    text = topic.astype(">u4").tobytes()  # big-endian bytes are ordered as the numbers are
    ends = (4 * bounds(np.bincount(number, minlength=len(lists)))).tolist()
    texts = [text[start:end] for start, end in pairwise(ends)]
    # Classes are numbered by the topics they read, so their numbers do not depend on the members' order.
    code = {text: place for place, text in enumerate(sorted(set(texts)))}
    of_list = np.fromiter(map(code.__getitem__, texts), np.intp, len(lists))
    kind = np.repeat(np.arange(len(code)), [len(text) // 4 for text in code])
    return of_list, kind, np.frombuffer(b"".join(code), ">u4").astype(np.intp)


def _claims(
    memory: ReportedPartitions, row: dict[str, int], counts: NDArray[np.int64], starts: NDArray[np.int64]
) -> tuple[OwnedRows, NDArray[np.int64]]:
    """Return the members' claims on partitions that exist, and the generation of each claim.

    Args:
        memory: the previous partitions of each member, in the order of the group.
        row: the number of each topic that has partitions and readers.
        counts: the number of partitions of each topic.
        starts: the flat index of each topic's first partition, and last the number of all partitions.

    Returns:
        The claims, sorted by member, then by partition; and the generation of each, -1 if unknown. A member
        is its position in the group here, not yet its number in `NumberedGroup`.
    """
    (names, column, number), sizes = memory.partitions, memory.sizes
    member = np.repeat(np.arange(len(sizes)), sizes)
    topic = np.array([row.get(name, -1) for name in names], np.intp)[column]
    real = (number >= 0) & (number < np.append(counts, 0)[topic])  # a topic of -1 has no partitions
    if not real.all():
        member, topic, number = member[real], topic[real], number[real]
    partition = starts[topic] + number
    # `key` has a number for each claim. If the numbers do not rise, a member reports a partition twice, or
    # reports partitions unsorted.
    key = member * starts[-1] + partition
    if (key[1:] <= key[:-1]).any():
        key = distinct(key)
        member, partition = np.divmod(key, starts[-1])
    generation = np.maximum(np.array(memory.generation, np.int64), -1)[member]
    return OwnedRows(member, partition.astype(np.intp)), generation


def _order(members: Sequence[Member], of_member: NDArray[np.intp], claims: OwnedRows) -> NDArray[np.intp]:
    """Return the members' positions in the order that `NumberedGroup` describes.

    Args:
        members: the members, in the order of the group.
        of_member: the class of each member.
        claims: the claims, sorted by the member's position, then by partition.
    """
    clients = [name_in(member.id) for member in members]
    times = Counter(clients)
    # Big-endian bytes are ordered as the numbers are, and a slice of bytes costs less than a tuple of
    # numbers.
    owned = claims.partition.astype(">u4").tobytes()
    ends = np.searchsorted(claims.member, np.arange(len(members) + 1)) * 4
    keys = []
    for member, client, kind, start, end in zip(
        members, clients, of_member.tolist(), ends.tolist(), ends[1:].tolist(), strict=False
    ):
        if member.instance_id is not None:
            keys.append((0, member.instance_id, b"", kind, "", member.id))
        elif client is not None and times[client] == 1:
            keys.append((1, client, b"", kind, "", member.id))
        else:
            keys.append((2, "", owned[start:end], kind, member.rack or "", member.id))
    return np.array(sorted(range(len(members)), key=keys.__getitem__), np.intp)


def recall_owned_or_user_data(members: Sequence[Member]) -> ReportedPartitions:
    """Return the partitions that members own.

    If no member owns a partition, the partitions in their user data of "sticky" are returned.
    """
    memory = recall_owned(members)
    return memory if memory.sizes.any() else recall_user_data(members)
