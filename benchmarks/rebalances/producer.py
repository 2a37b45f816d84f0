"""A producer that gives every partition its records."""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import Self

from confluent_kafka import KafkaError, KafkaException, Producer


class SteadyProducer:
    """Gives each partition of some topics a record ten times a second; use it as a context manager."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "linger.ms": 0,
                # A request that is not answered is sent again soon, and a producer that gets nothing
                # through for some ten seconds ends, and the run with it.
                "socket.timeout.ms": 3000,
                "queue.buffering.max.messages": 20_000,
                "topic.metadata.refresh.interval.ms": 500,
                "topic.metadata.propagation.max.ms": 100,
                "log_level": 0,
            }
        )
        self._topics: dict[str, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def begin(self, topic: str, partitions: int) -> None:
        """Give a topic's partitions records; each has its first one when this returns."""
        written: SimpleQueue[KafkaError | None] = SimpleQueue()
        for partition in range(partitions):
            self._producer.produce(
                topic, b"", partition=partition, on_delivery=lambda error, _: written.put(error)
            )
        for _ in range(partitions):
            if (error := written.get(timeout=30)) is not None:
                raise KafkaException(error)
        self._topics[topic] = partitions

    def go_on(self, topic: str, partitions: int) -> None:
        """Give a grown topic's new partitions records too."""
        self._producer.list_topics(topic, timeout=10)  # so that the producer knows them
        self._topics[topic] = partitions

    def stop(self, topic: str) -> None:
        """Give a topic no more records.

        Raises:
            RuntimeError: the producer has ended, so partitions had no records.
        """
        if not self._thread.is_alive():
            raise RuntimeError("the producer has ended; what it died of stands above")
        del self._topics[topic]

    def _run(self) -> None:
        due = time.monotonic()
        while not self._over.wait(max(0, due - time.monotonic())):
            due += 0.1
            for topic, partitions in list(self._topics.items()):
                for partition in range(partitions):
                    self._producer.produce(topic, b"", partition=partition)
            self._producer.poll(0)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._producer.flush(10)
