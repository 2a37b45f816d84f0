"""Spark's own Kafka connector, fed by this package, on a real broker."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import murmur2
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from partitioning.errors import UnknownTopicError
from partitioning.testing.mock_cluster import MockCluster
from spark_integration import ColumnError, PartitionCountError, checked_for_topic, kafka_partition, route
from tests.support.broker import Kafka
from tests.support.reading import inversions, read_topic

ROWS = 5000


def rows(spark: SparkSession) -> DataFrame:
    """Keyed rows; `value` is the row's number."""
    return spark.range(0, ROWS, 1, 3).select(
        sf.concat(sf.lit("user-"), sf.pmod("id", sf.lit(97))).alias("key"),
        sf.col("id").cast("string").alias("value"),
    )


def write(df: DataFrame, broker: Kafka, topic: str) -> None:
    writer = df.write.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    writer.option("topic", topic).save()


@pytest.mark.every_spark
@pytest.mark.parametrize("routed", [True, False])
def test_rows_arrive_where_the_column_says(
    spark: SparkSession, connector: None, broker: Kafka, routed: bool
) -> None:
    topic = broker.create_topic(12)
    placed = rows(spark).select("*", kafka_partition("key", 12, profile="librdkafka-fnv1a"))
    if routed:
        placed = route(placed, 12).sortWithinPartitions(sf.col("value").cast("int"))
    config = {"bootstrap.servers": broker.bootstrap_servers}
    write(checked_for_topic(placed, topic, config), broker, topic)
    read = read_topic(broker.bootstrap_servers, topic)
    assert Counter(int(record.value or b"") for record in read) == Counter(range(ROWS))
    wanted = {row.value: row.partition for row in placed.collect()}
    assert all(record.partition == wanted[(record.value or b"").decode()] for record in read)
    if routed:
        assert inversions(read) == 0


def test_a_null_partition_is_the_producers_choice_which_is_ours(
    spark: SparkSession, connector: None, broker: Kafka
) -> None:
    topic = broker.create_topic(12)
    placed = rows(spark).withColumn("partition", sf.lit(None).cast("int"))
    write(checked_for_topic(placed, topic, {"bootstrap.servers": broker.bootstrap_servers}), broker, topic)
    read = read_topic(broker.bootstrap_servers, topic)
    assert [r.partition for r in read] == [murmur2(r.key, 12) for r in read]
    assert len(read) == ROWS


@pytest.mark.every_spark
def test_rows_are_routed_in_each_micro_batch(
    spark: SparkSession, connector: None, broker: Kafka, tmp_path: Path
) -> None:
    topic = broker.create_topic(4)
    servers = broker.bootstrap_servers

    def write_batch(batch: DataFrame, batch_id: int) -> None:
        placed = batch.withColumn("partition", kafka_partition("key", 4))
        routed = route(placed, 4).sortWithinPartitions(sf.col("value").cast("int"))
        routed.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic).save()

    for _ in range(2):
        rows(spark).limit(500).write.mode("append").parquet(str(tmp_path / "in"))
        stream = spark.readStream.schema("key string, value string").parquet(str(tmp_path / "in"))
        query = (
            stream.writeStream.foreachBatch(write_batch)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    read = read_topic(servers, topic)
    assert len(read) == 1000
    assert [r.partition for r in read] == [murmur2(r.key, 4) for r in read]


@pytest.fixture
def servers(mock_cluster: MockCluster) -> str:
    if "checked" not in checked_topics:
        mock_cluster.create_topic("checked", 6)
        checked_topics.add("checked")
    return mock_cluster.bootstrap_servers


checked_topics: set[str] = set()


@pytest.mark.parametrize(
    ("error", "message", "topic", "change"),
    [
        (
            ColumnError,
            "did you mean 'partition'",
            "checked",
            lambda df: df.withColumn("Partition", sf.lit(1)),
        ),
        (ColumnError, "writes no timestamps", "checked", lambda df: df.withColumn("timestamp", sf.now())),
        (UnknownTopicError, "no topic 'nowhere'", "nowhere", lambda df: df),
        (
            PartitionCountError,
            "computed for 12 partitions, and topic 'checked' has 6",
            "checked",
            lambda df: df.select("*", kafka_partition("key", 12)),
        ),
    ],
)
def test_what_the_connector_would_get_wrong_is_refused(
    spark: SparkSession,
    servers: str,
    error: type[Exception],
    message: str,
    topic: str,
    change: Callable[[DataFrame], DataFrame],
) -> None:
    with pytest.raises(error, match=message):
        checked_for_topic(change(rows(spark)), topic, {"bootstrap.servers": servers})


def test_a_partition_beyond_the_topic_fails_the_job(spark: SparkSession, servers: str) -> None:
    checked = checked_for_topic(
        rows(spark).withColumn("partition", sf.lit(6)), "checked", {"bootstrap.servers": servers}
    )
    with pytest.raises(Exception, match="holds partition 6, which a topic of 6 partitions"):
        checked.collect()
