"""One group's life under each assignor, held against the best."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from assignors import Group, RebalanceProtocol, get_assignor, quality
from assignors.optimal.keeping import most_kept
from assignors.optimal.reading import number_group, recall_owned_or_user_data
from benchmarks.optimal.lives import client_of, drawn_id, life, shape_of
from partitioning.errors import AssignorError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignors import Assignment
    from partitioning.topic_partition import TopicPartition

ASSIGNORS = ("sticky", "cooperative-sticky", "uniform", "optimal", "cooperative-optimal")
MOST_ROUNDS = 20
"""A group that has not come to rest by then is said never to."""
ENOUGH = 4
"""So many partitions a member must have had for the share that it gets back to be looked at."""

Place = tuple[str, str]
"""A shape of group, and an assignor."""
Counts = dict[str, dict[Place, Counter[int]]]
"""How often each figure came out as what."""


def measure_group(seed: int) -> Counts:
    """Every figure of one group under every assignor."""
    counts: Counts = defaultdict(lambda: defaultdict(Counter))
    for name in ASSIGNORS:
        for figures in _life_under(name, seed):
            for figure, value in figures.items():
                counts[figure][shape_of(seed), name][value] += 1
    return {figure: dict(places) for figure, places in counts.items()}


def _life_under(name: str, seed: int) -> Iterator[dict[str, int]]:
    """The figures of each rebalance; an assignor that fails ends the group's life."""
    names = Random(seed)
    group, assignment = Group([], []), None
    had: dict[str, set[TopicPartition]] = {}
    for step in life(seed):
        group = Group(step.topics, step.join) if assignment is None else step.after(group, assignment)
        try:
            first = get_assignor(name).assign(group)
            renamed = _changes_when_renamed(name, group, first, names)
            figures, group, assignment = _until_rest(name, group, first)
        except AssignorError:
            yield {"failed": 1}
            return
        if step.back and len(had[step.back.left]) >= ENOUGH:
            before = had[step.back.left]
            figures["lost"] = 100 * len(before.difference(assignment[step.back.now])) // len(before)
        had.update((member, set(partitions)) for member, partitions in assignment.items())
        yield {"failed": 0, "renamed": renamed, **figures}


def _until_rest(name: str, group: Group, assignment: Assignment) -> tuple[dict[str, int], Group, Assignment]:
    """What a rebalance brings until nothing waits any more, and how it is in the last round."""
    before, first = group, quality(group, assignment)
    said, moves, rounds = first, first.moves, 1
    while assignment.transferring and rounds < MOST_ROUNDS:
        group = group.next(assignment)
        assignment = get_assignor(name).assign(group)
        said = quality(group, assignment)
        moves, rounds = moves + said.moves, rounds + 1
    loads = zip(said.loads, first.best_loads, strict=True)
    figures = {
        "loads": sum(max(0, load - best) for load, best in loads),
        "fullest": said.loads[0] - first.best_loads[0],
        "moves": moves,
        "avoidable": moves - first.fewest_moves,
        "avoidable at its loads": moves - _fewest(before, said.loads[-1], said.loads[0]),
        "topics": said.topic_excess,
    }
    if RebalanceProtocol.COOPERATIVE in get_assignor(name).protocols:
        figures["rounds"] = rounds
    if said.far is not None:
        figures["far"] = said.far
    if first.far is not None and first.fewest_far is not None:
        figures["avoidable far"] = first.far - first.fewest_far
    return figures, group, assignment


def _fewest(group: Group, low: int, high: int) -> int:
    """The fewest moves to loads between these two."""
    reading = number_group(group, recall_owned_or_user_data(group.members))
    number = {name: row for row, name in enumerate(reading.topics)}
    members = [group.members[row] for row in reading.members.tolist()]
    subscriptions = [sorted({number[name] for name in member.topics if name in number}) for member in members]
    kept = most_kept(reading.topic_of, reading.holder, subscriptions, low, high)
    return int(np.count_nonzero(reading.holder >= 0)) - kept


def _changes_when_renamed(name: str, group: Group, answer: Assignment, names: Random) -> bool:
    """Whether other random parts of the members' ids change the answer, beyond a swap of like for like."""
    ids = {member.id: f"{client_of(member.id)}-{drawn_id(names)}" for member in group.members}
    members = [replace(member, id=ids[member.id]) for member in group.members]
    again = get_assignor(name).assign(replace(group, members=members))
    return _who_gets_what(group, answer) != _who_gets_what(replace(group, members=members), again)


def _who_gets_what(group: Group, answer: Assignment) -> Counter[tuple[object, ...]]:
    """The answer without the ids; members with an instance id or a client id of their own are known by it."""
    gets = {member: set(partitions) for member, partitions in answer.items()}
    for partition, receiver in answer.transferring.items():
        gets[receiver].add(partition)
    clients = Counter(client_of(member.id) for member in group.members)
    return Counter(
        (
            member.instance_id or (client_of(member.id) if clients[client_of(member.id)] == 1 else None),
            member.rack,
            frozenset(member.topics),
            frozenset(member.owned),
            frozenset(gets[member.id]),
        )
        for member in group.members
    )
