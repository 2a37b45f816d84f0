"""A column `partition` that belongs to something else: no row goes where its key does not belong."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import murmur2
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from partitioning.errors import CopartitionError
from spark_integration import (
    PartitionCountError,
    RoutingError,
    checked_for_topic,
    kafka_partition,
    register,
    route,
    write_exactly_once,
)
from spark_integration.columns import AS_IT_IS, SOURCE
from spark_integration.errors import typed_error
from tests.support.broker import Kafka
from tests.support.reading import read_topic
from tests.support.tiers import sample

pytestmark = pytest.mark.every_spark

COUNT = 6
ROWS = 300


def rows(spark: SparkSession) -> DataFrame:
    key = sf.concat(sf.lit("user-"), sf.pmod("id", sf.lit(97)))
    return spark.range(0, ROWS, 1, 2).select(key.alias("key"), sf.col("id").cast("string").alias("value"))


def placed(spark: SparkSession, count: int = COUNT, profile: str = "java") -> DataFrame:
    return rows(spark).select("*", kafka_partition("key", count, profile=profile))


def as_read(df: DataFrame) -> DataFrame:
    """The rows as a source gives them, which notes nothing but the topic."""
    return df.withColumn("partition", sf.col("partition") + 0).withMetadata("partition", {SOURCE: "orders"})


def from_files(spark: SparkSession, folder: Path) -> DataFrame:
    placed(spark, 5).write.mode("overwrite").partitionBy("partition").parquet(str(folder))
    return spark.read.parquet(str(folder))


def other_key(df: DataFrame) -> DataFrame:
    return df.withColumn("key", sf.concat(sf.lit("new-"), "key"))


ORIGINS: dict[str, tuple[Callable[[SparkSession, Path], DataFrame], bool]] = {
    "its own": (lambda spark, _: placed(spark), True),
    "its own, read from another topic": (lambda spark, _: as_read(placed(spark)), True),
    "a topic of another count": (lambda spark, _: as_read(placed(spark, 5)), False),
    "the same topic, another key": (lambda spark, _: other_key(as_read(placed(spark))), False),
    "another key since": (lambda spark, _: other_key(placed(spark)), False),
    "another client": (lambda spark, _: as_read(placed(spark, profile="librdkafka")), False),
    "a union": (
        lambda spark, _: (
            placed(spark)
            .where("value >= '2'")
            .union(placed(spark, profile="librdkafka").where("value < '2'"))
        ),
        False,
    ),
    "files": (from_files, False),
}
"""Where columns come from, and whether their rows may be written."""


def refusal(action: Callable[[], object]) -> CopartitionError | None:
    """How this package refuses an action; None if it does not."""
    try:
        action()
    except Exception as error:
        refused = typed_error(error)
        if refused is None:
            raise
        return refused
    return None


def write(df: DataFrame, sink: str, broker: Kafka, topic: str, **more: Any) -> None:
    config = {"bootstrap.servers": broker.bootstrap_servers}
    if sink == "exactly once":
        write_exactly_once(df, 0, topic=topic, app_id=topic, config=config, **more)
        return
    if sink == "connector":
        writer = checked_for_topic(df, topic, config, **more).write.format("kafka")
    else:
        routed = route(df, COUNT, partition=AS_IT_IS) if sink == "routed" else df
        writer = routed.write.format("copartition").options(**more)
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic}
    writer.options(**options).mode("append").save()


SINKS = [
    *(
        pytest.param(sink, marks=pytest.mark.needs("data sources"))
        for sink in ("plain", "routed", "exactly once")
    ),
    "connector",
]
SEEDS = [
    pytest.param(seed, marks=[] if "SPARK_TEST_MATRIX" in os.environ else pytest.mark.slow)
    for seed in range(5)
]
"""Of pipelines. The matrix draws them all on each PySpark, `make slow` on the newest."""


@pytest.mark.sampled
@pytest.mark.parametrize("sink", sample([*SINKS], before_ci=4))
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_pipeline_writes_no_row_elsewhere(
    spark: SparkSession, connector: None, broker: Kafka, tmp_path: Path, sink: str, seed: int
) -> None:
    random = Random(f"{sink} {seed}")
    if sink != "connector":
        register(spark)
    for origin in random.sample([*ORIGINS], 3):
        make, sound = ORIGINS[origin]
        topic = broker.create_topic(COUNT)
        refused = refusal(partial(write, make(spark, tmp_path / "files"), sink, broker, topic))
        assert isinstance(refused, RoutingError | PartitionCountError | type(None)), (origin, refused)
        assert (refused is None) == sound, origin
        read = read_topic(broker.bootstrap_servers, topic)
        assert len(read) == ROWS or not sound
        assert [r.partition for r in read] == [murmur2(r.key or b"", COUNT) for r in read], origin


@pytest.mark.sampled
@pytest.mark.parametrize("sink", sample([*SINKS], before_ci=4))
def test_rows_lie_where_the_column_says_if_somebody_writes_that_down(
    spark: SparkSession, connector: None, broker: Kafka, sink: str
) -> None:
    if sink != "connector":
        register(spark)
    topic = broker.create_topic(COUNT)
    write(as_read(placed(spark, 5)), sink, broker, topic, partition=AS_IT_IS)
    read = read_topic(broker.bootstrap_servers, topic)
    assert [r.partition for r in read] == [murmur2(r.key or b"", 5) for r in read]


@pytest.mark.sampled
@pytest.mark.parametrize("sink", sample([*SINKS], before_ci=4))
def test_another_profile_is_asked_for_by_name(
    spark: SparkSession, connector: None, broker: Kafka, sink: str
) -> None:
    if sink != "connector":
        register(spark)
    topic = broker.create_topic(COUNT)
    write(as_read(placed(spark, profile="sarama")), sink, broker, topic, profile="sarama")
    assert len(read_topic(broker.bootstrap_servers, topic)) == ROWS
    with pytest.raises(Exception, match=r"profile 'librdkafka' puts this key into") as caught:
        write(as_read(placed(spark)), sink, broker, broker.create_topic(COUNT), profile="librdkafka")
    assert isinstance(typed_error(caught.value), RoutingError)


@pytest.mark.sampled
@pytest.mark.parametrize("origin", sample([*ORIGINS], before_ci=4))
def test_a_layout_is_by_the_rows_own_keys(spark: SparkSession, tmp_path: Path, origin: str) -> None:
    make, sound = ORIGINS[origin]
    df = make(spark, tmp_path)
    assert type(refusal(lambda: route(df, COUNT).collect())) is (type(None) if sound else RoutingError)
    assert route(df, COUNT, partition=AS_IT_IS).count() == ROWS
