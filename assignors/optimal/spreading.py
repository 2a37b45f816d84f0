"""The most even spread of topics, among the assignments with the best loads and the fewest moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.optimal.grouping import first_of_each, sums
from assignors.optimal.network import UNLIMITED, Arcs, Network

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Pairs(NamedTuple):
    """A member and a topic it may get in each row, ordered by topic.

    Attributes:
        member: the member.
        topic: the topic.
        held: how many of its partitions the member had.
        back: how many that nobody had would be its own from nothing.
    """

    member: NDArray[np.intp]
    topic: NDArray[np.intp]
    held: NDArray[np.int64]
    back: NDArray[np.int64]


def spread_topics(
    size: NDArray[np.int64], pairs: Pairs, low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many partitions each pair gets.

    The n-th partition of a topic at a member costs `2 n - 1`, so that together they cost its square, and much
    less if it stays there. Topics first go where they are cheapest, each on its own; then a flow sends
    what is too much at one member to others. A pair has an arc for each of the partitions around what it
    has, and one each way for all others, which may be used once; if that is not enough, there are more.

    Args:
        size: partitions of each topic.
        pairs: who may get what.
        low: the least load of each member.
        high: the greatest one.
    """
    start = _evenly(size, pairs)
    window = 2
    while True:
        amounts, enough = _flow(size, pairs, start, window, low, high)
        if enough:
            return amounts
        window *= 4


def _evenly(size: NDArray[np.int64], pairs: Pairs) -> NDArray[np.int64]:
    """What each pair gets if it keeps what it had and loads do not matter."""
    topics = len(size)
    least, most = np.zeros(topics, np.int64), size + 1
    while (most - least > 1).any():  # up to which level each topic can be filled
        level = (least + most) // 2
        fits = sums(pairs.topic, np.maximum(pairs.held, level[pairs.topic]), topics) <= size
        least, most = np.where(fits, level, least), np.where(fits, most, level)
    level = least[pairs.topic]
    levels = np.maximum(pairs.held, level)
    last = np.where(levels > level, 2, np.where(levels < pairs.held + pairs.back, 0, 1))
    return levels + first_of_each(pairs.topic, size - sums(pairs.topic, levels, topics), last, levels=3)


def _flow(
    size: NDArray[np.int64],
    pairs: Pairs,
    start: NDArray[np.int64],
    window: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> tuple[NDArray[np.int64], bool]:
    """How many partitions each pair gets, and whether there were arcs enough for that."""
    topics, members = len(size), len(low)
    # On a way through all nodes what was its own counts less than evenness, and that less than one move.
    longest = 2 * (topics + members) + 2
    even = longest + 1
    move = even * longest * (2 * int(size.max(initial=0)) + 2)

    def cost(number: NDArray[np.int64]) -> NDArray[np.int64]:
        kept, own = number <= pairs.held, number <= pairs.held + pairs.back
        return even * (2 * number - 1) - np.where(kept, move, np.where(own, 1, 0))

    tail, head = pairs.topic, topics + pairs.member
    rows, arcs = [], []
    for step in range(1 - window, window + 1):
        number = start + step
        real = np.flatnonzero(number > 0)
        used = int(step <= 0)
        rows.append(real)
        arcs.append(Arcs.of(tail[real], head[real], 1 - used, used, cost(number)[real]))
    below = start - window
    some = np.flatnonzero(below > 0)
    arcs.append(Arcs.of(tail[some], head[some], 0, below[some], cost(below)[some]))
    arcs.append(Arcs.of(tail, head, UNLIMITED, 0, cost(start + window + 1)))
    rows += [some, np.arange(len(start))]

    load = sums(pairs.member, start, members)
    counted = np.clip(load, low, high)
    everyone = np.full(members, topics + members)
    arcs.append(Arcs.of(topics + np.arange(members), everyone, high - counted, counted - low))
    excess = np.concatenate([np.zeros(topics, np.int64), load - counted, [counted.sum() - size.sum()]])
    potential = np.zeros(len(excess), np.int64)
    potential[:topics] = np.iinfo(np.int64).max
    np.minimum.at(potential, pairs.topic, cost(start + 1))
    network = Network(excess, arcs, potential)
    network.flow()
    assert not network.excess.any(), "the levels are loads that some assignment has"

    used_now = np.split(network.flow_by_arc(), np.cumsum([len(arcs) for arcs in rows]))
    amounts = start.copy()
    for row, now, arc in zip(rows, used_now, arcs, strict=False):
        amounts[row] += now - arc.used
    return amounts, bool((used_now[-3] >= below[some] - 1).all() and (used_now[-2] <= 1).all())
