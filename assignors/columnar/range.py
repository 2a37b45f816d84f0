"""Assigns as "range" and "broker-range" do: each topic is cut into one range for each member (KIP-881)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import and_, or_

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment
from assignors.columnar.numbering import (
    Audiences,
    BrokerNumbering,
    JoinPosition,
    Numbering,
    Subscriptions,
    in_name_order,
    member_order,
    members_by_hash,
    replica_patterns,
    topics_that_exist,
)
from assignors.group import Group, Member, Topic
from partitioning.java import hash_map_capacity, hash_map_keys
from partitioning.kit.columns import bounds, sort_positions


def assign_range(group: Group) -> Assignment:
    """Return the assignment of "range".

    In a member's list, topics are in the order of the JVM's HashMap; if racks decide, they are sorted by
    name.
    """
    members = group.members
    subscriptions = Subscriptions.of(members)
    subscribed = hash_map_keys(_subscribed_topics(members, subscriptions))
    existing = topics_that_exist(group, subscribed)
    # Java builds a second map without the topics that have no partitions. With fewer topics its table can be
    # shorter, and then its order is another one.
    names = hash_map_keys([name for name in subscribed if name in existing])
    order = member_order(members)

    topics = [existing[name] for name in names]
    matched: list[_CoPartitionedTopics] = []
    # Racks can match only if both members and replicas have racks. Otherwise the search for co-partitioned
    # topics is skipped.
    if any(topic.racks is not None for topic in topics) and any(member.rack for member in members):
        matched = _group_co_partitioned(topics, members, subscriptions, order)
    racks_decide = any(group.needs_racks for group in matched)
    # If racks decide, the JVM takes topics in the order of their names; else in the order of its HashMap.
    if racks_decide:
        topics = in_name_order(topics)
    numbering = Numbering.of(members, subscriptions, topics)
    if racks_decide:
        owners = {name: owners for group in matched for name, owners in group.owners()}
        owner = np.concatenate([owners[topic] for topic in numbering.topics])
    else:
        owner = range_owners(numbering.counts, subscriptions.audiences(numbering.topics, order))
    return numbering.assignment_by_owner(owner)


def _subscribed_topics(members: Sequence[Member], subscriptions: Subscriptions) -> list[str]:
    """Return every subscribed topic once, in the order in which the HashMap of members first yields it."""
    if len(subscriptions.lists) == 1:
        return list(subscriptions.lists[0])
    visits = members_by_hash([member.id for member in members])
    codes = dict.fromkeys(subscriptions.of_member[visits].tolist())
    return list(dict.fromkeys(topic for code in codes for topic in subscriptions.lists[code]))


def range_owners(counts: NDArray[np.int64], audiences: Audiences) -> JoinPosition:
    """Return the member that gets each partition, by partition id.

    Topics with the same count and the same audience are cut only once.

    Args:
        counts: the partitions of each topic.
        audiences: the audiences of these topics; each lists its members in the order of their ranges.
    """
    cuts: dict[tuple[int, int], JoinPosition] = {}
    handed_out: list[JoinPosition] = [np.empty(0, np.intp)]
    for count, audience in zip(counts.tolist(), audiences.of_topic, strict=True):
        cut = cuts.get((count, audience))
        if cut is None:
            cut = cuts[count, audience] = _cut(count, audiences.members[audience])
        handed_out.append(cut)
    return np.concatenate(handed_out)


def _cut(count: int, members: JoinPosition) -> JoinPosition:
    """Return the owner of each partition of one topic.

    All ranges have the same length, but the first `extra` ranges have one partition more. If there are fewer
    partitions than members, the last members get none.
    """
    quota, extra = divmod(count, len(members))
    if quota == 0:
        return members[:extra]
    return members.repeat(quota + (np.arange(len(members)) < extra))


@dataclass(frozen=True, slots=True)
class _CoPartitionedTopics:
    """Holds topics that are cut into the same ranges, because they have the same members and partition count.

    The counts may differ if no member has a rack. A set of racks is an integer with one bit for each rack.

    Attributes:
        members: the join positions of the members, in the order in which they get their ranges.
        near: the rack of each member as one bit, in the order of `members`; 0 for a member without a rack.
        topics: the topics.
        racks: for each topic, the set of racks of each partition's replicas.
    """

    members: list[int]
    near: list[int]
    topics: list[Topic]
    racks: list[list[int]]

    @property
    def needs_racks(self) -> bool:
        """True if racks can change the answer.

        That is so if some topic has a replica in a member's rack, and at least one partition of that topic
        lacks a rack that its other partitions have.
        """
        members = reduce(or_, self.near)
        return any(
            members & (everywhere := reduce(or_, racks)) and any(where != everywhere for where in racks)
            for racks in self.racks
        )

    def owners(self) -> Iterator[tuple[str, NDArray[np.intp]]]:
        """Yield each topic's name with the member of each of its partitions, by partition number."""
        members = np.array(self.members, np.intp)
        if not any(self.near):
            for topic in self.topics:
                ranges = _Ranges(topic.partitions, self.near)
                ranges.fill()
                yield topic.name, members[ranges.owner]
            return
        ranges = _Ranges(self.topics[0].partitions, self.near)
        if len(self.topics) > 1:
            ranges.match_together([reduce(and_, racks) for racks in zip(*self.racks, strict=True)])
        elif self.needs_racks:
            ranges.match(self.racks[0])
        ranges.fill()
        owners = members[ranges.owner]
        for topic in self.topics:
            yield topic.name, owners


