"""Every committed record of a topic, read plainly: what an audit and a verdict are held against."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

if TYPE_CHECKING:
    from confluent_kafka import Message

SILENCE_SECONDS = 20


class Columns(NamedTuple):
    """Records by partition and offset, a list for each of their fields."""

    partition: list[int]
    offset: list[int]
    timestamp_ms: list[int]
    key: list[bytes | None]


def end_offsets(servers: str, topic: str) -> list[int]:
    """The offset behind the last record of each partition."""
    consumer = _consumer(servers)
    try:
        count = len(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        return [
            consumer.get_watermark_offsets(TopicPartition(topic, partition), 10)[1]
            for partition in range(count)
        ]
    finally:
        consumer.close()


def read(servers: str, topic: str) -> Columns:
    """All records that there are now.

    Raises:
        RuntimeError: the ends of the partitions were not reached.
    """
    open_ends = dict(enumerate(end_offsets(servers, topic)))
    consumer = _consumer(servers)
    found: list[tuple[int, int, int, bytes | None]] = []
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in open_ends])
        while open_ends:
            message = consumer.poll(SILENCE_SECONDS)
            if message is None:
                raise RuntimeError(f"{topic} was silent for {SILENCE_SECONDS} s before its end")
            if (error := message.error()) is None:
                found.append(_fields(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                open_ends.pop(message.partition(), None)
            else:
                raise KafkaException(error)
    finally:
        consumer.close()
    found.sort(key=lambda record: record[:2])
    return Columns(*map(list, zip(*found, strict=True)))


def _fields(message: Message) -> tuple[int, int, int, bytes | None]:
    return message.partition(), message.offset(), message.timestamp()[1], message.key()


def _consumer(servers: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "audits",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
        }
    )
