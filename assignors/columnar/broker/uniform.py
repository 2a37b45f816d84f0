"""Kafka's "uniform" assignor, the broker's default (KIP-848)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from assignors.assignment import Assignment
from assignors.columnar.broker.heterogeneous import balance
from assignors.columnar.broker.homogeneous import share_out
from assignors.columnar.broker.outcome import assign_targets
from assignors.columnar.broker.records import recorded_lists
from assignors.columnar.broker.targets import Targets
from assignors.columnar.broker.topic_ids import TopicTable
from assignors.columnar.member_order import hash_order
from assignors.columnar.subscriptions import Subscriptions
from assignors.partition_list import join_lists

if TYPE_CHECKING:
    from assignors.group import Group
    from assignors.interface import RebalanceProtocol


class UniformAssignor:
    """Gives every member as many partitions as the others while moving few; racks are ignored.

    A member's `owned` is its target assignment. Topics count by their id, so where `Topic.id` is None the
    answer is that for an id made from the name.
    """

    name: ClassVar[str] = "uniform"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset()

    def assign(self, group: Group) -> Assignment:
        """Who gets what, each member's list in the order of the broker's maps.

        Raises:
            AssignorError: some member's target has partitions that do not exist, and the JVM throws.
        """
        everybody = group.members
        if not everybody:
            return Assignment.of({})
        ids = [member.id for member in everybody]
        place = hash_order(ids)
        members = [everybody[row] for row in place.tolist()]
        subscriptions = Subscriptions.of(members)
        recorded, sizes = join_lists(recorded_lists(members))
        subscribed = set[str]().union(*subscriptions.lists)
        table = TopicTable.of(group.topics, subscribed, set(recorded.names))
        targets = Targets.of(recorded, sizes, table)
        if len({frozenset(topics) for topics in subscriptions.lists}) <= 1:
            topics = table.in_id_order(subscriptions.lists[0])
            changes = share_out(members, topics, table, targets)
        else:
            changes = balance(members, subscriptions, table, targets)
        return assign_targets(ids, place, table, table.which(subscribed), targets, changes)
