"""Decides how many partitions each member keeps: the fewest moves within bounds on loads.

Index spaces: a class is an index into `ClassTopics.members`; a member is an index into
`ClassTopics.of_member`, and -1 stands for no member. If racks matter, a "topic" in this file is a kind of
`racks.Kinds`. All amounts count partitions.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.optimal.network import UNLIMITED, Arcs, Ints, Network
from assignors.optimal.reading import ClassTopics
from partitioning.kit.columns import sums


class RankedClaims(NamedTuple):
    """Lists claims, one a row.

    A claim stands for several partitions of one topic that the same member had or should get back, and for
    which everything else in the row is equal, too. All columns have shape (claims,).

    Attributes:
        member: the member that claims the partitions.
        topic: the topic of the partitions.
        amount: how many partitions there are, 1 or more.
        cost: the cost of each partition that the member does not get, above 0.
        heir: a second member that may get the partitions; -1 for none. A partition that goes to the heir
            costs one less than `cost`.
    """

    member: Ints
    topic: Ints
    amount: Ints
    cost: Ints
    heir: Ints


class Keeping(NamedTuple):
    """The solution of a `KeepingProblem`: how many partitions stay, are inherited, and go elsewhere.

    Attributes:
        amount: how many partitions of each claim go to the claim's member, of shape (claims,).
        inherited: how many partitions of each claim go to its heir, of shape (claims,); 0 without an heir.
        placed: how many of a topic's other partitions go to a class, one value for each row of the readers.
    """

    amount: NDArray[np.int64]
    inherited: NDArray[np.int64]
    placed: NDArray[np.int64]


class KeepingProblem:
    """A minimum-cost flow from topics through classes to members, and from members to one sink.

    A unit of flow is a partition, and a member's arc to the sink carries its load. A member that claims
    nothing and is nobody's heir has no node: its arc goes from the node of its class to the sink. A claim
    with an heir has a node of its own. From there its partitions go to the heir or back to the topic.

    Args:
        size: the partitions of each topic; a topic with partitions must have readers.
        readers: the topics that each class may get.
        claims: the claims. A member may get every topic that it claims, and the claims on a topic are not
            more than its size.
        low: the least load of each member.
        high: the greatest load of each member.
        giving: for each row of the readers, the cost of a partition of its topic at a member of its class;
            None if these costs are all 0.
    """

    def __init__(
        self,
        size: NDArray[np.int64],
        readers: ClassTopics,
        claims: RankedClaims,
        low: Ints,
        high: Ints,
        giving: Ints | None = None,
    ) -> None:
        self._size, self._readers, self._claims = size, readers, claims
        self._low, self._high, self._giving = low, high, giving
        members, classes = len(readers.of_member), len(readers.members)
        self._bequests = np.flatnonzero(claims.heir >= 0)
        self._heirs = claims.heir[self._bequests]
        self._cost, self._inheriting_cost = self._costs()

        # Members of a class that have no claims are interchangeable, so the node of the class stands for all
        # of them. In a large group with few claims this saves most nodes.
        has_node = np.zeros(members, np.bool_)
        has_node[claims.member] = True
        has_node[self._heirs] = True
        self._with_node, self._without_node = np.flatnonzero(has_node), np.flatnonzero(~has_node)
        self._class_node = readers.topics + readers.of_member
        self._member_node = np.cumsum(has_node) + (readers.topics + classes - 1)
        self._sink = readers.topics + classes + len(self._with_node)
        self._bequest_node = np.arange(self._sink + 1, self._sink + 1 + len(self._bequests))
        self._claim_node = claims.topic.copy()
        self._claim_node[self._bequests] = self._bequest_node

    def _costs(self) -> tuple[Ints, Ints]:
        """Return the costs of taking partitions away from claims, and of giving them to heirs.

        Returns:
            The cost of taking a partition away, by claim, and the cost of giving it to the heir, by bequest.
            A bequest is a claim with an heir.
        """
        claims, readers = self._claims, self._readers
        # For a claim with an heir the last unit of the cost is on the arc from the claim's node back to the
        # topic. The arc to the heir has no such unit, which makes the heir cheaper by one.
        cost = claims.cost - (claims.heir >= 0)
        if self._giving is None:
            return cost, np.zeros(len(self._bequests), np.int64)
        to_heir = readers.rows(readers.of_member[self._heirs], claims.topic[self._bequests])
        cost -= self._giving[readers.rows(readers.of_member[claims.member], claims.topic)]
        return cost, self._giving[to_heir]

    def _network(self) -> Network:
        """Return the network; at its start a claim is granted unless taking it away has a negative cost."""
        claims, readers = self._claims, self._readers
        # `Network` needs costs of 0 or more wherever an arc has capacity left. So an arc with a negative cost
        # starts full: only its reverse has capacity, and the reverse has a positive cost.
        flow = np.where(self._cost < 0, claims.amount, 0)
        granted = claims.amount - flow
        load = sums(claims.member, granted, len(readers.of_member))
        counted = np.clip(load, self._low, self._high)  # the flow from each member to the sink at the start
        with_node, without_node = self._with_node, self._without_node

        # Nodes are numbered in this order: topics, classes, members with a node, the sink, claims with an
        # heir.
        excess = np.zeros(self._sink + 1 + len(self._bequests), np.int64)
        excess[: readers.topics] = self._size - sums(claims.topic, claims.amount, readers.topics)
        excess[self._member_node[with_node]] = (load - counted)[with_node]
        np.subtract.at(excess, self._class_node[without_node], counted[without_node])
        excess[self._sink] = counted.sum() - self._size.sum()
        np.add.at(excess, self._claim_node, flow)

        sink = np.full(len(readers.of_member), self._sink)
        topic_to_class = 0 if self._giving is None else self._giving
        return Network(
            excess,
            [
                Arcs.of(readers.topic, readers.topics + readers.kind, UNLIMITED, cost=topic_to_class),
                Arcs.of(self._member_node[claims.member], self._claim_node, granted, flow, self._cost),
                Arcs.of(
                    self._bequest_node, self._member_node[self._heirs], UNLIMITED, cost=self._inheriting_cost
                ),
                Arcs.of(self._bequest_node, claims.topic[self._bequests], UNLIMITED, cost=1),
                Arcs.of(self._class_node[with_node], self._member_node[with_node], UNLIMITED),
                Arcs.of(
                    self._member_node[with_node],
                    sink[with_node],
                    (self._high - counted)[with_node],
                    (counted - self._low)[with_node],
                ),
                Arcs.of(
                    self._class_node[without_node], sink[without_node], (self._high - counted)[without_node]
                ),
            ],
        )

    def solve(self) -> Keeping | None:
        """Return the cheapest solution, or None if no assignment has loads between `low` and `high`."""
        network = self._network()
        network.flow()
        if network.excess.any():
            return None
        claims, bequests = len(self._claim_node), len(self._bequests)
        flows = np.split(network.flow_by_arc(), np.cumsum([len(self._readers.kind), claims, bequests]))
        placed, kept_rows, inherits, _ = flows
        inherited = np.zeros(claims, np.int64)
        inherited[self._bequests] = inherits
        return Keeping(self._claims.amount - kept_rows, inherited, placed)


def most_kept(
    topic: Ints, holder: Ints, subscriptions: Sequence[Collection[int] | Ints], low: int, high: int
) -> int | None:
    """Return the most partitions that can stay with their holder in an assignment with these loads.

    Every partition with a subscriber must go to one of its subscribers. Partitions without a subscriber do
    not count.

    Args:
        topic: the topic of each partition, of shape (partitions,).
        holder: the member that had each partition, of shape (partitions,); -1 for none.
        subscriptions: the numbers of the topics that each member subscribes to.
        low: the least load of a member.
        high: the greatest load of a member.

    Returns:
        The number of partitions that stay, or None if no assignment gives every member `low` to `high`
        partitions.
    """
    readers = ClassTopics.of(subscriptions, int(topic.max(initial=-1)) + 1)
    read = np.zeros(readers.topics, np.bool_)
    read[readers.topic] = True
    here = read[topic]
    topic, holder = topic[here], holder[here]
    low, members = max(low, 0), len(subscriptions)
    if not low * members <= len(topic) <= high * members:
        return None
    stays = np.flatnonzero(holder >= 0)
    # A holder that no longer reads the topic cannot keep it.
    stays = stays[readers.has(readers.of_member[holder[stays]], topic[stays])]
    size = np.bincount(topic, minlength=readers.topics)
    # If all members subscribe to the same topics, no flow is needed: each keeps up to `high` partitions,
    # minus those that other members need to reach `low`.
    if len(readers.members) == 1:
        held = np.minimum(np.bincount(holder[stays], minlength=members), high)
        return int(held.sum() - max(np.maximum(held, low).sum() - len(topic), 0))
    if not members:
        return 0
    levels = np.full(members, low), np.full(members, high)
    pairs, amount = np.unique(
        holder[stays].astype(np.int64) * readers.topics + topic[stays], return_counts=True
    )
    claims = RankedClaims(
        *np.divmod(pairs, readers.topics), amount, np.ones_like(amount), np.full_like(amount, -1)
    )
    kept = KeepingProblem(size, readers, claims, *levels).solve()
    return None if kept is None else int(kept.amount.sum())
