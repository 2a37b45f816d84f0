"""Assigns as the leader of a "sticky" or "cooperative-sticky" group does.

The claims of members are read first; then members keep, up to their share, and free partitions are given out.
This file has groups of equal subscriptions, `sticky_general` the others.
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
    """Return the assignment of "sticky", and the highest generation that the leader has seen after it."""
    numbering, claims, outcome = _decide(group, highest, recall_as_it_arrives)
    return outcome.assignment(numbering.ids, numbering.topics, numbering.counts), claims.highest


def assign_cooperative_sticky(group: Group, highest: int) -> tuple[Assignment, int]:
    """Return the same for "cooperative-sticky"; partitions that another member has to give up wait."""
    numbering, claims, outcome = _decide(group, highest, _recall_owned)
    outcome = with_transfers(numbering, claims, outcome)
    return outcome.assignment(numbering.ids, numbering.topics, numbering.counts), claims.highest


def _decide(
    group: Group, highest: int, recall: Callable[[Numbering], ReportedPartitions]
) -> tuple[Numbering, Claims, OwnerRows]:
    """Return the numbering and the claims of a group, and the owner of each partition.

    Args:
        group: any group that a coordinator can make.
        highest: the highest generation that this leader has seen before; -1 for none.
        recall: what the members of this strategy say they had.

    Raises:
        OddGroup: no members, or a subscription that names no topics, or odd claims.
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
    """Return what members own; the order of their reports matters only if subscriptions differ."""
    return recall_owned(numbering.members, in_order=not numbering.subscriptions.are_equal)


def recall_as_it_arrives(numbering: Numbering) -> ReportedPartitions:
    """Return what the members remember, in the order in which their leader reads it where that matters.

    User data travels as a map of topics, so a member's list reaches the leader in the order of that map.
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
    """As `as_it_travels`, for many lists with the same names at once, unless their maps are crowded."""
    (names, topics, partitions), sizes = join_lists(lists)
    owner = np.repeat(np.arange(len(lists)), sizes)
    # A group is a (member, topic) pair; `first` is its first row, `group` the pair of each row.
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
    place = inverse(latest[map_order(of_latest, hashes[latest], lengths[of_latest])])
    # Rows by the place of their topic in the map; rows of one topic keep their order.
    rows = np.argsort(place[group], kind="stable")
    columns = PartitionColumns(names, topics[rows], partitions[rows])
    arrived = PartitionList.parts(columns, bounds(sizes).tolist())
    for row in crowded_maps(owner[first], hashes, lengths).tolist():
        arrived[row] = as_it_travels(lists[row])
    return arrived


def with_transfers(numbering: Numbering, claims: Claims, outcome: OwnerRows) -> OwnerRows:
    """Return the outcome with `waits` True for partitions that a member gets and another one claims.

    Args:
        numbering: of the group.
        claims: what members own; every partition is claimed at most once.
        outcome: the owner of each partition; its first `kept` rows are claims that their member keeps.
    """
    kept = outcome.kept
    if kept == len(claims.id):  # every claim is kept
        return outcome
    ids = numbering.starts[outcome.topic[kept:]] + outcome.number[kept:]
    owner = np.full(numbering.total, -1, np.int32)
    owner[claims.id] = claims.member
    # Only rows behind the kept ones can be new to their member.
    had = owner[ids]
    moving = (had >= 0) & (had != outcome.member[kept:])
    return outcome._replace(waits=join_columns(np.zeros(kept, np.bool_), moving))


def assign_constrained(numbering: Numbering, claims: Claims, racks: Racks | None) -> OwnerRows:
    """Return the owners if all members subscribe to the same topics: kept rows, then others.

    Partitions that nobody keeps come in the order of their ids, which is by topic name and number; with
    racks, the ones that find a member near come first.

    Args:
        numbering: of the group; its topics are in the order of their names.
        claims: what members own; every partition is claimed at most once.
        racks: racks of members and replicas; None if they decide nothing.
    """
    kept, seats = _keep(numbering, claims, racks)
    assigned = np.zeros(numbering.total, np.bool_)
    assigned[numbering.starts[kept.topic] + kept.number] = True
    ids = np.flatnonzero(~assigned)
    near = np.empty(0, np.int32)
    if racks is not None:
        # Partitions that few members are near come first: later these members could be full.
        near, near_ids, rest = assign_nearby(racks.by_choice(ids), seats, racks)
        ids = np.concatenate([near_ids, rest])
    everything = racks is None and len(ids) == numbering.total  # then ids count up: no need to look them up
    return OwnerRows(
        member=join_columns(kept.member, join_columns(near, seats.round_robin()[: len(ids) - len(near)])),
        topic=join_columns(kept.topic, numbering.topic_of if everything else numbering.topic_of[ids]),
        number=join_columns(kept.number, numbering.number_of if everything else numbering.number_of[ids]),
        kept=len(kept.member),
    )


def _keep(numbering: Numbering, claims: Claims, racks: Racks | None) -> tuple[OwnerRows, Seats]:
    """Return the claims that members keep, by partition and then topic (KAFKA-16277), and the seats left.

    A member that claims more than the least share keeps one more, while there are extras; members take turns
    in the order of Java's HashMap.
    """
    members = len(numbering.members)
    claimant, numbers, topics = claims.member, claims.number, claims.topic
    if racks is not None:
        near = ~racks.mismatch(claimant, claims.id)
        claimant, numbers, topics = claimant[near], numbers[near], topics[near]
    # By number before topic: a member that gives partitions up then keeps some of every topic.
    member, number, topic = sort_rows(claimant, numbers, topics)

    have = np.bincount(member, minlength=members)
    least, extras = divmod(numbering.total, members)
    quota = np.where(have < least, have, least)
    extra: JoinPosition = np.flatnonzero(have > least) if extras else np.empty(0, np.intp)
    # If more members could keep an extra partition than there are extras, the ones that the JVM visits first
    # keep one.
    if len(extra) > extras:
        extra = numbering.by_owner_hash[have[numbering.by_owner_hash] > least][:extras]
    quota[extra] += 1
    # Rows are grouped by member and sorted; what is over the quota is the end of a member's rows.
    if (have > quota).any():
        # The rows of member m end at have.cumsum()[m]; those from its quota on are lost.
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
        least: the partitions that every member gets at least.
        extras: how many more members may get one partition more than `least`.
        size: how many partitions each member has.
        under: members below the share, in the order they are served.
        exact: members at the share that may get an extra, in the order they are served.
    """

    least: int
    extras: int
    size: NDArray[np.int64]
    under: JoinPosition
    exact: JoinPosition

    def round_robin(self) -> NDArray[np.int32]:
        """Return the member that gets the next partition, the one after it, and so on.

        Members below the share take turns until all have it. Then members with it get an extra each: first
        `exact`, then the others in the order in which they reached it.
        """
        need = self.least - self.size[self.under]
        # In a round each gets one, so members that need fewest reach the share first.
        filled = self.under[np.argsort(need, kind="stable")]
        return np.concatenate([self.under[turns(need)], self.exact, filled]).astype(np.int32)


