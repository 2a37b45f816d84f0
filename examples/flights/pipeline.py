"""The Spark side: give every row its partition, lay the rows out as the topic is, write them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from examples.flights.cluster import Cluster
from spark_integration import assert_routed, kafka_partition, register, route

LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


def spark_session(log: Path) -> SparkSession:
    """Local Spark whose JVM writes its log to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("copartition demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}")
    )
    with log.open("w") as file, _stderr_to(file.fileno()):
        spark = builder.getOrCreate()
    register(spark)
    return spark


@contextmanager
def _stderr_to(target: int) -> Iterator[None]:
    """Point standard error elsewhere for a while; the JVM that is started meanwhile keeps it."""
    ours = os.dup(2)
    os.dup2(target, 2)
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)


def route_flights(spark: SparkSession, parquet: Path, num_partitions: int) -> DataFrame:
    """The flights with their Kafka partition, Spark partition i holding exactly Kafka partition i."""
    flights = spark.read.parquet(str(parquet))
    placed = flights.withColumn("partition", kafka_partition("key", num_partitions))
    routed = route(placed, num_partitions).sortWithinPartitions("seq").cache()
    assert_routed(routed, num_partitions)
    return routed


def write_flights(routed: DataFrame, cluster: Cluster, topic: str) -> None:
    """Write the rows to their partitions, with nothing but pip packages."""
    records = routed.select("key", "value", "partition", sf.col("time").alias("timestamp"))
    (
        records.write.format("copartition")
        .option("kafka.bootstrap.servers", cluster.bootstrap_servers)
        .option("topic", topic)
        .mode("append")
        .save()
    )


def unkeyed_partitions(routed: DataFrame) -> dict[int, int]:
    """The partition Spark chose for each row without a key, by `seq`."""
    rows = routed.where(sf.col("key").isNull()).select("seq", "partition").collect()
    return {row.seq: row.partition for row in rows}


def key_counts(routed: DataFrame) -> list[tuple[str, int]]:
    """Every key with its number of rows, most rows first."""
    counts = routed.where(sf.col("key").isNotNull()).groupBy("key").count()
    return [(row.key, row["count"]) for row in counts.orderBy(sf.desc("count"), "key").collect()]
