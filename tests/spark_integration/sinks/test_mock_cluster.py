"""The sink against librdkafka's mock cluster, read back with a plain consumer."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import confluent_kafka
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from partitioning.testing.mock_cluster import MockCluster
from spark_integration import kafka_partition, register, route
from spark_integration.columns import AS_IT_IS
from tests.support.reading import Read, inversions, read_topic
from tests.support.spark import write_stream

pytestmark = pytest.mark.needs("data sources")

topics = (f"sink-{n}" for n in count())


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with MockCluster() as mock:
        yield mock


@pytest.fixture
def topic(cluster: MockCluster) -> str:
    name = next(topics)
    cluster.create_topic(name, 6)
    return name


@pytest.fixture(autouse=True)
def _registered(spark: SparkSession) -> None:
    register(spark)


def flights(spark: SparkSession, rows: int = 3000) -> DataFrame:
    """Keyed rows in 6 partitions; `value` is the row's number."""
    return spark.range(0, rows, 1, 3).select(
        sf.concat(sf.lit("N"), sf.pmod("id", sf.lit(97))).alias("key"),
        sf.col("id").cast("string").alias("value"),
        sf.pmod(sf.pmod("id", sf.lit(97)), sf.lit(6)).cast("int").alias("partition"),
    )


def write(df: DataFrame, cluster: MockCluster, **options: str) -> None:
    writer = df.write.format("copartition").option("kafka.bootstrap.servers", cluster.bootstrap_servers)
    if "partition" in df.columns:  # which is by no client's rule
        writer.option("partition", AS_IT_IS)
    writer.options(**options).mode("append").save()


@pytest.mark.every_spark
def test_every_row_arrives_once_in_its_partition(
    spark: SparkSession, cluster: MockCluster, topic: str
) -> None:
    write(flights(spark), cluster, topic=topic)
    read = read_topic(cluster.bootstrap_servers, topic)
    expected = [(row.partition, row.key.encode(), row.value.encode()) for row in flights(spark).collect()]
    assert sorted((record.partition, record.key, record.value) for record in read) == sorted(expected)


def test_routed_and_sorted_rows_keep_the_order_of_their_keys(
    spark: SparkSession, cluster: MockCluster, topic: str
) -> None:
    routed = route(flights(spark), 6, partition=AS_IT_IS)
    write(routed.sortWithinPartitions(sf.col("value").cast("int")), cluster, topic=topic)
    read = read_topic(cluster.bootstrap_servers, topic)
    assert (len(read), inversions(read)) == (3000, 0)


@pytest.mark.every_spark
def test_headers_and_timestamps_arrive(spark: SparkSession, cluster: MockCluster, topic: str) -> None:
    header = sf.struct(sf.lit("source").alias("key"), sf.lit(b"spark").alias("value"))
    df = flights(spark, 2).select(
        "value",
        "partition",
        sf.when(sf.col("value") == "0", sf.array(header, header)).alias("headers"),
        sf.lit(datetime(2013, 1, 1, 12, tzinfo=UTC)).alias("timestamp"),
    )
    write(df, cluster, topic=topic)
    noon = 1357041600000
    twice = (("source", b"spark"), ("source", b"spark"))
    assert sorted(read_topic(cluster.bootstrap_servers, topic)) == [
        Read(0, 0, None, b"0", noon, twice),
        Read(1, 0, None, b"1", noon, ()),
    ]


def test_a_topic_column_sends_rows_to_several_topics(spark: SparkSession, cluster: MockCluster) -> None:
    names = [next(topics), next(topics)]
    cluster.create_topic(names[0], 2)
    cluster.create_topic(names[1], 3)
    topic = sf.when(sf.col("partition") < 2, names[0]).otherwise(names[1])
    df = (
        flights(spark)
        .withColumn("topic", topic)
        .withColumn("partition", (sf.col("partition") / 2).cast("int"))
    )
    write(df, cluster)
    read = {name: Counter(r.partition for r in read_topic(cluster.bootstrap_servers, name)) for name in names}
    expected = Counter((row.topic, row.partition) for row in df.collect())
    assert {(name, p): n for name, by in read.items() for p, n in by.items()} == expected


