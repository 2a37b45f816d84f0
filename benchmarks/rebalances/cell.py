"""One scenario under one protocol: a group of its own on a topic of its own."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.consumers.clients import Client
from benchmarks.consumers.process import Member
from benchmarks.rebalances.broker_log import read_log, recording_broker
from benchmarks.rebalances.producer import SteadyProducer
from benchmarks.rebalances.scenarios import PROTOCOLS, Scenario, is_static
from tests.support.broker import Kafka

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from benchmarks.rebalances.broker_log import Decision, Request


@dataclass(frozen=True, slots=True)
class Cell:
    """What is run: a scenario with the times it drew, under a protocol.

    Attributes:
        name: of the group; its members' client ids begin with it.
        protocol: eager, cooperative or kip848.
        scenario: what is done.
        consumers: those of another client than the scenario's, or with settings of their own, by name.
    """

    name: str
    protocol: str
    scenario: Scenario
    consumers: Mapping[str, tuple[Client, dict[str, str | int]]] = field(default_factory=dict)

    def consumer(self, name: str) -> tuple[Client, dict[str, str | int]]:
        """A consumer's client, and the settings that only that consumer has."""
        return self.consumers.get(name, (self.scenario.client, {}))


@dataclass(frozen=True, slots=True)
class Ran:
    """What a cell's processes said.

    Attributes:
        began: `time.monotonic()` at second 0 of the scenario.
        members: each process by its client id, with what it said and what was done to it.
        grown: when the topic had its new partitions.
        restarted: when the coordinator went away, and when all nodes answered again.
    """

    began: float
    members: dict[str, list[dict[str, Any]]]
    grown: float | None
    restarted: tuple[float, float] | None = None


class Site(NamedTuple):
    """A broker of their own for cells, and what they share beside it.

    Attributes:
        kafka: the cluster.
        producer: gives topics their records.
        folder: where processes write.
        log: what the broker writes down of requests.
        workers: runs so many cells side by side.
    """

    kafka: Kafka
    producer: SteadyProducer
    folder: Path
    log: Path
    workers: ThreadPoolExecutor


@contextmanager
def open_site(at_a_time: int) -> Iterator[Site]:
    """Start a broker and a producer for cells, of which so many run side by side; both end with this."""
    with (
        tempfile.TemporaryDirectory(prefix="rebalances-") as folder,
        recording_broker() as broker,
        SteadyProducer(broker.bootstrap_servers) as producer,
        ThreadPoolExecutor(at_a_time) as workers,
    ):
        kafka = Kafka(broker.bootstrap_servers)
        kafka.create_coordinators(1)  # else the first consumer of all waits a second for its coordinator
        yield Site(kafka, producer, Path(folder), broker.logs[0], workers)


def run_all(
    cells: Sequence[Cell], at_a_time: int, apis: frozenset[str]
) -> tuple[list[Ran], list[Request | Decision]]:
    """Run cells side by side on a broker of their own; with what the broker wrote down of these APIs."""
    with open_site(at_a_time) as site:
        ran = list(site.workers.map(lambda cell: run(cell, site.kafka, site.producer, site.folder), cells))
        return ran, list(read_log(site.log, apis))


def run(
    cell: Cell,
    kafka: Kafka,
    producer: SteadyProducer,
    folder: Path,
    restart: Callable[[], tuple[float, float]] | None = None,
) -> Ran:
    """Run a cell; takes as long as its scenario and a moment for the processes to come up.

    Args:
        cell: what is run.
        kafka: the cluster; its first node holds the topic.
        producer: gives the topic its records.
        folder: where the processes write.
        restart: restarts the coordinator and tells from when to when that took; for scenarios that do.
    """
    partitions = cell.scenario.partitions
    topic = kafka.create_topic(partitions, node=1)
    members: dict[str, Member] = {}
    current: dict[str, Member] = {}
    waiting = _processes(cell, topic, kafka.bootstrap_servers, folder)
    grown = restarted = None
    try:
        for member in waiting:
            member.wait_until_ready()
        producer.begin(topic, partitions)
        began = time.monotonic() + 0.5
        for step in sorted(cell.scenario.steps, key=lambda step: step.at):
            time.sleep(max(0, began + step.at - time.monotonic()))
            if step.what in {"grow", "create"}:
                grown = _add_partitions(step.what, topic, cell.scenario, kafka, producer)
                continue
            if step.what == "restart":
                assert restart is not None
                restarted = restart()
                continue
            if step.what == "start":
                current[step.consumer] = next(member for member in waiting if member.name == step.consumer)
                waiting.remove(current[step.consumer])
            member = current[step.consumer]
            members.setdefault(member.client, member)
            match step.what:
                case "start" | "close" | "unsubscribe" | "subscribe":
                    member.tell(step.what)
                case "busy":
                    member.tell(f"busy {step.seconds}")
                case _:
                    member.signal(step.what)
        time.sleep(max(0, began + cell.scenario.ends - time.monotonic()))
        producer.stop(topic)
        if cell.scenario.pattern:
            producer.stop(beside(topic))
    finally:
        events = {client: member.events() for client, member in members.items()}
        for member in waiting:
            member.events()
    return Ran(began, events, grown, restarted)


def _add_partitions(
    what: str, topic: str, scenario: Scenario, kafka: Kafka, producer: SteadyProducer
) -> float:
    """Grow the topic or create one beside it, with records at once; when the partitions were there."""
    if what == "grow":
        kafka.grow_topic(topic, scenario.grown)
        grown = time.monotonic()
        producer.go_on(topic, scenario.grown)
    else:
        added = scenario.grown - scenario.partitions
        kafka.create_topic(added, node=1, name=beside(topic))
        grown = time.monotonic()
        producer.begin(beside(topic), added)
    return grown


def _processes(cell: Cell, topic: str, bootstrap_servers: str, folder: Path) -> list[Member]:
    """A process for each time that a consumer starts."""
    started: dict[str, int] = {}
    members = []
    for step in cell.scenario.steps:
        if step.what != "start":
            continue
        name = step.consumer
        started[name] = started.get(name, 0) + 1
        client, own = cell.consumer(name)
        config = {
            "bootstrap.servers": bootstrap_servers,
            "group.id": cell.name,
            "client.id": f"{cell.name}/{name}.{started[name]}",
            "auto.offset.reset": "earliest",
            **PROTOCOLS[cell.protocol],
            **cell.scenario.config,
            **({"group.instance.id": name} if is_static(cell.scenario.static, name) else {}),
            **({"heartbeat.interval.ms": cell.scenario.beats[name]} if _has_beats(cell, name) else {}),
            **own,
        }
        settings = {"topics": [topic], "config": client.own_names(config), **cell.scenario.work}
        if cell.scenario.pattern:
            settings |= {"topics": [f"^{topic}.*"], "first": {beside(topic): cell.scenario.partitions}}
        members.append(Member(name, settings, folder, client.command()))
    return members


def beside(topic: str) -> str:
    """The topic that is created beside another, and matches the same regular expression."""
    return f"{topic}-more"


def _has_beats(cell: Cell, name: str) -> bool:
    return name in cell.scenario.beats and cell.protocol != "kip848"
