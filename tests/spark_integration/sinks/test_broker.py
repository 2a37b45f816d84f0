"""The sink against a real broker, read back with a plain consumer."""

from collections import Counter

import pytest
from confluent_kafka import murmur2
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from spark_integration import kafka_partition, register, route
from tests.support.broker import Kafka
from tests.support.reading import inversions, read_topic
from tests.support.spark import write_stream

pytestmark = pytest.mark.needs("data sources")

ROWS = 20_000


def test_routed_rows_arrive_once_in_their_partitions_and_in_order(spark: SparkSession, broker: Kafka) -> None:
    register(spark)
    topic = broker.create_topic(12)
    key = sf.when(sf.col("id") % 100 != 0, sf.concat(sf.lit("user-"), sf.pmod("id", sf.lit(501))))
    rows = spark.range(0, ROWS, 1, 4).select(key.alias("key"), sf.col("id").cast("string").alias("value"))
    placed = rows.withColumn("partition", kafka_partition("key", 12))
    routed = route(placed, 12).sortWithinPartitions(sf.col("value").cast("int"))
    writer = routed.write.format("copartition").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    writer.option("topic", topic).option("partitions", 12).mode("append").save()

    read = read_topic(broker.bootstrap_servers, topic)
    assert Counter(int(record.value or b"") for record in read) == Counter(range(ROWS))
    assert [r.partition for r in read if r.key] == [murmur2(r.key, 12) for r in read if r.key]
    assert inversions(read) == 0


def test_a_stream_resumes_from_its_checkpoint(spark: SparkSession, broker: Kafka, tmp_path) -> None:
    register(spark)
    topic = broker.create_topic(3)
    for first in (0, 500):
        values = spark.range(first, first + 500).select(sf.col("id").cast("string").alias("value"))
        values.withColumn("key", sf.col("value")).write.mode("append").parquet(str(tmp_path / "in"))
        stream = spark.readStream.schema("value string, key string").parquet(str(tmp_path / "in"))
        placed = stream.withColumn("partition", kafka_partition("key", 3))
        write_stream(placed, broker.bootstrap_servers, topic, tmp_path / "checkpoint")
    read = read_topic(broker.bootstrap_servers, topic)
    assert Counter(int(record.value or b"") for record in read) == Counter(range(1000))
    assert [r.partition for r in read] == [murmur2(r.key, 3) for r in read]
