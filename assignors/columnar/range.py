"""Assigns as "range" does (KIP-881), the client's and the broker's: every topic is cut into ranges."""

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
    """Return the assignment; topics in the order of the JVM's HashMap or, where racks decide, by name."""
    members = group.members
    subscriptions = Subscriptions.of(members)
    subscribed = hash_map_keys(_subscribed_topics(members, subscriptions))
    existing = topics_that_exist(group, subscribed)
    # Java builds a second map, without the topics that have no partitions; it may be shorter and so have
    # another order.
    names = hash_map_keys([name for name in subscribed if name in existing])
    order = member_order(members)

    topics = [existing[name] for name in names]
    matched: list[_CoPartitioned] = []
    # Only if both sides have racks can one of them match; the search for co-partitioned topics is left out
    # otherwise.
    if any(topic.racks is not None for topic in topics) and any(member.rack for member in members):
        matched = _group_co_partitioned(topics, members, subscriptions, order)
    racks_decide = any(group.needs_racks for group in matched)
    # With racks the JVM goes over topics by name; without, in the order of its HashMap.
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
    """Return every subscribed topic, in the order they are first seen in the HashMap of members."""
    if len(subscriptions.lists) == 1:
        return list(subscriptions.lists[0])
    visits = members_by_hash([member.id for member in members])
    codes = dict.fromkeys(subscriptions.of_member[visits].tolist())
    return list(dict.fromkeys(topic for code in codes for topic in subscriptions.lists[code]))


def range_owners(counts: NDArray[np.int64], audiences: Audiences) -> JoinPosition:
    """Return the member that gets each partition, by partition id.

    The members of an audience are in the order in which they get their ranges. Topics with the same count and
    audience are cut once.
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
    """Return the owner of each partition of one topic: ranges of equal length, the first `extra` one longer.

    If there are fewer partitions than members, the last members get none.
    """
    quota, extra = divmod(count, len(members))
    if quota == 0:
        return members[:extra]
    return members.repeat(quota + (np.arange(len(members)) < extra))


@dataclass(frozen=True, slots=True)
class _CoPartitioned:
    """Holds co-partitioned topics, which are cut alike; their counts differ only if no member has a rack.

    A set of racks is an integer with one bit a rack.

    Attributes:
        members: the members, in the order in which they get their ranges.
        near: the rack of each member as one bit, 0 if it has none.
        topics: the topics.
        racks: the racks of each partition's replicas, a list for each topic.
    """

    members: list[int]
    near: list[int]
    topics: list[Topic]
    racks: list[list[int]]

    @property
    def needs_racks(self) -> bool:
        """True if some topic has a replica near some member, and not all its partitions in all racks."""
        members = reduce(or_, self.near)
        return any(
            members & (everywhere := reduce(or_, racks)) and any(where != everywhere for where in racks)
            for racks in self.racks
        )

    def owners(self) -> Iterator[tuple[str, NDArray[np.intp]]]:
        """Yield each topic with the members its partitions go to."""
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
) -> list[_CoPartitioned]:
    """Return the groups of topics with the same members and, if some members have a rack, the same count.

    Args:
        topics: topics with partitions, in the order of the JVM's map.
        members: in the order in which they joined.
        subscriptions: theirs.
        order: join positions in the order in which members get their ranges.
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
    # Without a rack among the members, Java compares a count of 0 for every topic: all of them are in one
    # group.
    for topic, audience, pattern in zip(topics, audiences.of_topic, pattern_of, strict=True):
        racks = [racks_of[number] for number in pattern]
        co_partitioned[audience, topic.partitions if located[audience] else 0].append((topic, racks))
    return [
        _CoPartitioned(
            subscribers[audience],
            [rack[member] for member in subscribers[audience]],
            [topic for topic, _ in group],
            [racks for _, racks in group],
        )
        for (audience, _), group in co_partitioned.items()
    ]


class _Ranges:
    """Cuts the partitions of one topic into ranges. Members are numbered by their turn to get a range.

    `owner` has the member of each partition number, -1 while it is free. `_assigned` is how many partitions
    each member has; `_extra` is how many members may still get one more than `_quota`.
    """

    def __init__(self, partitions: int, near: Sequence[int]) -> None:
        self.owner = [-1] * partitions
        self._near = near
        self._quota, self._extra = divmod(partitions, len(near))
        self._assigned = [0] * len(near)

    def match_together(self, racks: Sequence[int]) -> None:
        """Give each partition to the first member with room that is near it, or to none."""
        waiting: dict[int, list[int]] = defaultdict(list)
        # The member whose turn is first is at the end of its list, where `pop` takes it in constant time.
        for member in reversed(range(len(self._near))):
            waiting[self._near[member]].append(member)
        for partition, where in enumerate(racks):
            near = [members for rack, members in waiting.items() if not rack or rack & where]
            for members in near:
                while members and self._room(members[-1]) <= 0:  # it will have no room later either
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
        """Give each member in turn its room out of the choice for its rack.

        `choice` is by rack; members of one rack share an iterator, so what one gets is gone for the next.
        """
        for member, rack in enumerate(self._near):
            room = self._room(member)
            if room > 0:
                self._give(list(islice(choice[rack], room)), member)

    def _free_partitions(self, racks: Sequence[int], rack: int) -> Iterator[int]:
        """Yield partitions near the rack that are free when they are asked for.

        Without a rack all are near.
        """
        for partition, where in enumerate(racks):
            if self.owner[partition] < 0 and (not rack or rack & where):
                yield partition

    def _room(self, member: int) -> int:
        """Return how many partitions the member may still get; it never grows."""
        return self._quota + (self._extra > 0) - self._assigned[member]

    def _give(self, partitions: Sequence[int], member: int) -> None:
        """Give these partition numbers to a member; the first that passes the quota uses up one extra."""
        for partition in partitions:
            self.owner[partition] = member
        self._assigned[member] += len(partitions)
        if self._assigned[member] > self._quota:
            self._extra -= 1


def _bit(rack: str, bits: dict[str, int]) -> int:
    """Return the bit of a rack; a new rack gets the next one."""
    return bits.setdefault(rack, 1 << len(bits))


def assign_broker_range(group: Group) -> Assignment:
    """Return the assignment, each member's list in the order of the broker's maps."""
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
        # The place depends on the member's own subscription: its map holds its own topics only.
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

    Where all subscriptions are equal, topics that do not exist do not count for the length of its table.

    Args:
        subscription: topic names as a member lists them.
        numbering: of the group.
        equal: whether all members subscribe to the same topics.

    Returns:
        intp of shape (topics,): a topic's place; 0 for a topic that is not in the subscription.
    """
    added = numbering.in_set_order(subscription)
    capacity = hash_map_capacity(len(added if equal else subscription))
    place = np.zeros(len(numbering.topics), np.intp)
    place[numbering.in_map_order(added, capacity)] = np.arange(len(added))
    return place
