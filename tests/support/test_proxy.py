"""The proxy between a client and a broker."""

from collections.abc import Iterator
from time import monotonic

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from copartition.models import Fault
from tests.support.broker import Broker, Kafka
from tests.support.proxy import END_TXN, PRODUCE, Proxy
from tests.support.waiting import GENEROUS_S

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with Proxy() as own, Broker(own.listeners):
        yield own


@pytest.fixture
def topic(proxy: Proxy) -> str:
    return Kafka(proxy.bootstrap_servers).create_topic()


def produce(proxy: Proxy, topic: str, **settings: str) -> None:
    producer = Producer({"bootstrap.servers": proxy.bootstrap_servers, "log_level": 0, **settings})
    producer.produce(topic, b"")
    assert producer.flush(GENEROUS_S) == 0


def end(proxy: Proxy, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": proxy.bootstrap_servers, "group.id": "unused"})
    _, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), GENEROUS_S)
    consumer.close()
    return int(high)


def test_clients_are_sent_back_to_the_proxy(proxy: Proxy) -> None:
    admin = AdminClient({"bootstrap.servers": proxy.bootstrap_servers})
    (node,) = admin.list_topics(timeout=GENEROUS_S).brokers.values()
    assert f"{node.host}:{node.port}" == proxy.bootstrap_servers


def test_answers_are_held_back(proxy: Proxy, topic: str) -> None:
    produce(proxy, topic)
    proxy.delay_s = 0.4
    start = monotonic()
    produce(proxy, topic)
    proxy.delay_s = 0.0
    assert monotonic() - start >= 0.4


def test_nothing_comes_through_while_it_is_silent(proxy: Proxy, topic: str) -> None:
    proxy.silent = True
    with pytest.raises(KafkaException):
        Producer({"bootstrap.servers": proxy.bootstrap_servers, "log_level": 0}).list_topics(timeout=0.5)
    proxy.silent = False
    produce(proxy, topic)
    assert end(proxy, topic) == 1


def test_a_record_whose_acknowledgement_is_dropped_was_written(proxy: Proxy, topic: str) -> None:
    dropped = proxy.dropped
    proxy.drop([PRODUCE])
    produce(proxy, topic, **{"acks": "1", "retries": "1", "enable.idempotence": "false"})
    assert (proxy.dropped - dropped, end(proxy, topic)) == (1, 2)


def test_an_idempotent_producer_does_not_double_it(proxy: Proxy, topic: str) -> None:
    dropped = proxy.dropped
    proxy.drop([PRODUCE])
    produce(proxy, topic, **{"enable.idempotence": "true"})
    assert (proxy.dropped - dropped, end(proxy, topic)) == (1, 1)


def test_a_cut_connection_is_made_again(proxy: Proxy, topic: str) -> None:
    proxy.cut()
    produce(proxy, topic)
    assert end(proxy, topic) == 1


def test_only_the_answer_asked_for_is_dropped(proxy: Proxy, topic: str) -> None:
    dropped = proxy.dropped
    proxy.drop([END_TXN])
    produce(proxy, topic)
    assert proxy.dropped == dropped
    settings = {"bootstrap.servers": proxy.bootstrap_servers, "transactional.id": topic, "log_level": 0}
    producer = Producer(settings)
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, b"")
    producer.commit_transaction(20)
    assert proxy.dropped == dropped + 1


@pytest.mark.parametrize(
    ("fault", "written"), [(Fault.REQUEST_LOST, 2), (Fault.ACK_LOST, 3), (Fault.REFUSED, 2)]
)
def test_the_request_of_the_script_is_hit(proxy: Proxy, topic: str, fault: Fault, written: int) -> None:
    proxy.script({1: fault})
    for _ in range(2):
        produce(proxy, topic, **{"enable.idempotence": "false"})
    assert end(proxy, topic) == written


def test_a_request_of_the_script_fails_without_retries(proxy: Proxy, topic: str) -> None:
    proxy.script({0: Fault.REFUSED})
    produce(proxy, topic, **{"retries": "0", "enable.idempotence": "false"})
    assert end(proxy, topic) == 0
