"""Records sent at an even pace or held back by linger.ms, and what a producer's model says of the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from confluent_kafka import Producer

from copartition.models import BrokerTimes, LibrdkafkaSettings, simulate_librdkafka
from examples.labs.kit import segments as seg
from partitioning import TopicLayout, get_partitioner
from partitioning.strategy import seeded_source

if TYPE_CHECKING:
    from confluent_kafka import Message

    from copartition.models import BatchingResult
    from examples.labs.kit.lab import Lab

STICKY, ROUND_ROBIN = "sticky", "round-robin"
LINGER_MS = 60_000
"""Longer than any lab runs: a batch that is not full leaves only when the producer is flushed."""
ROUND_TRIP_MS = 1.0
PATIENCE_S = 60.0


class Sent(NamedTuple):
    """What became of records: requests, and the wait from produce() to the acknowledgement."""

    requests: int
    p50_ms: float
    p99_ms: float


def choose(strategy: str, topic: str, partitions: int, records: int) -> list[int]:
    """A partition for each record; -1 leaves it to librdkafka, which sticks to a partition for a while."""
    if strategy == STICKY:
        return [-1] * records
    places = get_partitioner("round-robin").for_topic(topic)
    return [places.partition(None, TopicLayout(partitions)) for _ in range(records)]


def predict(
    times_ms: np.ndarray, strategy: str, partitions: int, value_bytes: int, settings: LibrdkafkaSettings
) -> BatchingResult:
    """How our model of librdkafka batches such records, one broker leading all partitions."""
    stick_ms = 2 * settings.queue_buffering_max_ms
    return simulate_librdkafka(
        times_ms,
        value_bytes,
        np.array(choose(strategy, "t", partitions, len(times_ms))),
        leaders=[0] * partitions,
        brokers=[BrokerTimes(latency_ms=ROUND_TRIP_MS)],
        unkeyed=get_partitioner("sticky-by-time", linger_ms=stick_ms, random=seeded_source(1)).for_topic("t"),
        settings=settings,
    )


def predict_five(strategy: str) -> tuple[list[int], int]:
    """Five records, three partitions, batches of three: records in each batch, and how many leave at once.

    Nothing but a full batch lets a record leave before the producer is flushed.
    """
    settings = LibrdkafkaSettings(queue_buffering_max_ms=LINGER_MS, batch_num_messages=3)
    result = predict(np.arange(5.0), strategy, 3, 10, settings)
    at_once = result.records[result.sent_ms < 4].sum()  # the model flushes at the last record, at 4 ms
    return sorted(result.records.tolist()), int(at_once)


def five(lab: Lab, strategy: str, at_once: int) -> tuple[list[int], int]:
    """The same with a producer, which is flushed once so many have left, or after a second."""
    settings = {"linger.ms": LINGER_MS, "batch.num.messages": 3, "sticky.partitioning.linger.ms": LINGER_MS}
    topic, producer = warm_up(lab, 3, settings)
    for partition in choose(strategy, topic, 3, 5):
        producer.produce(topic, b"0123456789", partition=partition)
    deadline = time.monotonic() + (PATIENCE_S if at_once else 1)
    while len(producer) > 5 - at_once and time.monotonic() < deadline:
        producer.poll(0.05)
    left = 5 - len(producer)
    producer.flush(PATIENCE_S)
    return sorted(sizes(lab, topic, 3, since=1)), left


def send(
    lab: Lab, strategy: str, partitions: int, records: int, per_second: int, config: dict[str, int]
) -> Sent:
    """Send records of 100 bytes at an even pace."""
    topic, producer = warm_up(lab, partitions, config)
    latencies: list[float] = []

    def on_delivery(error: object, message: Message) -> None:
        assert error is None, error
        latencies.append(message.latency() * 1000)

    value, start = bytes(100), time.perf_counter()
    for number, partition in enumerate(choose(strategy, topic, partitions, records)):
        while (early := start + number / per_second - time.perf_counter()) > 0:
            producer.poll(early if early > 0.001 else 0)
        producer.produce(topic, value, partition=partition, on_delivery=on_delivery)
    late_ms = (time.perf_counter() - start) * 1000 - records * 1000 / per_second
    producer.flush(PATIENCE_S)
    if late_ms > 20:
        lab.say(
            f"Busy machine: the last of {records:,} records came {late_ms:,.0f} ms late; so will its waits."
        )
    p50, p99 = np.percentile(latencies, [50, 99]).tolist()
    return Sent(len(sizes(lab, topic, partitions, since=1)), p50, p99)


def warm_up(lab: Lab, partitions: int, config: dict[str, int]) -> tuple[str, Producer]:
    """A topic with one record in each partition, and a producer with a connection to each leader.

    The first write to a partition is slow, and librdkafka sticks to none whose leader it has not reached.
    """
    topic, producer = lab.topic(partitions), Producer(lab.servers | config)
    for number in range(partitions):
        producer.produce(topic, b"", partition=number)
    producer.flush(PATIENCE_S)
    return topic, producer


def sizes(lab: Lab, topic: str, partitions: int, since: int = 0) -> list[int]:
    """Records in each batch of a topic; librdkafka makes a request of each batch."""
    servers = lab.cluster.kafka.bootstrap_servers
    logs = (seg.read(servers, topic, number, since=since) for number in range(partitions))
    return [len(batch.records) for log in logs for batch in log.batches]
