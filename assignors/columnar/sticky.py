"""Assigns as the leader of a "sticky" or "cooperative-sticky" group does.

First the members' claims are read; then members keep partitions up to their share; then the free partitions
are given out. This file decides groups with equal subscriptions, and `sticky_general` decides the others.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment
from assignors.columnar.filling import turns
from assignors.columnar.numbering import (
    JoinPosition,
    Numbering,
    OddGroup,
    OwnerRows,
    PartitionId,
    Racks,
    Subscriptions,
    in_name_order,
    topics_that_exist,
)
from assignors.columnar.sticky_general import assign_general
from assignors.columnar.sticky_structures import (
    Claims,
    ReportedPartitions,
    read_claims,
    recall_owned,
    recall_user_data,
)
from assignors.group import Group, StickyUserData
from assignors.partition_list import PartitionColumns, PartitionList, join_lists
from assignors.protocol import as_it_travels
from partitioning.java import string_hashes
from partitioning.java.hash_codes import spread
from partitioning.java.hash_map import DEFAULT_LENGTH, grown_lengths
from partitioning.java.many_maps import crowded_maps, map_order
from partitioning.kit.columns import bounds, inverse, join_columns, range_numbers, sort_rows


def assign_sticky(group: Group, highest: int) -> tuple[Assignment, int]:
    """Return the assignment of "sticky", and the highest generation that the leader knows after it.

    Args:
        group: the group.
        highest: the highest generation that this leader knew before; -1 for none.
    """
    numbering, claims, outcome = _decide(group, highest, recall_as_it_arrives)
    return outcome.assignment(numbering.ids, numbering.topics, numbering.counts), claims.highest


def assign_cooperative_sticky(group: Group, highest: int) -> tuple[Assignment, int]:
    """Return the assignment of "cooperative-sticky", and the highest generation that the leader then knows.

    Partitions that another member must revoke first are transferring in the assignment. See `assign_sticky`
    for the arguments.
    """
    numbering, claims, outcome = _decide(group, highest, _recall_owned)
    outcome = with_transfers(numbering, claims, outcome)
    return outcome.assignment(numbering.ids, numbering.topics, numbering.counts), claims.highest


def _decide(
    group: Group, highest: int, recall: Callable[[Numbering], ReportedPartitions]
) -> tuple[Numbering, Claims, OwnerRows]:
    """Return the numbering and the claims of a group, and the owner of each partition.

    Args:
        group: any group that a coordinator can make.
        highest: the highest generation that this leader knew before; -1 for none.
        recall: the function that reads the previous partitions of the members, as this strategy reports them.

    Raises:
        OddGroup: the group has no members, a subscription is empty while others are not, or `read_claims`
            refuses the claims.
    """
    subscriptions = Subscriptions.of(group.members)
    if not group.members or (len(subscriptions.lists) > 1 and () in subscriptions.lists):
        raise OddGroup
    topics = topics_that_exist(group, set().union(*subscriptions.lists))
    numbering = Numbering.of(group.members, subscriptions, in_name_order(topics.values()))
    claims = read_claims(numbering, recall(numbering), highest)
    assign = assign_constrained if subscriptions.are_equal else assign_general
    return numbering, claims, assign(numbering, claims, Racks.of(topics, numbering))


def _recall_owned(numbering: Numbering) -> ReportedPartitions:
    """Return the partitions that members own, in the order of their reports if subscriptions differ.

    If subscriptions are equal, that order makes no difference.
    """
    return recall_owned(numbering.members, in_order=not numbering.subscriptions.are_equal)


def recall_as_it_arrives(numbering: Numbering) -> ReportedPartitions:
    """Return the partitions in the members' user data, in the order in which their leader reads them.

    User data is sent as a map of topics, so a member's list reaches the leader in the order of that map. If
    subscriptions are equal, this order makes no difference and is not computed.
    """
    memory = recall_user_data(numbering.members)
    if numbering.subscriptions.are_equal:
        return memory
    lists = PartitionList.parts(memory.partitions, bounds(memory.sizes).tolist())
    data = [member.user_data for member in numbering.members]
    rows = [row for row, remembered in enumerate(data) if isinstance(remembered, StickyUserData)]
    if rows:
        for row, arrived in zip(rows, _as_they_arrive([lists[row] for row in rows]), strict=True):
            lists[row] = arrived
    return memory._replace(partitions=join_lists(lists)[0])


def _as_they_arrive(lists: Sequence[PartitionList]) -> list[PartitionList]:
    """Return each list as `as_it_travels` does, but computed for many lists at once.

    Lists whose maps are crowded are passed to `as_it_travels` one by one.
    """
    (names, topics, partitions), sizes = join_lists(lists)
    owner = np.repeat(np.arange(len(lists)), sizes)
    # A group here is a (member, topic) pair: `first` has the first row of each pair, `group` the pair of each
    # row.
    _, first, group = np.unique(owner * len(names) + topics, return_index=True, return_inverse=True)

    # Java looks up each partition's topic in the map (`computeIfAbsent`). A full map grows at the start of a
    # lookup, before a topic is added. So the last topic does not make the map grow if only one partition
    # looks it up.
    lookups = np.bincount(owner[first], minlength=len(lists))
    filled = np.flatnonzero(sizes)
    begins = np.flatnonzero(np.diff(owner[first], prepend=-1))
    last_topic = group[np.maximum.reduceat(first, begins)] if len(begins) else begins
    lookups[filled] -= np.bincount(group)[last_topic] == 1
    lengths = grown_lengths(np.full(len(lists), DEFAULT_LENGTH), lookups)
    hashes = spread(string_hashes(names))[topics[first]]
    # `computeIfAbsent` puts a new topic at the head of its bin, so topics are taken from the last to the
    # first.
    latest = np.argsort(-first, kind="stable")
    of_latest = owner[first[latest]]
    place = inverse(latest[map_order(of_latest, hashes[latest], lengths[of_latest])])
    # Rows are sorted by the place of their topic in the map; rows of one topic keep their order.
    rows = np.argsort(place[group], kind="stable")
    columns = PartitionColumns(names, topics[rows], partitions[rows])
    arrived = PartitionList.parts(columns, bounds(sizes).tolist())
    for row in crowded_maps(owner[first], hashes, lengths).tolist():
        arrived[row] = as_it_travels(lists[row])
    return arrived


def with_transfers(numbering: Numbering, claims: Claims, outcome: OwnerRows) -> OwnerRows:
    """Return the outcome with `waits` set: True for each partition that another member than its owner claims.

    Args:
        numbering: the numbering of the group.
        claims: the partitions that members own; each is claimed at most once.
        outcome: the owner of each partition; its first `kept` rows are claims that their member keeps.
    """
    kept = outcome.kept
    if kept == len(claims.id):  # every claim is kept
        return outcome
    ids = numbering.starts[outcome.topic[kept:]] + outcome.number[kept:]
    owner = np.full(numbering.total, -1, np.int32)
    owner[claims.id] = claims.member
    # Only the rows after the first `kept` rows can be partitions that are new to their member.
    had = owner[ids]
    moving = (had >= 0) & (had != outcome.member[kept:])
    return outcome._replace(waits=join_columns(np.zeros(kept, np.bool_), moving))


def assign_constrained(numbering: Numbering, claims: Claims, racks: Racks | None) -> OwnerRows:
    """Return the owners if all members subscribe to the same topics: first kept rows, then the others.

    Partitions that no member keeps come in the order of their ids, which is by topic name, then by number. If
    racks decide, partitions that are assigned to a member in one of their racks come before all others.

    Args:
        numbering: the numbering of the group, with topics in the order of their names.
        claims: the partitions that members own; each is claimed at most once.
        racks: the racks of members and replicas; None if they do not change the answer.
    """
    kept, seats = _keep(numbering, claims, racks)
    assigned = np.zeros(numbering.total, np.bool_)
    assigned[numbering.starts[kept.topic] + kept.number] = True
    ids = np.flatnonzero(~assigned)
    near = np.empty(0, np.int32)
    if racks is not None:
        # Partitions with few members near them are placed first, because these members could be full later.
        near, near_ids, rest = assign_nearby(racks.by_choice(ids), seats, racks)
        ids = np.concatenate([near_ids, rest])
    everything = racks is None and len(ids) == numbering.total  # ids are 0, 1, 2 ...: no lookup is needed
    return OwnerRows(
        member=join_columns(kept.member, join_columns(near, seats.round_robin()[: len(ids) - len(near)])),
        topic=join_columns(kept.topic, numbering.topic_of if everything else numbering.topic_of[ids]),
        number=join_columns(kept.number, numbering.number_of if everything else numbering.number_of[ids]),
        kept=len(kept.member),
    )


def _keep(numbering: Numbering, claims: Claims, racks: Racks | None) -> tuple[OwnerRows, Seats]:
    """Return the claims that members keep, and the seats that are then left.

    Claims are sorted by member, then by partition number, then by topic (KAFKA-16277). Each member keeps up
    to the least share. A member that claims more keeps one extra partition as long as there are extras. If
    there are too few extras, the members that come first in Java's HashMap keep one.
    """
    members = len(numbering.members)
    claimant, numbers, topics = claims.member, claims.number, claims.topic
    if racks is not None:
        near = ~racks.mismatch(claimant, claims.id)
        claimant, numbers, topics = claimant[near], numbers[near], topics[near]
    # Rows are sorted by number before topic, so a member that gives partitions up keeps some of every topic.
    member, number, topic = sort_rows(claimant, numbers, topics)

    have = np.bincount(member, minlength=members)
    least, extras = divmod(numbering.total, members)
    quota = np.where(have < least, have, least)
    extra: JoinPosition = np.flatnonzero(have > least) if extras else np.empty(0, np.intp)
    # More members may claim an extra partition than there are extras. Then the members that the JVM visits
    # first keep theirs, and all others give one up.
    if len(extra) > extras:
        extra = numbering.by_owner_hash[have[numbering.by_owner_hash] > least][:extras]
    quota[extra] += 1
    # Rows are grouped by member and sorted. The rows beyond a member's quota are its last rows.
    if (have > quota).any():
        # The rows of member m end at have.cumsum()[m]. The member loses its rows from the quota on.
        lost = range_numbers(have.cumsum() - have + quota, have - quota)
        member, topic, number = (np.delete(column, lost) for column in (member, topic, number))

    under = numbering.sort_by_id(np.flatnonzero(have < least))
    exact = numbering.sort_by_id(np.flatnonzero(quota == least)) if len(extra) < extras else extra[:0]
    seats = Seats(least=least, extras=extras - len(extra), size=quota, under=under, exact=exact)
    return OwnerRows(member, topic, number), seats


@dataclass(slots=True)
class Seats:
    """Holds the members that still get partitions: up to `least` each, and some of them one extra.

    Attributes:
        least: the least share: how many partitions every member gets at least.
        extras: how many more members may get an extra, which is one partition more than `least`.
        size: how many partitions each member has, by join position.
        under: the members that have fewer than `least`, in the order in which they get partitions.
        exact: the members that have `least` and may get an extra, in the order in which they get it.
    """

    least: int
    extras: int
    size: NDArray[np.int64]
    under: JoinPosition
    exact: JoinPosition

    def round_robin(self) -> NDArray[np.int32]:
        """Return the members that get the next partitions, in order.

        The members of `under` take turns until all have `least` partitions. Then each member gets an extra:
        first those of `exact`, then the others, in the order in which they reached `least`.
        """
        need = self.least - self.size[self.under]
        # In each round every member gets one partition, so members that need the fewest reach `least` first.
        filled = self.under[np.argsort(need, kind="stable")]
        return np.concatenate([self.under[turns(need)], self.exact, filled]).astype(np.int32)


def assign_nearby(
    free: PartitionId, seats: Seats, racks: Racks
) -> tuple[NDArray[np.int32], PartitionId, PartitionId]:
    """Give partitions to members that have a replica in their rack, as long as there are seats.

    A partition goes to the next such member of `seats.under`, counted round the circle from the member that
    got the partition before. If there is none, it goes to the first such member that may get an extra.

    Args:
        free: the ids of the free partitions, in the order in which they are placed.
        seats: the members that still get partitions; changed to the seats that are left.
        racks: the racks of members and replicas.

    Returns:
        The receivers; the partitions that they get, in the same order; and the partitions that are left.
    """
    under = seats.under.tolist()
    # A place is an index into `under`, which does not change; the circle skips members that are full.
    circle = _Circle(racks.member[seats.under].tolist())
    queues = _Queues(racks.member.tolist(), seats.exact.tolist())
    near = [[int(rack) for rack in np.flatnonzero(row)] for row in racks.inside]
    size = seats.size.tolist()
    receivers: list[int] = []
    handed_out: list[int] = []
    rest: list[int] = []
    cursor = 0
    for partition, pattern in zip(free.tolist(), racks.pattern[free].tolist(), strict=True):
        place = circle.seek(near[pattern], cursor)
        if place is not None:
            member = under[place]
            size[member] += 1
            cursor = place + 1
            if size[member] == seats.least:
                circle.remove(place)
                if seats.extras:
                    queues.append(member)
        else:
            # No member near the partition is below the least share. If extras are left, the first member in
            # the queue that is near the partition gets one.
            first = queues.pop(near[pattern]) if seats.extras else None
            if first is None:
                rest.append(partition)
                continue
            member = first
            size[member] += 1
            seats.extras -= 1
        receivers.append(member)
        handed_out.append(partition)
    # `seats` gets the members that are left, in the same order: `round_robin` continues with them.
    seats.size = np.array(size, np.int64)
    seats.under = seats.under[seats.size[seats.under] < seats.least]
    seats.exact = np.array(queues.members() if seats.extras else [], np.intp)
    return np.array(receivers, np.int32), np.array(handed_out, np.int64), np.array(rest, np.int64)


class _Circle:
    """Holds members in a circle, and finds the next one of a rack in almost constant time.

    A place is an index into the list of racks that the circle is made with; the member of a place takes part
    until the place is removed. For each rack, `_next[rack][place]` points to the first place at or after
    `place` that has the rack and takes part, or to a removed place on the way there. `_follow` shortens such
    paths, as the path compression of a disjoint-set forest does. `len(racks)` stands for the end.
    """

    def __init__(self, racks: list[int]) -> None:
        self._racks = racks
        self._next: dict[int, list[int]] = {}
        for rack in set(racks) - {-1}:
            following = len(racks)
            places = [following] * (len(racks) + 1)
            for place in range(len(racks) - 1, -1, -1):
                if racks[place] == rack:
                    following = place
                places[place] = following
            self._next[rack] = places

    def seek(self, racks: list[int], cursor: int) -> int | None:
        """Return the first place at or after the cursor that has one of the racks and takes part.

        After the last place comes the first one. None if no such place takes part.
        """
        end = len(self._racks)
        for start in (cursor, 0):
            best = end
            for rack in racks:
                if rack in self._next:
                    best = min(best, self._follow(self._next[rack], start))
            if best < end:
                return best
        return None

    def remove(self, place: int) -> None:
        """Remove this place from the circle."""
        # The removed place points to the next place, and `_follow` later shortens the path.
        self._next[self._racks[place]][place] = place + 1

    @staticmethod
    def _follow(places: list[int], place: int) -> int:
        """Return the first place at or after `place` that takes part, and shorten the path to it."""
        root = place
        while places[root] != root:
            root = places[root]
        while places[place] != root:
            places[place], place = root, places[place]
        return root


class _Queues:
    """Holds members in one queue, and finds the first member of given racks without a search.

    Each rack has a queue of its own. Its entries are (position in the whole queue, member), so the first
    member of several racks is the least of their first entries.
    """

    def __init__(self, racks: list[int], members: list[int]) -> None:
        self._racks = racks
        self._numbers = count()
        self._by_rack: dict[int, deque[tuple[int, int]]] = defaultdict(deque)
        for member in members:
            self.append(member)

    def append(self, member: int) -> None:
        """Add a member at the end of the queue."""
        self._by_rack[self._racks[member]].append((next(self._numbers), member))

    def pop(self, racks: list[int]) -> int | None:
        """Remove and return the first member that is in one of these racks; None if there is none."""
        heads = [queue[0] for rack in racks if (queue := self._by_rack.get(rack))]
        if not heads:
            return None
        _, member = min(heads)
        self._by_rack[self._racks[member]].popleft()
        return member

    def members(self) -> list[int]:
        """Return the members that are left, in the order of the queue."""
        return [member for _, member in sorted(chain.from_iterable(self._by_rack.values()))]
