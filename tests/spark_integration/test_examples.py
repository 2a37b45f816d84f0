"""The examples that are meant to be copied, run on a real broker."""

import time
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Producer, murmur2
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from examples.backfill import backfill
from examples.migration import migrate
from spark_integration import PartitionCountError
from tests.support.broker import Kafka
from tests.support.reading import inversions, read_topic
from tests.support.waiting import GENEROUS_S

pytestmark = [pytest.mark.needs("data sources"), pytest.mark.needs("time"), pytest.mark.slow]

KEYS = [b"user-%d" % (number % 97) for number in range(3000)]


def test_a_backfill_is_ordered_and_goes_on_where_it_stopped(
    spark: SparkSession, broker: Kafka, tmp_path: Path
) -> None:
    topic = broker.create_topic(12)
    folder = tmp_path / "in"

    def add(first: int, last: int) -> None:
        rows = spark.range(first, last).select(
            sf.concat(sf.lit("user-"), sf.pmod("id", sf.lit(97))).alias("key"),
            sf.col("id").cast("string").alias("value"),
            "id",
            sf.timestamp_seconds(sf.col("id") + 1_400_000_000).alias("timestamp"),
        )
        rows.orderBy(sf.rand(1)).coalesce(1).write.mode("append").parquet(str(folder))
        time.sleep(0.01)  # the files must differ in time

    def run() -> list:
        backfill(
            spark,
            str(folder),
            broker.bootstrap_servers,
            topic,
            order_by=["id"],
            checkpoint=str(tmp_path / "checkpoint"),
            bytes_at_once=1,
        )
        return read_topic(broker.bootstrap_servers, topic)

    add(0, 1000)
    add(1000, 2000)
    assert len(run()) == 2000
    assert len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))) == 2  # a batch for each file
    add(2000, 3000)
    read = run()
    assert Counter(int(record.value or b"") for record in read) == Counter(range(3000))
    assert [r.partition for r in read] == [murmur2(r.key, 12) for r in read]
    assert inversions(read) == 0
    assert {r.timestamp for r in read} == {(n + 1_400_000_000) * 1000 for n in range(3000)}

    broker.grow_topic(topic, 13)
    add(3000, 3001)
    with pytest.raises(PartitionCountError, match="began with 12 partitions, and the topic has 13 now"):
        run()
    assert len(read_topic(broker.bootstrap_servers, topic)) == 3000


def test_a_migration_keeps_order_headers_and_timestamps(spark: SparkSession, broker: Kafka) -> None:
    source, target = broker.create_topic(12), broker.create_topic(48)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"})
    for number, key in enumerate(KEYS):
        headers = [("number", str(number).encode())]
        producer.produce(source, str(number), key=key, timestamp=1_400_000_000_000 + number, headers=headers)
    assert producer.flush(GENEROUS_S) == 0

    done = migrate(spark, broker.bootstrap_servers, source, target, [6, 12])
    assert (done.read, done.written) == (3000, 3000)
    assert "by profile 'java' over 12 partitions" in done.before
    assert "by profile 'java' over 48 partitions" in done.after
    copied = read_topic(broker.bootstrap_servers, target)
    assert [r.partition for r in copied] == [murmur2(r.key, 48) for r in copied]
    assert inversions(copied) == 0
    kept = sorted((r.key, r.value, r.timestamp, r.headers) for r in copied)
    assert kept == sorted(
        (r.key, r.value, r.timestamp, r.headers) for r in read_topic(broker.bootstrap_servers, source)
    )
