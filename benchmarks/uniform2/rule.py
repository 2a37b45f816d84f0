"""The order of objectives of `uniform2`, a draft in Kafka's fork network, in a program of our own.

The draft's code is neither copied nor run. What it says of itself is: every topic is spread over its
subscribers as evenly as whole partitions allow, always; under that bound the sum of squares of loads is the
least; and of the answers that are left one with the fewest moves is taken. Its racks are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.columnar.sticky_structures import recall_owned
from assignors.optimal.assignor import OwnerDecision
from assignors.optimal.network import Arcs, Network
from assignors.optimal.reading import number_group
from partitioning.kit.columns import first_of_each

if TYPE_CHECKING:
    from assignors import Assignment, Group
    from assignors.optimal.reading import NumberedGroup


def assign(group: Group) -> Assignment:
    """The answer by this rule."""
    reading = number_group(group, recall_owned(group.members))
    owner = _owners(reading)
    return OwnerDecision(reading, owner, np.zeros(len(owner), np.bool_)).assignment(group)


def _owners(reading: NumberedGroup) -> np.ndarray:
    """The member that gets each partition.

    A subscriber gets a topic's partitions over its subscribers, rounded down, and at most one more, so that
    only these are decided: by a flow from topics to members, in which one more costs a member what it adds
    to the square of its load, and a little if it could not keep one for it.
    """
    readers, topics, members = reading.readers, len(reading.counts), len(reading.members)
    has = np.zeros((len(readers.members), topics), np.bool_)
    has[readers.kind, readers.topic] = True
    topic, member = np.nonzero(has[readers.of_member].T)
    subscribers = np.bincount(topic, minlength=topics)
    least, more = np.divmod(reading.counts, subscribers)

    holders = np.flatnonzero(reading.holder >= 0)
    cells = topic * members + member
    cell_of = np.searchsorted(cells, reading.topic_of[holders] * members + reading.holder[holders])
    held = np.bincount(cell_of, minlength=len(cells))
    load = np.bincount(member, least[topic], members).astype(np.int64)

    rows = np.flatnonzero(more[topic])
    most = np.bincount(member[rows], minlength=members)
    extra = np.repeat(np.arange(members), most)
    number = np.arange(len(extra)) - np.repeat(np.cumsum(most) - most, most)
    square = 2 * (topics + members) + 3  # more than the moves of a way through all nodes
    network = Network(
        np.concatenate([more, np.zeros(members, np.int64), [-more.sum()]]),
        [
            Arcs.of(topic[rows], topics + member[rows], 1, cost=held[rows] <= least[topic[rows]]),
            Arcs.of(
                topics + extra,
                np.full(len(extra), topics + members),
                1,
                cost=square * (2 * (load[extra] + number) + 1),
            ),
        ],
    )
    network.flow()
    assert not network.excess.any(), "a topic has fewer partitions over than subscribers"
    amount = least[topic]
    amount[rows] += network.flow_by_arc()[: len(rows)]

    owner = np.full(len(reading.topic_of), -1, np.intp)
    kept = holders[first_of_each(cell_of, np.minimum(amount, held))]
    owner[kept] = reading.holder[kept]
    owner[owner < 0] = np.repeat(member, amount - np.minimum(amount, held))
    return owner
