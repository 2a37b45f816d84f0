"""The columns of "uniform", the broker's default (KIP-848).

This file has those for members that all subscribe to the same topics (KAFKA-18688), `uniform_heterogeneous`
the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.assignment import Assignment
from assignors.columnar.broker_numbering import BrokerNumbering
from assignors.columnar.numbering import Subscriptions, hash_order
from assignors.columnar.uniform_heterogeneous import assign_heterogeneous
from assignors.columnar.uniform_outcome import assign_targets
from assignors.columnar.uniform_structures import Changes, Slots, Targets, recorded_lists
from assignors.partition_list import join_lists
from partitioning.java.sizes import DEFAULT_LENGTH
from partitioning.kit.columns import bounds, join, ranges, run_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.columnar.numbering import TopicRow
    from assignors.group import Group


def assign_uniform(group: Group) -> Assignment:
    """Who gets what, each member's list in the order of the broker's maps.

    Raises:
        OddGroup: no broker made the members' targets, or some map is crowded.
    """
    if not group.members:
        return Assignment.of({})
    joined = hash_order([member.id for member in group.members])
    members = [group.members[row] for row in joined.tolist()]
    subscriptions = Subscriptions.of(members)
    recorded, sizes = join_lists(recorded_lists(members))
    numbering = BrokerNumbering.of_cluster(group.topics, members, subscriptions, set(recorded.names))
    targets = Targets.of(recorded, sizes, numbering)
    if subscriptions.are_equal:
        changes = assign_homogeneous(numbering, numbering.in_id_order(subscriptions.lists[0]), targets)
    else:
        changes = assign_heterogeneous(numbering, targets)
    return assign_targets(group, joined, numbering, targets, changes)


class _Runs(NamedTuple):
    """Partitions, those of a topic next to each other.

    Attributes:
        topic: topic of each run.
        sizes: how many partitions each run has.
        partition: partition numbers, run after run.
    """

    topic: TopicRow
    sizes: NDArray[np.intp]
    partition: NDArray[np.int32]


def assign_homogeneous(numbering: BrokerNumbering, topics: TopicRow, targets: Targets) -> Changes:
    """Each member keeps what it has up to its quota and gets what it lacks in order.

    Args:
        numbering: members and topics.
        topics: the subscribed topics, in the order of the group's HashSet.
        targets: who has what.
    """
    slots = targets.slots
    members = len(numbering.members)
    subscribed = np.zeros(len(numbering.topics), np.bool_)
    subscribed[topics] = True
    sizes = np.where(subscribed[slots.topic], slots.sizes, 0)
    ends = np.cumsum(sizes)
    first = np.searchsorted(slots.member, np.arange(members + 1))
    so_far = bounds(sizes)[first]
    has = so_far[1:] - so_far[:-1]
    quota, extra = divmod(int(numbering.counts[topics].sum()), members)
    quotas = quota + _takes_extra(has > quota, extra)
    lacks = np.maximum(quotas - has, 0)

    before = ends - sizes
    before -= before[first[slots.member]]
    staying = np.clip(quotas[slots.member] - before, 0, sizes)  # what comes last in a member's map goes
    free = _unassigned_runs(topics, numbering, targets.assigned)
    revoked = _revoked_runs(slots, staying, sizes)
    copied = lacks > 0
    copied[slots.member[staying < slots.sizes]] = True
    return Changes(
        staying=staying,
        gone=np.empty(0, np.intp),
        copied=copied,
        received=_hand_out(free, revoked, lacks),
        capacity=np.full(len(numbering.topics), DEFAULT_LENGTH),
    )


def _takes_extra(above: NDArray[np.bool_], extra: int) -> NDArray[np.bool_]:
    """Which members get one partition more than the quota.

    Members that have more already keep one while extras last; the last members take the extras that are left.

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


def _unassigned_runs(topics: TopicRow, numbering: BrokerNumbering, assigned: NDArray[np.bool_]) -> _Runs:
    """The partitions nobody has, in the order of `topics`."""
    if not assigned.any():
        counts = numbering.counts[topics]
        numbers = ranges(np.zeros(len(topics), np.int32), counts.astype(np.int32))
        return _Runs(topic=topics, sizes=counts, partition=numbers)
    place = np.full(len(numbering.topics), len(topics))
    place[topics] = np.arange(len(topics))
    ids = np.flatnonzero(~assigned)
    topic = np.searchsorted(numbering.starts[1:], ids, side="right")
    order = np.argsort(place[topic], kind="stable")
    order = order[place[topic[order]] < len(topics)]
    counts = np.bincount(place[topic[order]], minlength=len(topics))
    numbers = (ids - numbering.starts[topic])[order].astype(np.int32)
    return _Runs(topic=topics, sizes=counts, partition=numbers)


def _revoked_runs(slots: Slots, staying: NDArray[np.intp], sizes: NDArray[np.intp]) -> _Runs:
    """The partitions of subscribed topics that members give up."""
    losing = np.flatnonzero(staying < sizes)
    lost = (sizes - staying)[losing]
    numbers = slots.partition[ranges((slots.starts + staying)[losing], lost)]
    return _Runs(topic=slots.topic[losing], sizes=lost, partition=numbers)


def _hand_out(free: _Runs, revoked: _Runs, lacks: NDArray[np.intp]) -> Slots:
    """Gives partitions out, free ones first, until members lack nothing."""
    partition = join(free.partition, revoked.partition)
    ends = np.cumsum(lacks)
    run_ends = np.cumsum(np.concatenate([free.sizes, revoked.sizes]))
    cuts = np.sort(np.concatenate([np.zeros(1, np.intp), ends, run_ends]))
    cuts = cuts[run_starts(cuts)]
    cuts = cuts[cuts <= len(partition)]
    starts, sizes = cuts[:-1], cuts[1:] - cuts[:-1]
    topic = np.concatenate([free.topic, revoked.topic])[np.searchsorted(run_ends, starts, side="right")]
    member = np.searchsorted(ends, starts, side="right")
    return Slots(member=member, topic=topic, starts=starts, sizes=sizes, partition=partition)
