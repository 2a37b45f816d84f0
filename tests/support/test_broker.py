import uuid
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support import broker as support
from tests.support.broker import Broker, BrokerError, Kafka
from tests.support.waiting import GENEROUS_S


@pytest.fixture
def topic(broker: Kafka) -> str:
    return broker.create_topic(partitions=3)


def settings(broker: Kafka, **more: str) -> dict[str, str]:
    options = {name.replace("_", "."): value for name, value in more.items()}
    return {"bootstrap.servers": broker.bootstrap_servers, "log_level": "0", **options}


def produce(broker: Kafka, topic: str, values: list[bytes]) -> None:
    producer = Producer(settings(broker))
    for number, value in enumerate(values):
        producer.produce(topic, value=value, partition=number % 3)
    assert producer.flush(GENEROUS_S) == 0


def read(broker: Kafka, topic: str, count: int, **more: str) -> list[tuple[int, bytes]]:
    consumer = Consumer(settings(broker, group_id=f"reader-{uuid.uuid4().hex}", **more))
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(3)])
    messages = consumer.consume(count, timeout=GENEROUS_S)
    consumer.close()
    return sorted((message.partition(), message.value()) for message in messages)


def test_every_partition_of_a_new_topic_has_a_leader(broker: Kafka) -> None:
    topic = broker.create_topic(partitions=12)
    partitions = AdminClient(settings(broker)).list_topics(topic, timeout=GENEROUS_S).topics[topic].partitions
    assert [partition.leader >= 0 for partition in partitions.values()] == [True] * 12


@pytest.mark.slow
@pytest.mark.live
def test_a_broker_of_several_racks_has_a_node_in_each() -> None:
    with Broker(racks=("x", "y")) as own:
        admin = AdminClient({"bootstrap.servers": own.bootstrap_servers, "log_level": 0})
        assert [node.rack for node in admin.describe_cluster().result().nodes] == ["x", "y"]


@pytest.mark.slow
@pytest.mark.live
def test_a_stopped_node_keeps_its_data_and_a_paused_one_answers_later() -> None:
    with Broker(racks=("x", "y")) as own:
        kafka = Kafka(own.bootstrap_servers)
        topic = kafka.create_topic(partitions=3, node=2)
        produce(kafka, topic, [b"a"])
        own.stop(2)
        own.start(2)
        own.pause(1)
        own.resume(1)
        kafka.wait_for_leaders(topic, 3)
        assert read(kafka, topic, 1) == [(0, b"a")]
        partitions = (
            AdminClient(settings(kafka)).list_topics(topic, timeout=GENEROUS_S).topics[topic].partitions
        )
        assert {partition.leader for partition in partitions.values()} == {2}


def test_a_topic_grows(broker: Kafka, topic: str) -> None:
    broker.grow_topic(topic, 5)
    assert (
        len(AdminClient(settings(broker)).list_topics(topic, timeout=GENEROUS_S).topics[topic].partitions)
        == 5
    )


def test_records_are_read_where_they_were_put(broker: Kafka, topic: str) -> None:
    produce(broker, topic, [b"a", b"b", b"c", b"d"])
    assert read(broker, topic, 4) == [(0, b"a"), (0, b"d"), (1, b"b"), (2, b"c")]


def test_a_group_goes_on_where_it_committed(broker: Kafka, topic: str) -> None:
    produce(broker, topic, [b"first"])
    group = f"group-{uuid.uuid4().hex}"

    def next_value() -> bytes | None:
        consumer = Consumer(settings(broker, group_id=group, auto_offset_reset="earliest"))
        consumer.subscribe([topic])
        message = consumer.poll(GENEROUS_S)
        assert message is not None
        consumer.commit(message, asynchronous=False)
        consumer.close()
        return message.value()

    assert next_value() == b"first"
    produce(broker, topic, [b"second"])
    assert next_value() == b"second"


def test_only_what_a_transaction_committed_is_read(broker: Kafka, topic: str) -> None:
    producer = Producer(settings(broker, transactional_id=f"writer-{uuid.uuid4().hex}"))
    producer.init_transactions(30)
    for value, finish in (
        (b"aborted", producer.abort_transaction),
        (b"committed", producer.commit_transaction),
    ):
        producer.begin_transaction()
        producer.produce(topic, value=value, partition=0)
        assert producer.flush(GENEROUS_S) == 0
        finish(10)
    assert read(broker, topic, 1, isolation_level="read_committed") == [(0, b"committed")]


@pytest.mark.live
def test_says_that_no_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "GENEROUS_S", 1.0)  # nobody listens there: waiting longer shows nothing more
    [port] = support.free_ports(1)
    with pytest.raises(BrokerError, match=f"no broker answers at 127.0.0.1:{port}"):
        Kafka(f"127.0.0.1:{port}")


@pytest.mark.jvm
def test_a_broker_that_cannot_start_shows_its_log_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(support.tempfile, "tempdir", str(tmp_path))
    with pytest.raises(BrokerError, match=r"(?s)last log lines.*log\.segment\.bytes"):
        Broker("log.segment.bytes=-1\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.jvm
def test_a_broker_that_cannot_bind_shows_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    with support.socket.create_server(("127.0.0.1", 0)) as taken:
        ports = [taken.getsockname()[1], *support.free_ports(1)]
        monkeypatch.setattr(support, "free_ports", lambda _: ports)
        with pytest.raises(BrokerError, match=r"(?s)ended with exit code 1 while starting.*already in use"):
            Broker()


@pytest.mark.jvm
def test_a_closed_broker_is_gone() -> None:
    with Broker() as own:
        servers, folder = own.bootstrap_servers, own._folder
    assert not folder.exists()
    with pytest.raises(KafkaException):
        AdminClient({"bootstrap.servers": servers, "log_level": 0}).list_topics(timeout=0.5)
