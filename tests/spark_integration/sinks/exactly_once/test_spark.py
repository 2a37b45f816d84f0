"""Exactly once through Spark: batches, micro-batches, and what becomes of a failed one."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import murmur2
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from partitioning.clients.contact import list_offsets
from partitioning.errors import CopartitionError
from spark_integration import (
    ColumnError,
    LedgerAheadError,
    LedgerMissingError,
    PartitionCountError,
    RerunDiffersError,
    RoutingError,
    kafka_partition,
    register,
    route,
    write_exactly_once,
)
from spark_integration.errors import typed_error
from tests.support.broker import Kafka
from tests.support.reading import inversions, read_topic
from tests.support.waiting import SOON_S, wait_until

pytestmark = pytest.mark.needs("data sources")

ROWS = 5_000


def routed(df: DataFrame, partitions: int) -> DataFrame:
    placed = df.select("*", kafka_partition("key", partitions))
    return route(placed, partitions).sortWithinPartitions(sf.col("value").cast("int"))


def rows(spark: SparkSession, first: int = 0) -> DataFrame:
    key = sf.concat(sf.lit("user-"), sf.pmod("id", sf.lit(97)))
    return spark.range(first, first + ROWS, 1, 4).select(
        key.alias("key"), sf.col("id").cast("string").alias("value")
    )


def write(df: DataFrame, broker: Kafka, topic: str, app_id: str, version: int, **settings: str | int) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic, **settings}
    writer = df.write.format("copartition").options(**options)
    writer.option("txnAppId", app_id).option("txnVersion", version).mode("append").save()


@pytest.mark.every_spark
def test_a_version_is_written_once_however_often_it_comes(spark: SparkSession, broker: Kafka) -> None:
    register(spark)
    topic, app_id = broker.create_topic(5), uuid.uuid4().hex
    for version in (0, 0, 1, 1, 1):
        write(routed(rows(spark, version * ROWS), 5), broker, topic, app_id, version)
    read = read_topic(broker.bootstrap_servers, topic)
    assert Counter(int(record.value or b"") for record in read) == Counter(range(2 * ROWS))
    assert [r.partition for r in read if r.key] == [murmur2(r.key, 5) for r in read if r.key]
    assert inversions(read) == 0


@pytest.mark.every_spark
def test_a_micro_batch_is_placed_routed_sorted_and_written_once(
    spark: SparkSession, broker: Kafka, tmp_path: Path
) -> None:
    topic, app_id = broker.create_topic(3), uuid.uuid4().hex
    config = {"bootstrap.servers": broker.bootstrap_servers}  # Connect sends what the function names

    def write_twice(batch: DataFrame, batch_id: int) -> None:
        (tmp_path / f"batch-{batch_id}").touch()
        rows = batch.withColumn("number", sf.col("value").cast("int"))
        for shuffled in (rows, rows.orderBy(sf.rand())):
            write_exactly_once(
                shuffled, batch_id, topic=topic, app_id=app_id, config=config, order_by=["number"]
            )

    for first in (0, ROWS):
        rows(spark, first).write.mode("append").parquet(str(tmp_path / "in"))
        stream = spark.readStream.schema("key string, value string").parquet(str(tmp_path / "in"))
        writer = stream.writeStream.foreachBatch(write_twice).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    read = read_topic(broker.bootstrap_servers, topic)
    assert {path.name for path in tmp_path.glob("batch-*")} == {"batch-0", "batch-1"}
    assert Counter(int(record.value or b"") for record in read) == Counter(range(2 * ROWS))
    assert [r.partition for r in read if r.key] == [murmur2(r.key, 3) for r in read if r.key]
    assert inversions(read) == 0


def test_a_version_without_rows_is_a_version(spark: SparkSession, broker: Kafka) -> None:
    topic, app_id = broker.create_topic(5), uuid.uuid4().hex
    config = {"bootstrap.servers": broker.bootstrap_servers}
    for version, written in enumerate([rows(spark), rows(spark).where("false"), rows(spark, ROWS)]):
        for _ in range(2):
            write_exactly_once(written, version, topic=topic, app_id=app_id, config=config)
    read = read_topic(broker.bootstrap_servers, topic)
    assert Counter(int(record.value or b"") for record in read) == Counter(range(2 * ROWS))


def test_a_micro_batch_that_a_filter_empties_does_not_end_the_stream(
    spark: SparkSession, broker: Kafka, tmp_path: Path
) -> None:
    register(spark)
    topic = broker.create_topic(3)
    for first in (0, ROWS, 2 * ROWS):
        rows(spark, first).write.mode("append").parquet(str(tmp_path / "in"))
        run_stream(spark, broker, topic, tmp_path, where=f"cast(value as int) < {ROWS} or {first} > {ROWS}")
    read = read_topic(broker.bootstrap_servers, topic)
    assert Counter(int(record.value or b"") // ROWS for record in read) == {0: ROWS, 2: ROWS}


def test_a_topic_that_has_grown_gets_the_next_version_only(spark: SparkSession, broker: Kafka) -> None:
    topic, app_id = broker.create_topic(2), uuid.uuid4().hex

    def write(version: int) -> None:
        config = {"bootstrap.servers": broker.bootstrap_servers}
        write_exactly_once(rows(spark), version, topic=topic, app_id=app_id, config=config)

    write(0)
    broker.grow_topic(topic, 3)
    write(0)
    assert len(read_topic(broker.bootstrap_servers, topic)) == ROWS
    write(1)
    read = read_topic(broker.bootstrap_servers, topic)
    assert {record.partition for record in read} == {0, 1, 2}
    assert len(read) == 2 * ROWS


def failing_once(
    path: Path, partition: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The same rows, in the middle of which the first task to come to this partition fails."""

    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, 100)
            if partition in batch["partition"].to_pylist() and not path.exists():
                path.touch()
                raise RuntimeError("a task of this test fails")
            yield batch.slice(100)

    return fail


