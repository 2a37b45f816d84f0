"""Topics written by the real clients, one phase of all of them after the other."""

from __future__ import annotations

import subprocess
import time
from random import Random
from typing import TYPE_CHECKING, NamedTuple, Self

from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from benchmarks.audits.cells import GO, NODE, PYTHON, RECORDS
from benchmarks.audits.keys import KEYS, ORDERS
from benchmarks.audits.reading import end_offsets, read
from tools.oracle.clients import programs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.audits.cells import Cell
    from tools.oracle.clients.programs import Command

ROUND = 20
"""Clients that write at the same time take turns after so many records."""

TRANSACTION = 60

SETTINGS = """
log.cleaner.backoff.ms=200
log.retention.ms=-1
"""
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "0",
}


class Record(NamedTuple):
    """One that is to be written; a null key or value is None."""

    topic: str
    key: bytes | None
    value: bytes | None = b"v"


class Writer:
    """A client in a process of its own; use it as a context manager.

    Args:
        profile: one of `CLIENTS`.
        servers: of the broker.
        transactional_id: where it is to write in transactions.
    """

    def __init__(self, profile: str, servers: str, transactional_id: str | None = None) -> None:
        self._profile = profile
        arguments = [profile, servers, *([transactional_id] if transactional_id else [])]
        self._process = subprocess.Popen(
            [*_program(profile), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            bufsize=1,
        )

    def send(self, records: Iterable[Record]) -> None:
        """Return once all are acknowledged.

        Raises:
            RuntimeError: the client ended; what it said stands on stderr.
        """
        lines = [" ".join((topic, _hex(key), _hex(value))) for topic, key, value in records]
        self.say(*lines, "flush")
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "done\n":
            raise RuntimeError(f"the client {self._profile} ended with {self._process.wait()}")

    def say(self, *lines: str) -> None:
        """Lines as the programs in `tools/oracle/clients` read them."""
        assert self._process.stdin is not None
        self._process.stdin.write("".join(f"{line}\n" for line in lines))
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)


def write(cells: Sequence[Cell], servers: str) -> dict[str, list[list[int]]]:
    """Write all topics of these cells; of each the end offsets of its partitions after each phase."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 3})
    ends: dict[str, list[list[int]]] = {cell.topic: [] for cell in cells}
    for turn in range(max(len(cell.phases) for cell in cells)):
        alive = [cell for cell in cells if turn < len(cell.phases)]
        for cell in alive:
            _resize(admin, cell, turn)
        _written(alive, turn, servers)
        for cell in alive:
            if cell.compacted and turn == len(cell.phases) - 1:
                _compact(cell, servers)
            ends[cell.topic].append(end_offsets(servers, cell.topic))
    return ends


def _written(cells: Sequence[Cell], turn: int, servers: str) -> None:
    """One phase of these cells, each client in one process where it writes alone and without transactions."""
    alone: dict[str, list[Cell]] = {}
    for cell in cells:
        clients = list(cell.phases[turn].shares)
        if cell.transactional:
            with Writer(clients[0], servers, cell.topic) as writer:
                _in_transactions(writer, cell, turn)
        elif len(clients) == 1:
            alone.setdefault(clients[0], []).append(cell)
        else:
            with Writer(clients[0], servers) as one, Writer(clients[1], servers) as other:
                _in_turns((one, other), cell, turn)
    for client, own in alone.items():
        with Writer(client, servers) as writer:
            for cell in own:
                writer.send(_records(cell, turn))


def _in_turns(writers: Sequence[Writer], cell: Cell, turn: int) -> None:
    drawn, records = Random(f"{cell.topic}/{turn}"), _records(cell, turn)
    shares = list(cell.phases[turn].shares.values())
    for start in range(0, len(records), ROUND):
        some = [(record, drawn.choices((0, 1), shares)[0]) for record in records[start : start + ROUND]]
        for number, writer in enumerate(writers):
            writer.send(record for record, whose in some if whose == number)


def _in_transactions(writer: Writer, cell: Cell, turn: int) -> None:
    records = _records(cell, turn)
    for number, start in enumerate(range(0, len(records), TRANSACTION)):
        writer.say("begin")
        writer.send(records[start : start + TRANSACTION])
        writer.say("abort" if number % 3 == 1 else "commit")


def _records(cell: Cell, turn: int) -> list[Record]:
    drawn = Random(f"{cell.topic}/{turn}/keys")
    return [Record(cell.topic, KEYS[cell.keys].draw(drawn)) for _ in range(RECORDS)]


def _resize(admin: AdminClient, cell: Cell, turn: int) -> None:
    """Create the topic for its first phase, or give it the partitions of a later one."""
    count = cell.phases[turn].partitions
    if turn == 0:
        config = COMPACTED if cell.compacted else {}
        admin.create_topics([NewTopic(cell.topic, count, 1, config=config)])[cell.topic].result(30)
    elif count > cell.phases[turn - 1].partitions:
        admin.create_partitions([NewPartitions(cell.topic, count)])[cell.topic].result(30)
    deadline = time.monotonic() + 30
    while True:
        found = admin.list_topics(cell.topic, timeout=10).topics[cell.topic].partitions.values()
        if sum(partition.leader >= 0 for partition in found) == count:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"{cell.topic} has not {count} partitions with a leader after 30 s")
        time.sleep(0.02)


def _compact(cell: Cell, servers: str) -> None:
    """Delete some orders, and wait until the broker has left out what newer records replace."""
    (client,) = cell.phases[-1].shares
    for value, every in ((None, 10), (b"v", 3)):
        time.sleep(1.5)  # the next record begins a segment, and only those before it are compacted
        with Writer(client, servers) as writer:
            writer.send(Record(cell.topic, b"order-%d" % order, value) for order in range(0, ORDERS, every))
    deadline = time.monotonic() + 60
    while len(read(servers, cell.topic).offset) > 2 * ORDERS:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{cell.topic} was not compacted within 60 s")
        time.sleep(0.5)


def _program(profile: str) -> Command:
    if profile in PYTHON:
        return programs.python("produce")
    if profile in GO:
        return programs.go("./produce")
    return programs.node("produce") if profile in NODE else programs.java("current", "Produce")


def _hex(field: bytes | None) -> str:
    return "-" if field is None else field.hex()
