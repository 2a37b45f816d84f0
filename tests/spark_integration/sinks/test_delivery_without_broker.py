"""One task's delivery by a producer that needs no broker, whose queue is full and which loses records."""

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError

from partitioning.errors import DeliveryError
from spark_integration.sinks.delivery import deliver

CONFIG = {"bootstrap.servers": "unused"}
ROOM = 3


class FullQueue:
    """A producer whose queue holds three records until it is polled."""

    created: list["FullQueue"]
    loses = False

    def __init__(self, settings: dict[str, Any]) -> None:
        self.values: list[bytes] = []
        self._report: Callable[[KafkaError, Any], None] = settings["on_delivery"]
        self._queued = 0
        self.created.append(self)

    def produce(self, _topic: str, value: bytes, *_: object) -> None:
        if self._queued == ROOM:
            raise BufferError
        self._queued += 1
        self.values.append(value)

    def poll(self, _seconds: float) -> int:
        if self.loses:
            lost = SimpleNamespace(topic=lambda: "t", partition=lambda: 1)
            self._report(KafkaError(KafkaError._TIMED_OUT), lost)
        self._queued = 0
        return 0

    flush = poll

    def __len__(self) -> int:
        return self._queued

    def list_topics(self, topic: str, _seconds: float) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=range(2))}, orig_broker_id=1)

    def purge(self) -> None:
        self._queued = 0

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def producers(no_idle_producers: pytest.MonkeyPatch) -> list[FullQueue]:
    """The producers that tasks create."""
    no_idle_producers.setattr(FullQueue, "created", [], raising=False)
    no_idle_producers.setattr("confluent_kafka.Producer", FullQueue)
    return FullQueue.created


def batch(*values: bytes) -> pa.RecordBatch:
    return pa.record_batch({"value": pa.array(values)})


def test_every_record_is_sent_once_and_in_order_though_the_queue_is_full(producers: list[FullQueue]) -> None:
    values = [b"%d" % number for number in range(5 * ROOM)]
    deliver(iter([batch(*values)]), CONFIG, {"t": 2}, "t")
    assert producers[0].values == values


def test_a_lost_record_ends_the_task_before_more_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FullQueue, "loses", True)
    batches = iter([batch(b"a"), batch(b"b"), batch(b"c")])
    with pytest.raises(DeliveryError, match="the first: topic 't' partition 1: "):
        deliver(batches, CONFIG, {"t": 2}, "t")
    assert len(list(batches)) == 2


def test_a_forked_process_leaves_its_parents_producers_alone(
    producers: list[FullQueue], monkeypatch: pytest.MonkeyPatch
) -> None:
    for process in (1, 1, 2):
        monkeypatch.setattr(os, "getpid", lambda process=process: process)
        deliver(iter([batch(b"v")]), CONFIG, {"t": 2}, "t")
    assert len(producers) == 2
