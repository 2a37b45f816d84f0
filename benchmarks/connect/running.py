"""Runs Connect clusters on a real broker, and makes a JSON object of what each showed."""

from __future__ import annotations

import base64
import json
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, TopicPartition

from benchmarks.connect.cells import CONNECTORS, LATER
from benchmarks.connect.protocol import answer, reported_tasks
from benchmarks.connect.workers import WORKERS, Worker
from benchmarks.rebalances.broker_log import Decision, Request, read_log, recording_broker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.connect.cells import Cell
    from tests.support.broker import Broker

APIS = frozenset({"JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "LEAVE_GROUP"})
GENEROUS_S = 240
"""How long a cluster may take beyond the delay that is configured, until everything runs where it should."""
QUIET_S = 4.0
"""Longer than a heartbeat interval: so long a cluster is left alone before something happens to it."""
Run = dict[str, Any]


class ClusterError(RuntimeError):
    """A cluster did not come to rest in time."""


def run_cells(cells: Sequence[Cell], at_a_time: int) -> list[Run]:
    """Run cells, some of them side by side, on a broker of their own."""
    with (
        tempfile.TemporaryDirectory(prefix="connect-") as folder,
        recording_broker("group.initial.rebalance.delay.ms=0") as broker,
        ThreadPoolExecutor(at_a_time) as side_by_side,
    ):
        return list(side_by_side.map(lambda cell: _Cluster(cell, broker, Path(folder)).run(), cells))


class _Cluster:
    def __init__(self, cell: Cell, broker: Broker, folder: Path) -> None:
        self._cell, self._broker, self._folder = cell, broker, folder
        self._workers: dict[str, Worker] = {}
        self._connectors: dict[str, int] = {}
        self._starts: dict[str, int] = {}
        self._windows: list[list[tuple[float, str]]] = []

    def run(self) -> Run:
        with ExitStack() as stack:
            self._stack = stack
            for name in self._cell.workers:
                self._start(name)
            for connector, tasks in CONNECTORS.items():
                self._put(connector, tasks)
            self._wait_until_at_rest()
            for window in self._cell.windows:
                self._windows.append([])
                for what in window:
                    self._do(what)
                self._wait_until_at_rest()
            ends = time.monotonic()
            configs = _configs(self._broker.bootstrap_servers, f"{self._cell.name}-configs")
            return self._run_of(configs, ends)

    def _start(self, name: str) -> str:
        self._starts[name] = self._starts.get(name, 0) + 1
        process = f"{name}.{self._starts[name]}"
        worker = Worker(
            self._broker.bootstrap_servers, self._cell.name, process, self._folder, self._cell.settings
        )
        self._workers[name] = self._stack.enter_context(worker)
        return process

    def _put(self, connector: str, tasks: int) -> None:
        worker = next(iter(self._workers.values()))
        config = {"connector.class": "IdleSource", "tasks.max": str(tasks)}
        worker.request("PUT", f"/connectors/{connector}/config", config)
        self._connectors[connector] = tasks

    def _do(self, what: str) -> None:
        """One thing that happens, or is waited for; "leader" and "follower" are those of the last round."""
        verb, _, subject = what.partition(" ")
        if verb == "lost":
            self._wait(lambda rounds: rounds[-1]["delay_ms"] > 0, "a round in which something is lost")
            return
        if verb == "back":
            living = {worker.process for worker in self._workers.values()}

            def all_back(rounds: list[Run]) -> bool:
                return _members(rounds[-1]) == living and not any(rounds[-1]["revoked"].values())

            self._wait(all_back, f"a round of {sorted(living)} in which nothing stops")
            time.sleep(QUIET_S)
            return
        if subject in {"leader", "follower"}:
            leads = _rounds(self._cell.name, self._log())[-1]["leader"].partition(".")[0]
            subject = leads if subject == "leader" else next(name for name in self._workers if name != leads)
        at = time.monotonic()
        match verb:
            case "start":
                subject = self._start(subject)
            case "leave" | "crash":
                worker = self._workers.pop(subject)
                subject = worker.process
                getattr(worker, verb)()
            case "create":
                self._put(subject, LATER[subject])
            case "delete":
                next(iter(self._workers.values())).request("DELETE", f"/connectors/{subject}")
                del self._connectors[subject]
            case _:
                raise ValueError(what)
        self._windows[-1].append((at, f"{verb} {subject}"))

    def _wait_until_at_rest(self) -> None:
        """Until all workers that live run everything between them, nothing is to come, and it is quiet."""
        living = {worker.process for worker in self._workers.values()}
        things = len(self._connectors) + sum(self._connectors.values())

        def at_rest(rounds: list[Run]) -> bool:
            last = rounds[-1]
            return (
                bool(last["counts"] and last["assigns"])
                and _members(last) == living
                and not last["delay_ms"]
                and not any(last["revoked"].values())
                and sum(map(len, last["assigned"].values())) == things
            )

        self._wait(at_rest, f"{things} connectors and tasks on {sorted(living)}")
        time.sleep(QUIET_S)
        self._wait(at_rest, f"{things} connectors and tasks on {sorted(living)} again")

    def _wait(self, ready: Callable[[list[Run]], bool], what: str) -> None:
        deadline = time.monotonic() + GENEROUS_S + self._cell.delay_ms / 1000
        while True:
            rounds = _rounds(self._cell.name, self._log())
            if rounds and ready(rounds):
                return
            if time.monotonic() > deadline:
                raise ClusterError(f"{self._cell.name}: not {what} in time; last: {rounds[-3:]}")
            time.sleep(0.5)

    def _log(self) -> list[Request]:
        group = f"{self._cell.name}/"
        return [
            entry
            for entry in read_log(self._broker.logs[0], APIS)
            if not isinstance(entry, Decision) and entry.client.startswith(group)
        ]

    def _run_of(self, configs: list[list[Any]], ends: float) -> Run:
        log = self._log()
        began = min(request.at for request in log)
        first_join = {}
        for request in log:
            if request.api == "JOIN_GROUP":
                first_join.setdefault(request.client.partition("/")[2], request.at)

        def since(at: float) -> float:
            return round(at - began, 3)

        return {
            "cell": self._cell.name,
            "kafka": self._broker.version,
            "connect": WORKERS,
            "load": round(os.getloadavg()[1], 1),
            "windows": [[[since(at), what] for at, what in window] for window in self._windows],
            "ends": since(ends),
            "joined": {process: since(at) for process, at in first_join.items()},
            "left": {
                request.client.partition("/")[2]: since(request.at)
                for request in log
                if request.api == "LEAVE_GROUP"
            },
            "configs": configs,
            "rounds": [
                {**row, "told": since(row["told"]), "at": since(row["at"])}
                for row in _rounds(self._cell.name, log)
            ],
            "beats": {
                process: [since(request.at) for request in log if _beats(request, process)]
                for process in first_join
            },
        }


def _members(row: Run) -> set[str]:
    return {process for _, process, _ in row["members"]}


def _beats(request: Request, process: str) -> bool:
    return request.api == "HEARTBEAT" and request.client.endswith(f"/{process}")


def _rounds(group: str, log: list[Request]) -> list[Run]:
    """Each generation that a leader assigned: who was in it with what, and what the leader answered.

    The answer does not count where the next rebalance had begun before it arrived; the leader remembers it
    all the same. It assigns nothing where the leader had not read enough of the config topic.
    """
    process_of = {
        request.response["memberId"]: request.client.removeprefix(f"{group}/")
        for request in log
        if request.api == "JOIN_GROUP" and request.response["memberId"]
    }
    joined = {
        request.response["generationId"]: request
        for request in log
        if request.api == "JOIN_GROUP" and request.response["members"]
    }
    rows = []
    for request in log:
        generation = request.request.get("generationId")
        if request.api != "SYNC_GROUP" or not request.request["assignments"] or generation not in joined:
            continue
        join = joined[generation]
        owned = {
            member["memberId"]: reported_tasks(base64.b64decode(member["metadata"]))
            for member in join.response["members"]
        }
        answers = {
            given["memberId"]: answer(base64.b64decode(given["assignment"]))
            for given in request.request["assignments"]
        }
        rows.append(
            {
                "told": join.answered,
                "at": request.at,
                "generation": generation,
                "protocol": request.request["protocolName"],
                "counts": not request.response["errorCode"],
                "assigns": not any(told.error for told in answers.values()),
                "leader": process_of[request.request["memberId"]],
                "config_offset": answers[request.request["memberId"]].config_offset,
                "members": [[member, process_of[member], owned[member]] for member in owned],
                "assigned": {
                    member: [
                        *(task for task in owned[member] if task not in told.revoked),
                        *told.assigned,
                    ]
                    for member, told in answers.items()
                },
                "revoked": {member: told.revoked for member, told in answers.items()},
                "delay_ms": max(told.delay_ms for told in answers.values()),
            }
        )
    return rows


def _configs(servers: str, topic: str) -> list[list[Any]]:
    """What the config topic says of connectors: offset, connector, and its tasks; None: it was deleted."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "reads-alone", "enable.auto.commit": False}
    )
    try:
        partition = TopicPartition(topic, 0, 0)
        _, end = consumer.get_watermark_offsets(partition, timeout=30)
        consumer.assign([partition])
        found: list[list[Any]] = []
        while True:
            message = consumer.poll(30)
            if message is None or message.error():
                raise ClusterError(f"{topic} cannot be read to its end {end}: {message and message.error()}")
            kind, _, name = (message.key() or b"").decode().partition("-")
            value = json.loads(message.value()) if message.value() else None
            if kind == "connector":
                found.append([message.offset(), name, None if value is None else 0])
            elif kind == "commit" and value is not None:
                found.append([message.offset(), name, value["tasks"]])
            if message.offset() >= end - 1:
                return found
    finally:
        consumer.close()
