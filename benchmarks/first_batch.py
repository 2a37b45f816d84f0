"""How long the first record of a new producer takes, from making the producer to its acknowledgement.

Run it with `python -m benchmarks.first_batch`: it prints the table of `benchmarks/records.md`.
"""

from __future__ import annotations

import statistics
import time
import uuid
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from partitioning.clients.confluent import PartitioningProducer
from partitioning.clients.contact import connected_metadata
from partitioning.testing.mock_cluster import MockCluster
from tests.support.broker import Broker, Kafka

if TYPE_CHECKING:
    from collections.abc import Callable

TRIES = 20
SLOW_S = 0.4
IDEMPOTENT = {"enable.idempotence": True}


def bare(settings: dict[str, Any], topic: str) -> None:
    sent(Producer(settings), topic)


def ours(settings: dict[str, Any], topic: str) -> None:
    sent(PartitioningProducer(settings, partitioner="java"), topic)


def sent(producer: Producer, topic: str) -> None:
    producer.produce(topic, value=b"value", key=b"key")
    producer.flush()


def bare_transaction(settings: dict[str, Any], _topic: str) -> None:
    Producer(settings | {"transactional.id": uuid.uuid4().hex}).init_transactions(20)


def our_transaction(settings: dict[str, Any], topic: str) -> None:
    producer = Producer(settings | {"transactional.id": uuid.uuid4().hex})
    connected_metadata(producer.list_topics, topic, 5)
    producer.init_transactions(20)


CASES: dict[str, tuple[Callable[[dict[str, Any], str], None], dict[str, Any]]] = {
    "bare librdkafka, plain": (bare, {}),
    "bare librdkafka, idempotent": (bare, IDEMPOTENT),
    "`PartitioningProducer`, idempotent": (ours, IDEMPOTENT),
    "bare `init_transactions`": (bare_transaction, {}),
    "`init_transactions` as the loop and the sink call it": (our_transaction, {}),
}


def measure(cluster: str, servers: str, topic: str) -> None:
    settings = {"bootstrap.servers": servers, "linger.ms": 0, "log_level": 0}
    taken: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(TRIES):
        for name, (run, own) in CASES.items():
            begun = time.perf_counter()
            run(settings | own, topic)
            taken[name].append(time.perf_counter() - begun)
    for name, seconds in taken.items():
        ms = [
            f"{1000 * duration:.0f}" for duration in (min(seconds), statistics.median(seconds), max(seconds))
        ]
        slow = sum(duration > SLOW_S for duration in seconds)
        print(f"| {cluster} | {name} | {' | '.join(ms)} | {slow} of {TRIES} |")


def main() -> None:
    print("| cluster | what | least, ms | median | most | over 400 ms |\n|---|---|---|---|---|---|")
    with MockCluster() as mock:
        mock.create_topic("first", 12)
        measure("mock", mock.bootstrap_servers, "first")
    with Broker() as broker:
        measure("real", broker.bootstrap_servers, Kafka(broker.bootstrap_servers).create_topic(12))


if __name__ == "__main__":
    main()
