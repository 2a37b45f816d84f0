"""Lives of streams groups: processes with threads come and go; tasks, standbys and state stay behind."""

from __future__ import annotations

import uuid
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.oracle import Oracle
    from tools.oracle.assignors.worlds import Json


def streams_answers(oracle: Oracle, seed: object, count: int) -> Iterator[Json]:
    """Lives with the broker's answers: in each step members have what the one before gave them, or almost."""
    for number in range(count):
        rng = Random(f"streams/{seed}/{number}")
        yield {"name": f"life-{seed}-{number}", "steps": list(_life(oracle, rng))}


def _life(oracle: Oracle, rng: Random) -> Iterator[Json]:
    subtopologies = [
        {"id": str(number), "tasks": rng.choice([0, 1, 2, 3, 4, 8, 15]), "stateful": rng.random() < 0.6}
        for number in range(rng.choice([1, 1, 2, 3, 12]))
    ]
    standbys = rng.choice([0, 0, 1, 1, 2])
    members: list[Json] = []
    for _ in range(rng.randint(1, 5)):
        members += _process(rng)
    for _ in range(rng.randint(3, 7)):
        step = {"standbys": standbys, "subtopologies": subtopologies, "members": members}
        answer = oracle.ask("streams", **step)
        yield {**step, **answer}
        given = {member: (active, standby) for member, active, standby in answer.get("assignment", ())}
        members = [_carry_member(rng, member, *given[member["id"]]) for member in members]
        for event in rng.choices(["join", "leave", "die", "standbys", "grow", "quiet"], [3, 2, 2, 1, 1, 2]):
            if event == "join":
                members += _process(rng)
            elif event == "leave" and len(members) > 1:
                members.remove(rng.choice(members))
            elif event == "die":
                gone = rng.choice(members)["process"]
                members = [member for member in members if member["process"] != gone] or members
            elif event == "standbys":
                standbys = rng.choice([0, 1, 2])
            elif event == "grow":
                subtopologies = [
                    {**subtopology, "tasks": subtopology["tasks"] + rng.choice([0, 1])}
                    for subtopology in subtopologies
                ]


def _process(rng: Random) -> list[Json]:
    """A new process with some threads."""
    process = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    threads = rng.choice([1, 1, 2, 4])
    return [
        {"id": f"{uuid.UUID(int=rng.getrandbits(128), version=4)}-{thread}", "process": process}
        for thread in range(threads)
    ]


def _carry_member(rng: Random, member: Json, active: list[list], standby: list[list]) -> Json:
    """The member one step later; now and then it has not got all yet, has more, or reports state on disk."""
    carried = {"id": member["id"], "process": member["process"]}
    for name, runs in (("active", active), ("standby", standby)):
        if rng.random() < 0.1:
            runs = member.get(name, [])  # noqa: PLW2901 - it has not taken the new tasks yet
        if runs:
            carried[name] = runs
    if rng.random() < 0.4:
        tasks = [(name, number) for name, *numbers in [*active, *standby] for number in numbers]
        tasks += [(str(rng.randrange(3)), rng.randrange(4))] if rng.random() < 0.3 else []
        offsets = {task: rng.choice([0, 5, 5, 100, rng.randrange(10**12)]) for task in tasks}
        if offsets:
            carried["offsets"] = [[*task, offset] for task, offset in offsets.items()]
    return carried
