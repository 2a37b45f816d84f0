"""An error of Spark's, turned back into what this package raised."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from partitioning.errors import BrokerUnreachableError, DeliveryError, InvalidConfigError
from partitioning.testing.mock_cluster import MockCluster, MockClusterError
from spark_integration import (
    ColumnError,
    PartitionCountError,
    RecordError,
    RoutingError,
    kafka_partition,
    register,
    route,
)
from spark_integration.errors import typed_error
from tests.support.spark import write_stream

TOPIC = "typed"

TASK = """[FAILED] Job aborted due to stage failure: Task 3 in stage 5.0 failed 4 times:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "delivery.py", line 12, in deliver
{raised}
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:581)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
{raised}
"""
CHAIN = """spark_integration.errors.DeliveryError: first
During handling of the above exception, another exception occurred:
spark_integration.errors.RecordError: second"""


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (
            "spark_integration.errors.DeliveryError: lost 3: why; what to do",
            DeliveryError,
            "lost 3: why; what to do",
        ),
        ("spark_integration.errors.PartitionCountError: has 6 ", PartitionCountError, "has 6"),
        (CHAIN, RecordError, "second"),
        ("partitioning.errors.BrokerUnreachableError: away", BrokerUnreachableError, "away"),
        ("spark_integration.errors.InventedError: what", type(None), None),
        (
            "[USER_RAISED_EXCEPTION] spark_integration.RecordError: column 'p' holds 7 SQLSTATE: P0001",
            RecordError,
            "column 'p' holds 7",
        ),
        ("ValueError: of somebody else", type(None), None),
    ],
)
def test_the_last_error_of_ours_is_found_in_a_traceback(raised: str, kind: type, message: str | None) -> None:
    error = RuntimeError(TASK.format(raised=raised))
    found = typed_error(error)
    assert type(found) is kind
    assert message is None or (str(found), found.__cause__) == (message, error)


def test_an_error_that_is_ours_already_is_itself() -> None:
    own = RoutingError("here", ())
    assert typed_error(own) is own


@pytest.mark.every_spark
def test_a_key_that_is_a_number_gets_our_advice(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "true")  # off before Spark 4
    try:
        with pytest.raises(AnalysisException) as caught:
            spark.range(3).select(kafka_partition("id", 3)).collect()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    found = typed_error(caught.value)
    assert isinstance(found, ColumnError)
    assert str(found).startswith("id is of type bigint, and Kafka hashes bytes")
    # Spark itself would advise to turn ANSI mode off, and hash other bytes.
    advised = "spark.sql.ansi.enabled" in str(caught.value)
    assert advised != hasattr(type(sf.col("id")), "try_cast")


@pytest.mark.every_spark
@pytest.mark.needs("data sources")
@pytest.mark.needs("classic")
def test_a_thread_that_writes_registers_first(spark: SparkSession, mock_cluster: MockCluster) -> None:
    register(spark)
    mock_cluster.create_topic("threads", 1)
    options = {"kafka.bootstrap.servers": mock_cluster.bootstrap_servers, "topic": "threads"}
    rows = spark.range(10).select(sf.lit("v").alias("value"))

    def write_in_thread(*, registered: bool) -> Exception | None:
        if registered:
            register(spark)
        try:
            rows.write.format("copartition").options(**options).mode("append").save()
        except Exception as error:  # noqa: BLE001 - what classic Spark raises here is not PySpark's own
            return error
        return None

    with ThreadPoolExecutor(1) as pool:
        refused = pool.submit(write_in_thread, registered=False).result()
        assert isinstance(typed_error(refused or ValueError()), InvalidConfigError)
        assert "call register(spark), and in a thread of Python" in str(typed_error(refused or ValueError()))
        assert pool.submit(write_in_thread, registered=True).result() is None


def write(spark: SparkSession, servers: str, way: str, folder: Path) -> None:
    """Fail in one of the places where a write can."""
    keys = sf.concat(sf.lit("key-"), sf.col("id"))
    rows = spark.range(10).select(keys.alias("key"), sf.lit("v").alias("value"))
    options = {"kafka.bootstrap.servers": servers, "topic": TOPIC}
    if way == "stream":
        placed = rows.select("*", kafka_partition("key", 6)).select(
            "value", "partition", sf.upper("key").alias("key")
        )
        placed.write.parquet(str(folder / "in"))  # where Spark keeps the notes, too
        schema = spark.read.parquet(str(folder / "in")).schema
        stream = spark.readStream.schema(schema).parquet(str(folder / "in"))
        write_stream(stream, servers, TOPIC, folder / "checkpoint")
    placed = {
        "plan": lambda: rows.select("*", kafka_partition("key", 3)),
        "task": lambda: rows.withColumn("partition", sf.lit(9)),
        "column": lambda: route(rows.withColumn("partition", sf.lit(9)), 6),
        "key": lambda: route(rows.withColumn("partition", sf.lit(3)), 6),
    }[way]()
    placed.write.format("copartition").options(**options).mode("append").save()


@pytest.mark.every_spark
@pytest.mark.needs("data sources")
@pytest.mark.parametrize(
    ("way", "kind", "message"),
    [
        (
            "plan",
            PartitionCountError,
            f"column 'partition' was computed for 3 partitions, and topic '{TOPIC}' has 6:",
        ),
        ("task", RecordError, f"a row names partition 9 of topic '{TOPIC}', which has 6 partitions"),
        ("column", RecordError, "column 'partition' holds partition 9, which a topic of 6 partitions"),
        ("key", RoutingError, "a row with key 'key-\\d' has partition 3 of 6, and profile 'java' puts"),
        # Spark 4.0 hands a stream's writer rows, whose keys are bytes by then.
        ("stream", RoutingError, "a row with key b?'KEY-"),
    ],
)
def test_a_write_that_fails_can_be_told_by_its_class(
    spark: SparkSession, mock_cluster: MockCluster, tmp_path: Path, way: str, kind: type, message: str
) -> None:
    register(spark)
    with suppress(MockClusterError):  # an earlier case made it
        mock_cluster.create_topic(TOPIC, 6)
    with pytest.raises(Exception, match=message) as caught:
        write(spark, mock_cluster.bootstrap_servers, way, tmp_path)
    found = typed_error(caught.value)
    assert type(found) is kind
    assert re.match(message, str(found))
    assert "\n" not in str(found)
