"""Consumer groups that read the old topic while it is copied, and go on in the new one."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka import ConsumerGroupTopicPartitions as GroupOffsets
from confluent_kafka.admin import AdminClient

if TYPE_CHECKING:
    from collections.abc import Mapping

Places = set[tuple[int, int]]


class Group:
    """A group with one member, which commits what it has read.

    Args:
        name: the group's id.
        servers: of the cluster.
        protocol: "classic" or "consumer".
        rate: records a second at most, so that some groups lag.
    """

    def __init__(self, name: str, servers: str, protocol: str, rate: int) -> None:
        self.name, self.protocol, self._rate = name, protocol, rate
        self._settings = {
            "bootstrap.servers": servers,
            "group.id": name,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "log_level": 0,
        }
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, topic: str) -> None:
        """Read a topic from now on."""
        self._ended.clear()
        self._thread = threading.Thread(target=self._read, args=(topic,))
        self._thread.start()

    def stop(self, topic: str, count: int) -> dict[int, int]:
        """Stop reading, and return the committed offset of each partition.

        A partition of which no record was read gets a commit of 0. Without a commit, only
        `auto.offset.reset` of the next member would decide where the group begins there.
        """
        assert self._thread is not None
        self._ended.set()
        self._thread.join()
        offsets = dict.fromkeys(range(count), 0) | self.committed_offsets(topic, count)
        self.commit(topic, offsets)
        return offsets

    def committed_offsets(self, topic: str, count: int) -> dict[int, int]:
        """The committed offset of each partition that has one."""
        consumer = Consumer(self._settings)
        places = consumer.committed([TopicPartition(topic, partition) for partition in range(count)], 60)
        consumer.close()
        return {place.partition: place.offset for place in places if place.offset >= 0}

    def commit(self, topic: str, offsets: Mapping[int, int] | Mapping[str, int]) -> None:
        """Write the group's position in each partition, while it has no members."""
        places = [TopicPartition(topic, int(partition), offset) for partition, offset in offsets.items()]
        admin = AdminClient({"bootstrap.servers": self._settings["bootstrap.servers"], "log_level": 0})
        while True:
            [done] = admin.alter_consumer_group_offsets([GroupOffsets(self.name, places)]).values()
            # A coordinator that is new or loads its groups refuses each partition, and the call as a whole
            # succeeds.
            if not any(place.error for place in done.result().topic_partitions):
                return
            time.sleep(0.1)

    def read_rest(self, topic: str, ends: Mapping[int, int]) -> list[tuple[int, int]]:
        """Join, read the new topic to its end from what is committed, and return where each record was."""
        consumer = Consumer(self._settings)
        consumer.subscribe([topic])
        found: list[tuple[int, int]] = []
        positions = {
            place.partition: place.offset
            for place in consumer.committed([TopicPartition(topic, partition) for partition in ends], 60)
        }
        left = {partition for partition, end in ends.items() if positions[partition] < end}
        while left:
            for message in consumer.consume(1000, 1.0):
                assert message.error() is None, message.error()
                partition, _, offset = message.headers()[-1][1].decode().partition(":")
                found.append((int(partition), int(offset)))
                positions[message.partition()] = message.offset() + 1
            # A marker of a transaction may be the last offset, of which no record tells.
            for place in consumer.position([TopicPartition(topic, partition) for partition in left]):
                if place.offset >= ends[place.partition]:
                    left.discard(place.partition)
        consumer.close()
        return found

    def _read(self, topic: str) -> None:
        consumer = Consumer(self._settings)
        consumer.subscribe([topic])
        while not self._ended.is_set():
            begin = time.monotonic()
            messages = [
                message for message in consumer.consume(max(self._rate // 4, 1), 0.2) if not message.error()
            ]
            if messages:
                # A coordinator that is away, as after a kill, takes the next commit: nothing is lost by that.
                with suppress(KafkaException):
                    consumer.commit(asynchronous=False)
                time.sleep(max(len(messages) / self._rate - (time.monotonic() - begin), 0))
        consumer.close()
