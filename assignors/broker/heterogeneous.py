"""How "uniform" assigns when members subscribe to different topics (KIP-848, KAFKA-17710)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.broker.audiences import Audiences
from assignors.broker.changes import Changes
from assignors.broker.evening import even_out
from assignors.broker.filling import hand_out
from assignors.broker.slots import Slots
from assignors.broker.targets import fault_in
from assignors.columns import group_rows
from assignors.errors import AssignorError
from partitioning.java import hash_map_capacity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.broker.targets import Targets
    from assignors.broker.topic_ids import TopicTable
    from assignors.group import Member
    from assignors.subscriptions import Subscriptions


def balance(
    members: Sequence[Member], subscriptions: Subscriptions, table: TopicTable, targets: Targets
) -> Changes:
    """Members keep what they still subscribe to; what is free, and then surplus, goes to those with least.

    Args:
        members: the members, in the order in which the coordinator visits them.
        subscriptions: who subscribes to what.
        table: the topics.
        targets: who has what.

    Raises:
        AssignorError: a member's target has a partition that its topic does not have.
    """
    topics = Audiences.of(subscriptions, table)
    slots = targets.slots
    staying = _still_subscribed(subscriptions, table, targets)
    if targets.shared and _has_missing(slots, staying, table):
        raise AssignorError(
            f"{fault_in(slots, staying, members, table)}, on which the JVM fails while subscriptions differ; "
            "leave it out of `owned`",
            jvm_exception="ArrayIndexOutOfBoundsException",
        )
    ids = slots.per_row(table.starts[slots.topic])
    ids += slots.partition
    rows = slice(None) if staying.all() else np.flatnonzero(slots.per_row(staying))
    owner = np.full(len(targets.taken), -1, np.intp)
    owner[ids[rows]] = slots.per_row(slots.member)[rows]
    kept = np.where(staying, slots.sizes, 0)
    sizes = np.bincount(slots.member, weights=kept, minlength=len(members)).astype(np.intp)

    got, got_ids = hand_out(topics, owner, sizes)
    moves = even_out(topics, owner, sizes.tolist())

    # Only members that lose some and get others need an account of the single moves.
    source, destination, moved = (
        np.array([getattr(move, what) for move in moves], np.intp) for what in ("source", "destination", "id")
    )
    loses, gets = np.zeros((2, len(sizes)), np.bool_)
    loses[source] = gets[destination] = gets[got] = True
    mixed = loses & gets
    row_of = np.empty(len(owner), np.intp)
    if moves:
        row_of[ids[rows]] = np.arange(len(ids))[rows]
    plain = ~mixed[destination]
    copied = loses | gets
    copied[slots.member[~staying]] = True
    capacity = np.ones(len(table.names), np.intp)
    subscribers = np.array([len(members) for members in topics.members], np.intp)[topics.audience]
    capacity[topics.row] = hash_map_capacity(-(-topics.count // subscribers))
    return Changes(
        kept,
        row_of[moved[~mixed[source]]],
        copied,
        _in_slots(np.append(got, destination[plain]), np.append(got_ids, moved[plain]), len(sizes), table),
        capacity,
        frozenset(np.flatnonzero(mixed).tolist()),
        moves,
    )


def _in_slots(member: NDArray[np.intp], ids: NDArray[np.intp], members: int, table: TopicTable) -> Slots:
    """Partitions in slots, grouped by member; those of a member stay in order."""
    order, _ = group_rows(member, members)
    member, ids = member[order], ids[order]
    topic = table.topic_of[ids]
    begins = np.ones(len(ids), np.bool_)
    np.logical_or(member[1:] != member[:-1], topic[1:] != topic[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    partition = (ids - table.starts[topic]).astype(np.int32)
    return Slots(member[first], topic[first], first, np.diff(first, append=len(ids)), partition)


def _has_missing(slots: Slots, looked_at: NDArray[np.bool_], table: TopicTable) -> bool:
    """Whether these slots have a partition that does not exist."""
    outside = (slots.partition < 0) | (slots.partition >= slots.per_row(table.counts[slots.topic]))
    return bool((outside & slots.per_row(looked_at)).any())


def _still_subscribed(subscriptions: Subscriptions, table: TopicTable, targets: Targets) -> NDArray[np.bool_]:
    """Which slots are of a topic that exists and that their member subscribes to."""
    subscribes = np.zeros((len(subscriptions.lists), len(table.names)), np.bool_)
    for code, names in enumerate(subscriptions.lists):
        subscribes[code, [table.index[name] for name in names if name in table.index]] = True
    subscribes[:, table.counts == 0] = False
    return subscribes[subscriptions.of_member[targets.slots.member], targets.slots.topic]