@pytest.mark.every_spark
def test_a_failed_write_is_repeated_without_a_copy(
    spark: SparkSession, broker: Kafka, tmp_path: Path
) -> None:
    register(spark)
    topic, app_id = broker.create_topic(3), uuid.uuid4().hex
    sound = routed(rows(spark), 3)
    failing = sound.mapInArrow(failing_once(tmp_path / "failed", 1), sound.schema)
    noted = failing.withMetadata("partition", sound.schema["partition"].metadata)
    # Longer than the wait below: no broker ends the transaction of the failed task meanwhile.
    timeout = {"kafka.transaction.timeout.ms": 900_000}
    with pytest.raises(Exception, match="a task of this test fails"):
        write(noted, broker, topic, app_id, 0, **timeout)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    places = [(topic, partition) for partition in range(3)]

    def is_readable_to_its_end() -> bool:
        readable, whole = (
            list_offsets(admin, places, "latest", committed=committed, within_s=SOON_S)
            for committed in (True, False)
        )
        return readable == whole

    wait_until(is_readable_to_its_end)  # no reader waits for what the failed task left
    assert len(read_topic(broker.bootstrap_servers, topic)) < ROWS
    write(noted, broker, topic, app_id, 0)
    read = read_topic(broker.bootstrap_servers, topic)
    assert Counter(int(record.value or b"") for record in read) == Counter(range(ROWS))
    assert inversions(read) == 0


def test_rows_that_are_others_each_time_are_refused(spark: SparkSession, broker: Kafka) -> None:
    register(spark)
    topic, app_id = broker.create_topic(1), uuid.uuid4().hex

    def draw() -> DataFrame:
        """Drawn anew by each call; one DataFrame draws the same each time, by a seed of its own."""
        return routed(rows(spark).withColumn("value", (sf.rand() * 10**9).cast("int").cast("string")), 1)

    write(draw(), broker, topic, app_id, 0)
    with pytest.raises(Exception, match=r"\S") as caught:
        write(draw(), broker, topic, app_id, 0)
    assert isinstance(typed_error(caught.value), RerunDiffersError)
    assert len(read_topic(broker.bootstrap_servers, topic)) == ROWS


WRONG: dict[str, tuple[Callable[[DataFrame], DataFrame], type[CopartitionError]]] = {
    "not routed": (lambda df: df.select("*", kafka_partition("key", 3)), RoutingError),
    "routed, then moved": (lambda df: routed(df, 3).coalesce(1), RoutingError),
    "with lanes": (lambda df: route(df.select("*", kafka_partition("key", 3)), 3, lanes=2), RoutingError),
    "for another count": (lambda df: routed(df, 2), PartitionCountError),
    "not placed": (lambda df: df, ColumnError),
}


@pytest.mark.parametrize(("change", "error"), WRONG.values(), ids=WRONG)
def test_rows_that_are_not_laid_out_as_the_topic_are_refused(
    spark: SparkSession,
    broker: Kafka,
    change: Callable[[DataFrame], DataFrame],
    error: type[CopartitionError],
) -> None:
    register(spark)
    topic = broker.create_topic(3)
    with pytest.raises(Exception, match=r"\S") as caught:
        write(change(rows(spark)), broker, topic, uuid.uuid4().hex, 0)
    assert isinstance(typed_error(caught.value), error)
    assert read_topic(broker.bootstrap_servers, topic) == []


def run_stream(
    spark: SparkSession,
    broker: Kafka,
    topic: str,
    folder: Path,
    checkpoint: str = "checkpoint",
    where: str = "true",
    **more: str,
) -> None:
    """Write the files of `folder / "in"` that the checkpoint does not know."""
    stream = spark.readStream.schema("key string, value string").parquet(str(folder / "in")).where(where)
    placed = route(stream.select("*", kafka_partition("key", 3)), 3)
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic, "exactlyOnce": "true"}
    writer = placed.writeStream.format("copartition").options(**options, **{"txnAppId": topic} | more)
    writer = writer.option("checkpointLocation", str(folder / checkpoint)).trigger(availableNow=True)
    writer.start().awaitTermination()


@pytest.mark.every_spark
def test_a_stream_writes_each_micro_batch_once_and_nothing_after_its_checkpoint_was_lost(
    spark: SparkSession, broker: Kafka, tmp_path: Path
) -> None:
    register(spark)
    topic = broker.create_topic(3)

    def refused(checkpoint: str, **more: str) -> CopartitionError | None:
        with pytest.raises(Exception, match=r"\S") as caught:
            run_stream(spark, broker, topic, tmp_path, checkpoint, **more)
        return typed_error(caught.value)

    for first in (0, ROWS):
        rows(spark, first).coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
        run_stream(spark, broker, topic, tmp_path)
        if first == 0:
            for name in ("0", ".0.crc"):  # as if the driver had died before it was written
                (tmp_path / "checkpoint" / "commits" / name).unlink()
    read = read_topic(broker.bootstrap_servers, topic)
    assert Counter(int(record.value or b"") for record in read) == Counter(range(2 * ROWS))
    assert isinstance(refused("lost"), LedgerAheadError)
    assert isinstance(refused("another id", txnAppId=uuid.uuid4().hex), LedgerMissingError)
    assert len(read_topic(broker.bootstrap_servers, topic)) == 2 * ROWS
    run_stream(spark, broker, topic, tmp_path, "meant", txnAppId=uuid.uuid4().hex, txnFirstVersion="0")
    assert len(read_topic(broker.bootstrap_servers, topic)) == 4 * ROWS
