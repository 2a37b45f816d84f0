"""One scenario, run: processes of the loop, faults that strike them, and what the topics hold in the end."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from kafka.partitioner.default import murmur2

from benchmarks.faults.checking import Verdict, check
from benchmarks.faults.following import Following, run_scenario
from benchmarks.faults.watching import read
from benchmarks.loop_faults.scenarios import TRANSACTION_S
from benchmarks.loop_faults.worker import POISONED
from partitioning.clients.confluent import PartitioningProducer
from tests.support.broker import Kafka

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.faults.brokers import Brokers, Site
    from benchmarks.loop_faults.scenarios import Scenario

PROCESSES = 3
SOURCE_PARTITIONS, TARGET_PARTITIONS, DEAD_PARTITIONS = 4, 6, 2
KEYS = 40
POISONED_KEYS = 2
RECORDS = 12_000
GROWN_RECORDS = 1_200
BATCH = 50
LIMIT_S = 420
SETTLED_S = 2
"""How long all is read before the processes are ended: whoever has just woken finds out first."""


class Run(Following):
    """A scenario under way, as its acts see it.

    Attributes:
        topics: names of `source`, `target` and `dead_letters`.
        transactions: whether the loop has them.
        written: for each key how many records were given to the loop.
    """

    def __init__(
        self,
        scenario: Scenario,
        site: Site,
        folder: Path,
        *,
        transactions: bool,
        seed: str,
        records: int,
    ) -> None:
        super().__init__(site, scenario, "benchmarks.loop_faults.worker", folder)
        self.transactions = transactions
        counts = {
            "source": SOURCE_PARTITIONS,
            "target": TARGET_PARTITIONS,
            "dead_letters": DEAD_PARTITIONS,
        }
        self._kafka = Kafka(self.broker.bootstrap_servers)
        self.topics = {name: self._kafka.create_topic(count) for name, count in counts.items()}
        self.watched = self.topics["target"], TARGET_PARTITIONS
        self._partitions = SOURCE_PARTITIONS
        self.group = f"loop-{self.topics['source']}"
        self.plan(
            **self.topics,
            group=self.group,
            seed=seed,
            calls=scenario.calls,
            batch=BATCH,
            consumer=scenario.consumer | self.clients,
            static=scenario.static,
            producer={"transaction.timeout.ms": TRANSACTION_S * 1000, **self.clients},
            transactions=transactions,
        )
        self.written = fill(self.broker.bootstrap_servers, self.topics["source"], records)
        settings = {"bootstrap.servers": self.broker.bootstrap_servers, "group.id": self.group}
        self._reader = Consumer(settings | {"isolation.level": "read_committed", "log_level": 0})

    def run(self) -> str:
        """Strike as the plan says until the source is read to its end; what became of the processes."""
        deadline = time.monotonic() + LIMIT_S
        asked = read_since = time.monotonic()
        while time.monotonic() < deadline:
            self.follow([str(number) for number in range(PROCESSES)])
            if time.monotonic() > asked + 0.5:
                asked = time.monotonic()
                if self.is_struck or not self._all_read():
                    read_since = asked
                if asked > read_since + SETTLED_S:
                    return self.end()
        return f"not finished after {LIMIT_S} s"

    def grow(self) -> None:
        """Give the source two more partitions, and records of new keys: no key changes its partition."""
        self._partitions += 2
        self._kafka.grow_topic(self.topics["source"], self._partitions)
        servers, first = self.broker.bootstrap_servers, len(self.written)
        self.written |= fill(servers, self.topics["source"], GROWN_RECORDS, first)

    def count_records(self, struck: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The records, the faults inside a transaction, and what is wrong with the outputs."""
        return {
            "records": sum(self.written.values()),
            "in_transaction": sum(hit["in_transaction"] for hit in struck),
            **asdict(self.verdict()),
        }

    def verdict(self) -> Verdict:
        """What is wrong with the outputs and with the dead letters, together."""
        servers = self.broker.bootstrap_servers
        both = []
        for topic, partitions, poisoned in (
            (self.topics["target"], TARGET_PARTITIONS, False),
            (self.topics["dead_letters"], DEAD_PARTITIONS, True),
        ):
            written = {key: count for key, count in self.written.items() if is_poisoned(key) is poisoned}
            homes = {key: (murmur2(key.encode()) & 0x7FFFFFFF) % partitions for key in written}
            both.append(asdict(check(read(servers, topic, partitions), written, homes)))
        return Verdict(*(sum(verdict[name] for verdict in both) for name in both[0]))

    def _all_read(self) -> bool:
        """Whether the group has committed all records of the source."""
        places = [TopicPartition(self.topics["source"], number) for number in range(self._partitions)]
        with suppress(KafkaException):
            committed = self._reader.committed(places, timeout=5)
            return sum(max(partition.offset, 0) for partition in committed) == sum(self.written.values())
        return False


def is_poisoned(key: str) -> bool:
    """Whether the loop refuses the records of this key."""
    return int(key.removeprefix("key-")) < POISONED_KEYS


def fill(servers: str, topic: str, records: int, first_key: int = 0) -> dict[str, int]:
    """Write numbered records of `KEYS` keys, those of a key in order; for each key how many they are."""
    written: Counter[str] = Counter()
    with PartitioningProducer({"bootstrap.servers": servers, "enable.idempotence": True}) as producer:
        for number in range(records):
            key = f"key-{first_key + number % KEYS}"
            poison = POISONED if is_poisoned(key) else b"sound"
            value = b"%d %s %s" % (written[key], poison, b"." * 100)
            while True:
                try:
                    producer.produce(topic, value, key)
                    break
                except BufferError:  # a broker is slower than this loop
                    producer.poll(0.1)
            written[key] += 1
            producer.poll(0)
    return dict(written)


def run(
    name: str,
    scenario: Scenario,
    brokers: Brokers,
    *,
    transactions: bool,
    seed: int,
    records: int = RECORDS,
) -> dict[str, Any]:
    """Run a scenario, and count."""

    def make(site: Site, folder: Path) -> Run:
        return Run(scenario, site, folder, transactions=transactions, seed=f"{seed}/{name}", records=records)

    loop = "transactions" if transactions else "at least once"
    done = run_scenario(name, scenario, brokers, make, settles_s=60)
    return {"scenario": name, "loop": loop, "seed": seed, **done}
