"""An error of Spark's, turned back into what this package raised."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from partitioning.errors import (
    BrokerUnreachableError,
    CopartitionError,
    DeliveryError,
    InvalidConfigError,
    UnknownStrategyError,
)
from partitioning.testing.mock_cluster import MockCluster, MockClusterError
from spark_integration import (
    ColumnError,
    PartitionCountError,
    RecordError,
    RoutingError,
    kafka_partition,
    partition_count,
    register,
    route,
    write_exactly_once,
)
from spark_integration.errors import typed_error
from tests.support.spark import write_stream
from tests.support.tiers import sample

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
            "[USER_RAISED_EXCEPTION] copartition RecordError: column 'p' holds 7 SQLSTATE: P0001",
            RecordError,
            "column 'p' holds 7",
        ),
        ("java.lang.RuntimeException: copartition RoutingError: a row", RoutingError, "a row"),
        ("raise_error(map(errorMessage, concat(copartition RecordError: column)))", type(None), None),
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


OWN = "give the bytes that the producer's serializer makes, or cast it to a string"
KEYS = {
    "cast(1 as tinyint)": r"not tinyint: take short_key\(\)",
    "cast(1 as smallint)": r"not smallint: take short_key\(\)",
    "1": r"not int: take integer_key\(\)",
    "1L": r"not bigint: take long_key\(\)",
    "cast(1 as float)": r"not float: take float_key\(\)",
    "1D": r"not double: take double_key\(\)",
    "1.5BD": rf"not decimal\(2,1\): {OWN}",
    "true": f"not boolean: {OWN}",
    "date'2026-01-01'": f"not date: {OWN}",
    "timestamp'2026-01-01 00:00:00'": f"not timestamp: {OWN}",
    "named_struct('a', 1)": f"column 'id' is of type struct<a: int.*>, and Kafka hashes .*: {OWN}",
    "array(1)": f"column 'id' is of type array<int>, and Kafka hashes .*: {OWN}",
    "map('a', 1)": f"column 'id' is of type map<string, int>, and Kafka hashes .*: {OWN}",
}
"""A key of each type that Kafka does not hash, and what is said of it."""


@pytest.mark.every_spark
@pytest.mark.sampled
@pytest.mark.parametrize("key", sample([*KEYS], before_ci=4))
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_key_without_bytes_names_the_function_to_take(spark: SparkSession, key: str, ansi: str) -> None:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        # Spark 3.5 leaves an error of a task as py4j's.
        with pytest.raises(Exception, match=r"\S") as caught:
            spark.range(1).select(sf.expr(key).alias("id")).select(kafka_partition("id", 3)).collect()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    found = typed_error(caught.value)
    assert isinstance(found, ColumnError), caught.value
    assert re.search(KEYS[key], str(found)), found
    assert "\n" not in str(found)


def refuse_map(df: DataFrame) -> None:
    df.select("*", sf.create_map("key", "value").alias("tags")).select(kafka_partition("key", 3)).collect()


SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
MISTAKES: dict[str, tuple[Callable[[DataFrame], object], type[CopartitionError], str]] = {
    "a map in the row": (refuse_map, ColumnError, r"map .* spread_by=\('value',\)"),
    "an option for a setting": (
        lambda df: write_exactly_once(df, 0, topic="t", app_id="a", config=SERVERS),
        InvalidConfigError,
        "config has 'kafka.bootstrap.servers': .* write 'bootstrap.servers'",
    ),
    "the same when a count is asked for": (
        lambda _: partition_count("t", SERVERS),
        InvalidConfigError,
        "config has 'kafka.bootstrap.servers': .* write 'bootstrap.servers'",
    ),
    "a profile with a slip of the pen": (
        lambda df: df.select(kafka_partition("key", 3, profile="jaba")),
        UnknownStrategyError,
        r"no profile 'jaba'; did you mean java\?",
    ),
    "a column for its name": (
        lambda df: route(df, 3, by=sf.col("partition")),  # type: ignore[arg-type]
        ColumnError,
        "by is Column<.*>; give the name of the column that holds the partition",
    ),
    "no key to compare by": (
        lambda df: route(df.select(sf.lit(1).alias("partition")), 3),
        ColumnError,
        "no column 'key', only 'partition', by which .* key=..., or give partition='as it is'",
    ),
    "a number for a key": (
        lambda df: route(df.select(sf.lit(1).alias("partition"), sf.lit(1).alias("key")), 3),
        ColumnError,
        r"column 'key' is of type int, .* take integer_key\(\)",
    ),
}


@pytest.mark.every_spark
@pytest.mark.needs("data sources")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_what_to_write_instead(spark: SparkSession, mistake: str) -> None:
    action, kind, message = MISTAKES[mistake]
    rows = spark.range(3).select(sf.lit("k").alias("key"), sf.lit("v").alias("value"))
    with pytest.raises((CopartitionError, PySparkException)) as caught:
        action(rows)
    found = typed_error(caught.value)
    assert type(found) is kind
    assert re.search(message, str(found)), found


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
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("way", "kind", "message"),
    sample(
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
        before_ci=3,
    ),
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
