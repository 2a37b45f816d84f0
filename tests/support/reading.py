"""Read a topic back with a plain consumer."""

import uuid
from collections.abc import Iterator
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from tests.support.waiting import GENEROUS_S


class Read(NamedTuple):
    """A record as it stands in its topic."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...]


def each_record(servers: str, topic: str) -> Iterator[Read]:
    """Read every committed record to the topic's end; those of one partition come in their order."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"test-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    try:
        partitions = set(consumer.list_topics(topic, timeout=GENEROUS_S).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        while partitions:
            message = consumer.poll(20)
            assert message is not None, (
                f"{topic}: silent for 20 s, partitions {partitions} not read to their end"
            )
            error = message.error()
            if error is None:
                yield Read(
                    message.partition(),
                    message.offset(),
                    message.key(),
                    message.value(),
                    message.timestamp()[1],
                    tuple(message.headers() or ()),
                )
            elif error.code() == KafkaError._PARTITION_EOF:
                partitions.discard(message.partition())
            else:
                raise KafkaException(error)
    finally:
        consumer.close()


def read_topic(servers: str, topic: str) -> list[Read]:
    """Every committed record, by partition and offset."""
    return sorted(each_record(servers, topic), key=lambda record: (record.partition, record.offset))


def inversions(records: list[Read]) -> int:
    """How often a record of a key comes later in its partition than one whose value, a number, is greater."""
    highest: dict[tuple[int, bytes | None], int] = {}
    found = 0
    for record in records:
        number, place = int(record.value or b""), (record.partition, record.key)
        found += number < highest.get(place, -1)
        highest[place] = max(number, highest.get(place, -1))
    return found
