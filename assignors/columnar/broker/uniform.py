"""The columns of "uniform", the broker's default (KIP-848)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.assignment import Assignment
from assignors.columnar.broker.equal import share_out
from assignors.columnar.broker.numbering import BrokerNumbering
from assignors.columnar.broker.outcome import assign_targets
from assignors.columnar.broker.records import recorded_lists
from assignors.columnar.broker.targets import Targets
from assignors.columnar.broker.unequal import balance
from assignors.columnar.member_order import hash_order
from assignors.columnar.subscriptions import Subscriptions
from assignors.partition_list import join_lists

if TYPE_CHECKING:
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
        changes = share_out(numbering, numbering.in_id_order(subscriptions.lists[0]), targets)
    else:
        changes = balance(numbering, targets)
    return assign_targets(group, joined, numbering, targets, changes)
