"""A large topic on a real broker, for what is measured by reading it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.support.broker import Kafka

POLL_EVERY = 10_000
PATIENCE_S = 120


def fill_topic(broker: Kafka, partitions: int, records: Iterable[Mapping[str, Any]]) -> str:
    """A new topic that has these records.

    Args:
        broker: where the topic is made.
        partitions: how many it has.
        records: arguments of `Producer.produce`; a record that names no partition goes where Java's rule puts
            it.

    Returns:
        The topic's name.
    """
    name = broker.create_topic(partitions)
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "partitioner": "murmur2_random",
            "linger.ms": 50,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    for number, record in enumerate(records):
        while True:
            try:
                producer.produce(name, **record)
                break
            except BufferError:
                producer.poll(0.1)
        if number % POLL_EVERY == 0:
            producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0
    return name
