"""The groups that are run: who is in them, by which assignors, and what happens to each."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from benchmarks.consumers.clients import AIOKAFKA, JAVA, KAFKA_PYTHON, LIBRDKAFKA
from benchmarks.rebalances.cell import Cell
from benchmarks.rebalances.scenarios import METADATA_MS, SESSION_MS, Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.consumers.clients import Client

PARTITIONS = 6
GROWN = 12
FORMED_S = 14.0
"""When the first event may begin: the delay of a new group's first rebalance, and more."""
GAP_S = 22.0
"""From one event to the next; a session of 8 s ends in between, or a leader looks at the metadata again."""
AWAY_S = 2.5
"""How long a consumer that is restarted is away: less than its session."""


@dataclass(frozen=True, slots=True)
class LiveGroup:
    """A group.

    Attributes:
        name: what it is called in tables, and its group id.
        assignors: of its consumers, the preferred one first, where `others` has no others.
        clients: of each consumer; those that no event starts are there from the beginning.
        events: what happens, one after another: "join c3", "restart c0", "grow".
        static: whether consumers have a `group.instance.id`.
        others: assignors of consumers that know only some.
        gap_s: from one event to the next.
        session_ms: `session.timeout.ms`.
    """

    name: str
    assignors: str
    clients: Mapping[str, Client]
    events: Sequence[str]
    static: bool = False
    others: Mapping[str, str] = field(default_factory=dict)
    gap_s: float = GAP_S
    session_ms: int = SESSION_MS

    def assignors_of(self, consumer: str) -> str:
        """What a consumer lists."""
        return self.others.get(consumer, self.assignors)

    def cell(self) -> tuple[Cell, list[tuple[float, str]]]:
        """What is run, and when each event begins."""
        random = Random(self.name)
        there = [name for name in self.clients if self._first(name) != "join"]
        steps = [Step(0.4 * turn, "start", name) for turn, name in enumerate(there)]
        happens = []
        at = FORMED_S
        for event in self.events:
            at += random.uniform(0, 3)  # so that each event meets another phase of the heartbeats
            happens.append((round(at, 3), event))
            steps += _steps(at, event)
            at += self.gap_s
        config: dict[str, str | int] = {
            "topic.metadata.refresh.interval.ms": METADATA_MS,
            "session.timeout.ms": self.session_ms,
        }
        scenario = Scenario(
            steps, 0, at, static=self.static, config=config, partitions=PARTITIONS, grown=GROWN
        )
        consumers: dict[str, tuple[Client, dict[str, str | int]]] = {
            name: (client, {"partition.assignment.strategy": self.assignors_of(name)})
            for name, client in self.clients.items()
        }
        return Cell(self.name, "eager", scenario, consumers=consumers), happens

    def _first(self, name: str) -> str | None:
        """What first happens to a consumer; one that joins was not there before."""
        happens = (event.split() for event in self.events)
        return next((what for what, *whom in happens if whom == [name]), None)


_DONE = {
    "join": ("start",),
    "leave": ("close",),
    "restart": ("close", "start"),
    "crash": ("kill", "start"),
    "kill": ("kill",),
    "pause": ("stop",),
    "resume": ("continue",),
    "grow": ("grow",),
    "coordinator": ("restart",),
}
"""What each event is, in steps."""


def _steps(at: float, event: str) -> list[Step]:
    what, _, name = event.partition(" ")
    return [Step(at + AWAY_S * turn, done, name) for turn, done in enumerate(_DONE[what])]


COORDINATOR = "coordinator restart"
DYNAMIC = (
    "join c3",
    "leave c0",
    "join c0",
    "kill c1",
    "join c1",
    "pause c2",
    "resume c2",
    "grow",
    "restart c3",
    "leave c1",
)
STATIC = (
    "join c3",
    "restart c0",
    "crash c1",
    "kill c2",
    "join c2",
    "pause c1",
    "resume c1",
    "grow",
)
STRANGER = ("join c3", "kill c3", "grow", "join c3", "leave c3", "leave c0")
"""What happens where c3 knows only one of the names that the others list."""

ALL = {"c0": KAFKA_PYTHON, "c1": AIOKAFKA, "c2": JAVA, "c3": LIBRDKAFKA}
NO_LIBRDKAFKA = {"c0": AIOKAFKA, "c1": KAFKA_PYTHON, "c2": JAVA, "c3": KAFKA_PYTHON}
NO_AIOKAFKA = {"c0": KAFKA_PYTHON, "c1": LIBRDKAFKA, "c2": JAVA, "c3": KAFKA_PYTHON}

GROUPS = [
    LiveGroup("range", "range", ALL, DYNAMIC),
    LiveGroup("roundrobin", "roundrobin", ALL, DYNAMIC),
    LiveGroup("sticky", "sticky", NO_LIBRDKAFKA, DYNAMIC),
    LiveGroup("cooperative-sticky", "cooperative-sticky", NO_AIOKAFKA, DYNAMIC),
    LiveGroup("range-static", "range", ALL, STATIC, static=True),
    LiveGroup("roundrobin-static", "roundrobin", ALL, STATIC, static=True),
    LiveGroup("sticky-static", "sticky", NO_LIBRDKAFKA, STATIC, static=True),
    LiveGroup("cooperative-sticky-static", "cooperative-sticky", NO_AIOKAFKA, STATIC, static=True),
    LiveGroup("sticky-or-range", "sticky,range", ALL, STRANGER, others={"c3": "range"}),
    LiveGroup(
        "optimal-or-sticky",
        "cooperative-optimal,cooperative-sticky",
        {"c0": KAFKA_PYTHON, "c1": KAFKA_PYTHON, "c2": KAFKA_PYTHON, "c3": JAVA},
        STRANGER,
        others={"c3": "cooperative-sticky"},
    ),
]
TOGETHER = [
    LiveGroup(f"{name}-coordinator", name, clients, (COORDINATOR, "leave c0"), gap_s=40, session_ms=30_000)
    for name, clients in (
        ("range", ALL),
        ("roundrobin", ALL),
        ("sticky", NO_LIBRDKAFKA),
        ("cooperative-sticky", NO_AIOKAFKA),
    )
]
"""The groups whose coordinator is restarted, which is the same node for all, so at one time.

Their sessions outlast it: a busy machine takes 15 s to start a node.
"""
