"""How "uniform" assigns when members subscribe to different topics (KIP-848, KAFKA-17710)."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignors.broker.balancer import Balancer, fill_up
from assignors.broker.changes import Changes, Move
from assignors.broker.tables import ranges
from assignors.broker.targets import Rows
from assignors.columns import group_rows
from assignors.errors import AssignorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from assignors.broker.targets import Targets
    from assignors.broker.topic_ids import TopicTable
    from assignors.subscriptions import Subscriptions

_MOST_SWEEPS = 16


@dataclass(frozen=True, slots=True)
class _Topic:
    """A subscribed topic.

    Attributes:
        row: its row in the topic table.
        start: id of its first partition.
        count: its partitions.
        audience: which subscriptions have it.
        members: who has such a subscription, ascending.
    """

    row: int
    start: int
    count: int
    audience: tuple[int, ...]
    members: NDArray[np.intp]


def balance(subscriptions: Subscriptions, table: TopicTable, targets: Targets) -> Changes:
    """Members keep what they still subscribe to; what is free, and then surplus, goes to those with least.

    Args:
        subscriptions: who subscribes to what, members in the order in which the coordinator visits them.
        table: the topics.
        targets: who has what.

    Raises:
        AssignorError: a member's target has a partition that its topic does not have.
    """
    topics = _by_load(subscriptions, table)
    slots = targets.slots
    staying = _still_subscribed(subscriptions, table, targets)
    kept = slots.per_row(staying)
    member, topic = slots.per_row(slots.member)[kept], slots.per_row(slots.topic)[kept]
    partition = slots.partition[kept]
    _check_existing(topic, partition, table)
    owner = np.full(int(table.counts.sum()), -1, np.intp)
    owner[table.starts[topic] + partition] = member
    sizes = np.bincount(member, minlength=len(subscriptions.of_member))

    given = _give(topics, owner, sizes)
    moves = _even_out(topics, owner, sizes.tolist())
    copied = np.zeros(len(sizes), np.bool_)
    copied[slots.member[~staying]] = True
    copied[given.member] = True
    capacity = np.ones(len(table.names), np.intp)
    for each in topics:
        capacity[each.row] = -(-each.count // len(each.members)) * 4 // 3 + 1
    return Changes(kept, copied, given, capacity, moves)


def _by_load(subscriptions: Subscriptions, table: TopicTable) -> list[_Topic]:
    """Subscribed topics: most partitions a subscriber first, then fewest subscribers, then by id."""
    rows = np.flatnonzero(table.subscribed(subscriptions) & (table.counts > 0)).tolist()
    audiences = subscriptions.audiences([table.names[row] for row in rows])
    everybody = np.arange(len(subscriptions.of_member))
    members = {audience: subscriptions.members_of(audience, everybody) for audience in set(audiences)}
    topics = [
        _Topic(row, int(table.starts[row]), int(table.counts[row]), audience, members[audience])
        for row, audience in zip(rows, audiences, strict=True)
    ]
    return sorted(
        topics,
        key=lambda topic: (-topic.count / len(topic.members), len(topic.members), table.ranks[topic.row]),
    )


def _still_subscribed(subscriptions: Subscriptions, table: TopicTable, targets: Targets) -> NDArray[np.bool_]:
    """Which slots are of a topic that exists and that their member subscribes to."""
    subscribes = np.zeros((len(subscriptions.lists), len(table.names)), np.bool_)
    for code, names in enumerate(subscriptions.lists):
        subscribes[code, [table.index[name] for name in names if name in table.index]] = True
    subscribes[:, table.counts == 0] = False
    return subscribes[subscriptions.of_member[targets.slots.member], targets.slots.topic]


def _check_existing(topic: NDArray[np.intp], partition: NDArray[np.int32], table: TopicTable) -> None:
    missing = np.flatnonzero((partition < 0) | (partition >= table.counts[topic]))
    if len(missing):
        name, number = table.names[topic[missing[0]]], int(partition[missing[0]])
        raise AssignorError(
            f"a member's target has {name}-{number}, which does not exist, and the JVM fails on it while "
            "subscriptions differ; leave out of `owned` what the topics do not have",
            jvm_exception="ArrayIndexOutOfBoundsException",
        )


def _give(topics: Sequence[_Topic], owner: NDArray[np.intp], sizes: NDArray[np.intp]) -> Rows:
    """Gives free partitions out, topic after topic; `owner` and `sizes` follow.

    Returns:
        Who got what: rows grouped by member, for each in the order it got them.
    """
    starts = np.array([topic.start for topic in topics], np.intp)
    counts = np.array([topic.count for topic in topics], np.intp)
    ids = ranges(starts, counts)
    is_free = owner[ids] < 0
    free = np.diff(
        np.concatenate([np.zeros(1, np.intp), np.cumsum(is_free)])[np.append(0, np.cumsum(counts))]
    )
    topic = np.repeat(np.arange(len(topics)), free)
    ids = ids[is_free]
    getting = np.empty(len(ids), np.intp)
    firsts = np.cumsum(free) - free

    for turn in _turns(topics, free.tolist(), sizes):
        rows = ranges(firsts[turn], free[turn])
        members = topics[turn[0]].members
        if len(turn) == 1:
            getting[rows] = fill_up(members, sizes[members], len(rows))
        else:
            ahead = int(np.argmax(sizes[members] == sizes[members].min()))
            getting[rows] = members[(ahead + np.arange(len(rows))) % len(members)]
        sizes += np.bincount(getting[rows], minlength=len(sizes))
    owner[ids] = getting
    order, _ = group_rows(getting, len(sizes))
    rows_of_table = np.array([each.row for each in topics], np.intp)
    return Rows(getting[order], rows_of_table[topic][order], (ids - starts[topic])[order].astype(np.int32))


def _turns(topics: Sequence[_Topic], free: Sequence[int], sizes: NDArray[np.intp]) -> Iterator[list[int]]:
    """The topics with free partitions, in turns that are given out one after the other.

    Where subscribers have equal numbers of partitions, or the first ones one more, the next go to them in a
    circle. It goes on from topic to topic as long as they have no other topics and no topic passes the end of
    the circle unless it began there; so these topics are one turn.

    Args:
        topics: the topics, in order.
        free: free partitions of each.
        sizes: how many partitions each member has; as each turn is given out, they follow.
    """
    shares = Counter(code for audience in {topic.audience for topic in topics} for code in audience)
    circles: dict[tuple[int, ...], tuple[int | None, list[int]]] = {}
    for number, (topic, count) in enumerate(zip(topics, free, strict=True)):
        if not count:
            continue
        audience, seats = topic.audience, len(topic.members)
        if audience not in circles:
            alone = all(shares[code] == 1 for code in audience)
            circles[audience] = (_seat(sizes[topic.members]) if alone else None, [])
        seat, turn = circles[audience]
        if seat is not None and (seat == 0 or seat + count <= seats):
            turn.append(number)
            circles[audience] = ((seat + count) % seats, turn)
            continue
        del circles[audience]
        if turn:
            yield turn
        yield [number]
    for _, turn in circles.values():
        if turn:
            yield turn


def _seat(sizes: NDArray[np.intp]) -> int | None:
    """How many members at the front have one more than the others; None where it is not like that."""
    if sizes[0] - sizes[-1] > 1 or (np.diff(sizes) > 0).any():
        return None
    return int(np.count_nonzero(sizes > sizes[-1]))


def _even_out(topics: Sequence[_Topic], owner: NDArray[np.intp], sizes: list[int]) -> list[Move]:
    """Moves partitions from members with most to members with least, sweep after sweep over the topics."""
    topics = [topic for topic in topics if len(topic.members) > 1]
    members = {topic.audience: topic.members.tolist() for topic in topics}
    even: set[tuple[int, ...]] = set()
    moves: list[Move] = []
    last = -1
    for _ in range(_MOST_SWEEPS):
        for number, topic in enumerate(topics):
            if number == last:
                return moves
            made: list[Move] = []
            if topic.audience not in even:
                subscribers = members[topic.audience]
                having = [sizes[member] for member in subscribers]
                if max(having) - min(having) <= 1:
                    even.add(topic.audience)
                else:
                    made = _even_out_topic(topic, Balancer(subscribers, sizes), owner, sizes)
                    moves += made
            if made:
                even.clear()
            if made or last < 0:
                last = number
    return moves


def _even_out_topic(
    topic: _Topic, balancer: Balancer, owner: NDArray[np.intp], sizes: list[int]
) -> list[Move]:
    """The same for one topic; a member gives up what it had of it to begin with, the highest number first."""
    owners = owner[topic.start : topic.start + topic.count]
    order = np.argsort(owners, kind="stable")
    partitions, sorted_owners = order.tolist(), owners[order].tolist()
    ends: dict[int, int] = {}
    moves: list[Move] = []
    while not balancer.is_balanced():
        source = balancer.next_most()
        while source is not None and not _has_left(source, ends, sorted_owners):
            balancer.exclude_most()
            source = balancer.next_most()
        if source is None:
            break
        ends[source] -= 1
        partition = partitions[ends[source]]
        destination = balancer.next_least()
        if balancer.is_balanced():
            break
        holder = int(owner[topic.start + partition])
        owner[topic.start + partition] = destination
        sizes[holder] -= 1
        sizes[destination] += 1
        moves.append(Move(topic.row, partition, holder, destination))
    return moves


def _has_left(member: int, ends: dict[int, int], sorted_owners: Sequence[int]) -> bool:
    """Whether the member still has one of the partitions it owned to begin with; notes where they end."""
    end = ends.setdefault(member, bisect_right(sorted_owners, member))
    return end > 0 and sorted_owners[end - 1] == member
