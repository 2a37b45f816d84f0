"""Each cell: settings, a fault, and what comes of it in the model and with a real producer and broker."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import count, product
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, TopicPartition

from copartition.models import DeliveryResult, DeliverySettings, Fault, Faults, Outcome, simulate_delivery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.delivery.producers import Sending
    from copartition.models.producer.tuning import Client
    from tests.support.broker import Kafka
    from tests.support.proxy import Proxy

BATCHES = 12
ROUND_TRIP_MS = 60.0

SCRIPTS: dict[str, dict[int, Fault]] = {
    "request lost": {3: Fault.REQUEST_LOST},
    "acknowledgement lost": {3: Fault.ACK_LOST},
    "refused": {3: Fault.REFUSED},
    "first refused": {0: Fault.REFUSED},
    "refused, then acknowledgement lost": {3: Fault.REFUSED, 9: Fault.ACK_LOST},
}
"""What happens to which Produce request, counted from 0."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A client with settings, and the name of what goes wrong."""

    client: Client
    settings: DeliverySettings
    fault: str


def cells() -> Iterator[Cell]:
    """Every combination that a client accepts and in which the fault can happen."""
    settings = [
        *(with_short_times(max_in_flight_requests_per_connection=most) for most in (1, 5)),
        *(
            with_short_times(
                enable_idempotence=False,
                acks=acks,
                max_in_flight_requests_per_connection=most,
                retries=retries,
            )
            for acks, most, retries in product(("all", "1", "0"), (1, 5, 6), (2**31 - 1, 0))
            if acks != "0" or retries
        ),
    ]
    clients: tuple[Client, ...] = ("java", "librdkafka")
    for client, chosen, fault in product(clients, settings, SCRIPTS):
        if chosen.acks != "0" or Fault.ACK_LOST not in SCRIPTS[fault].values():
            yield Cell(client, chosen, fault)


def with_short_times(**settings: Any) -> DeliverySettings:
    """These settings, and times short enough to wait for."""
    return DeliverySettings(request_timeout_ms=2_000, delivery_timeout_ms=5_000, **settings)


def predict(cell: Cell) -> DeliveryResult:
    """What the model says."""
    return simulate_delivery(
        [1] * BATCHES,
        settings=cell.settings,
        faults=Faults(scripted=SCRIPTS[cell.fault]),
        interval_ms=0.0,
        round_trip_ms=ROUND_TRIP_MS,
        replication_ms=0.0,
        client=cell.client,
    )


def measure(cell: Cell, producer: Sending, proxy: Proxy, kafka: Kafka) -> DeliveryResult:
    """What a producer's callbacks said and a consumer reads; `kafka` is the broker behind the proxy."""
    topic = kafka.create_topic()
    proxy.delay_s = ROUND_TRIP_MS / 2000
    producer.open(proxy.bootstrap_servers, topic, cell.settings)
    proxy.script(SCRIPTS[cell.fault])
    producer.send(0, BATCHES)
    if cell.settings.acks == "0":
        wait_for_more(producer, kafka.bootstrap_servers, topic)
    outcomes = producer.outcomes()
    proxy.script({})
    return log_and_outcomes(kafka.bootstrap_servers, topic, cell.settings, outcomes)


def wait_for_more(producer: Sending, servers: str, topic: str) -> None:
    """Send records of higher numbers until one is written: what went before and is not there never comes."""
    for number in count(BATCHES):
        producer.send(number, number + 1)
        if max(log(servers, topic), default=0) >= BATCHES:
            return


def log_and_outcomes(
    servers: str, topic: str, settings: DeliverySettings, outcomes: list[Outcome]
) -> DeliveryResult:
    """The log of a topic's one partition beside what the producer's callbacks said."""
    told = [Outcome.NOT_ASKED if settings.acks == "0" else outcome for outcome in outcomes[:BATCHES]]
    numbers = [number for number in log(servers, topic) if number < BATCHES]
    return DeliveryResult(tuple(numbers), tuple(told), (), Counter())


def log(servers: str, topic: str) -> list[int]:
    """The numbers in a topic's one partition."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "unused", "log_level": 0, "enable.auto.commit": False}
    )
    try:
        first, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)
        consumer.assign([TopicPartition(topic, 0, first)])
        numbers: list[int] = []
        while len(numbers) < end - first:
            message = consumer.poll(20)
            assert message is not None
            assert message.error() is None
            numbers.append(int(message.value() or b""))
        return numbers
    finally:
        consumer.close()


def classes(result: DeliveryResult) -> dict[str, list[int]]:
    """The batches of each class that there are any of."""
    found = {
        "lost": result.lost,
        "twice": result.duplicated,
        "out of order": result.reordered,
        "failed": tuple(sorted({*result.failed} - {*result.log})),
        "failed but written": result.failed_but_written,
    }
    return {name: list(batches) for name, batches in found.items() if batches}
