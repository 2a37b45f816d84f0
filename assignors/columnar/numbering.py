"""Numbers the members, subscriptions, topics, partitions and racks of a group, for all strategies.

The aliases `JoinPosition`, `IdRank`, `Visit`, `TopicRow` and `PartitionId` say what the integers of an array
count. All of them are one type for mypy, so it reports no error if a function confuses two of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import ne
from typing import NamedTuple, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment, Certificate
from assignors.group import CarriedMembers, Group, Member, Topic, made_id, topic_id
from assignors.partition_list import PartitionList
from partitioning.java import hash_map_order, hash_set_capacity, string_hashes, utf16_key
from partitioning.java.hash_codes import spread
from partitioning.kit.columns import bounds, group_rows, inverse


class OddGroup(Exception):  # noqa: N818 - not an error: the rule answers instead
    """The columns cannot decide this group, and the rule must.

    Such a group has no members, has a subscription that is empty or names a topic twice, or has members that
    claim a partition twice or claim partitions that do not exist. Others have hash maps so crowded that
    arithmetic cannot tell their order, or are groups with which the JVM's assignor fails or never ends.
    """


def member_order(members: Sequence[Member]) -> NDArray[np.intp]:
    """Return the members' join positions: static members by instance id, then dynamic ones by member id.

    Ids compare as in Java, by UTF-16 code unit. Static members that share an instance id stay in the order of
    the leader's HashMap; no coordinator admits such members.
    """
    ids = [member.id for member in members]
    instances = [member.instance_id for member in members]
    if instances.count(None) == len(instances):
        return np.array(java_order(range(len(ids)), ids), np.intp)
    # Sorting is stable, so static members that share an instance id stay in the order of the HashMap.
    static = [row for row in members_by_hash(ids).tolist() if instances[row] is not None]
    dynamic = [row for row, instance in enumerate(instances) if instance is None]
    names = [instance or "" for instance in instances]
    return np.array(java_order(static, names) + java_order(dynamic, ids), np.intp)


def java_order(rows: Iterable[int], names: Sequence[str]) -> list[int]:
    """Return the rows, stably sorted by their names as Java's `String.compareTo` does."""
    # ASCII text has the same order by code point and by UTF-16 code unit. So it needs no key for each name,
    # which would take longer.
    if "".join(names).isascii():
        return sorted(rows, key=names.__getitem__)
    return sorted(rows, key=lambda row: utf16_key(names[row]))


