"""What `test_cluster.py` runs on a cluster whose workers' Python has not this package."""

import os
import uuid
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import murmur2
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from partitioning.testing.mock_cluster import MockCluster
from spark_integration import (
    assert_routed,
    audit,
    audit_verdict,
    kafka_partition,
    partition_profile,
    register,
    route,
)
from spark_integration.keys import long_key
from spark_integration.shipping import ship
from tests.support.reading import read_topic

ROWS = 1000
SECRETS = {"kafka.sasl.password": "hush-password", "kafka.ssl.key.pem": "hush-key"}


@pytest.fixture
def topic(mock_cluster: MockCluster) -> str:
    name = f"cluster-{uuid.uuid4().hex[:8]}"
    mock_cluster.create_topic(name, 4)
    return name


def rows(spark: SparkSession) -> DataFrame:
    key = sf.concat(sf.lit("user-"), sf.pmod("id", sf.lit(97)))
    df = spark.range(0, ROWS, 1, 2).select(key.alias("key"), sf.col("id").cast("string").alias("value"))
    return df.select("*", kafka_partition("key", 4))


def options(mock_cluster: MockCluster, topic: str, role: str = "topic") -> dict[str, str]:
    return {"kafka.bootstrap.servers": mock_cluster.bootstrap_servers, role: topic, **SECRETS}


def check_topic(mock_cluster: MockCluster, topic: str) -> None:
    read = read_topic(mock_cluster.bootstrap_servers, topic)
    assert Counter(int(r.value or b"") for r in read) == Counter(range(ROWS))
    assert all(r.partition == murmur2(r.key, 4) for r in read)


def test_workers_lack_the_package(spark: SparkSession) -> None:
    def homes_of(batches):
        import pyarrow as pa

        for _ in batches:
            try:
                import partitioning
            except ModuleNotFoundError:
                yield pa.RecordBatch.from_pydict({"found": [""]})
            else:
                yield pa.RecordBatch.from_pydict({"found": [partitioning.__file__]})

    homes = spark.range(0, 2, 1, 2).mapInArrow(homes_of, "found string").collect()
    assert [row.found for row in homes] == ["", ""]


def test_rows_are_routed_and_profiled(spark: SparkSession) -> None:
    assert_routed(route(rows(spark), 4), 4)
    assert partition_profile(rows(spark), "key", 4).rows == ROWS
    assert [bytes(row.key) for row in spark.range(2).select(long_key("id").alias("key")).collect()] == [
        bytes(8),
        bytes(7) + b"\x01",
    ]


def test_a_batch_is_written_and_read_and_audited(
    spark: SparkSession, mock_cluster: MockCluster, topic: str
) -> None:
    register(spark)
    route(rows(spark), 4).write.format("copartition").options(**options(mock_cluster, topic)).mode(
        "append"
    ).save()
    check_topic(mock_cluster, topic)
    reader = spark.read.format("copartition").options(**options(mock_cluster, topic, "subscribe"))
    assert "by profile 'java' over 4 partitions" in audit_verdict(audit(reader.load(), counts=[4]))


def test_a_stream_is_read_and_written(
    spark: SparkSession, mock_cluster: MockCluster, topic: str, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    register(spark)
    source = f"{topic}-in"
    mock_cluster.create_topic(source, 4)
    route(rows(spark), 4).write.format("copartition").options(**options(mock_cluster, source)).mode(
        "append"
    ).save()
    reader = spark.readStream.format("copartition").options(**options(mock_cluster, source, "subscribe"))
    stream = reader.option("startingOffsets", "earliest").load().select("key", "value")
    placed = stream.select("*", kafka_partition("key", 4, spread_by=("value",)))
    writer = placed.writeStream.format("copartition").options(**options(mock_cluster, topic))
    writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    query = writer.start()
    query.awaitTermination()
    check_topic(mock_cluster, topic)
    assert not said_secrets(str(query.recentProgress))
    for file in tmp_path.rglob("*"):
        assert not (file.is_file() and said_secrets(file.read_text(errors="replace"))), file


def test_secrets_are_in_no_plan_and_no_error(
    spark: SparkSession, mock_cluster: MockCluster, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    register(spark)
    read = spark.read.format("copartition").options(**options(mock_cluster, topic, "subscribe")).load()
    read.explain(mode="extended")
    assert not said_secrets(capsys.readouterr().out)
    far = rows(spark).withColumn("partition", sf.lit(9))
    with pytest.raises(PySparkException) as failed:
        far.write.format("copartition").options(**options(mock_cluster, topic)).mode("append").save()
    assert "partition 9" in str(failed.value)
    assert not said_secrets(str(failed.value))
    gone = spark.read.format("copartition").options(**options(mock_cluster, f"no-{topic}", "subscribe"))
    with pytest.raises(PySparkException) as failed:
        gone.load().collect()
    assert not said_secrets(str(failed.value))


def test_a_shipped_package_is_there(spark: SparkSession) -> None:
    def answer(batches):
        import pyarrow as pa

        import partitioning

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"found": [partitioning.partition_for_key(b"key", 12)]})

    for _ in range(2):
        ship(spark)
    found = spark.range(0, 2, 1, 2).mapInArrow(answer, "found bigint").collect()
    assert [row.found for row in found] == [murmur2(b"key", 12)] * 2


def test_secrets_are_not_in_the_event_log() -> None:
    logs = [file for file in Path(os.environ["SPARK_TEST_EVENTS"]).rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in logs) > 10_000
    said = [file.read_text(errors="replace") for file in logs]
    assert any("SparkListenerTaskEnd" in text for text in said)
    assert not any(map(said_secrets, said))


def said_secrets(text: str) -> bool:
    return "hush" in text
