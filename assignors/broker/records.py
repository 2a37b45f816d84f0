"""What the coordinator's records say the members are to consume."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from assignors.broker.slots import Slots
from assignors.partition_list import NOTHING, PartitionList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.broker.topic_ids import TopicTable
    from assignors.group import Member

_NAMES, _TOPICS, _PARTITIONS = map(attrgetter, ("names", "topics", "partitions"))


def recorded_lists(members: Sequence[Member]) -> list[PartitionList]:
    """What each member owns, in the order in which it was assigned: that of the coordinator's record."""
    owned = [member.owned for member in members]
    lists = [
        each if type(each) is PartitionList else PartitionList.of(each) if each else NOTHING for each in owned
    ]
    return [each if each.assigned is None else each.assigned for each in lists]


def targeted_topics(recorded: Sequence[PartitionList]) -> set[str]:
    """Names of the topics in the members' targets, and perhaps others."""
    return set[str]().union(*(names for names, _ in groupby(map(_NAMES, recorded))))


def read_records(
    recorded: Sequence[PartitionList], table: TopicTable
) -> tuple[Slots, NDArray[np.intp], bool]:
    """What the records say of members, given what each owns in the order in which its record lists it.

    Returns:
        What each member has, in that order; the member that has each partition id of the topic table, -1 for
        none; and whether a partition is listed twice or does not exist, as in no group that a broker made.
    """
    slots = _listed(recorded, table)
    owner = np.full(int(table.counts.sum()), -1, np.intp)
    ids, member = slots.per_row(table.starts[slots.topic]), slots.per_row(slots.member)
    ids += slots.partition
    exists = slots.partition < slots.per_row(table.counts[slots.topic])
    exists &= slots.partition >= 0
    if not exists.all():
        ids, member = ids[exists], member[exists]
    owner[ids] = member
    return slots, owner, bool(np.count_nonzero(owner >= 0) < len(slots.partition))


def _listed(lists: Sequence[PartitionList], table: TopicTable) -> Slots:
    """The slots of lists, in the order in which they list them."""
    topics = list(map(_TOPICS, lists))
    lengths = np.fromiter(map(len, topics), np.intp, len(lists))
    member = np.flatnonzero(lengths)
    if len(member) == 0:
        none = np.empty(0, np.intp)
        return Slots(none, none, none, none, np.empty(0, np.int32))
    filled = [lists[row] for row in member.tolist()] if len(member) < len(lists) else lists
    firsts = np.cumsum(lengths[member]) - lengths[member]
    code = np.concatenate(topics)
    changes = np.empty(len(code), np.bool_)
    np.not_equal(code[1:], code[:-1], out=changes[1:])
    changes[firsts] = True
    starts = np.flatnonzero(changes)
    ends = np.append(np.searchsorted(starts, firsts), len(starts))
    code = code[starts]
    topic = np.empty(len(starts), np.intp)
    done = 0
    for names, same in groupby(filled, key=_NAMES):
        until = done + len(list(same))
        run = slice(ends[done], ends[until])
        topic[run] = np.array([table.index[name] for name in names], np.intp)[code[run]]
        done = until
    partition = np.concatenate(list(map(_PARTITIONS, lists)))
    sizes = np.diff(starts, append=len(changes))
    return Slots(np.repeat(member, np.diff(ends)), topic, starts, sizes, partition).merged()
