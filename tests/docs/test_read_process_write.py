"""docs/read-process-write.md: its code is the loop's, and each error is what a real cluster answers."""

from __future__ import annotations

import ctypes
import json
import re
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from partitioning.clients.confluent import PartitioningProducer
from partitioning.testing.mock_cluster import MockCluster
from tests.support.tiers import sample
from tests.support.waiting import GENEROUS_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.broker import Kafka

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "read-process-write.md").read_text(encoding="utf-8")
LOOP = "".join(
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "partitioning" / "clients" / "read_process_write").glob("*.py"))
)
FIRST, *QUOTED = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
ROWS = dict(re.findall(r"^\| ([^|]+?) \| ((?:`\w+`, |nothing: )\w+) \|", TEXT, re.MULTILINE))
INIT_PRODUCER_ID, TXN_OFFSET_COMMIT = 22, 28


@pytest.mark.parametrize("code", QUOTED)
def test_the_code_is_that_of_the_loop(code: str) -> None:
    assert code in LOOP


class Cluster:
    """Producers and consumers for one mistake each, on topics of their own."""

    def __init__(self, kafka: Kafka) -> None:
        self.settings: dict[str, Any] = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0}
        self.source, self.target = kafka.create_topic(2), kafka.create_topic(1)
        self.id, self.group = uuid.uuid4().hex, uuid.uuid4().hex

    def producer(self, **config: object) -> PartitioningProducer:
        named = {name.replace("_", "."): value for name, value in config.items()}
        quiet = {"transactional.id": self.id, "on_delivery": lambda *_: None}
        return PartitioningProducer(self.settings | quiet | named)

    def begun(self, **config: object) -> PartitioningProducer:
        """In a transaction that has a record."""
        producer = self.producer(**config)
        producer.init_transactions(GENEROUS_S)
        producer.begin_transaction()
        producer.produce(self.target, b"value", b"key")
        producer.flush(GENEROUS_S)
        return producer

    def consumer(self, group: str) -> Consumer:
        settings = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 100, "enable.auto.commit": False}
        return Consumer(self.settings | settings | {"group.id": group})

    def member(self, others: list[Consumer] | None = None) -> Consumer:
        """A member of the group once all have as many partitions as each other."""
        consumers = [self.consumer(self.group), *(others or [])]
        consumers[0].subscribe([self.source])
        wait_until(
            lambda: {len(consumer.assignment()) for consumer in consumers} == {2 // len(consumers)},
            lambda: [consumer.poll(0.05) for consumer in consumers],
        )
        return consumers[0]

    def send(self, metadata: object, partition: int = 0) -> None:
        producer = self.begun()
        place = TopicPartition(self.source, partition, 1)
        producer.send_offsets_to_transaction([place], metadata, GENEROUS_S)
        producer.commit_transaction(GENEROUS_S)


def fenced_producer(cluster: Cluster) -> PartitioningProducer:
    """A producer whose id another one has taken."""
    producer = cluster.begun()
    cluster.producer().init_transactions(GENEROUS_S)
    return producer


def after_fencing(cluster: Cluster) -> PartitioningProducer:
    producer = fenced_producer(cluster)
    with pytest.raises(KafkaException):
        producer.commit_transaction(GENEROUS_S)
    return producer


def too_long(cluster: Cluster) -> None:
    producer = cluster.begun(transaction_timeout_ms=1000)
    place = TopicPartition(cluster.target, 0)
    reader = Consumer(cluster.settings | {"isolation.level": "read_committed", "group.id": "reader"})
    wait_until(lambda: reader.get_watermark_offsets(place)[1] >= 2)  # the record, and the marker of its end
    producer.commit_transaction(GENEROUS_S)


def old_generation(cluster: Cluster) -> None:
    first = cluster.member()
    metadata = first.consumer_group_metadata()
    cluster.member([first])
    cluster.send(metadata)


def unknown_member(cluster: Cluster) -> None:
    first = cluster.member()
    others = cluster.member([first])
    metadata = others.consumer_group_metadata()
    others.close()
    cluster.send(metadata)


def no_member(cluster: Cluster) -> None:
    _member = cluster.member()  # stays
    cluster.send(cluster.consumer(cluster.group).consumer_group_metadata())


def partition_of_another(cluster: Cluster) -> None:
    first = cluster.member()
    second = cluster.member([first])
    cluster.send(first.consumer_group_metadata(), second.assignment()[0].partition)


def other_group(cluster: Cluster) -> None:
    _member = cluster.member()  # stays
    cluster.send(cluster.consumer("another").consumer_group_metadata())


def too_large_for_the_topic(cluster: Cluster) -> None:
    producer = cluster.begun(message_max_bytes=5_000_000)
    producer.produce(cluster.target, bytes(2_000_000), b"key")
    producer.commit_transaction(GENEROUS_S)


def not_begun(cluster: Cluster) -> None:
    producer = cluster.producer()
    producer.init_transactions(GENEROUS_S)
    producer.produce(cluster.target, b"value", partition=0)


def on_old_brokers(request: int, least: int, most: int) -> None:
    """A transaction where brokers know only these versions of a request."""
    with MockCluster() as mock:
        mock.create_topic("topic", 1)
        limit = mock._library.rd_kafka_mock_set_apiversion
        limit.argtypes = [ctypes.c_void_p, *[ctypes.c_int16] * 3]
        assert limit(mock._cluster, request, least, most) == 0
        settings = {"bootstrap.servers": mock.bootstrap_servers, "log_level": 0}
        with PartitioningProducer(settings | {"transactional.id": "id"}) as producer:
            producer.init_transactions(GENEROUS_S)
            producer.begin_transaction()
            producer.produce("topic", b"value")
            metadata = Consumer(settings | {"group.id": "group"}).consumer_group_metadata()
            producer.send_offsets_to_transaction([TopicPartition("topic", 0, 1)], metadata, GENEROUS_S)
            producer.commit_transaction(GENEROUS_S)


PROVOKED: dict[str, Callable[[Cluster], object]] = {
    "another producer has the transactional id": lambda cluster: fenced_producer(cluster).commit_transaction(
        GENEROUS_S
    ),
    "a commit after that": lambda cluster: after_fencing(cluster).commit_transaction(GENEROUS_S),
    "a record after that": lambda cluster: after_fencing(cluster).produce(cluster.target, b"", partition=0),
    "a transaction longer than its timeout": too_long,
    "an old generation of the group": old_generation,
    "a member that the group does not have": unknown_member,
    "no member, no generation": no_member,
    "offsets of a partition that another member has": partition_of_another,
    "a group that did not read the records": other_group,
    "`transaction.timeout.ms` above the brokers' limit": lambda cluster: cluster.begun(
        transaction_timeout_ms=3_600_000
    ),
    "a record larger than `message.max.bytes`": lambda cluster: cluster.begun().produce(
        cluster.target, bytes(2_000_000), partition=0
    ),
    "a record larger than the topic takes": too_large_for_the_topic,
    "`begin_transaction` was forgotten": not_begun,
    "no broker answers": lambda cluster: cluster.producer(bootstrap_servers="127.0.0.1:1").init_transactions(
        1
    ),
    "brokers older than 0.11": lambda _: on_old_brokers(INIT_PRODUCER_ID, -1, -1),
    "brokers older than 2.5": lambda _: on_old_brokers(TXN_OFFSET_COMMIT, 0, 2),
}


def test_each_row_is_provoked() -> None:
    assert list(ROWS) == list(PROVOKED)


@pytest.mark.sampled
@pytest.mark.parametrize("wrong", sample([*PROVOKED], before_ci=4))
@pytest.mark.filterwarnings("ignore:Producer abort_transaction failed during close")
def test_an_error_is_what_the_page_says(broker: Kafka, wrong: str) -> None:
    assert raised_by(lambda: PROVOKED[wrong](Cluster(broker))) == ROWS[wrong]


def raised_by(call: Callable[[], object]) -> str:
    """What the page says of it."""
    try:
        call()
    except KafkaException as error:
        return described(error.args[0])
    return "nothing: accepted"


def described(error: KafkaError) -> str:
    kinds = {"fatal": error.fatal(), "abort": error.txn_requires_abort(), "again": error.retriable()}
    return f"`{error.name()}`, {next((kind for kind, true in kinds.items() if true), 'neither')}"


def program(source: str, target: str, servers: str) -> list[str]:
    names = ["--group", f"group-{source}", "--instance", "0", "--servers", servers]
    return ["examples/read_process_write.py", source, target, *names]


def first(source: str, target: str, servers: str) -> list[str]:
    """The page's first code, on these topics."""
    code = FIRST.replace('"orders"', f'"{source}"').replace("priced-dead", f"{target}-dead")
    return ["-c", code.replace('"priced"', f'"{target}"', 1).replace("localhost:9092", servers)]


@pytest.mark.parametrize(
    ("command", "poisoned", "code"),
    [(program, b'{"pieces": 2}', 0), (first, b"{", -signal.SIGTERM)],
    ids=["the example", "the page's first code"],
)
def test_it_prices_orders_and_puts_poisoned_ones_aside(
    broker: Kafka, command: Callable[[str, str, str], list[str]], poisoned: bytes, code: int
) -> None:
    source, target = broker.create_topic(2), broker.create_topic(3)
    settings = {"bootstrap.servers": broker.bootstrap_servers}
    admin = AdminClient(settings)
    admin.create_topics([NewTopic(f"{target}-dead", 1)])[f"{target}-dead"].result(GENEROUS_S)
    orders = {f"key-{number}": b'{"pieces": %d, "each": 2}' % number for number in range(20)}
    with PartitioningProducer(settings) as producer:
        for key, value in (orders | {"poisoned": poisoned}).items():
            producer.produce(source, value, key)
    arguments = command(source, target, broker.bootstrap_servers)
    with subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env={"PYTHONPATH": str(ROOT)}) as process:
        reader = Consumer(settings | {"group.id": f"reader-{source}", "isolation.level": "read_committed"})
        topics = [(target, 3), (f"{target}-dead", 1)]
        reader.assign(
            [TopicPartition(topic, number, 0) for topic, count in topics for number in range(count)]
        )
        found: dict[str, tuple[str, bytes]] = {}

        def read() -> None:
            for message in reader.consume(21, timeout=0.2):
                found[message.key().decode()] = message.topic(), message.value()

        wait_until(lambda: len(found) == 21, read)
        process.send_signal(signal.SIGTERM)
        assert process.wait(GENEROUS_S) == code
    reader.close()
    assert found.pop("poisoned") == (f"{target}-dead", poisoned)
    priced = {key: (topic, json.loads(value)["price"]) for key, (topic, value) in found.items()}
    assert priced == {f"key-{number}": (target, 2 * number) for number in range(20)}
