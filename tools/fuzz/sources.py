"""Captures and snapshots: what people hand over as the state of a group."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from unittest.mock import patch

from assignors.files import decode_text
from copartition.assignment_diff import WhatIf, diff, plan, planner
from copartition.groups import parse_capture, parse_snapshot, snapshot_bytes
from copartition.groups.capture import check_head
from copartition.groups.snapshot import RecordStep, record_line
from copartition.simulate_scenarios.replay import replay_record
from partitioning.errors import SourceError
from tools.fuzz.mutation import mutate

if TYPE_CHECKING:
    from random import Random

    from assignors.state import GroupState

CAPTURES = [
    path.read_bytes()
    for path in sorted((Path(__file__).parents[2] / "tests/copartition/groups/captures").glob("*.txt"))
]
SNAPSHOT = b"""{"kind":"group-snapshot","format_version":"1.0","members":[
{"id":"m-1","instance_id":"i-1","client_id":"c","host":"h","topics":["t"],"partitions":{"t":[0,3],"u":[1]}},
{"id":"m-2","partitions":{"t":[1]}}
],"group":"g","state":"Stable","topics":{"t":5,"u":2},"unassigned":{"t":[4]},"lag":{"t":{"0":12,"2":9}}}"""


OFFSETS = """GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID
g t 0 5 6 1 c-1 /h c
g t 1 9 6 -3 c-2 /h d
g t 3 5 6 - c-1 /h c
g u 2 - 0 0 - - -"""
MEMBERS = """GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT
g c-1 /h c 2 t(0,3)
g c-2 /h d 1 t(1)
g c-3 /h e 0 -"""
UNNAMED = MEMBERS.replace("t(", "(")
TARGETED = """GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS CURRENT-ASSIGNMENT TARGET-EPOCH TARGET-ASSIGNMENT
g c-1 /h c 2 t:0,3 4 t:0;u:2
g c-2 /h d 1 t:1 4 t:1
g c-3 /h e 0 - 4 t:3"""
STATE = """GROUP COORDINATOR ASSIGNMENT-STRATEGY STATE GROUP-EPOCH TARGET-ASSIGNMENT-EPOCH #MEMBERS
g h:1 uniform Reconciling 4 4 3"""
RPK = """TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG MEMBER-ID INSTANCE-ID CLIENT-ID HOST
t 0 5 6 1 c-1 i-1 c /h
t 1 - 6 - c-2 i-2 d /h"""
FILES = [
    (OFFSETS,),
    (MEMBERS,),
    (TARGETED,),
    (OFFSETS, UNNAMED),
    (STATE, TARGETED, OFFSETS),
    (RPK,),
    (OFFSETS.replace("\ng ", "\nbilling "), OFFSETS),
]


def _recorded_texts(status: str, **owned: list[int]) -> GroupState:
    members = [{"id": name, "topics": ["t"], "partitions": {"t": numbers}} for name, numbers in owned.items()]
    group = {"members": members, "group": "g", "state": status, "topics": {"t": 4}}
    kind = {"kind": "group-snapshot", "format_version": "1.0"}
    return parse_snapshot(json.dumps(kind | group))[0]


RECORDING = [
    record_line(RecordStep(at, since, state)).encode()
    for at, since, state in (
        (0, None, _recorded_texts("Stable", a=[0, 1], b=[2, 3])),
        (11, 10, _recorded_texts("PreparingRebalance", a=[])),
        (13, 12, _recorded_texts("Stable", a=[0, 1, 2, 3])),
        (20, 19, _recorded_texts("PreparingRebalance", a=[0, 1, 2, 3], c=[])),
        (24, 23, _recorded_texts("Stable", a=[0, 1], c=[2, 3])),
    )
]
FOLDER = TemporaryDirectory(prefix="copartition-recordings-")

MOST_PLANNED = 2**16
"""Partitions of a topic up to which a plan is made: a larger one takes its time."""

fewer_draws = patch.object(planner, "_DRAWS", 5)
"""Has a plan draw member ids as seldom as it may: more draws take time, and reach no other code."""


def make_capture(rng: Random) -> bytes:
    return mutate(rng, rng.choice(CAPTURES)) if rng.random() < 0.5 else _file(rng)


def _file(rng: Random) -> bytes:
    """Tables of which one has changed cells, and columns that line up all the same."""
    tables = [[line.split() for line in table.splitlines()] for table in rng.choice(FILES)]
    for _ in range(rng.randrange(1, 4)):
        row = rng.choice(rng.choice(tables)[1:])
        cell = rng.randrange(len(row))
        row[cell] = mutate(rng, row[cell].encode()).decode(errors="replace")
    return "\n\n".join(map(_align, tables)).encode() + rng.choice((b"", b"\n", b"\n\n"))


def _align(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) + 1 for column in zip(*rows, strict=True)]
    return "\n".join("".join(map(str.ljust, row, widths)) for row in rows)


def check_capture(content: bytes) -> None:
    text = decode_text(content)
    check_head(text)
    try:
        states = parse_capture(text)
    except SourceError:
        states = parse_capture(text, "billing")
    for state in states:
        if state is not None:
            _use(state)


def make_snapshot(rng: Random) -> bytes:
    return mutate(rng, SNAPSHOT)


def check_snapshot(content: bytes) -> None:
    _use(parse_snapshot(decode_text(content))[0])


def make_recording(rng: Random) -> bytes:
    """Lines of a record, of which some are damaged, missing or out of order."""
    lines = [line for line in RECORDING if rng.random() < 0.9]
    if rng.random() < 0.1:
        rng.shuffle(lines)
    return b"".join(mutate(rng, line) if rng.random() < 0.3 else line for line in lines)


def check_recording(content: bytes) -> None:
    path = Path(FOLDER.name, "night.ndjson")
    path.write_bytes(content)
    replay = replay_record(path, "range", seeds=[0])
    assert all(compared.first < compared.last for compared in replay.compared)


@fewer_draws
def _use(state: GroupState) -> None:
    kept = diff(state, parse_snapshot(snapshot_bytes(state))[0])
    assert kept.same or kept.conflicts
    if state.partition.max(initial=0) < MOST_PLANNED:
        diff(state, plan(state, "cooperative-sticky", WhatIf(add_members=1)))


TARGETS = {
    "captures": (make_capture, check_capture),
    "snapshots": (make_snapshot, check_snapshot),
    "recordings": (make_recording, check_recording),
}