def _group_co_partitioned(
    topics: Sequence[Topic], members: Sequence[Member], subscriptions: Subscriptions, order: NDArray[np.intp]
) -> list[_CoPartitionedTopics]:
    """Return the groups of topics with the same members and, if some members have a rack, the same count.

    Args:
        topics: the topics that have partitions, in the order of the JVM's map.
        members: the members, in the order in which they joined.
        subscriptions: the subscriptions of the members.
        order: the join positions of the members, in the order in which they get their ranges.
    """
    bits: dict[str, int] = {}
    rack = [_bit(member.rack, bits) if member.rack else 0 for member in members]
    patterns: dict[frozenset[str], int] = {}
    pattern_of = [replica_patterns(topic, patterns) for topic in topics]
    racks_of = [reduce(or_, (_bit(name, bits) for name in names), 0) for names in patterns]
    audiences = subscriptions.audiences([topic.name for topic in topics], order)
    subscribers = [members.tolist() for members in audiences.members]
    located = [any(rack[member] for member in members) for members in subscribers]
    co_partitioned: dict[tuple[int, int], list[tuple[Topic, list[int]]]] = defaultdict(list)
    # Java groups topics with equal subscribers and equal partition counts. If no member has a rack, it takes
    # 0 for every count, so all topics with the same subscribers are in one group.
    for topic, audience, pattern in zip(topics, audiences.of_topic, pattern_of, strict=True):
        racks = [racks_of[number] for number in pattern]
        co_partitioned[audience, topic.partitions if located[audience] else 0].append((topic, racks))
    return [
        _CoPartitionedTopics(
            subscribers[audience],
            [rack[member] for member in subscribers[audience]],
            [topic for topic, _ in group],
            [racks for _, racks in group],
        )
        for (audience, _), group in co_partitioned.items()
    ]