def members_by_hash(ids: Sequence[str], hashes: NDArray[np.int32] | None = None) -> NDArray[np.intp]:
    """Return positions of the member ids in the order in which a `HashMap` filled with them iterates.

    The map is filled in the order of `ids`. `hashes` are their hash codes, if these are known already.
    """
    return hash_map_order(string_hashes(ids) if hashes is None else hashes, keys=ids)


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Holds the distinct subscriptions of a group. A subscription is an index into `lists`.

    Attributes:
        lists: the distinct lists of topic names, each in the order in which a member lists it. No list names
            a topic twice.
        of_member: the subscription of each member, by join position.
        are_equal: True if all members subscribe to the same topics, in any order.
    """

    lists: list[tuple[str, ...]]
    of_member: NDArray[np.intp]
    are_equal: bool

    @classmethod
    def of(cls, members: Sequence[Member], order: Iterable[int] | None = None) -> Subscriptions:
        """Return the subscriptions of these members.

        Args:
            members: the members, in the order in which they joined.
            order: join positions. `of_member` is in this order, and `lists` in the order of first appearance;
                None stands for the order of `members`.

        Raises:
            OddGroup: a subscription names a topic twice.
        """
        topics: Sequence[Sequence[str]] = CarriedMembers.of(members).column("topics")
        # If all members list the same topics, the order of members makes no difference.
        if order is not None and topics.count(topics[0]) < len(topics):
            topics = [topics[row] for row in order]
        lists, of_member = distinct_lists(topics)
        sets = [frozenset(topics) for topics in lists]
        if any(map(ne, map(len, sets), map(len, lists))):
            raise OddGroup
        return cls(lists=lists, of_member=of_member, are_equal=not any(map(ne, sets, sets[1:])))

    def audiences(self, topics: Sequence[str], order: NDArray[np.integer]) -> Audiences:
        """Return the audiences of these topics.

        Args:
            topics: topic names, each with at least one subscriber.
            order: members, as indices of `of_member`, in the order in which an audience lists them.
        """
        # With one subscription all topics have the same audience: all members.
        if len(self.lists) == 1:
            return Audiences(of_topic=[0] * len(topics), members=[order], of_subscription=[[0]])
        # A topic's audience follows from the subscriptions that name it, so their tuple identifies the
        # audience.
        readers: dict[str, list[int]] = {topic: [] for topic in topics}
        for code, subscription in enumerate(self.lists):
            for topic in subscription:
                if topic in readers:
                    readers[topic].append(code)
        numbers: dict[tuple[int, ...], int] = {}
        of_topic = [numbers.setdefault(tuple(readers[topic]), len(numbers)) for topic in topics]
        of_subscription: list[list[int]] = [[] for _ in self.lists]
        members = []
        code_of = self.of_member[order]
        for codes, audience in numbers.items():
            inside = np.zeros(len(self.lists), np.bool_)
            inside[list(codes)] = True
            members.append(order if len(codes) == len(self.lists) else order[inside[code_of]])
            for code in codes:
                of_subscription[code].append(audience)
        return Audiences(of_topic=of_topic, members=members, of_subscription=of_subscription)


@dataclass(frozen=True, slots=True)
class Audiences:
    """Holds the distinct sets of subscribers that topics have. An audience is an index into `members`.

    Attributes:
        of_topic: the audience of each topic.
        members: the members of each audience, in the `order` given to `Subscriptions.audiences`.
        of_subscription: for each subscription, the audiences that its members belong to.
    """

    of_topic: list[int]
    members: list[NDArray[np.integer]]
    of_subscription: list[list[int]]


def distinct_lists(lists: Sequence[Sequence[str]]) -> tuple[list[tuple[str, ...]], NDArray[np.intp]]:
    """Return the distinct lists in the order of their first appearance, and for each list its index there."""
    # Often all lists are equal, or even one object. To compare the lists costs less than to hash each of
    # them.
    if lists and lists.count(lists[0]) == len(lists):
        return [tuple(lists[0])], np.zeros(len(lists), np.intp)
    # Members can share one list object, so each object is examined once.
    codes: dict[tuple[str, ...], int] = {}
    by_identity: dict[int, int] = {}
    code, latest = -1, None
    for identity, topics in dict(zip(map(id, lists), lists, strict=True)).items():
        if topics != latest:  # comparing neighbouring lists is cheaper than hashing each list
            code = codes.setdefault(tuple(topics), len(codes))
        by_identity[identity], latest = code, topics
    return list(codes), np.fromiter(map(by_identity.__getitem__, map(id, lists)), np.intp, len(lists))


# These names say what the numbers in an array count.
JoinPosition: TypeAlias = "NDArray[np.integer]"
"""Members in the order in which they joined: indices into `Group.members`."""
IdRank: TypeAlias = "NDArray[np.integer]"
"""Members in ascending order of member id."""
Visit: TypeAlias = "NDArray[np.integer]"
"""Members in the order in which a HashMap of their ids iterates."""
TopicRow: TypeAlias = "NDArray[np.integer]"
"""Topics, indices into `Numbering.topics`."""
PartitionId: TypeAlias = "NDArray[np.integer]"
"""Partitions: partition p of topic t is `starts[t] + p`."""


@dataclass(frozen=True)
class Numbering:
    """Numbers the members and topics of a group; a strategy needs nothing else but the previous owners.

    A member is an index into `members`, and a topic an index into `topics`. A partition has an id: partition
    p of topic t is `starts[t] + p`.

    Attributes:
        members: the members, in the order in which they joined.
        topics: the names of the topics.
        counts: the partitions of each topic, int64 of shape (topics,).
        starts: the id of each topic's first partition, int64 of shape (topics + 1,). The last value is the
            number of all partitions.
        subscriptions: the distinct subscriptions of the members.
    """

    members: Sequence[Member]
    topics: tuple[str, ...]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    subscriptions: Subscriptions

    @classmethod
    def of(
        cls, members: Sequence[Member], subscriptions: Subscriptions, topics: Sequence[Topic]
    ) -> Numbering:
        """Return the numbering of these members and topics."""
        counts = np.array([topic.partitions for topic in topics], np.int64)
        return cls(
            members=members,
            topics=tuple([topic.name for topic in topics]),
            counts=counts,
            starts=bounds(counts),
            subscriptions=subscriptions,
        )

    @property
    def total(self) -> int:
        """The number of partitions."""
        return int(self.starts[-1])

    @cached_property
    def index(self) -> dict[str, int]:
        """Topic name -> the topic's number."""
        return {name: topic for topic, name in enumerate(self.topics)}

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The member ids, by join position."""
        return CarriedMembers.of(self.members).column("id")

    def sort_by_id(self, members: JoinPosition) -> JoinPosition:
        """Return these members in ascending order of member id, which breaks the sticky strategies' ties."""
        return np.array(java_order(members.tolist(), self.ids), np.intp)

    @cached_property
    def by_id(self) -> JoinPosition:
        """All members in ascending order of member id."""
        return self.sort_by_id(np.arange(len(self.ids)))

    @cached_property
    def id_rank(self) -> IdRank:
        """The position of each member in `by_id`."""
        return inverse(self.by_id)

    @cached_property
    def by_hash(self) -> JoinPosition:
        """Members in the order in which the leader's HashMap of subscriptions iterates over them."""
        return members_by_hash(self.ids)

    @cached_property
    def by_owner_hash(self) -> JoinPosition:
        """Members in the order of a HashMap that is filled in the order of `by_hash`."""
        # Java fills this map while it iterates over the map of `by_hash`. So the order of that map decides
        # which member comes first in a bin.
        visited = self.by_hash
        return visited[members_by_hash([self.ids[row] for row in visited.tolist()])]

    @cached_property
    def topic_of(self) -> NDArray[np.int32]:
        """The topic of each partition id."""
        return np.arange(len(self.topics), dtype=np.int32).repeat(self.counts)

    @cached_property
    def number_of(self) -> NDArray[np.int32]:
        """The partition number of each partition id."""
        number = np.arange(self.total, dtype=np.int32)
        number -= self.starts[:-1].astype(np.int32).repeat(self.counts)
        return number

    @cached_property
    def subscribed(self) -> NDArray[np.bool_]:
        """True if a subscription names a topic that has partitions: bool of shape (subscriptions, topics)."""
        subscribed = np.zeros((len(self.subscriptions.lists), len(self.topics)), np.bool_)
        for code, names in enumerate(self.subscriptions.lists):
            subscribed[code, [self.index[name] for name in names if name in self.index]] = True
        # A deleted topic is numbered, too, if a target assignment still has it. It has no partitions.
        subscribed[:, self.counts == 0] = False
        return subscribed

    def assignment_by_owner(self, owner: JoinPosition) -> Assignment:
        """Return the assignment with these owners, one for each partition id.

        Each member's list has the topics in the order of `topics`, and a topic's partitions ascending.
        """
        return OwnerRows(owner, self.topic_of, self.number_of).assignment(self.ids, self.topics, self.counts)


