"""How each rule assigns each group, and how long it takes."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from assignors import get_assignor
from assignors.columnar.sticky_structures import recall_owned
from assignors.optimal.reading import number_group
from benchmarks.uniform2 import rule
from benchmarks.uniform2.shapes import changed_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assignors import Assignment, Group
    from benchmarks.uniform2.shapes import Shape

RULES: dict[str, Callable[[Group], Assignment]] = {
    "uniform": lambda group: get_assignor("uniform").assign(group),
    "the draft's rule": rule.assign,
    "optimal": lambda group: get_assignor("optimal").assign(group),
    "optimal, spread before moves": lambda group: get_assignor("optimal", spread="before-moves").assign(
        group
    ),
}
TRIES = 5
"""The quickest of so many is taken."""


def measure_group(shape: Shape) -> dict[str, Any]:
    """The figures of all rules at all events of one group."""
    return {
        "shape": shape.name,
        "events": {
            event: {name: figures(group, assign) for name, assign in RULES.items()}
            for event, group in _events(shape)
        },
    }


def _events(shape: Shape) -> Iterator[tuple[str, Group]]:
    """A new group, and it after each change; all rules start from the answer of the draft's rule."""
    group = shape.group()
    yield "new group", group
    yield from changed_groups(group, rule.assign(group))


def figures(group: Group, assign: Callable[[Group], Assignment]) -> dict[str, float]:
    """Loads, topic spread and moves of an answer, and its milliseconds.

    Loads and spread are in two forms: the sum of squares, which is what is minimised, and most less least;
    `spread` is by how much the squares of partitions of a topic at a subscriber are above the least sum that
    each topic alone can have, and `uneven` the most less the least of the worst topic.
    """
    times = []
    for _ in range(TRIES):
        start = perf_counter()
        answer = assign(group)
        times.append(perf_counter() - start)
    loads = [len(answer[member.id]) for member in group.members]
    spread, uneven = _spread(group, answer)
    return {
        "squares": sum(load**2 for load in loads),
        "loads": max(loads) - min(loads),
        "spread": spread,
        "uneven": uneven,
        "moves": _moves(group, answer),
        "ms": round(min(times) * 1_000, 2),
    }


def _spread(group: Group, answer: Assignment) -> tuple[int, int]:
    count: dict[tuple[str, str], int] = {}
    for member, partitions in answer.items():
        for partition in partitions:
            count[partition.topic, member] = count.get((partition.topic, member), 0) + 1
    above = worst = 0
    for topic in group.topics:
        readers = [member.id for member in group.members if topic.name in member.topics]
        if not readers:
            continue
        shares = [count.get((topic.name, reader), 0) for reader in readers]
        least, more = divmod(topic.partitions, len(shares))
        above += sum(share**2 for share in shares) - len(shares) * least**2 - more * (2 * least + 1)
        worst = max(worst, max(shares) - min(shares))
    return above, worst


def _moves(group: Group, answer: Assignment) -> int:
    """Partitions that a member has, still may have and does not get."""
    reading = number_group(group, recall_owned(group.members))
    lost = 0
    topics = np.array(reading.topics)[reading.topic_of]
    number = np.arange(len(topics)) - reading.starts[reading.topic_of]
    owner = {
        tuple(topic_partition): member
        for member, partitions in answer.items()
        for topic_partition in partitions
    }
    ids = [group.members[row].id for row in reading.members.tolist()]
    get = partial(zip, topics.tolist(), number.tolist(), reading.holder.tolist(), strict=True)
    for name, partition, holder in get():
        lost += holder >= 0 and owner[name, partition] != ids[holder]
    return lost