@pytest.mark.parametrize("how", ["no column", "null"])
def test_rows_without_a_partition_go_where_the_java_client_puts_them(
    spark: SparkSession, cluster: MockCluster, topic: str, how: str
) -> None:
    df = flights(spark).drop("partition")
    write(
        df if how == "no column" else df.withColumn("partition", sf.lit(None).cast("int")),
        cluster,
        topic=topic,
    )
    read = read_topic(cluster.bootstrap_servers, topic)
    assert len(read) == 3000
    assert [r.partition for r in read] == [confluent_kafka.murmur2(r.key, 6) for r in read]


def test_an_empty_frame_writes_nothing(spark: SparkSession, cluster: MockCluster, topic: str) -> None:
    write(flights(spark).where("1 = 0"), cluster, topic=topic)
    assert read_topic(cluster.bootstrap_servers, topic) == []


def test_a_queue_of_a_few_records_is_waited_for(
    spark: SparkSession, cluster: MockCluster, topic: str
) -> None:
    settings = {"kafka.queue.buffering.max.messages": "10", "kafka.linger.ms": "1"}
    write(flights(spark), cluster, topic=topic, **settings)
    assert len(read_topic(cluster.bootstrap_servers, topic)) == 3000


def test_a_stream_is_written_and_restarts_from_its_checkpoint(
    spark: SparkSession, cluster: MockCluster, topic: str, tmp_path: Path
) -> None:
    for batch in range(2):
        flights(spark, 100).write.mode("append").parquet(str(tmp_path / "in"))
        stream = spark.readStream.schema("key string, value string, partition int").parquet(
            str(tmp_path / "in")
        )
        options = {"partition": AS_IT_IS}
        write_stream(stream, cluster.bootstrap_servers, topic, tmp_path / "checkpoint", **options)
        assert len(read_topic(cluster.bootstrap_servers, topic)) == 100 * (batch + 1)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda df: df.withColumnRenamed("partition", "Partition"), {}, "did you mean 'partition'"),
        (
            lambda df: df.withColumn("partition", sf.col("partition").cast("long")),
            {},
            "'partition' is of type bigint",
        ),
        (lambda df: df, {"topic": "nowhere"}, "no topic 'nowhere'"),
        (lambda df: df.drop("value"), {}, "needs a column 'value'"),
        (lambda df: df.select("key", "value", kafka_partition("key", 3)), {}, "computed for 3 partitions"),
        (lambda df: df, {"partitions": "12"}, "computed for 12 partitions, and topic .* has 6"),
        (lambda df: df, {"kafka.linger": "5"}, "No such configuration property"),
        (lambda df: df, {"lingerMs": "5"}, "no option 'lingerms'"),
        (lambda df: df.withColumn("partition", sf.lit(6)), {}, "partition 6 of topic .* has 6 partitions"),
        (
            lambda df: df.withColumn("value", sf.repeat(sf.lit("x"), 10**7)).limit(1),
            {},
            "Message size too large",
        ),
    ],
)
def test_a_write_that_cannot_be_done_says_why_and_writes_nothing(
    spark: SparkSession, cluster: MockCluster, topic: str, change, options: dict[str, str], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        write(change(flights(spark)), cluster, **{"topic": topic, **options})
    assert read_topic(cluster.bootstrap_servers, topic) == []


def test_a_topic_is_not_overwritten(spark: SparkSession, cluster: MockCluster, topic: str) -> None:
    writer = flights(spark).write.format("copartition").option("topic", topic).mode("overwrite")
    with pytest.raises(Exception, match="can only be appended to"):
        writer.option("bootstrap.servers", cluster.bootstrap_servers).save()


@pytest.mark.needs("time")
def test_a_broker_that_is_not_there_is_waited_for_as_long_as_records_may_wait(spark: SparkSession) -> None:
    with MockCluster() as gone:
        servers = gone.bootstrap_servers
    writer = flights(spark).write.format("copartition").option("topic", "t").mode("append")
    writer = writer.option("kafka.delivery.timeout.ms", "3000")
    with pytest.raises(
        Exception, match=r"no broker of '127.0.0.1:\d+' answers, given up to 3 s: .*Connection refused"
    ):
        writer.option("kafka.bootstrap.servers", servers).save()
