"""A topic as its readers see it: how long those of committed records stand still, and what they read."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Self

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from benchmarks.faults.checking import ReadRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERY_S = 0.1
READ_WITHIN_S = 60
COMMITTED = IsolationLevel.READ_COMMITTED
ALL = IsolationLevel.READ_UNCOMMITTED


class Stalls:
    """Measures how long read_committed readers of a topic stand still before records that are there already.

    They are let as far as the last stable offset, so they stand where it lies still below the end of the
    partition. A broker that does not answer does not stop the clock.

    Attributes:
        longest_s: the longest of all partitions, so far.
    """

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self._servers = servers
        self._admin: AdminClient | None = None
        self._asked = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
        self._since: dict[int, tuple[int, float]] = {}
        self.longest_s = 0.0
        self._end = Event()
        self._thread = Thread(target=self._watch)

    def wait_for_end(self, within_s: float) -> bool:
        """Wait until readers can read all there is; False where they still cannot after that time."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            with suppress(KafkaException):
                if self._offsets(COMMITTED) == self._offsets(ALL):
                    return True
            time.sleep(EVERY_S)
        return False

    def _watch(self) -> None:
        while not self._end.wait(EVERY_S):
            with suppress(KafkaException):
                stable, ends = self._offsets(COMMITTED), self._offsets(ALL)
                now = time.monotonic()
                for partition, offset in stable.items():
                    before, since = self._since.get(partition, (-1, now))
                    if offset != before or offset >= ends[partition]:
                        since = now
                    self._since[partition] = offset, since
                    self.longest_s = max(self.longest_s, now - since)

    def _offsets(self, isolation: IsolationLevel) -> dict[int, int]:
        if self._admin is None:
            settings = {"bootstrap.servers": self._servers, "log_level": 0}
            # Otherwise a client whose broker was away may not find it again.
            self._admin = AdminClient(settings | {"metadata.recovery.strategy": "none"})
        asked = self._admin.list_offsets(self._asked, isolation_level=isolation, request_timeout=5)
        try:
            return {place.partition: answer.result().offset for place, answer in asked.items()}
        except KafkaException:
            self._admin = None
            raise

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


def read(
    servers: str, topic: str, partitions: int, isolation: str = "read_committed"
) -> Iterator[ReadRecord]:
    """Every record that a reader at this isolation level gets, those of a partition in their order."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    ended, deadline = 0, time.monotonic() + READ_WITHIN_S
    while ended < partitions:
        if time.monotonic() > deadline:
            raise TimeoutError(f"topic {topic} was not read to its end within {READ_WITHIN_S} s")
        for message in consumer.consume(1000, timeout=0.2):
            if error := message.error():
                ended += error.code() == KafkaError._PARTITION_EOF
                continue
            # What the sink aborts to end a half-done transaction has no value.
            key, number = message.key().decode(), int((message.value() or b"-1").split()[0])
            yield ReadRecord(message.partition(), key, number)
    consumer.close()
