"""The sink against a real broker, read back with a plain consumer."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import murmur2
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from spark_integration import kafka_partition, register, route
from tests.support.broker import Kafka
from tests.support.reading import inversions, read_topic
from tests.support.spark import write_stream

pytestmark = pytest.mark.needs("data sources")

ROWS = 20_000


@pytest.mark.every_spark
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


@pytest.mark.every_spark
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


def growing_the_topic(df: DataFrame, broker: Kafka, topic: str) -> DataFrame:
    """The same rows, in mid-write of which the topic gets 6 partitions."""
    servers = broker.bootstrap_servers

    def grow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from confluent_kafka.admin import AdminClient, NewPartitions  # which cannot be pickled

        for number, batch in enumerate(batches):
            yield batch
            if number == 0:
                admin = AdminClient({"bootstrap.servers": servers})
                admin.create_partitions([NewPartitions(topic, 6)])[topic].result()

    return df.mapInArrow(grow, df.schema)


def keyed(df: DataFrame, partitions: int) -> DataFrame:
    """Rows whose key is their value, in a topic of so many partitions."""
    return df.select("value", sf.col("value").alias("key")).select(
        "*", kafka_partition("value", partitions).alias("partition")
    )


@pytest.mark.slow
@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize("way", ["batch", "stream"])
def test_a_topic_that_grows_in_mid_write_is_no_success(
    spark: SparkSession, broker: Kafka, tmp_path: Path, way: str, noted: bool
) -> None:
    register(spark)
    topic, folder = broker.create_topic(3), str(tmp_path / "in")
    spark.range(0, ROWS, 1, 1).select(sf.col("id").cast("string").alias("value")).write.parquet(folder)
    reader = spark.read if way == "batch" else spark.readStream
    rows = reader.schema("value string").parquet(folder)
    placed = keyed(rows, 3)
    if not noted:
        placed = placed.withMetadata("partition", {})
    grown = growing_the_topic(placed, broker, topic)

    def write(df: DataFrame) -> None:
        if way == "stream":
            write_stream(df, broker.bootstrap_servers, topic, tmp_path / "checkpoint")
            return
        writer = df.write.format("copartition").mode("append").option("topic", topic)
        writer.option("kafka.bootstrap.servers", broker.bootstrap_servers).save()

    with pytest.raises(Exception, match=r"(computed for|had) 3 partitions.* has 6"):
        write(grown)
    if way == "stream":  # it goes on with the batch that failed
        write(keyed(rows, 6))
        read = read_topic(broker.bootstrap_servers, topic)
        assert {r.key for r in read if r.partition == murmur2(r.key, 6)} == {b"%d" % n for n in range(ROWS)}


def test_rows_that_name_no_partition_may_see_the_topic_grow(spark: SparkSession, broker: Kafka) -> None:
    register(spark)
    topic = broker.create_topic(3)
    rows = spark.range(0, 100, 1, 1).select(sf.col("id").cast("string").alias("value"))
    writer = growing_the_topic(rows, broker, topic).write.format("copartition").option("topic", topic)
    writer.option("kafka.bootstrap.servers", broker.bootstrap_servers).mode("append").save()
    assert len(read_topic(broker.bootstrap_servers, topic)) == 100
