"""900 records of a user whom a real broker refuses: every one is accounted for."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from partitioning.clients import delivery
from partitioning.clients.confluent import PartitioningProducer
from partitioning.clients.confluent_aio import PartitioningAIOProducer
from partitioning.errors import BrokerUnreachableError, DeliveryError
from partitioning.testing.mock_cluster import MockCluster
from tests.partitioning.clients.strategies import InTurn, Strategy
from tests.support.secured import Secured, settings
from tests.support.waiting import GENEROUS_S

pytestmark = pytest.mark.live

RECORDS = 900
REFUSED = "This user may write to no topic, so the cluster refuses it an idempotent producer"
FINISH: dict[str, Callable[[PartitioningProducer], object]] = {
    "flush": lambda producer: producer.flush(),
    "poll": lambda producer: [producer.poll(1) for _ in range(5)],
    "close": lambda producer: producer.close(),
    "with": lambda producer: producer.__exit__(None, None, None),
}


def refused(secured: Secured, user: str, **config: object) -> PartitioningProducer:
    """A producer of this user's, with all the records queued for a topic that it may not write to."""
    idempotent = {"enable.idempotence": True, "log_level": 0}
    producer = PartitioningProducer({**settings(secured, user), **idempotent, **config}, partitioner="java")
    for number in range(RECORDS):
        producer.produce(secured.closed, b"value", partition=number % 2)  # asks nothing, so all are queued
    return producer


@pytest.mark.jvm
@pytest.mark.parametrize("finish", FINISH)
@pytest.mark.parametrize(("user", "why"), [("guest", REFUSED), ("writer", "Topic authorization failed")])
def test_every_record_that_nobody_watches_is_told(secured: Secured, user: str, why: str, finish: str) -> None:
    producer = refused(secured, user)
    told = 0
    end = time.monotonic() + GENEROUS_S
    while told < RECORDS and time.monotonic() < end:  # poll tells what it has heard of so far
        with pytest.raises(DeliveryError, match=f"{why}|{delivery.UNTOLD}") as caught:
            FINISH[finish](producer)
        told += int(str(caught.value).split()[0])
    assert told == RECORDS
    assert producer.close()


@pytest.mark.jvm
@pytest.mark.parametrize("finish", FINISH)
def test_every_record_is_told_to_its_callback_or_in_the_error(secured: Secured, finish: str) -> None:
    told: list[KafkaError | None] = []
    producer = refused(secured, "guest", on_delivery=lambda error, _: told.append(error))
    with pytest.raises((DeliveryError, KafkaException)) as caught:
        FINISH[finish](producer)
    cut_off = int(str(caught.value).split()[0]) if caught.type is DeliveryError else 0
    assert all(error is not None for error in told)
    # A callback that the error cut off in its middle may say either.
    assert RECORDS <= len(told) + cut_off <= RECORDS + 1


@pytest.mark.jvm
def test_the_fatal_error_is_the_cause(secured: Secured) -> None:
    with pytest.raises(DeliveryError) as caught:
        refused(secured, "guest").flush()
    assert isinstance(caught.value.__cause__, KafkaException)
    assert caught.value.__cause__.args[0].fatal()


@pytest.mark.jvm
def test_what_a_fatal_error_took_is_told_once(secured: Secured) -> None:
    producer = refused(secured, "guest")
    with pytest.raises(DeliveryError):
        producer.flush()
    assert (producer.flush(), producer.poll(0), producer.close(), producer.close()) == (0, 0, True, True)


