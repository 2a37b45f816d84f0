"""How "uniform" assigns when members subscribe to different topics (KIP-848, KAFKA-17710)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.broker.changes import Changes
from assignors.columnar.broker.evening import even_out
from assignors.columnar.broker.filling import hand_out
from assignors.columnar.broker.slots import Slots
from assignors.columnar.broker.turns import TopicTurns
from assignors.columns import group_rows
from partitioning.java import hash_map_capacity

if TYPE_CHECKING:
    from assignors.columnar.broker.numbering import BrokerNumbering
    from assignors.columnar.broker.targets import Targets
    from assignors.columnar.numbering import PartitionId, Visit


def balance(numbering: BrokerNumbering, targets: Targets) -> Changes:
    """Members keep what they still subscribe to; what is free, and then surplus, goes to those with least.

    Args:
        numbering: members and topics.
        targets: who has what.
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

    # Only members that lose some and get others need an account of the single moves.
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
    subscribers = np.array([len(each) for each in topics.members], np.intp)[topics.audience]
    capacity = np.ones(len(numbering.topics), np.intp)
    capacity[topics.row] = hash_map_capacity(-(-topics.count // subscribers))
    given = np.append(got, destination[plain]), np.append(got_ids, moved[plain])
    return Changes(
        staying=kept,
        gone=row_of[moved[~mixed[source]]],
        copied=copied,
        given=_in_slots(*given, members, numbering),
        capacity=capacity,
        mixed=frozenset(np.flatnonzero(mixed).tolist()),
        moves=moves,
    )


def _in_slots(member: Visit, ids: PartitionId, members: int, numbering: BrokerNumbering) -> Slots:
    """Partitions in slots, grouped by member; those of a member stay in order."""
    order, _ = group_rows(member, members)
    member, ids = member[order], ids[order]
    topic = numbering.topic_of[ids]
    begins = np.ones(len(ids), np.bool_)
    np.logical_or(member[1:] != member[:-1], topic[1:] != topic[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    partition = (ids - numbering.starts[topic]).astype(np.int32)
    return Slots(
        member=member[first],
        topic=topic[first],
        starts=first,
        sizes=np.diff(first, append=len(ids)),
        partition=partition,
    )