class OwnerRows(NamedTuple):
    """Holds the owner of each partition, one row a partition.

    The rows of a member are in the order of its list in the assignment.

    Attributes:
        member: the member of each row, a join position.
        topic: the topic of each row.
        number: the partition number of each row.
        waits: True for rows whose partition another member must revoke first, so that it is transferring
            until the next rebalance; None if no row waits.
        kept: the first `kept` rows are partitions that their member had before; 0 if that is not known.
    """

    member: JoinPosition
    topic: TopicRow
    number: NDArray[np.integer]
    waits: NDArray[np.bool_] | None = None
    kept: int = 0

    def assignment(
        self,
        ids: tuple[str, ...],
        topics: tuple[str, ...],
        counts: NDArray[np.int64],
        certificate: Certificate | None = None,
    ) -> Assignment:
        """Return these rows as an assignment.

        Args:
            ids: the member ids, by join position.
            topics: the names of the topics.
            counts: the partitions of each topic.
            certificate: the certificate of the assignment; None for none.
        """
        member, topic, number, waits, _ = self
        transferring = None
        # A partition that waits is in no member's list in this rebalance, but in `Assignment.transferring`.
        if waits is not None and waits.any():
            transferring = (
                PartitionList(topics, topic[waits].astype(np.int32), number[waits].astype(np.int32)),
                member[waits].astype(np.int32),
            )
            member, topic, number = member[~waits], topic[~waits], number[~waits]
        order, offsets = group_rows(member, len(ids))
        return Assignment(
            members=ids,
            topics=topics,
            counts=counts,
            offsets=offsets,
            topic=topic[order].astype(np.int32, copy=False),
            partition=number[order].astype(np.int32, copy=False),
            transferring=transferring,
            certificate=certificate,
        )