class _Ranges:
    """Cuts the partitions of one topic into ranges. A member's number is its turn to get a range.

    Attributes:
        owner: the member of each partition number; -1 while the partition is free.
        _near: the rack of each member as one bit; 0 if it has none.
        _assigned: how many partitions each member has.
        _quota: how many partitions each member may get.
        _extra: how many members may still get one partition more than `_quota`.
    """

    def __init__(self, partitions: int, near: Sequence[int]) -> None:
        self.owner = [-1] * partitions
        self._near = near
        self._quota, self._extra = divmod(partitions, len(near))
        self._assigned = [0] * len(near)

    def match_together(self, racks: Sequence[int]) -> None:
        """Give each partition to the first member that has room and is near it, if there is one.

        Args:
            racks: for each partition number, the racks in which each of the co-partitioned topics has a
                replica. A member without a rack is near every partition.
        """
        waiting: dict[int, list[int]] = defaultdict(list)
        # Lists are in reverse order of turns: `pop` then removes the first member in constant time.
        for member in reversed(range(len(self._near))):
            waiting[self._near[member]].append(member)
        for partition, where in enumerate(racks):
            near = [members for rack, members in waiting.items() if not rack or rack & where]
            for members in near:
                while members and self._room(members[-1]) <= 0:  # room never grows: a full member stays full
                    members.pop()
            first = min((members[-1] for members in near if members), default=None)
            if first is not None:
                self._give([partition], first)

    def match(self, racks: Sequence[int]) -> None:
        """Give each member in turn the first free partitions that are near it, up to its room."""
        self._serve({rack: self._free_partitions(racks, rack) for rack in set(self._near)})

    def fill(self) -> None:
        """Give each member in turn the first free partitions, up to its room."""
        everything = self._free_partitions([0] * len(self.owner), 0)
        self._serve(dict.fromkeys(self._near, everything))

    def _serve(self, choice: dict[int, Iterator[int]]) -> None:
        """Give each member, in turn, as many partitions of its rack's choice as it has room for.

        Args:
            choice: by rack, an iterator of free partitions. Members of one rack share the iterator, so each
                partition goes to one member only.
        """
        for member, rack in enumerate(self._near):
            room = self._room(member)
            if room > 0:
                self._give(list(islice(choice[rack], room)), member)

    def _free_partitions(self, racks: Sequence[int], rack: int) -> Iterator[int]:
        """Yield the partitions near a rack that are still free at the moment in which they are drawn.

        A rack of 0 stands for none: all partitions are near.
        """
        for partition, where in enumerate(racks):
            if self.owner[partition] < 0 and (not rack or rack & where):
                yield partition

    def _room(self, member: int) -> int:
        """Return how many partitions the member may still get; this number never grows."""
        return self._quota + (self._extra > 0) - self._assigned[member]

    def _give(self, partitions: Sequence[int], member: int) -> None:
        """Give these partition numbers to a member; if it then exceeds the quota, one extra is used up."""
        for partition in partitions:
            self.owner[partition] = member
        self._assigned[member] += len(partitions)
        if self._assigned[member] > self._quota:
            self._extra -= 1


def _bit(rack: str, bits: dict[str, int]) -> int:
    """Return the bit of a rack; a new rack gets the next free bit."""
    return bits.setdefault(rack, 1 << len(bits))


def assign_broker_range(group: Group) -> Assignment:
    """Return the assignment of "broker-range", with each member's list in the order of the broker's maps."""
    members = group.members
    if not members:
        return Assignment.of({})
    subscriptions = Subscriptions.of(members)
    numbering = BrokerNumbering.of_cluster(group.topics, members, subscriptions)
    order = member_order(members)
    owner = range_owners(numbering.counts, subscriptions.audiences(numbering.topics, order))
    topic = numbering.topic_of

    if subscriptions.are_equal:
        first = subscriptions.lists[subscriptions.of_member[order[0]]]
        place = np.repeat(_places(first, numbering, equal=True), numbering.counts)
    else:
        places = [_places(topics, numbering, equal=False) for topics in subscriptions.lists]
        # A member's map has only the topics of its own subscription, so a topic's place depends on the
        # subscription.
        place = np.stack(places)[subscriptions.of_member[owner], topic]
    rows = sort_positions(owner, place)
    return Assignment(
        members=numbering.ids,
        topics=numbering.topics,
        counts=numbering.counts,
        offsets=bounds(np.bincount(owner, minlength=len(members))),
        topic=topic[rows],
        partition=numbering.number_of[rows],
    )


def _places(subscription: Sequence[str], numbering: BrokerNumbering, *, equal: bool) -> NDArray[np.intp]:
    """Return the place of each topic in the HashMap in which members with this subscription get their ranges.

    If all subscriptions are equal, topics that do not exist do not count for the length of the map's table.

    Args:
        subscription: the topic names as a member lists them.
        numbering: the numbering of the group.
        equal: True if all members subscribe to the same topics.

    Returns:
        intp of shape (topics,): a topic's place; 0 for a topic that is not in the subscription.
    """
    added = numbering.in_set_order(subscription)
    capacity = hash_map_capacity(len(added if equal else subscription))
    place = np.zeros(len(numbering.topics), np.intp)
    place[numbering.in_map_order(added, capacity)] = np.arange(len(added))
    return place
