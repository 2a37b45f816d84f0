"""Streams to a real broker that end in the middle, and go on from their checkpoint.

A batch is a file. No batch but the one that did not end well may be in the topic twice.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, TopicPartition, murmur2
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming import StreamingQuery

from spark_integration import kafka_partition, register, route
from tests.spark_integration.sinks.numbered import KEYS, Written
from tests.support.broker import Kafka
from tests.support.spark import start_spark
from tests.support.waiting import GENEROUS_S

WIDE = pytest.mark.slow
NIGHTLY = pytest.mark.nightly

ROOT = Path(__file__).parents[3]
PARTITIONS, ROWS = 4, 4000  # of the topic, of a batch
ARROW_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"

# The last task of the second batch fails at a row in its middle.
POISON = next(n for n in range(ROWS * 3 // 2, ROWS * 2) if murmur2(b"user-%d" % (n % KEYS), PARTITIONS) == 3)


def add_batch(folder: Path, number: int) -> None:
    """One more file; its rows go on where those of the file before ended."""
    folder.mkdir(exist_ok=True)
    rows = range(number * ROWS, (number + 1) * ROWS)
    table = {"number": pa.array(rows, pa.int64()), "key": [f"user-{row % KEYS}" for row in rows]}
    file = folder / f"{number}.parquet"
    pq.write_table(pa.table(table), file)
    os.utime(file, (0, 1_700_000_000 + number))  # Spark takes files in the order of their times


def start(
    spark: SparkSession, way: str, folder: Path, servers: str, topic: str, poison: int = -1, files: int = 1
) -> StreamingQuery:
    """Write the files of `folder / "in"`, so many a batch.

    `way` names the sink, and foreachBatch where it is meant.
    """
    options = {"kafka.bootstrap.servers": servers, "topic": topic}

    def placed(df: DataFrame) -> DataFrame:
        return route(df.withColumn("partition", kafka_partition("key", PARTITIONS)), PARTITIONS)

    def records(routed: DataFrame) -> DataFrame:
        failing = sf.when(sf.col("number") == poison, sf.raise_error(sf.lit("poison")))
        return routed.select(
            "key", "partition", failing.otherwise(sf.col("number").cast("string")).alias("value")
        )

    def write(batch: DataFrame, _batch_id: int) -> None:
        sink = way.removeprefix("foreachBatch ")
        if sink == "copartition":
            register(batch.sparkSession)
        sorted_rows = records(placed(batch).sortWithinPartitions("number"))
        sorted_rows.write.format(sink).options(**options).mode("append").save()

    schema = "number bigint, key string"
    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", files).parquet(str(folder / "in"))
    if way == "copartition":
        register(spark)
        writer = records(placed(rows)).writeStream.format("copartition").options(**options)
    else:
        writer = rows.writeStream.foreachBatch(write)
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def go_on(spark: SparkSession, way: str, folder: Path, broker: Kafka, topic: str, files: int = 1) -> Written:
    """Start again, write every file that is there, and stop; what the topic holds then."""
    query = start(spark, way, folder, broker.bootstrap_servers, topic, files=files)
    query.processAllAvailable()
    query.stop()
    return Written.read(broker.bootstrap_servers, topic)


@pytest.fixture(autouse=True)
def _small_arrow_batches(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(ARROW_BATCH)
    spark.conf.set(ARROW_BATCH, 100)
    yield
    spark.conf.set(ARROW_BATCH, before)


@pytest.mark.every_spark
@pytest.mark.parametrize(
    "end", ["failed", pytest.param("stopped", marks=WIDE), pytest.param("not committed", marks=WIDE)]
)
@pytest.mark.parametrize(
    "way",
    [
        pytest.param("foreachBatch kafka", marks=WIDE),
        pytest.param("foreachBatch copartition", marks=[NIGHTLY, pytest.mark.needs("data sources")]),
        pytest.param("copartition", marks=pytest.mark.needs("data sources")),
    ],
)
def test_nothing_is_lost_and_only_the_unfinished_batch_is_doubled(
    spark: SparkSession, connector: None, broker: Kafka, tmp_path: Path, way: str, end: str
) -> None:
    topic = broker.create_topic(PARTITIONS)
    for number in range(2):
        add_batch(tmp_path / "in", number)
    if end == "failed":
        query = start(spark, way, tmp_path, broker.bootstrap_servers, topic, POISON)
        with pytest.raises(Exception, match="terminated with exception"):  # Connect 3.5 does not say which
            query.processAllAvailable()
        there = Written.read(broker.bootstrap_servers, topic)
        assert ROWS < len(there.number) < 2 * ROWS  # so it did fail in the middle of the second batch
    else:
        go_on(spark, way, tmp_path, broker, topic)
    if end == "not committed":
        uncommit(tmp_path, 1)

    add_batch(tmp_path / "in", 2)
    written = go_on(spark, way, tmp_path, broker, topic)
    copies = written.copies().reshape(3, ROWS)
    assert {(0, 1), (2, 1)} == {(batch, count) for batch in (0, 2) for count in copies[batch]}
    assert set(copies[1]) == {"stopped": {1}, "not committed": {2}, "failed": {1, 2}}[end]
    assert written.misplaced(PARTITIONS) == 0
    assert written.latest_copies().inversions() == 0


def uncommit(folder: Path, batch: int) -> None:
    """Leave the checkpoint as a driver does that was killed after the sink had written a batch."""
    for name in (str(batch), f".{batch}.crc"):
        (folder / "checkpoint" / "commits" / name).unlink()


@pytest.mark.parametrize(
    "way",
    [
        "foreachBatch kafka",
        pytest.param("foreachBatch copartition", marks=[WIDE, pytest.mark.needs("data sources")]),
        pytest.param("copartition", marks=pytest.mark.needs("data sources")),
    ],
)
def test_the_order_that_is_promised_for_a_batch_that_several_tasks_read(
    spark: SparkSession, connector: None, broker: Kafka, tmp_path: Path, way: str
) -> None:
    topic, files = broker.create_topic(PARTITIONS), 4
    for number in range(files):
        add_batch(tmp_path / "in", number)
    go_on(spark, way, tmp_path, broker, topic, files)
    uncommit(tmp_path, 0)
    latest = go_on(spark, way, tmp_path, broker, topic, files).latest_copies()
    assert len(latest.number) == files * ROWS
    if way == "copartition":  # nothing sorts them: each file's rows, which one task read, keep their order
        parts = (latest.at(np.flatnonzero(latest.number // ROWS == file)) for file in range(files))
        assert [part.inversions() for part in parts] == [0] * files
    else:
        assert latest.inversions() == 0


def run_until_killed(folder: str, servers: str, topic: str) -> None:
    """A stream in a process of its own."""
    spark = start_spark(Path(folder), compiling=False)
    start(spark, "copartition", Path(folder), servers, topic).awaitTermination()


@pytest.mark.slow
@pytest.mark.needs("time")
@pytest.mark.needs("data sources")
def test_a_killed_driver_loses_nothing(spark: SparkSession, broker: Kafka, tmp_path: Path) -> None:
    topic = broker.create_topic(PARTITIONS)
    for number in range(8):
        add_batch(tmp_path / "in", number)
    arguments = (str(tmp_path), broker.bootstrap_servers, topic)
    call = f"from {__name__} import run_until_killed; run_until_killed(*{arguments})"
    with subprocess.Popen([sys.executable, "-c", call], cwd=ROOT, start_new_session=True) as driver:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "watch"})
        while records_in(consumer, topic) <= ROWS:
            assert driver.poll() is None, "the stream ended by itself"
            time.sleep(0.02)
        os.killpg(driver.pid, signal.SIGKILL)
        consumer.close()
    assert Written.read(broker.bootstrap_servers, topic).number.max() < 8 * ROWS - 1  # it was not done

    written = go_on(spark, "copartition", tmp_path, broker, topic)
    copies = written.copies().reshape(8, ROWS)
    assert copies.min() == 1
    assert np.count_nonzero(copies.max(axis=1) > 1) <= 1
    assert written.misplaced(PARTITIONS) == 0
    assert written.latest_copies().inversions() == 0


def records_in(consumer: Consumer, topic: str) -> int:
    """How many records a topic holds."""
    ends = [consumer.get_watermark_offsets(TopicPartition(topic, p), GENEROUS_S) for p in range(PARTITIONS)]
    return sum(end - first for first, end in ends)
