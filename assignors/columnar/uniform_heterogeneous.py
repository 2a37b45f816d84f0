"""Assigns as "uniform" does if members subscribe to different topics (KIP-848, KAFKA-17710)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.filling import rounds
from assignors.columnar.numbering import BrokerNumbering, PartitionId, TopicRow, Visit
from assignors.columnar.uniform_structures import Changes, Move, OldTargets, Slots
from assignors.rules.uniform import MemberAssignmentBalancer
from partitioning.java import hash_map_capacity
from partitioning.kit.columns import group_rows, range_numbers


def assign_heterogeneous(numbering: BrokerNumbering, targets: OldTargets) -> Changes:
    """Return the changes of a group whose members subscribe to different topics.

    Members keep the partitions of topics that they still subscribe to. Free partitions go to the subscribers
    with the fewest partitions. Then partitions move from members with many to members with few.

    Args:
        numbering: the numbering of the group.
        targets: the last target assignment.
    """
    topics = TopicTurns.of(numbering)
    slots = targets.slots
    members = len(numbering.members)
    staying = numbering.subscribed[numbering.subscriptions.of_member[slots.member], slots.topic]
    ids = slots.per_row(numbering.starts[slots.topic])
    ids += slots.partition
    rows = slice(None) if staying.all() else np.flatnonzero(slots.per_row(staying))
    owner = np.full(numbering.total, -1, np.intp)
    owner[ids[rows]] = slots.per_row(slots.member)[rows]
    kept = np.where(staying, slots.sizes, 0)
    sizes = np.bincount(slots.member, weights=kept, minlength=members).astype(np.intp)

    got, got_ids = hand_out(topics, owner, sizes)
    moves = even_out(topics, owner, sizes.tolist())

    # The order of the moves matters only for a member that both loses and gets partitions; such a member is
    # `mixed`.
    source, destination, moved = (
        np.array([getattr(move, what) for move in moves], np.intp) for what in ("source", "destination", "id")
    )
    loses, gets = np.zeros((2, members), np.bool_)
    loses[source] = gets[destination] = gets[got] = True
    mixed = loses & gets
    row_of = np.empty(len(owner), np.intp)
    if moves:
        row_of[ids[rows]] = np.arange(len(ids))[rows]
    plain = ~mixed[destination]
    copied = loses | gets
    copied[slots.member[~staying]] = True
    subscribers = np.array([len(members) for members in topics.members], np.intp)[topics.audience]
    # As in the rule, a new set is made with the capacity for an even share of its topic. This can change its
    # order.
    capacity = np.ones(len(numbering.topics), np.intp)
    capacity[topics.row] = hash_map_capacity(-(-topics.count // subscribers))
    received = np.append(got, destination[plain]), np.append(got_ids, moved[plain])
    return Changes(
        staying=kept,
        gone=row_of[moved[~mixed[source]]],
        copied=copied,
        received=_in_slots(*received, members, numbering),
        capacity=capacity,
        mixed=frozenset(np.flatnonzero(mixed).tolist()),
        moves=moves,
    )


def _in_slots(member: Visit, ids: PartitionId, members: int, numbering: BrokerNumbering) -> Slots:
    """Return these partitions as slots, sorted by member; the partitions of a member stay in their order.

    Args:
        member: the member of each partition.
        ids: the partition ids.
        members: the number of members.
        numbering: the numbering of the group.
    """
    order, _ = group_rows(member, members)
    member, ids = member[order], ids[order]
    topic = numbering.topic_of[ids]
    begins = np.ones(len(ids), np.bool_)
    np.logical_or(member[1:] != member[:-1], topic[1:] != topic[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    partition = (ids - numbering.starts[topic]).astype(np.int32)
    return Slots.of(member[first], topic[first], np.diff(first, append=len(ids)), partition)


@dataclass(frozen=True, slots=True)
class TopicTurns:
    """Holds the subscribed topics that exist, in the order in which they are handed out and balanced.

    The first four columns have one value for each of these topics.

    Attributes:
        row: the topic's index in `Numbering.topics`.
        start: the id of the topic's first partition.
        count: the number of the topic's partitions, 1 or more.
        audience: the audience of the topic, an index into `members`.
        members: the members of each audience, ascending.
        alone: True for an audience whose members belong to no other audience.
    """

    row: TopicRow
    start: NDArray[np.int64]
    count: NDArray[np.int64]
    audience: list[int]
    members: list[Visit]
    alone: list[bool]

    @classmethod
    def of(cls, numbering: BrokerNumbering) -> TopicTurns:
        """Return the topics, sorted as the broker sorts them.

        Topics with the most partitions for each subscriber come first; then those with the fewest
        subscribers; then the topic id decides.
        """
        rows = np.flatnonzero(numbering.has_subscriber & (numbering.counts > 0))
        names = [numbering.topics[row] for row in rows.tolist()]
        audiences = numbering.subscriptions.audiences(names, np.arange(len(numbering.members)))
        audience = np.array(audiences.of_topic, np.intp)
        subscribers = np.array([len(members) for members in audiences.members], np.intp)[audience]
        counts = numbering.counts[rows]
        high, low = numbering.halves[rows].T
        order = np.lexsort([low, high, subscribers, -(counts / subscribers)])
        rows = rows[order]
        shared = {number for numbers in audiences.of_subscription if len(numbers) > 1 for number in numbers}
        return cls(
            row=rows,
            start=numbering.starts[rows],
            count=counts[order],
            audience=audience[order].tolist(),
            members=audiences.members,
            alone=[number not in shared for number in range(len(audiences.members))],
        )


def hand_out(
    topics: TopicTurns, owner: NDArray[np.intp], sizes: NDArray[np.intp]
) -> tuple[Visit, PartitionId]:
    """Give the free partitions, topic by topic, to the subscribers with the fewest partitions.

    Args:
        topics: the topics, in order.
        owner: the member that has each partition id, -1 if it is free; changed in place.
        sizes: how many partitions each member has; changed in place.

    Returns:
        The receivers, and the ids of the partitions that they get, in the same order.
    """
    ids = range_numbers(topics.start, topics.count)
    is_free = owner[ids] < 0
    ends = np.cumsum(np.append(0, is_free))[np.append(0, np.cumsum(topics.count))]
    free, firsts = np.diff(ends), ends[:-1]
    ids = ids[is_free]
    getting = np.empty(len(ids), np.intp)
    for turn in _turns(topics, free.tolist(), sizes):
        rows = range_numbers(firsts[turn], free[turn])
        members = topics.members[topics.audience[turn[0]]]
        if len(turn) == 1:
            getting[rows] = fill_up(members, sizes[members], len(rows))
        else:
            ahead = int(np.argmax(sizes[members] == sizes[members].min()))
            getting[rows] = members[(ahead + np.arange(len(rows))) % len(members)]
        sizes += np.bincount(getting[rows], minlength=len(sizes))
    owner[ids] = getting
    return getting, ids


def fill_up(members: Visit, sizes: NDArray[np.intp], partitions: int) -> Visit:
    """Return the members that get the next partitions; each partition goes to the member with the fewest.

    The first in `members` wins a tie.

    Args:
        members: the subscribers of a topic.
        sizes: how many partitions each of them has.
        partitions: how many partitions are given out.
    """
    order = np.argsort(sizes, kind="stable")
    in_rounds = [
        np.tile(members[order[:reached]], times) for reached, times in rounds(sizes[order], partitions)
    ]
    return np.concatenate(in_rounds)[:partitions]


def _turns(topics: TopicTurns, free: Sequence[int], sizes: NDArray[np.intp]) -> Iterator[list[int]]:
    """Yield turns: lists of topics whose free partitions are given out in one step.

    A turn has several topics if their partitions go round the same circle of members. That is so if all of
    the members have equal sizes, except that the first ones may have one partition more; if the members have
    no topics of another audience; and if no topic passes the end of the circle, unless it began at seat 0.

    Args:
        topics: the topics, in order.
        free: how many free partitions each topic has.
        sizes: how many partitions each member has. The caller updates it after each turn.
    """
    circles: dict[int, tuple[int | None, list[int]]] = {}
    for number, (audience, count) in enumerate(zip(topics.audience, free, strict=True)):
        if not count:
            continue
        members = topics.members[audience]
        if audience not in circles:
            circles[audience] = (_seat(sizes[members]) if topics.alone[audience] else None, [])
        seat, turn = circles[audience]
        if seat is not None and (seat == 0 or seat + count <= len(members)):
            turn.append(number)
            circles[audience] = ((seat + count) % len(members), turn)
            continue
        del circles[audience]
        if turn:
            yield turn
        yield [number]
    for _, turn in circles.values():
        if turn:
            yield turn


def _seat(sizes: NDArray[np.intp]) -> int | None:
    """Return how many members at the front have one partition more than the others.

    None if sizes differ in any other way.
    """
    if sizes[0] - sizes[-1] > 1 or (np.diff(sizes) > 0).any():
        return None
    return int(np.count_nonzero(sizes > sizes[-1]))


_MOST_SWEEPS = 16
"""The most sweeps over the topics, as in `rules.uniform`."""


def even_out(topics: TopicTurns, owner: NDArray[np.intp], sizes: list[int]) -> list[Move]:
    """Move partitions to members with fewer, in sweeps over the topics, and return the moves in order.

    The sweeps end when they come back to the last topic of which a partition moved, or to the first topic if
    no partition has moved. They end at the latest after `_MOST_SWEEPS` sweeps.

    Args:
        topics: the topics, in order.
        owner: the member that has each partition id; changed in place.
        sizes: how many partitions each member has; changed in place.
    """
    # `even` has the audiences that were found balanced since the last move; they are not examined again.
    members: dict[int, list[int]] = {}
    shared = [number for number, audience in enumerate(topics.audience) if len(topics.members[audience]) > 1]
    even: set[int] = set()
    moves: list[Move] = []
    last = -1
    for _ in range(_MOST_SWEEPS):
        for number in shared:
            if number == last:
                return moves
            topic_moves: list[Move] = []
            audience = topics.audience[number]
            if audience not in even:
                if audience not in members:
                    members[audience] = topics.members[audience].tolist()
                having = [sizes[member] for member in members[audience]]
                if max(having) - min(having) <= 1:
                    even.add(audience)
                else:
                    balancer = MemberAssignmentBalancer(members[audience], sizes)
                    topic_moves = _even_out_topic(topics, number, balancer, owner, sizes)
                    moves += topic_moves
            if topic_moves:
                even.clear()
            if topic_moves or last < 0:
                last = number
    return moves


def _even_out_topic(
    topics: TopicTurns,
    number: int,
    balancer: MemberAssignmentBalancer,
    owner: NDArray[np.intp],
    sizes: list[int],
) -> list[Move]:
    """Balance one topic and return the moves; a member gives up its highest partition number first.

    A member gives up only partitions that it had before this call, so no partition moves twice.

    Args:
        topics: the topics, in order.
        number: the topic, an index into the columns of `topics`.
        balancer: the order in which members give and get partitions.
        owner: the member that has each partition id; changed in place.
        sizes: how many partitions each member has; changed in place.
    """
    topic, start = int(topics.row[number]), int(topics.start[number])
    owners = owner[start : start + int(topics.count[number])]
    order = np.argsort(owners, kind="stable")
    ids, sorted_owners = (order + start).tolist(), owners[order].tolist()
    ends: dict[int, int] = {}
    moves: list[Move] = []
    while not balancer.is_balanced():
        source = balancer.next_most_loaded_member()
        while source is not None and not _has_left(source, ends, sorted_owners):
            balancer.exclude_most_loaded_member()
            source = balancer.next_most_loaded_member()
        if source is None:
            break
        ends[source] -= 1
        partition = ids[ends[source]]
        destination = balancer.next_least_loaded_member()
        if balancer.is_balanced():
            break
        holder = int(owner[partition])
        owner[partition] = destination
        sizes[holder] -= 1
        sizes[destination] += 1
        moves.append(Move(topic=topic, id=partition, source=holder, destination=destination))
    return moves


def _has_left(member: int, ends: dict[int, int], sorted_owners: Sequence[int]) -> bool:
    """Return whether the member has a partition left that it can give up.

    Args:
        member: the member.
        ends: by member, the end of its rows in `sorted_owners` that have not moved. A member is added by its
            first call; the caller lowers the value as partitions move.
        sorted_owners: the owners of the topic's partitions, ascending.
    """
    end = ends.setdefault(member, bisect_right(sorted_owners, member))
    return end > 0 and sorted_owners[end - 1] == member
