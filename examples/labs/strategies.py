"""Who gets what under each strategy, what moves when a member leaves, and who stops while one joins.

Three consumers, two topics of four partitions. They join one after another; then the second leaves. Eager
strategies stop everybody, cooperative ones only what moves, in two rounds; under KIP-848 there is no round.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from assignors import Group, Member, Topic, get_assignor
from examples.labs.kit import Between, Lab, Picture
from examples.labs.kit import segments as seg
from examples.labs.kit.readers import Place, Reader, loads, longest_unread_s, wait_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignors import Assignment, Assignor

STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform")
"""The last one is the broker's own, under KIP-848."""
EXACT = ("range", "roundrobin")
"""Strategies whose placement every client copies; of the others they copy balance and stickiness."""
EAGER = ("range", "roundrobin", "sticky")
PARTITIONS = 4
NAMES = ("c0", "c1", "c2")
Owners = dict[Place, str]


class Course(NamedTuple):
    """Who has what with three members and when the second has left; and what happened as the third joined.

    That is: partitions given up, rebalances (none under KIP-848), the longest time without a reader.
    """

    three: Owners
    two: Owners
    stopped: int
    rounds: int
    unread_s: float = 0.0

    def facts(self, strategy: str) -> dict[str, Any]:
        moved = sum(owner != "c1" and self.two[place] != owner for place, owner in self.three.items())
        words = _who if strategy in EXACT else _loads
        return {
            f"{strategy}: three members have": words(self.three),
            f"{strategy}: when c1 has left": words(self.two),
            f"{strategy}: then moved, though the owner stayed": moved,
            f"{strategy}: stopped as c2 joined": self.stopped,
        }


def predict(strategy: str, topics: Sequence[str]) -> Course:
    """What our assignors say, round by round."""
    assignor, every = get_assignor(strategy), [Topic(name, PARTITIONS) for name in topics]
    group, first, _ = _settle(assignor, Group(every, [Member("c0", topics)]))
    group, second, _ = _settle(assignor, group.next(first, join=[Member("c1", topics)]))
    group, third, rounds = _settle(assignor, group.next(second, join=[Member("c2", topics)]))
    _, last, _ = _settle(assignor, group.next(third, leave=["c1"]))
    two, three = _owners(second), _owners(third)
    moving = sum(three[place] != owner for place, owner in two.items())
    stopped = len(two) if strategy in EAGER else moving
    return Course(three, _owners(last), stopped, 0 if strategy == "uniform" else rounds)


def _settle(assignor: Assignor, group: Group) -> tuple[Group, Assignment, int]:
    """The group and its assignment once nothing waits for another round, and how many rounds that took."""
    rounds = 1
    while (assignment := assignor.assign(group)).transferring:
        group, rounds = group.next(assignment), rounds + 1
    return group, assignment, rounds


def run(lab: Lab) -> None:
    topics = {strategy: sorted(lab.topic(PARTITIONS) for _ in range(2)) for strategy in STRATEGIES}
    expected = {strategy: predict(strategy, topics[strategy]) for strategy in STRATEGIES}
    lab.predict({what: fact for name in STRATEGIES for what, fact in expected[name].facts(name).items()})
    # kafka-python, which runs sticky, joins again whenever it has read new metadata; a cooperative group may
    # need another round where a member is slow to revoke.
    rounds = {name: f"{name}: rebalances for that" for name in STRATEGIES if name != "sticky"}
    least = {what: expected[name].rounds for name, what in rounds.items()}
    lab.predict({what: Between(count) if count > 1 else count for what, count in least.items()})
    with ThreadPoolExecutor(len(STRATEGIES)) as together:
        courses = list(together.map(partial(live, lab), STRATEGIES, topics.values(), expected.values()))
    lab.picture = Picture("Who has which of eight partitions: c0 blue, c1 orange, c2 green", label=190)
    for strategy, course in zip(STRATEGIES, courses, strict=True):
        for what, fact in course.facts(strategy).items():
            lab.saw(what, fact)
        if strategy in rounds:
            lab.saw(rounds[strategy], course.rounds)
        lab.figure(f"{strategy}: longest without a reader as c2 joined, s", "-", course.unread_s)
        note = f"c2 joined: {course.stopped} stopped, {course.unread_s:.1f} s"
        for label, owners, text in ((strategy, course.three, note), ("  c1 has left", course.two, "")):
            letters = _letters(owners)
            cells = [(letters[place], NAMES.index(owners[place])) for place in sorted(owners)]
            lab.picture.cells(label, cells, text)


def live(lab: Lab, strategy: str, topics: list[str], expected: Course) -> Course:
    """The same with consumers."""
    servers, group = lab.cluster.kafka.bootstrap_servers, topics[0]
    config: dict[str, Any] = lab.servers | {"group.id": group}
    if strategy == "uniform":
        config |= {"group.protocol": "consumer", "group.remote.assignor": "uniform"}
    else:
        config |= {"partition.assignment.strategy": strategy, "heartbeat.interval.ms": 300}
    seg.coordinator(servers, seg.GROUP, group)  # makes the inner topic where there is none yet
    readers: dict[str, Reader] = {}
    try:
        for name, shares in zip(NAMES, ([8], [4, 4], _loads(expected.three)), strict=True):
            since, before = time.monotonic(), seg.generation(servers, group)
            readers[name] = Reader(name, topics, config)
            wait_for(lambda shares=shares: loads(readers.values()) == shares)
        three, rounds = _current_owners(readers), seg.generation(servers, group) - before
        changes = [change for name in ("c0", "c1") for change in readers[name].changes if change.at_s > since]
        stopped = {place for change in changes if change.what == "revoke" for place in change.places}
        unread_s = longest_unread_s(readers.values(), since)
        readers.pop("c1").leave()
        wait_for(lambda: loads(readers.values()) == _loads(expected.two))
        return Course(three, _current_owners(readers), len(stopped), rounds, unread_s)
    finally:
        for reader in readers.values():
            reader.leave()


def _owners(assignment: Assignment) -> Owners:
    return {
        (partition.topic, partition.partition): name for name in assignment for partition in assignment[name]
    }


def _current_owners(readers: dict[str, Reader]) -> Owners:
    return {place: name for name, reader in readers.items() for place in reader.has}


def _letters(owners: Owners) -> dict[Place, str]:
    topics = sorted({topic for topic, _ in owners})
    return {place: f"{'AB'[topics.index(place[0])]}{place[1]}" for place in sorted(owners)}


def _who(owners: Owners) -> str:
    letters = _letters(owners)
    names = sorted({*owners.values()})
    return "; ".join(f"{name} {' '.join(letters[p] for p in letters if owners[p] == name)}" for name in names)


def _loads(owners: Owners) -> list[int]:
    return sorted(list(owners.values()).count(name) for name in {*owners.values()})
