"""What a topic holds, and where the clients' own partitioners would have put it."""

import uuid
from collections.abc import Iterable

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from tests.support.waiting import GENEROUS_S

SILENT = {"log_level": 0}


def read(bootstrap_servers: str, topic: str, count: int) -> list[Message]:
    """Every record of a topic that should hold so many, partition by partition.

    Raises:
        AssertionError: it holds another number of records.
    """
    config = {"bootstrap.servers": bootstrap_servers, "group.id": f"reader-{uuid.uuid4().hex}", **SILENT}
    consumer = Consumer({**config, "enable.auto.commit": False})
    try:
        partitions = consumer.list_topics(topic, timeout=GENEROUS_S).topics[topic].partitions
        ends = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), GENEROUS_S) for p in partitions}
        held = sum(end - oldest for oldest, end in ends.values())
        assert held == count, f"{topic} holds {held} records, not {count}"
        consumer.assign([TopicPartition(topic, p, oldest) for p, (oldest, _) in ends.items()])
        messages: list[Message] = []
        while len(messages) < count:
            received = consumer.consume(count - len(messages), timeout=GENEROUS_S)
            assert received, f"{len(messages)} of {count} records of {topic} could be read"
            messages += received
    finally:
        consumer.close()
    for message in messages:
        assert message.error() is None, message.error()
    return sorted(messages, key=lambda message: (message.partition(), message.offset()))


def partition_of_each_key(bootstrap_servers: str, topic: str, count: int) -> dict[bytes, int]:
    """Where each key is, in a topic of so many records without a key twice."""
    placed = {message.key(): message.partition() for message in read(bootstrap_servers, topic, count)}
    assert len(placed) == count, f"{count - len(placed)} keys of {topic} are there twice"
    return placed


def produce_by_librdkafka(
    bootstrap_servers: str, topic: str, keys: Iterable[bytes], partitioner: str
) -> None:
    """One record a key, placed by one of librdkafka's own partitioners."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "partitioner": partitioner, **SILENT})
    for key in keys:
        producer.produce(topic, b"value", key)
    assert producer.flush(GENEROUS_S) == 0