def topics_that_exist(group: Group, names: Iterable[str]) -> dict[str, Topic]:
    """Return the topics of these names that have partitions, in the order of the cluster's metadata."""
    wanted = names if isinstance(names, (set, dict)) else set(names)
    return {topic.name: topic for topic in group.topics if topic.partitions and topic.name in wanted}


def in_name_order(topics: Iterable[Topic]) -> list[Topic]:
    """Return the topics, ordered by name as Java does."""
    listed = list(topics)
    return [listed[row] for row in java_order(range(len(listed)), [topic.name for topic in listed])]


@dataclass(frozen=True, slots=True)
class Racks:
    """Holds the racks of members and replicas, for a group in which racks change the answer.

    A rack is a number; only racks of members have one. A pattern is the set of racks that the replicas of
    some partition are in.

    Attributes:
        member: the rack of each member, int32 of shape (members,); -1 if it has none.
        pattern: the pattern of each partition id, int32 of shape (partitions,).
        inside: True if a pattern contains a rack, bool of shape (patterns, racks).
    """

    member: NDArray[np.int32]
    pattern: NDArray[np.int32]
    inside: NDArray[np.bool_]

    @classmethod
    def of(cls, topics: Mapping[str, Topic], numbering: Numbering) -> Racks | None:
        """Return the racks of a group with these topics, or None if they do not change the answer.

        They change it if some member's rack has a replica, unless every partition has a replica in every
        rack.
        """
        names: dict[str, int] = {}
        racks = CarriedMembers.of(numbering.members).column("rack")
        if not any(racks):
            return None
        member = [names.setdefault(rack, len(names)) if rack else -1 for rack in racks]
        patterns: dict[frozenset[str], int] = {}
        pattern = np.empty(numbering.total, np.int32)
        starts = numbering.starts.tolist()
        for name, start, end in zip(numbering.topics, starts, starts[1:], strict=False):
            pattern[start:end] = replica_patterns(topics[name], patterns)
        # A rack without any replica does not count, so "every rack" means every rack of a replica.
        everywhere = frozenset[str]().union(*patterns)
        if everywhere.isdisjoint(names) or all(racks == everywhere for racks in patterns):
            return None
        inside = np.zeros((len(patterns), len(names)), np.bool_)
        for racks_, row in patterns.items():
            inside[row, [names[rack] for rack in racks_ if rack in names]] = True
        return cls(member=np.array(member, np.int32), pattern=pattern, inside=inside)

    def mismatch(self, members: JoinPosition, ids: PartitionId) -> NDArray[np.bool_]:
        """Return whether each row's member has a rack in which the row's partition has no replica."""
        rack = self.member[members]
        return (rack >= 0) & ~self.inside[self.pattern[ids], rack]

    def by_choice(self, ids: PartitionId) -> PartitionId:
        """Return the partitions, sorted by how many members are near them, ascending; ties stay in order.

        A member is near a partition if the partition has a replica in the member's rack.
        """
        members = np.bincount(self.member[self.member >= 0], minlength=self.inside.shape[1])
        near = self.inside @ members
        return ids[np.argsort(near[self.pattern[ids]], kind="stable")]


def replica_patterns(topic: Topic, patterns: dict[frozenset[str], int]) -> list[int]:
    """Return the pattern of each partition of a topic; a new pattern gets the next number in `patterns`."""
    if topic.racks is None:
        return [patterns.setdefault(frozenset(), len(patterns))] * topic.partitions
    pattern_of: dict[Collection[str], int] = {}
    numbers = []
    for names in topic.racks:
        # A list cannot be a key of a dict; tuples and frozensets are looked up as they are, without a copy.
        key = names if type(names) is tuple or type(names) is frozenset else frozenset(names)
        code = pattern_of.get(key)
        if code is None:
            racks = frozenset(name for name in key if name is not None)
            code = pattern_of[key] = patterns.setdefault(racks, len(patterns))
        numbers.append(code)
    return numbers


