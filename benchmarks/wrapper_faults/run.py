"""One scenario, run: a producer, faults that strike it, and what the topic holds in the end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kafka.partitioner.default import murmur2

from benchmarks.faults.following import Following, run_scenario
from benchmarks.faults.watching import read
from benchmarks.wrapper_faults.diary import KEYS, Verdict, judge, read_lives
from tests.support.broker import Kafka

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.faults.brokers import Brokers, Site
    from benchmarks.wrapper_faults.scenarios import Scenario

PARTITIONS = 6
RECORDS = 6_000
SPREAD = 100
"""A fault strikes at the latest so many times three records after the one before."""
LIMIT_S = 300
WRITERS: dict[str, dict[str, Any]] = {
    "idempotent": {"enable.idempotence": True},
    "plain": {"acks": "all"},
    "asyncio": {"enable.idempotence": True},
    "kafka-python": {"enable.idempotence": True, "linger.ms": 5},
    "aiokafka": {"enable.idempotence": True, "linger.ms": 5},
}

HANGS = {("kafka-python", "black hole, records time out")}
"""What a client does not come to an end of by itself, see the README."""


class Run(Following):
    """A scenario under way, as its acts see it."""

    def __init__(self, scenario: Scenario, site: Site, folder: Path, writer: str, seed: str) -> None:
        super().__init__(site, scenario, "benchmarks.wrapper_faults.worker", folder)
        self._kafka = Kafka(self.broker.bootstrap_servers)
        self.topic = self._kafka.create_topic(PARTITIONS)
        self.watched = self.topic, PARTITIONS
        self.counts = [PARTITIONS]
        self.plan(
            topic=self.topic,
            records=RECORDS,
            seed=seed,
            calls=["produce"],
            batch=SPREAD,
            producer=self.clients | WRITERS[writer] | scenario.producer,
            writer=writer,
        )

    def run(self) -> str:
        """Strike as the plan says until all records were produced; what became of the process."""
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            self.follow(["producer"])
            if self.processes.ended_well("producer"):
                return self.end()
        return f"not finished after {LIMIT_S} s"

    def grow(self) -> None:
        """Give the topic two more partitions."""
        self.counts.append(self.counts[-1] + 2)
        self._kafka.grow_topic(self.topic, self.counts[-1])

    def count_records(self, struck: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The records, and what became of them."""
        del struck
        records = sum(len(life.produced) for life in read_lives(self.folder).values())
        return {"records": records, **self.verdict()._asdict()}

    def verdict(self) -> Verdict:
        """What became of the records."""
        lives = read_lives(self.folder)
        keys = (f"{life}-{number}" for life in lives for number in range(KEYS))
        homes = {key: {(murmur2(key.encode()) & 0x7FFFFFFF) % count for count in self.counts} for key in keys}
        return judge(lives, read(self.broker.bootstrap_servers, self.topic, self.counts[-1]), homes)


def run(name: str, scenario: Scenario, brokers: Brokers, *, writer: str, seed: int) -> dict[str, Any]:
    """Run a scenario, and count."""

    def make(site: Site, folder: Path) -> Run:
        return Run(scenario, site, folder, writer, f"{seed}/{name}")

    return {"scenario": name, "writer": writer, "seed": seed, **run_scenario(name, scenario, brokers, make)}
