"""Captures and snapshots: what people hand over as the state of a group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assignors.diff import diff
from assignors.files import decode_text
from assignors.sources import WhatIf, parse_capture, parse_snapshot, plan, snapshot_bytes
from tests.fuzz.mutation import mutate

if TYPE_CHECKING:
    from random import Random

    from assignors.diff import GroupState

CAPTURES = [
    path.read_bytes()
    for path in sorted((Path(__file__).parents[1] / "assignors/sources/captures").glob("*.txt"))
]
SNAPSHOT = b"""{"kind":"group-snapshot","format_version":"1.0","members":[
{"id":"m-1","instance_id":"i-1","client_id":"c","host":"h","topics":["t"],"partitions":{"t":[0,3],"u":[1]}},
{"id":"m-2","partitions":{"t":[1]}}
],"group":"g","state":"Stable","topics":{"t":5,"u":2},"unassigned":{"t":[4]},"lag":{"t":{"0":12,"2":9}}}"""


OFFSETS = """GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID
g t 0 5 6 1 c-1 /h c
g t 1 5 6 - c-2 /h d
g u 3 - 0 0 - - -"""
MEMBERS = """GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT
g c-1 /h c 2 t(0,3)
g c-2 /h d 3 t(1),u(0,2)
g c-3 /h e 0 -"""


def make_capture(rng: Random) -> bytes:
    return mutate(rng, rng.choice(CAPTURES)) if rng.random() < 0.5 else _table(rng)


def _table(rng: Random) -> bytes:
    """A capture whose cells are changed and whose columns line up all the same."""
    rows = [line.split() for line in rng.choice((OFFSETS, MEMBERS)).splitlines()]
    for _ in range(rng.randrange(1, 4)):
        row = rng.choice(rows[1:])
        cell = rng.randrange(len(row))
        row[cell] = mutate(rng, row[cell].encode()).decode(errors="replace")
    widths = [max(map(len, column)) + 1 for column in zip(*rows, strict=True)]
    lines = ("".join(map(str.ljust, row, widths)) for row in rows)
    return "\n".join(lines).encode()


def check_capture(content: bytes) -> None:
    for state in parse_capture(decode_text(content)):
        if state is not None:
            _use(state)


def make_snapshot(rng: Random) -> bytes:
    return mutate(rng, SNAPSHOT)


def check_snapshot(content: bytes) -> None:
    _use(parse_snapshot(decode_text(content))[0])


def _use(state: GroupState) -> None:
    kept = diff(state, parse_snapshot(snapshot_bytes(state))[0])
    assert kept.same or kept.conflicts
    diff(state, plan(state, "cooperative-sticky", WhatIf(add_members=1)))


TARGETS = {"captures": (make_capture, check_capture), "snapshots": (make_snapshot, check_snapshot)}
