"""A million rows through each sink to a real broker, read back equal."""

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_integration import checked_for_topic, kafka_partition, register, route
from tests.spark_integration.sinks.numbered import Written, numbered
from tests.support.broker import Kafka
from tests.support.spark import write_stream

pytestmark = pytest.mark.needs("time")

ROWS, PARTITIONS = 1_000_000, 12


def routed(df: DataFrame) -> DataFrame:
    """Rows as a topic of `PARTITIONS` partitions is laid out."""
    return route(df.withColumn("partition", kafka_partition("key", PARTITIONS)), PARTITIONS)


def assert_complete(broker: Kafka, topic: str) -> None:
    written = Written.read(broker.bootstrap_servers, topic)
    assert np.array_equal(written.copies(), np.ones(ROWS))
    assert written.misplaced(PARTITIONS) == 0
    assert written.inversions() == 0


@pytest.mark.nightly
def test_through_sparks_connector(spark: SparkSession, connector: None, broker: Kafka) -> None:
    topic, servers = broker.create_topic(PARTITIONS), broker.bootstrap_servers
    rows = routed(numbered(spark, ROWS)).sortWithinPartitions("id").drop("id")
    checked = checked_for_topic(rows, topic, {"bootstrap.servers": servers})
    checked.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic).save()
    assert_complete(broker, topic)


@pytest.mark.slow
@pytest.mark.needs("data sources")
def test_through_the_pip_only_sink(spark: SparkSession, broker: Kafka) -> None:
    register(spark)
    topic, servers = broker.create_topic(PARTITIONS), broker.bootstrap_servers
    rows = routed(numbered(spark, ROWS)).sortWithinPartitions("id").drop("id")
    writer = rows.write.format("copartition").option("kafka.bootstrap.servers", servers)
    writer.option("topic", topic).mode("append").save()
    assert_complete(broker, topic)


@pytest.mark.slow
@pytest.mark.needs("data sources")
def test_through_the_pip_only_sink_of_a_stream(spark: SparkSession, broker: Kafka, tmp_path: Path) -> None:
    register(spark)
    topic, folder = broker.create_topic(PARTITIONS), str(tmp_path / "in")
    # One file, so one task reads the rows in order, and routing keeps the order of one task's rows.
    numbered(spark, ROWS, slices=1).drop("id").write.parquet(folder)
    stream = spark.readStream.schema("key string, value string").parquet(folder)
    write_stream(routed(stream), broker.bootstrap_servers, topic, tmp_path / "checkpoint")
    assert_complete(broker, topic)