@pytest.mark.jvm
def test_an_error_inside_the_with_block_wins_over_a_fatal_one(secured: Secured) -> None:
    def fail() -> None:
        with refused(secured, "guest"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


@pytest.mark.jvm
@pytest.mark.parametrize("finish", ["flush", "close", "with"])
def test_every_future_of_the_asyncio_producer_ends(secured: Secured, finish: str) -> None:
    async def main() -> Counter[type[BaseException] | None]:
        config = {**settings(secured, "guest"), "enable.idempotence": True, "log_level": 0}
        producer = PartitioningAIOProducer(config, partitioner="java", buffer_timeout=0)
        futures = [await producer.produce(secured.closed, b"v", partition=n % 2) for n in range(RECORDS)]
        ways: dict[str, Any] = {
            "flush": producer.flush,
            "close": producer.close,
            "with": lambda: producer.__aexit__(None, None, None),
        }
        with pytest.raises(
            DeliveryError, match=f"{RECORDS} records were not ack.*({REFUSED}|{delivery.UNTOLD})"
        ):
            await ways[finish]()
        done = await asyncio.wait_for(asyncio.gather(*futures, return_exceptions=True), 10)
        if finish == "flush":
            await producer.close()
        return Counter(map(type, done))

    assert asyncio.run(main()) == {KafkaException: RECORDS}


@pytest.mark.slow
@pytest.mark.jvm
def test_a_wrong_password_is_named(secured: Secured) -> None:
    config = {**settings(secured, password="wrong"), "log_level": 0}
    producer = PartitioningProducer(config, partitioner="java", max_block_ms=10_000)
    with pytest.raises(BrokerUnreachableError, match="Invalid username or password") as caught:
        producer.produce(secured.open, b"value", b"key")
    assert "wrong" not in str(caught.value)


def stuck(monkeypatch: pytest.MonkeyPatch) -> PartitioningProducer:
    """A producer with 10 records that no broker will ever take, and little patience left for them."""
    monkeypatch.setattr(delivery, "SLACK_S", -59.0)
    with MockCluster() as cluster:
        cluster.create_topic("t", 3)
        config = {"bootstrap.servers": cluster.bootstrap_servers, "delivery.timeout.ms": 60_000}
        producer = PartitioningProducer({**config, "log_level": 0}, partitioner=Strategy(InTurn()))
        producer.produce("t", b"first")
        assert producer.flush(GENEROUS_S) == 0
    for _ in range(10):
        producer.produce("t", b"value")
    return producer


def test_flush_does_not_wait_for_ever_where_librdkafka_does(monkeypatch: pytest.MonkeyPatch) -> None:
    producer = stuck(monkeypatch)
    with pytest.raises(DeliveryError, match="10 records were neither acknowledged nor given up within 1 s"):
        producer.flush()
    assert len(producer) == 10  # they may still arrive
    producer.purge()
    assert producer.flush(GENEROUS_S) == 0


@pytest.mark.parametrize("finish", ["close", "with"])
def test_close_gives_up_what_librdkafka_is_silent_about(monkeypatch: pytest.MonkeyPatch, finish: str) -> None:
    producer = stuck(monkeypatch)
    with pytest.raises(
        DeliveryError, match=r"10 records without a delivery callback .* neither acknowledged nor given up"
    ):
        FINISH[finish](producer)
    assert len(producer) == 0


def test_a_time_limit_of_flush_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    producer = stuck(monkeypatch)
    assert producer.flush(0.1) == 10
    producer.purge()
    producer.flush(GENEROUS_S)


class Reported(Message):
    """A message of a delivery report."""

    def topic(self) -> str:
        return "t"


def raising(error: Exception) -> Callable[[float], int]:
    def call(_: float) -> int:
        raise error

    return call


@pytest.mark.parametrize("limit", [None, 0])
def test_patience_follows_the_delivery_timeout(limit: int | None) -> None:
    config = {} if limit is None else {"delivery.timeout.ms": limit}
    waited = delivery.Deliveries(config)._patience_s
    assert waited == (360.0 if limit is None else math.inf)


@pytest.mark.parametrize(
    "said",
    [
        "<method 'flush' of 'cimpl.Producer' objects> returned NULL without setting an exception",
        "error return without exception set",
    ],
)
def test_records_of_a_fatal_error_that_python_lost_are_lost(said: str) -> None:
    deliveries = delivery.Deliveries({})
    purged = KafkaError(KafkaError._PURGE_QUEUE)
    report = deliveries.watch(lambda *_: None)

    def cut_off(_: str, error: KafkaError) -> None:
        raise KafkaException(error)

    def flush(_: float) -> int:
        for _ in range(2):  # librdkafka purges what a fatal error takes along
            report(purged, Reported())
        with suppress(KafkaException):  # this report ends at its first call
            deliveries.watch(cut_off)(purged, Reported())
        raise SystemError(said)

    deliveries.serve(flush, 1.0)
    with pytest.raises(DeliveryError, match=f"3 records were not acknowledged; the first: {delivery.UNTOLD}"):
        deliveries.check()
    deliveries.check()


def test_a_report_that_a_fatal_error_kept_from_its_callback_is_told() -> None:
    deliveries = delivery.Deliveries({})

    def cut_off(_: KafkaError | None, __: Message) -> None:
        raise KafkaException(KafkaError(KafkaError._FATAL, "fenced", fatal=True))

    report = deliveries.watch(lambda *_: None, cut_off)
    deliveries.serve(lambda _: report(None, Reported()), 1.0)
    with pytest.raises(DeliveryError, match="1 records were not acknowledged; the first: fenced"):
        deliveries.check()


def test_a_reason_that_is_known_stands() -> None:
    deliveries = delivery.Deliveries({})
    known = KafkaException(KafkaError(KafkaError._FENCED, "fenced", fatal=True))
    for error in (known, SystemError("error return without exception set")):
        deliveries.serve(raising(error), 0)
    assert deliveries.fatal is known


@pytest.mark.parametrize(
    "error", [SystemError("bad argument"), KafkaException(KafkaError(KafkaError._TIMED_OUT))]
)
def test_what_is_no_fatal_error_is_the_callers(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        delivery.Deliveries({}).serve(raising(error), 0)
    assert caught.value is error
