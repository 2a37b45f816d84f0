import threading
import time
import uuid
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka.admin import AdminClient, NewTopic

from partitioning.clients.confluent import PartitioningProducer
from partitioning.errors import BrokerUnreachableError, DeliveryError, InvalidConfigError, UnknownTopicError
from partitioning.testing.mock_cluster import MockCluster
from tests.partitioning.clients.clusters import Cluster
from tests.partitioning.clients.producers import producer_for
from tests.partitioning.clients.strategies import Strategy, last
from tests.support.broker import Kafka, free_ports
from tests.support.records import read
from tests.support.waiting import GENEROUS_S, wait_until


def test_asks_once_for_many_records(mocked: Cluster) -> None:
    asked = []

    class Asks(PartitioningProducer):
        def list_topics(self, topic: str | None = None, timeout: float = -1) -> object:
            asked.append(topic)
            return super().list_topics(topic, timeout)

    producer = Asks(
        {"bootstrap.servers": mocked.bootstrap_servers, "log_level": 0}, partitioner=Strategy(last)
    )
    topic = mocked.create_topic(3)
    for _ in range(100):
        producer.produce(topic, b"")
    producer.flush(GENEROUS_S)
    assert asked == [topic]


def test_an_idempotent_producer_has_a_lasting_connection_before_its_first_record(cluster: Cluster) -> None:
    answers: list[int] = []

    class Asks(PartitioningProducer):
        def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
            found = super().list_topics(topic, timeout)
            answers.append(found.orig_broker_id)
            return found

    topic = cluster.create_topic(3)
    for _ in range(5):
        with Asks(
            {"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True, "log_level": 0}
        ) as producer:
            producer.produce(topic, b"", b"key")
        # By the first connection, which ends with its first answer, a producer gets no id for 500 ms.
        assert answers.pop() >= 0


def test_new_partitions_are_used_once_the_count_is_too_old(broker: Kafka) -> None:
    topic = broker.create_topic(2)
    placed: list[int] = []
    producer = producer_for(
        broker,
        Strategy(last),
        on_delivery=lambda _, message: placed.append(message.partition()),
        topic_metadata_refresh_interval_ms=300,
    )
    producer.produce(topic, b"before")
    producer.flush(GENEROUS_S)
    broker.grow_topic(topic, 5)

    def write() -> None:
        producer.produce(topic, b"after")
        producer.flush(GENEROUS_S)

    wait_until(lambda: placed[-1] == 4, write)
    assert set(placed) == {1, 4}
    assert placed == sorted(placed)


@pytest.mark.parametrize("watched", [True, False])
def test_a_topic_made_again_with_fewer_partitions_is_asked_for_at_once(broker: Kafka, watched: bool) -> None:
    topic = broker.create_topic(5)
    config = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
    producer = PartitioningProducer(config, partitioner=Strategy(last))
    gone: list[str] = []

    def produce() -> None:
        on_delivery = (lambda error, _: gone.append(error.name()) if error else None) if watched else None
        try:
            producer.produce(topic, b"value", on_delivery=on_delivery)
            producer.flush(GENEROUS_S)
        except (DeliveryError, KafkaException) as error:
            gone.append(str(error))

    produce()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_topics([topic])[topic].result()
    admin.create_topics([NewTopic(topic, 2, -1)])[topic].result()
    broker.wait_for_leaders(topic, 2)
    produce()
    assert len(gone) == 1
    produce()
    assert len(gone) == 1
    assert [message.partition() for message in read(broker.bootstrap_servers, topic, 1)] == [1]


@pytest.mark.parametrize("value", ["", "soon", None, "nan", float("inf"), -2, 2**31, "9" * 5000])
@pytest.mark.parametrize("name", ["topic.metadata.refresh.interval.ms", "delivery.timeout.ms"])
def test_a_time_without_a_meaning_is_refused(name: str, value: object) -> None:
    with pytest.raises(InvalidConfigError, match=f"'{name}'"):
        PartitioningProducer({name: value})


def test_an_unknown_topic_is_an_error_soon(broker: Kafka) -> None:
    producer = producer_for(broker, "java", max_block_ms=3000)
    with pytest.raises(UnknownTopicError, match="has had no topic 'no-such-topic' for 3 s: create it first"):
        producer.produce("no-such-topic", b"value", b"key")


def test_a_topic_that_cannot_be_is_an_error_at_once(broker: Kafka) -> None:
    producer = producer_for(broker, "java")
    with pytest.raises(UnknownTopicError, match="topic 'no topic' cannot be used: Broker: Invalid topic"):
        producer.produce("no topic", b"value", b"key")


def test_waits_for_a_topic_that_is_being_created(broker: Kafka) -> None:
    name = f"copartition-test-{uuid.uuid4().hex[:12]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    soon = threading.Timer(0.3, admin.create_topics, [[NewTopic(name, 2, -1)]])
    soon.start()
    producer = producer_for(broker, Strategy(last))
    producer.produce(name, b"value")
    soon.join()
    assert producer.flush(GENEROUS_S) == 0
    assert [message.partition() for message in read(broker.bootstrap_servers, name, 1)] == [1]
    admin.delete_topics([name])[name].result()


@pytest.mark.live
def test_an_unreachable_broker_is_an_error_soon() -> None:
    [port] = free_ports(1)
    producer = producer_for(Cluster(f"127.0.0.1:{port}", str), "java", max_block_ms=1000)
    with pytest.raises(
        BrokerUnreachableError, match=r"topic 'orders': no broker returned its partitions within 1\.0 s"
    ):
        producer.produce("orders", b"value", b"key")


@pytest.mark.live
def test_goes_on_with_what_it_knows_while_the_broker_is_away() -> None:
    given_up: list[int] = []

    def count(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            given_up.append(message.partition())

    with MockCluster() as cluster:
        cluster.create_topic("topic", 3)
        producer = producer_for(
            Cluster(cluster.bootstrap_servers, str),
            Strategy(last),
            on_delivery=count,
            topic_metadata_refresh_interval_ms=50,
        )
        producer.produce("topic", b"value")
        assert producer.flush(GENEROUS_S) == 0
    time.sleep(0.1)
    for _ in range(10):
        producer.produce("topic", b"value")
    producer.purge()
    producer.flush(GENEROUS_S)
    assert given_up == [2] * 10
