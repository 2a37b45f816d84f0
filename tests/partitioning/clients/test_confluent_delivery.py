import uuid
from collections.abc import Callable
from contextlib import suppress

import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from partitioning.clients.confluent import PartitioningProducer
from partitioning.errors import DeliveryError
from partitioning.testing.mock_cluster import MockCluster
from tests.partitioning.clients.clusters import Cluster
from tests.partitioning.clients.producers import producer_for, unwatched_producer
from tests.partitioning.clients.strategies import Strategy, last
from tests.support.broker import Kafka
from tests.support.waiting import GENEROUS_S, wait_until


def test_delivery_reports_are_kept(mocked: Cluster) -> None:
    reports: list[tuple[str, int]] = []

    def as_(name: str) -> Callable[[KafkaError | None, Message], None]:
        return lambda _, message: reports.append((name, message.partition()))

    producer = producer_for(mocked, Strategy(last), on_delivery=as_("config"))
    topic = mocked.create_topic(3)
    producer.produce(topic, b"")
    producer.produce(topic, b"", callback=as_("callback"))
    producer.produce(topic, b"", on_delivery=as_("on_delivery"))
    producer.flush(GENEROUS_S)
    assert sorted(reports) == [("callback", 2), ("config", 2), ("on_delivery", 2)]


def lose(
    producer: PartitioningProducer, cluster: Cluster, **watched: Callable[[KafkaError, Message], None]
) -> str:
    """Queues a record for a partition that its topic, whose name is given back, does not have."""
    while True:
        topic = cluster.create_topic(3)
        # Where librdkafka hears of the topic while it takes the record, it refuses it at once.
        with suppress(KafkaException):
            producer.produce(topic, b"value", partition=7, **watched)
            return topic


FINISH = {
    "flush": lambda producer: producer.flush(GENEROUS_S),
    # The poll that hears of the loss raises.
    "poll": lambda producer: wait_until(lambda: False, lambda: producer.poll(0.2)),
    "close": lambda producer: producer.close(),
    "with": lambda producer: producer.__exit__(None, None, None),
}


@pytest.mark.parametrize("finish", FINISH)
def test_what_nobody_watches_is_not_lost_unnoticed(mocked: Cluster, finish: str) -> None:
    producer = unwatched_producer(mocked)
    topic = lose(producer, mocked)
    match = f"1 records without a delivery callback were not .* the first: topic '{topic}' partition 7: "
    with pytest.raises(DeliveryError, match=match):
        FINISH[finish](producer)


@pytest.mark.parametrize("only_errors", [False, True])
def test_what_nobody_watches_is_counted(mocked: Cluster, only_errors: bool) -> None:
    producer = unwatched_producer(mocked, only_errors=only_errors)
    for _ in range(2):
        lose(producer, mocked)
    with pytest.raises(DeliveryError, match="2 records without a delivery callback"):
        producer.flush(GENEROUS_S)


def test_what_was_told_once_is_not_told_again(mocked: Cluster) -> None:
    producer = unwatched_producer(mocked)
    lose(producer, mocked)
    with pytest.raises(DeliveryError):
        producer.flush(GENEROUS_S)
    assert producer.flush(GENEROUS_S) == 0


def test_what_a_callback_was_told_is_not_told_again(mocked: Cluster) -> None:
    errors = []
    producer = unwatched_producer(mocked)
    lose(producer, mocked, on_delivery=lambda error, _: errors.append(error.name()))
    assert producer.flush(GENEROUS_S) == 0
    assert errors == ["_UNKNOWN_PARTITION"]


def test_an_error_inside_the_with_block_is_the_one_raised(mocked: Cluster) -> None:
    def fail() -> None:
        with unwatched_producer(mocked) as producer:
            lose(producer, mocked)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


@pytest.mark.live
def test_what_was_purged_is_no_failure() -> None:
    with MockCluster() as cluster:
        cluster.create_topic("topic", 3)
        producer = unwatched_producer(Cluster(cluster.bootstrap_servers, str))
        producer.produce("topic", b"first")
        producer.flush(GENEROUS_S)
    producer.produce("topic", b"second")
    producer.purge()
    assert producer.flush(GENEROUS_S) == 0


def test_transactions_commit_and_abort(broker: Kafka) -> None:
    topic = broker.create_topic(3)
    config = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"writer-{uuid.uuid4().hex}"}
    producer = PartitioningProducer(config, partitioner=Strategy(last))
    producer.init_transactions(30)
    for finish in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for _ in range(10):
            producer.produce(topic, finish.__name__)
        finish(20)
    assert producer.flush(GENEROUS_S) == 0
