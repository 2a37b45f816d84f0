"""How "uniform" assigns when all members subscribe to the same topics (KIP-848, KAFKA-18688)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.broker.changes import Changes
from assignors.broker.tables import SHORTEST_SET, ranges
from assignors.broker.targets import Rows
from assignors.errors import AssignorError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.broker.targets import Targets
    from assignors.broker.topic_ids import TopicTable


def share_out(members: int, topics: NDArray[np.intp], table: TopicTable, targets: Targets) -> Changes:
    """Each member keeps what it has up to its quota and gets what it lacks in order.

    Args:
        members: how many members there are.
        topics: the subscribed topics, rows of the table, in the order of the group's HashSet.
        table: the topics.
        targets: who has what.

    Raises:
        AssignorError: partitions that do not exist take up places, so that others are left without one.
    """
    slots = targets.slots
    subscribed = np.zeros(len(table.names), np.bool_)
    subscribed[topics] = True
    sizes = np.where(subscribed[slots.topic], slots.sizes, 0)
    ends = np.cumsum(sizes)
    first = np.searchsorted(slots.member, np.arange(members + 1))
    has = np.diff(np.concatenate([np.zeros(1, np.intp), ends])[first])
    quota, extra = divmod(int(table.counts[topics].sum()), members)
    quotas = quota + _takes_extra(has > quota, extra)
    lacks = np.maximum(quotas - has, 0)

    before = ends - sizes
    before -= before[first[slots.member]]
    staying = np.clip(quotas[slots.member] - before, 0, sizes)  # what comes last in a member's map goes
    kept = np.arange(len(slots.partition)) - slots.per_row(slots.starts) < slots.per_row(staying)
    given = _first_to_last(_free(topics, table, targets), _revoked(slots.topic, sizes, kept, targets), lacks)
    copied = lacks > 0
    copied[slots.member[staying < slots.sizes]] = True
    return Changes(kept, copied, given, np.full(len(table.names), SHORTEST_SET))


def _takes_extra(above: NDArray[np.bool_], extra: int) -> NDArray[np.bool_]:
    """Which members get one partition more than the quota.

    Those that have more already keep one while extras last; the last members take the extras that are left.

    Args:
        above: whether a member has more than the quota.
        extra: how many extras there are, fewer than members.
    """
    left = extra - (np.cumsum(above) - above)
    takes = above & (left > 0)
    due = np.flatnonzero(np.arange(len(above), 0, -1) <= left)
    if len(due):
        takes[due[0] :] = True
    return takes


def _free(
    topics: NDArray[np.intp], table: TopicTable, targets: Targets
) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Topic and number of the partitions nobody has, in the order of `topics`."""
    counts = table.counts[topics]
    topic = np.repeat(topics, counts)
    ids = ranges(table.starts[topics], counts)
    if targets.taken.any():
        free = ~targets.taken[ids]
        topic, ids = topic[free], ids[free]
    return topic, (ids - table.starts[topic]).astype(np.int32)


def _revoked(
    topic: NDArray[np.intp], sizes: NDArray[np.intp], kept: NDArray[np.bool_], targets: Targets
) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Topic and number of the partitions of subscribed topics that members give up."""
    slots = targets.slots
    rows = np.flatnonzero(~kept & slots.per_row(sizes > 0))
    return slots.per_row(topic)[rows], slots.partition[rows]


def _first_to_last(
    free: tuple[NDArray[np.intp], NDArray[np.int32]],
    revoked: tuple[NDArray[np.intp], NDArray[np.int32]],
    lacks: NDArray[np.intp],
) -> Rows:
    topic = np.concatenate([free[0], revoked[0]])
    partition = np.concatenate([free[1], revoked[1]])
    member = np.repeat(np.arange(len(lacks)), lacks)
    if len(member) < len(partition):
        raise AssignorError(
            f"{len(partition) - len(member)} partitions find no place, because members' targets hold "
            "partitions that do not exist; leave out of `owned` what the topics do not have",
            jvm_exception="PartitionAssignorException",
        )
    return Rows(member[: len(partition)], topic, partition)
