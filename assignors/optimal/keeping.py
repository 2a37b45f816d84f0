"""Who keeps what: the fewest moves within bounds on loads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.optimal.grouping import sums
from assignors.optimal.network import UNLIMITED, Arcs, Network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.optimal.network import Ints
    from assignors.optimal.readers import Readers


class Claims(NamedTuple):
    """What members would rather not lose: partitions of a topic, in rows of those that are alike.

    Attributes:
        member: who has them.
        topic: the topic.
        amount: how many of its partitions.
        cost: what it costs to take one of them away, whoever gets it.
        heir: the member for whom it costs one less, -1 for nobody.
    """

    member: Ints
    topic: Ints
    amount: Ints
    cost: Ints
    heir: Ints


class Kept(NamedTuple):
    """What stays, and where the rest goes.

    Attributes:
        amount: how much each claim keeps.
        inherited: how much of it goes to its heir.
        placed: how many of the other partitions go to each row of the readers: a topic's to a class.
    """

    amount: NDArray[np.int64]
    inherited: NDArray[np.int64]
    placed: NDArray[np.int64]


def keep(
    size: NDArray[np.int64],
    readers: Readers,
    claims: Claims,
    low: Ints,
    high: Ints,
    giving: Ints | None = None,
) -> Kept | None:
    """Take away as little as can be, as cheaply as can be.

    The flow goes from topics through classes to members and on to the sum of all loads, which is a node as
    well. It starts with every claim granted that is not cheaper to take away. Members that claim nothing stay
    a part of their class.

    Args:
        size: partitions of each topic; where it is not 0, the topic has readers.
        readers: who may get what.
        claims: what members have, all of which they may get; of no topic more than its size.
        low: the least load of each member.
        high: the greatest one.
        giving: what it costs that members of a class have a partition of a topic, for each row of the
            readers; None where it costs nothing.

    Returns:
        What stays; None where no assignment has such loads.
    """
    members, classes = len(readers.of_member), len(readers.members)
    willed = np.flatnonzero(claims.heir >= 0)
    heirs = claims.heir[willed]
    cost = claims.cost - (claims.heir >= 0)
    inheriting: Ints = np.zeros(len(willed), np.int64)
    if giving is not None:
        inheriting = giving[readers.rows(readers.of_member[heirs], claims.topic[willed])]
        cost -= giving[readers.rows(readers.of_member[claims.member], claims.topic)]
    alone = np.zeros(members, np.bool_)
    alone[claims.member] = True
    alone[heirs] = True
    holders = np.flatnonzero(alone)
    node = np.cumsum(alone) + (readers.topics + classes - 1)
    of_class = readers.topics + readers.of_member
    everyone = readers.topics + classes + len(holders)
    target = np.arange(everyone + 1, everyone + 1 + len(willed))
    source = claims.topic.copy()
    source[willed] = target  # what has an heir passes a node of its own
    taken = np.where(cost < 0, claims.amount, 0)  # at first; what is left of that is not cheaper
    granted = claims.amount - taken
    load = sums(claims.member, granted, members)

    counted = np.clip(load, low, high)
    without = ~alone
    excess = np.zeros(everyone + 1 + len(willed), np.int64)
    excess[: readers.topics] = size - sums(claims.topic, claims.amount, readers.topics)
    excess[node[holders]] = (load - counted)[holders]
    np.subtract.at(excess, of_class[without], counted[without])
    excess[everyone] = counted.sum() - size.sum()
    np.add.at(excess, source, taken)

    sink = np.full(members, everyone)
    network = Network(
        excess,
        [
            Arcs.of(
                readers.topic, readers.topics + readers.kind, UNLIMITED, cost=0 if giving is None else giving
            ),
            Arcs.of(node[claims.member], source, granted, taken, cost),
            Arcs.of(target, node[heirs], UNLIMITED, cost=inheriting),
            Arcs.of(target, claims.topic[willed], UNLIMITED, cost=1),
            Arcs.of(of_class[holders], node[holders], UNLIMITED),
            Arcs.of(node[holders], sink[holders], (high - counted)[holders], (counted - low)[holders]),
            Arcs.of(of_class[without], sink[without], (high - counted)[without]),
        ],
    )
    network.flow()
    if network.excess.any():
        return None
    used = network.used()
    placed, taken, inherits, _ = np.split(used, np.cumsum([len(readers.kind), len(source), len(willed)]))
    inherited = np.zeros(len(source), np.int64)
    inherited[willed] = inherits
    return Kept(claims.amount - taken, inherited, placed)
