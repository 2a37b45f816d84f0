"""Topics written by real clients to a real broker, audited through Spark's own Kafka source."""

import warnings
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from partitioning.errors import InvalidConfigError, InvalidPartitionCountError, UnknownStrategyError
from spark_integration import ColumnError, audit, audit_verdict
from tests.support.broker import Kafka

KEYS = [b"user-%d" % number for number in range(1500)]


def written_by_librdkafka(servers: str, topic: str, partitioner: str, keys: list[bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": servers, "partitioner": partitioner})
    for key in keys:
        producer.produce(topic, b"", key=key)
    assert producer.flush(30) == 0


def written_by_kafka_python(servers: str, topic: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of importlib.resources, while it is imported
        from kafka import KafkaProducer
    producer = KafkaProducer(bootstrap_servers=servers)
    for key in KEYS:
        producer.send(topic, key=key, value=b"")
    producer.flush(30)
    producer.close()


def written_by_java(spark: SparkSession, servers: str, topic: str) -> None:
    rows = spark.createDataFrame([(bytearray(key), "") for key in KEYS], "key binary, value string")
    rows.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic).save()


def records(spark: SparkSession, servers: str, *topics: str) -> DataFrame:
    source = spark.read.format("kafka").option("kafka.bootstrap.servers", servers)
    return source.option("subscribe", ",".join(topics)).load()


@pytest.mark.parametrize(
    ("partitioner", "profile"),
    [
        ("consistent_random", "librdkafka"),
        ("consistent", "librdkafka"),
        ("murmur2_random", "java"),
        ("murmur2", "java"),
        ("fnv1a_random", "librdkafka-fnv1a"),
        ("fnv1a", "librdkafka-fnv1a"),
    ],
)
def test_every_partitioner_of_librdkafka_is_named(
    spark: SparkSession, connector: None, broker: Kafka, partitioner: str, profile: str
) -> None:
    topic = broker.create_topic(5)
    written_by_librdkafka(broker.bootstrap_servers, topic, partitioner, KEYS)
    found = audit(records(spark, broker.bootstrap_servers, topic), counts=[4, 5, 6]).collect()
    assert {(row.profile, row.num_partitions, row.share) for row in found} == {(profile, 5, 1.0)}
    assert sum(row.rows for row in found) == len(KEYS)


@pytest.mark.parametrize("client", ["kafka-python", "java"])
def test_murmur2_clients_are_named(spark: SparkSession, connector: None, broker: Kafka, client: str) -> None:
    topic = broker.create_topic(5)
    if client == "java":
        written_by_java(spark, broker.bootstrap_servers, topic)
    else:
        written_by_kafka_python(broker.bootstrap_servers, topic)
    found = audit(records(spark, broker.bootstrap_servers, topic), counts=[4, 5, 6]).collect()
    assert {(row.profile, row.num_partitions, row.share) for row in found} == {("java", 5, 1.0)}
    assert all(client in row.same_rule for row in found)


def test_growth_and_a_second_topic_are_told_apart(
    spark: SparkSession, connector: None, broker: Kafka
) -> None:
    grown, other = broker.create_topic(4), broker.create_topic(3)
    written_by_librdkafka(broker.bootstrap_servers, grown, "murmur2_random", KEYS)
    broker.grow_topic(grown, 6)
    written_by_librdkafka(broker.bootstrap_servers, grown, "murmur2_random", KEYS)
    written_by_librdkafka(broker.bootstrap_servers, other, "consistent", [*KEYS, *[None] * 20])
    audited = audit(records(spark, broker.bootstrap_servers, grown, other), counts=[3, 4, 6])
    rows = audited.orderBy("topic", "partition", "first_offset").collect()
    rules = {
        partition: [r.num_partitions for r in rows if (r.topic, r.partition) == (grown, partition)]
        for partition in range(6)
    }
    assert rules == {0: [4, 6], 1: [4, 6], 2: [4, 6], 3: [4, 6], 4: [6], 5: [6]}
    said = {text.split(":")[0].removeprefix("Topic "): text for text in audit_verdict(audited).split("\n\n")}
    assert "by profile 'java' over 4 partitions" in said[grown]
    assert "by profile 'java' over 6 partitions" in said[grown]
    assert "different partitions" in said[grown]
    assert "by profile 'librdkafka' over 3 partitions" in said[other]
    assert "All records without a key are in partition 0" in said[other]
    assert "librdkafka-consistent" in said[other]


def frame(spark: SparkSession, rows: list[tuple[int, int, bytes | None]]) -> DataFrame:
    values = [(partition, offset, None if key is None else bytearray(key)) for partition, offset, key in rows]
    return spark.createDataFrame(values, "partition int, offset bigint, key binary")


def test_what_no_rule_explains_is_said(spark: SparkSession) -> None:
    rows = [(number % 7, number, b"user-%d" % number) for number in range(700)]
    said = audit_verdict(audit(frame(spark, rows), counts=[7]))
    assert said.startswith("The topic: 700 records in 7 partitions")
    assert "No rule explains it" in said


def test_keys_of_a_schema_registry_are_pointed_out(spark: SparkSession) -> None:
    rows = [(0, number, b"\0\0\0\0\x09user-%d" % number) for number in range(50)]
    assert "100% of the keys begin as a schema registry's" in audit_verdict(
        audit(frame(spark, rows), counts=[1])
    )


def test_records_without_keys_prove_nothing(spark: SparkSession) -> None:
    rows = [(number % 3, number, None) for number in range(30)]
    assert "Without keys nothing can be said" in audit_verdict(audit(frame(spark, rows), counts=[3]))


def test_profiles_may_be_chosen(spark: SparkSession) -> None:
    rows = [(0, number, b"user-%d" % number) for number in range(30)]
    (row,) = audit(frame(spark, rows), counts=[1], profiles=["sarama", "kafka-python"]).collect()
    assert row.same_rule == ["sarama"]


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (InvalidConfigError, lambda df: audit(df, counts=[])),
        (InvalidConfigError, lambda df: audit(df, counts=[3], profiles=[])),
        (InvalidPartitionCountError, lambda df: audit(df, counts=[0])),
        (UnknownStrategyError, lambda df: audit(df, counts=[3], profiles=["jav"])),
        (ColumnError, lambda df: audit(df.drop("offset"), counts=[3])),
    ],
)
def test_meaningless_arguments_are_refused(
    spark: SparkSession, error: type[Exception], call: Callable[[DataFrame], DataFrame]
) -> None:
    with pytest.raises(error):
        call(frame(spark, [(0, 0, b"key")]))