def assign_nearby(
    free: PartitionId, seats: Seats, racks: Racks
) -> tuple[NDArray[np.int32], PartitionId, PartitionId]:
    """Give partitions to members in a rack of theirs, as far as seats last; update `seats`.

    Each partition goes to the next member below its share after the last one served, going round; else to the
    first of the members that may get an extra. Returns the receivers, the partitions they get, and the
    partitions left for anybody.
    """
    under = seats.under.tolist()
    # A place is an index into `under`, which does not change; members that are full are skipped by the
    # circle.
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
            # Nobody near is below the share. An extra partition goes to the member that has waited longest,
            # if any are left.
            first = queues.pop(near[pattern]) if seats.extras else None
            if first is None:
                rest.append(partition)
                continue
            member = first
            size[member] += 1
            seats.extras -= 1
        receivers.append(member)
        handed_out.append(partition)
    # What is left of `seats` is what `round_robin` goes on with, in the same order.
    seats.size = np.array(size, np.int64)
    seats.under = seats.under[seats.size[seats.under] < seats.least]
    seats.exact = np.array(queues.members() if seats.extras else [], np.intp)
    return np.array(receivers, np.int32), np.array(handed_out, np.int64), np.array(rest, np.int64)


class _Circle:
    """Holds members in a circle, and finds the next one of a rack in almost constant time.

    For each rack, `next[place]` leads towards the first place from there on that has the rack and still takes
    part; paths are shortened as they are followed.

    A place is an index into the list of racks that the circle was made with. A place that was removed is
    never a result again; its entry leads to the next one.
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
        """Return the first place from the cursor on, going round, with one of the racks.

        None if there is none.
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
        """Take the member at this place out of the circle."""
        # The path of a place that left begins at the next one; it is shortened when it is followed.
        self._next[self._racks[place]][place] = place + 1

    @staticmethod
    def _follow(places: list[int], place: int) -> int:
        """Return the first place from `place` on that still takes part, and shorten the path to it."""
        root = place
        while places[root] != root:
            root = places[root]
        while places[place] != root:
            places[place], place = root, places[place]
        return root


class _Queues:
    """Holds members in one queue, and finds the first one in some racks without a search.

    There is a queue for each rack, in which every member has its number in the whole one.
    """

    def __init__(self, racks: list[int], members: list[int]) -> None:
        self._racks = racks
        self._numbers = count()
        self._by_rack: dict[int, deque[tuple[int, int]]] = defaultdict(deque)
        for member in members:
            self.append(member)

    def append(self, member: int) -> None:
        """Add a member behind all others."""
        self._by_rack[self._racks[member]].append((next(self._numbers), member))

    def pop(self, racks: list[int]) -> int | None:
        """Take out and return the first member that is in one of these racks; None if there is none."""
        heads = [queue[0] for rack in racks if (queue := self._by_rack.get(rack))]
        if not heads:
            return None
        _, member = min(heads)
        self._by_rack[self._racks[member]].popleft()
        return member

    def members(self) -> list[int]:
        """Return the members that are left, in the order of the queue."""
        return [member for _, member in sorted(chain.from_iterable(self._by_rack.values()))]
