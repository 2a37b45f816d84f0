"""A real producer of each client: it sends numbered records, one a batch, and tells what became of each."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from confluent_kafka import KafkaException, Message, Producer, libversion

from copartition.models import DeliverySettings, Outcome
from tests.support import jars
from tests.support.broker import POM

if TYPE_CHECKING:
    from copartition.models.producer.tuning import Client

JAVA = [
    "java",
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
]
SOURCE = Path(__file__).parent / "Deliver.java"


class Sending(Protocol):
    """What both do; a topic has one partition.

    Attributes:
        version: of the client.
    """

    version: str

    def open(self, servers: str, topic: str, settings: DeliverySettings) -> None:
        """A new producer."""

    def send(self, first: int, end: int) -> None:
        """Give it the records `first` to `end - 1`, without waiting for them."""

    def outcomes(self) -> list[Outcome]:
        """What its callback said of each record, once it knows; this is its end."""

    def close(self) -> None:
        """End what runs it."""


class Librdkafka:
    """confluent-kafka's producer, in this process."""

    version = libversion()[0]

    def open(self, servers: str, topic: str, settings: DeliverySettings) -> None:
        self._topic = topic
        self._told: dict[int, bool] = {}
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "log_level": 0,
                "linger.ms": 0,
                "batch.num.messages": 1,
                "enable.idempotence": settings.enable_idempotence,
                "acks": settings.acks,
                "max.in.flight": settings.max_in_flight_requests_per_connection,
                "retries": settings.retries,
                "retry.backoff.ms": int(settings.retry_backoff_ms),
                "request.timeout.ms": int(settings.request_timeout_ms),
                "socket.timeout.ms": int(settings.request_timeout_ms),
                "message.timeout.ms": int(settings.delivery_timeout_ms),
            }
        )
        self._producer.list_topics(topic, timeout=10)

    def send(self, first: int, end: int) -> None:
        for number in range(first, end):
            try:
                self._producer.produce(
                    self._topic, b"%d" % number, partition=0, on_delivery=self._on_delivery
                )
            except KafkaException:  # it has come to a fatal error, and takes no more
                self._told[number] = False

    def outcomes(self) -> list[Outcome]:
        while len(self._producer):
            with suppress(KafkaException):  # a fatal one is raised, by whichever call hears of it
                self._producer.poll(0.1)
        return [_outcome(self._told[number]) for number in range(len(self._told))]

    def close(self) -> None:
        pass

    def _on_delivery(self, error: object, message: Message) -> None:
        self._told[int(message.value() or b"")] = error is None


class Java:
    """kafka-clients' producer, in a JVM that runs one after another."""

    version = jars.kafka_of(POM)

    def __init__(self) -> None:
        classes = jars.class_path("deliver", POM, [SOURCE])
        self._process = subprocess.Popen(
            [*JAVA, "-cp", classes, "copartition.delivery.Deliver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def open(self, servers: str, topic: str, settings: DeliverySettings) -> None:
        self._topic = topic
        config = {
            "bootstrap.servers": servers,
            "enable.metrics.push": False,
            "linger.ms": 0,
            "batch.size": 0,
            "enable.idempotence": settings.enable_idempotence,
            "acks": settings.acks,
            "max.in.flight.requests.per.connection": settings.max_in_flight_requests_per_connection,
            "retries": settings.retries,
            "retry.backoff.ms": int(settings.retry_backoff_ms),
            "request.timeout.ms": int(settings.request_timeout_ms),
            "delivery.timeout.ms": int(settings.delivery_timeout_ms),
        }
        self._ask({"do": "open", "topic": topic, "settings": config})

    def send(self, first: int, end: int) -> None:
        self._ask({"do": "send", "topic": self._topic, "first": first, "end": end})

    def outcomes(self) -> list[Outcome]:
        self._ask({"do": "tell"})
        assert self._process.stdout is not None
        told = json.loads(self._process.stdout.readline())
        return [_outcome(delivered) for delivered in told]

    def close(self) -> None:
        with self._process:  # its end closes the pipes, and waits
            pass

    def _ask(self, what: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()


def _outcome(delivered: bool) -> Outcome:
    return Outcome.ACKNOWLEDGED if delivered else Outcome.FAILED


PRODUCERS: dict[Client, type[Librdkafka | Java]] = {"java": Java, "librdkafka": Librdkafka}
