"""Consumers of a group, each in a thread of this process, that remember what they got and gave up."""

from __future__ import annotations

import time
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import Consumer
from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from assignors.clients.kafka_python import finish_rejoin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

PATIENCE_S = 90
Place = tuple[str, int]
"""A topic's name and a partition."""


class Change(NamedTuple):
    """A callback: partitions that a reader got (`assign`) or gave up (`revoke`)."""

    at_s: float
    what: str
    places: frozenset[Place]


class Reader(Thread):
    """A consumer of confluent-kafka; with the strategy `sticky`, which librdkafka lacks, of kafka-python.

    Attributes:
        has: the partitions it reads now.
        changes: what its callbacks were called with, in order.
    """

    def __init__(self, name: str, topics: Sequence[str], config: dict[str, Any]) -> None:
        super().__init__(name=name, daemon=True)
        self._topics, self._config = list(topics), config | {"client.id": name}
        self._leaving = Event()
        self.has: frozenset[Place] = frozenset()
        self.changes: list[Change] = []
        self.start()

    def leave(self) -> None:
        """Close the consumer; a static member tells the coordinator nothing."""
        self._leaving.set()
        self.join(PATIENCE_S)

    def run(self) -> None:
        """Read until it is to leave."""
        sticky = self._config.get("partition.assignment.strategy") == "sticky"
        consumer = self._open_kafka_python() if sticky else self._open_confluent()
        while not self._leaving.is_set():
            if sticky:
                consumer.poll(timeout_ms=50)
                finish_rejoin(consumer)
            else:
                consumer.poll(0.05)
        consumer.close()

    def _open_confluent(self) -> Any:
        consumer = Consumer(self._config | {"log_level": 0})
        got, gave = (self._remember(what) for what in ("assign", "revoke"))
        consumer.subscribe(self._topics, on_assign=got, on_revoke=gave, on_lost=gave)
        return consumer

    def _open_kafka_python(self) -> Any:
        config = {name.replace(".", "_"): value for name, value in self._config.items()}
        consumer = KafkaConsumer(**config | {"partition_assignment_strategy": [StickyPartitionAssignor]})
        got, gave = (self._remember(what) for what in ("assign", "revoke"))

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
                got(None, assigned)

            def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
                gave(None, revoked)

        consumer.subscribe(self._topics, listener=Listener())
        return consumer

    def _remember(self, what: str) -> Callable[[Any, Iterable[Any]], None]:
        def callback(_: Any, partitions: Iterable[Any]) -> None:
            places = frozenset((partition.topic, partition.partition) for partition in partitions)
            self.has = self.has | places if what == "assign" else self.has - places
            self.changes.append(Change(time.monotonic(), what, places))

        return callback


def wait_for(holds: Callable[[], bool]) -> bool:
    """Wait until something holds; whether it came to that."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def loads(readers: Iterable[Reader]) -> list[int]:
    """How many partitions each reads, the fewest first."""
    return sorted(len(reader.has) for reader in readers)


def unread_s(readers: Iterable[Reader], place: Place, since_s: float) -> float:
    """Seconds from a time until somebody got a partition; 0 where nobody did."""
    times = [
        change.at_s
        for reader in readers
        for change in reader.changes
        if change.what == "assign" and place in change.places and change.at_s > since_s
    ]
    return min(times) - since_s if times else 0.0


def longest_unread_s(readers: Iterable[Reader], since_s: float) -> float:
    """The longest time, in seconds, from when a reader gave a partition up until one got it."""
    every = [*readers]
    gave = [
        (change.at_s, place)
        for reader in every
        for change in reader.changes
        if change.what == "revoke" and change.at_s > since_s
        for place in change.places
    ]
    return max((unread_s(every, place, at_s) for at_s, place in gave), default=0.0)
