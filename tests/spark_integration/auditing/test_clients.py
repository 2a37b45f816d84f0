"""Topics that real clients wrote to a real broker, audited through Spark's own Kafka source."""

import re
import subprocess
import time
import warnings
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer
from pyspark.sql import DataFrame, SparkSession

from partitioning import partition_batch
from spark_integration import audit, audit_verdict
from tests.support import jars
from tests.support.broker import POM, Kafka
from tests.support.reading import read_topic
from tests.support.waiting import GENEROUS_S, wait_until

pytestmark = pytest.mark.needs("time")

JAVA_PRODUCER = Path(__file__).with_name("KeyedProducer.java")

KEYS: list[bytes | None] = [b"user-%d" % number for number in range(1500)]
KEYLESS: list[bytes | None] = [None] * 60
FRAMED: list[bytes | None] = [
    b"\0" + (7).to_bytes(4, "big") + b'{"id": %d}' % number for number in range(1500)
]
COUNTS = (3, 6, 8, 9, 10, 12, 18)
AS_AN_EMPTY_KEY = "All records without a key are in partition"


def by_librdkafka(servers: str, topic: str, keys: list[bytes | None], partitioner: str) -> None:
    settings = {"bootstrap.servers": servers, "partitioner": partitioner, "sticky.partitioning.linger.ms": 0}
    producer = Producer(settings)
    for key in keys:
        producer.produce(topic, b"", key)
    assert producer.flush(GENEROUS_S) == 0


def by_kafka_python(servers: str, topic: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of importlib.resources, while it is imported
        from kafka import KafkaProducer
    producer = KafkaProducer(bootstrap_servers=servers)
    for key in KEYS:
        producer.send(topic, key=key, value=b"")
    producer.flush(GENEROUS_S)
    producer.close()


def by_java(servers: str, topic: str) -> None:
    command = ["java", "-cp", f"{jars.fetch(POM)}/*", JAVA_PRODUCER, servers, topic]
    lines = "".join(f"{key.hex()}\n" for key in KEYS if key)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def records(spark: SparkSession, servers: str, *topics: str) -> DataFrame:
    """What topics hold."""
    source = spark.read.format("kafka").option("kafka.bootstrap.servers", servers)
    # A task for each of so many partitions would take longer than reading them.
    return source.option("subscribe", ",".join(topics)).load().coalesce(2)


def verdicts(audited: DataFrame) -> dict[str, str]:
    """The text on each topic."""
    texts = audit_verdict(audited).split("\n\n")
    return {text.split(":")[0].removeprefix("Topic "): text for text in texts}


# A writer, the profile to be named first, one to be said to have the same rule, and whether records without a
# key are to be found where an empty key hashes.
WRITERS = [
    ("consistent", "librdkafka", "librdkafka-consistent", True),
    ("consistent_random", "librdkafka", "librdkafka-consistent", False),
    ("murmur2", "java", "librdkafka-murmur2", True),
    ("murmur2_random", "java", "librdkafka-murmur2-random", False),
    ("fnv1a", "librdkafka-fnv1a", "librdkafka-fnv1a", True),
    ("fnv1a_random", "librdkafka-fnv1a", "librdkafka-fnv1a-random", False),
    ("kafka-python", "java", "kafka-python", False),
    ("java", "java", "java", False),
    ("framed", "java", "java", False),
]


@pytest.mark.slow
@pytest.mark.jvm
def test_every_client_and_the_count_are_named(spark: SparkSession, connector: None, broker: Kafka) -> None:
    servers = broker.bootstrap_servers
    topics = {name: broker.create_topic(9) for name, *_ in WRITERS}
    for name, topic in topics.items():
        if name == "kafka-python":
            by_kafka_python(servers, topic)
        elif name == "java":
            by_java(servers, topic)
        elif name == "framed":
            by_librdkafka(servers, topic, FRAMED, "murmur2_random")
        else:
            by_librdkafka(servers, topic, KEYS + KEYLESS, name)

    audited = audit(records(spark, servers, *topics.values()), counts=COUNTS).cache()
    said, found = verdicts(audited), audited.collect()
    audited.unpersist()
    for name, profile, same_rule, keyless_as_empty in WRITERS:
        topic = topics[name]
        rows = [row for row in found if row.topic == topic]
        assert {(row.profile, row.num_partitions, row.share) for row in rows} == {(profile, 9, 1.0)}, name
        assert sum(row.explained for row in rows) == 1500
        assert same_rule in rows[0].same_rule
        assert f"by profile '{profile}' over 9 partitions, which explains 1,500 of 1,500" in said[topic]
        assert (AS_AN_EMPTY_KEY in said[topic]) == keyless_as_empty, name
        assert ("100% of the keys begin as a schema registry's" in said[topic]) == (name == "framed")


@pytest.mark.slow
def test_growth_while_a_client_writes_is_found_at_its_offsets(
    spark: SparkSession, connector: None, broker: Kafka
) -> None:
    topic, servers = broker.create_topic(6), broker.bootstrap_servers
    reached: set[int] = set()

    def delivered(_: object, message: Message) -> None:
        reached.add(message.partition())

    settings = {"partitioner": "murmur2_random", "topic.metadata.refresh.interval.ms": 100}
    producer = Producer({"bootstrap.servers": servers, **settings, "on_delivery": delivered})
    sent = 0

    def send(count: int) -> None:
        nonlocal sent
        for number in range(sent, sent + count):
            producer.produce(topic, str(number), f"user-{number}")
        sent += count
        producer.poll(0)

    send(3000)
    assert producer.flush(GENEROUS_S) == 0
    broker.grow_topic(topic, 9)

    def go_on() -> None:
        send(10)
        time.sleep(0.005)

    wait_until(lambda: max(reached) >= 6, go_on)  # the producer sees the new partitions
    send(3000)
    assert producer.flush(GENEROUS_S) == 0

    # Where each count places every record of a partition; between two records that only one of them places,
    # the change may be anywhere.
    audited = audit(records(spark, servers, topic), counts=COUNTS).cache()
    rows = audited.orderBy("partition", "first_offset").collect()
    assert {row.profile for row in rows} == {"java"}
    held = read_topic(servers, topic)
    for partition in range(9):
        keys = [record.key for record in held if record.partition == partition]
        by_count = {n: partition_batch(keys, n) == partition for n in (6, 9)}
        found = [
            (row.first_offset, row.last_offset, row.num_partitions)
            for row in rows
            if row.partition == partition
        ]
        if partition >= 6:
            assert found == [(0, len(keys) - 1, 9)]
            continue
        (first, before, six), (after, last, nine) = found
        assert (first, six, after, last, nine) == (0, 6, before + 1, len(keys) - 1, 9)
        assert by_count[6][: before + 1].all()
        assert by_count[9][after:].all()
        assert not by_count[9][:after].all()
    text = verdicts(audited)[topic]
    audited.unpersist()
    assert re.search(r"(?s)over 6 partitions.*over 9 partitions.*in different partitions", text)