@dataclass(frozen=True)
class BrokerNumbering(Numbering):
    """Numbers a group as `Numbering` does, but with the coordinator's topic ids and with deleted topics.

    In "uniform" a member's number is its place in the order in which the coordinator visits members
    (`Visit`), and `subscriptions.of_member` has this order, too. Deleted topics that a target assignment
    still has come last and have no partitions.

    Attributes:
        topic_ids: the 16 bytes of each topic's id.
    """

    topic_ids: list[bytes]

    @classmethod
    def of_cluster(
        cls,
        topics: Sequence[Topic],
        members: Sequence[Member],
        subscriptions: Subscriptions,
        targeted: Collection[str] = (),
    ) -> BrokerNumbering:
        """Return the numbering of these members and of the topics in their subscriptions or targets.

        Args:
            topics: the topics of the cluster.
            members: the members, in the order in which they joined.
            subscriptions: the subscriptions of the members.
            targeted: names of the topics in the members' target assignments.
        """
        wanted = set[str]().union(*subscriptions.lists, targeted)
        existing = [topic for topic in topics if topic.partitions and topic.name in wanted]
        names = [topic.name for topic in existing]
        gone = sorted(set(targeted).difference(names))
        counts = np.array([topic.partitions for topic in existing] + [0] * len(gone), np.int64)
        return cls(
            members=members,
            topics=tuple(names + gone),
            counts=counts,
            starts=bounds(counts),
            subscriptions=subscriptions,
            topic_ids=[topic_id(topic) for topic in existing] + [made_id(name) for name in gone],
        )

    @cached_property
    def has_subscriber(self) -> NDArray[np.bool_]:
        """True for each topic that some member subscribes to, bool of shape (topics,)."""
        # Names decide, so a deleted topic counts as subscribed if a subscription still names it.
        names = set[str]().union(*self.subscriptions.lists)
        return np.array([name in names for name in self.topics], np.bool_)

    def in_set_order(self, names: Sequence[str]) -> TopicRow:
        """Return a subscription's topics that exist, in the order of the HashSet of its names."""
        order = hash_map_order(string_hashes(names), capacity=hash_set_capacity(len(names)), keys=names)
        rows = np.array([self.index.get(name, -1) for name in names], np.intp)[order]
        rows = rows[rows >= 0]
        return rows[self.counts[rows] > 0]

    def in_id_order(self, names: Sequence[str]) -> TopicRow:
        """Return a subscription's topics that exist, in the order of the HashSet of their ids.

        The set is filled in the order of `in_set_order`.
        """
        return self.in_map_order(self.in_set_order(names), hash_set_capacity(len(names)))

    def in_map_order(self, topics: TopicRow, capacity: int) -> TopicRow:
        """Return these topics in the order of a HashMap of this capacity, into which their ids are put."""
        return topics[hash_map_order(self._hashes[topics], capacity=capacity, keys=self.halves[topics])]

    @cached_property
    def uuids(self) -> list[UUID]:
        """The id of each topic."""
        return [UUID(bytes=sixteen) for sixteen in self.topic_ids]

    @cached_property
    def halves(self) -> NDArray[np.int64]:
        """The high and the low half of each topic id, int64 of shape (topics, 2).

        `Uuid.compareTo` compares these signed numbers.
        """
        return np.frombuffer(b"".join(self.topic_ids), ">i8").astype(np.int64).reshape(-1, 2)

    @cached_property
    def spread_hashes(self) -> NDArray[np.int32]:
        """The hash code of each topic id, spread as `HashMap.hash` spreads it."""
        return spread(self._hashes)

    @cached_property
    def _hashes(self) -> NDArray[np.int32]:
        """The `Uuid.hashCode` of each topic id."""
        mixed = self.halves[:, 0] ^ self.halves[:, 1]
        return (mixed ^ (mixed >> 32)).astype(np.int32)
