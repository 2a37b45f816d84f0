"""Decides how many partitions each member keeps: the fewest moves within bounds on loads.

A topic may also be a kind of `racks.Kinds`; a class is a row of `ClassTopics.members`; a member is an index
into `ClassTopics.of_member`, and -1 stands for none. All amounts are partitions.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.optimal.network import UNLIMITED, Arcs, Ints, Network
from assignors.optimal.reading import ClassTopics
from partitioning.kit.columns import sums


class RankedClaims(NamedTuple):
    """Lists claims, one a row: alike partitions of one topic that a member had, or should get back.

    Attributes:
        member: the member that claims the partitions.
        topic: their topic.
        amount: how many partitions, 1 or more.
        cost: the cost of each partition that the member does not get, above 0.
        heir: the member to which a partition can go for a cost of one less; -1 for none.
    """

    member: Ints
    topic: Ints
    amount: Ints
    cost: Ints
    heir: Ints


class Keeping(NamedTuple):
    """Says how many partitions stay, are inherited, and go elsewhere.

    Attributes:
        amount: how many partitions of each claim its member gets.
        inherited: how many of each claim its heir gets; 0 without an heir.
        placed: how many other partitions of a topic go to a class, for each row of the readers.
    """

    amount: NDArray[np.int64]
    inherited: NDArray[np.int64]
    placed: NDArray[np.int64]


class KeepingProblem:
    """Models which partitions stay as a flow from topics through classes to members and on to the sink.

    Args:
        size: the partitions of each topic; a topic with partitions has readers.
        readers: the topics that each class may get.
        claims: the claims; members may get all that they claim, and claim no more of a topic than its size.
        low: the least load of each member.
        high: the greatest load of each member.
        giving: the cost of a partition of a topic at a member of a class, for each row of the readers; None
            if it costs nothing.

    The sink is the sum of all loads. Members that claim nothing and are no heirs stay a part of their class:
    their arcs go from its node right to the sink. Claims with an heir pass a node of their own, from which
    their partitions go to the heir or back to the topic.
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

        # Members without claims are alike within their class, so its node stands for all of them; large
        # groups with few claims have far fewer nodes by that.
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
        """Return the cost of taking a claim's partition away, and of giving a bequest's one to its heir."""
        claims, readers = self._claims, self._readers
        # The rest, 1, is paid on the way from the claim's own node back to the topic, and not on that to the
        # heir.
        cost = claims.cost - (claims.heir >= 0)
        if self._giving is None:
            return cost, np.zeros(len(self._bequests), np.int64)
        to_heir = readers.rows(readers.of_member[self._heirs], claims.topic[self._bequests])
        cost -= self._giving[readers.rows(readers.of_member[claims.member], claims.topic)]
        return cost, self._giving[to_heir]

    def _network(self) -> Network:
        """Return the network, which starts with every claim granted that is not cheaper to take away."""
        claims, readers = self._claims, self._readers
        # Arcs that cost less than nothing start full, so that what is left of each arc costs 0 or more, as
        # `Network` wants it.
        flow = np.where(self._cost < 0, claims.amount, 0)
        granted = claims.amount - flow
        load = sums(claims.member, granted, len(readers.of_member))
        counted = np.clip(load, self._low, self._high)  # what already flows from each member to the sink
        with_node, without_node = self._with_node, self._without_node

        # Nodes: topics, classes, members with a node, the sink, then claims with an heir.
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
        """Return the cheapest answer: what stays, is inherited and goes elsewhere.

        None if no assignment has loads between `low` and `high`. A problem is solved once.
        """
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

    Every partition with a subscriber has to go to one of its subscribers; others do not count.

    Args:
        topic: the topic of each partition.
        holder: the member that had each partition, -1 for none.
        subscriptions: the topics of each member.
        low: the least load of a member.
        high: the greatest load of a member.

    Returns:
        How many partitions, or None if no assignment has such loads.
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
    # All read the same: each keeps up to `high`, but room that others need to reach `low` must stay free.
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
