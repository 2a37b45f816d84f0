"""Frames of records, audited; topics that real clients wrote are in `test_clients`."""

from collections import Counter
from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from partitioning import partition_batch
from partitioning.errors import InvalidConfigError, InvalidPartitionCountError, UnknownStrategyError
from spark_integration import ColumnError, audit, audit_verdict
from spark_integration.auditing import counting
from spark_integration.auditing.plan import _time, checked_records


def frame(spark: SparkSession, rows: list[tuple[int, int, bytes | None]]) -> DataFrame:
    values = [(partition, offset, None if key is None else bytearray(key)) for partition, offset, key in rows]
    return spark.createDataFrame(values, "partition int, offset bigint, key binary")


def written_by(profile: str, num_partitions: int, keys: list[bytes]) -> list[tuple[int, int, bytes | None]]:
    """Partition, offset and key of each record."""
    ends: Counter[int] = Counter()
    rows: list[tuple[int, int, bytes | None]] = []
    for key, place in zip(keys, partition_batch(keys, num_partitions, profile=profile).tolist(), strict=True):
        rows.append((place, ends[place], key))
        ends[place] += 1
    return rows


def test_what_no_rule_explains_is_said(spark: SparkSession) -> None:
    rows = [(number % 7, number, b"user-%d" % number) for number in range(700)]
    said = audit_verdict(audit(frame(spark, rows), counts=[7]))
    assert said.startswith("The topic: 700 records in 7 partitions")
    assert "No rule explains it" in said


def test_keys_of_a_schema_registry_are_pointed_out(spark: SparkSession) -> None:
    rows = written_by("java", 2, [b"\0\0\0\0\x09user-%d" % number for number in range(50)])
    audited = audit(frame(spark, rows))
    assert {tuple(row.forms.items()) for row in audited.collect()} == {(("registry", 50),)}
    assert "100% of the keys begin as a schema registry's" in audit_verdict(audited)


def test_records_without_keys_prove_nothing(spark: SparkSession) -> None:
    rows = [(number % 3, number, None) for number in range(30)]
    assert "Without keys nothing can be said" in audit_verdict(audit(frame(spark, rows), counts=[3]))


def test_profiles_may_be_chosen(spark: SparkSession) -> None:
    rows = written_by("sarama", 3, [b"user-%d" % number for number in range(90)])
    found = audit(frame(spark, rows), counts=[3], profiles=["sarama", "kafka-python"]).collect()
    assert {tuple(row.same_rule) for row in found} == {("sarama",)}


def test_what_is_looked_at_before_depends_on_the_partitions_not_on_the_tasks(spark: SparkSession) -> None:
    rows = written_by("java", 3, [b"user-%d" % number for number in range(900)])
    records = checked_records(frame(spark, rows).repartition(9)).withColumn("task", sf.spark_partition_id())
    first = counting._first_records(records).collect()
    assert sorted(row.partition for row in first) == [0, 1, 2]
    assert [len(row.records) for row in first] == [counting.HEAD_OF_A_PARTITION] * 3
    assert {row.last_task for row in first} == {8}


def test_counts_of_many_tasks_are_merged_in_turns(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = written_by("java", 3, [b"user-%d" % number for number in range(900)])
    expected = audit(frame(spark, rows).coalesce(1), counts=[3]).collect()
    monkeypatch.setattr(counting, "TASKS_MERGED", 2)
    assert audit(frame(spark, rows).repartition(9), counts=[3]).collect() == expected


@pytest.mark.every_spark
def test_a_growth_to_a_multiple_is_found_by_tasks_that_read_one_partition_each(spark: SparkSession) -> None:
    keys = [b"user-%d" % number for number in range(3000)]
    rows = written_by("java", 4, keys)
    ends = Counter(partition for partition, *_ in rows)
    rows += [
        (partition, ends[partition] + offset, key) for partition, offset, key in written_by("java", 8, keys)
    ]
    apart = frame(spark, rows).repartitionByRange(8, "partition")
    found = audit(apart).orderBy("partition", "first_offset").collect()
    spans = [(row.partition, row.num_partitions) for row in found]
    assert spans == [(low, count) for low in range(4) for count in (4, 8)] + [
        (high, 8) for high in range(4, 8)
    ]
    assert {(row.profile, row.certainty) for row in found} == {("java", "sure")}


def test_a_writer_that_comes_late_is_found_by_every_task(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "HEAD_OF_A_PARTITION", 8)
    keys = [b"user-%d" % number for number in range(1200)]
    rows = written_by("java", 3, keys)
    ends = Counter(partition for partition, *_ in rows)
    rows += [
        (partition, ends[partition] + at, key) for partition, at, key in written_by("librdkafka", 3, keys)
    ]
    found = audit(frame(spark, rows).repartitionByRange(3, "partition")).orderBy("first_offset").collect()
    assert [row.profile for row in found] == ["java"] * 3 + ["librdkafka"] * 3
    assert all(row.explained == row.rows for row in found)


def test_times_are_told_where_there_are_some(spark: SparkSession) -> None:
    rows = written_by("java", 1, [b"user-%d" % number for number in range(40)])
    timed = frame(spark, rows).withColumn("timestamp", sf.timestamp_seconds(sf.col("offset") + 1_700_000_000))
    (row,) = audit(timed).collect()
    assert (row.last_time - row.first_time).total_seconds() == 39


@pytest.mark.every_spark
def test_two_topics_in_one_frame_are_audited_apart(spark: SparkSession) -> None:
    keys = [b"user-%d" % number for number in range(400)]
    topics = [
        frame(spark, written_by(profile, count, keys)).withColumn("topic", sf.lit(profile))
        for profile, count in (("java", 3), ("librdkafka", 5))
    ]
    found = (
        audit(topics[0].union(topics[1])).select("topic", "profile", "num_partitions").distinct().collect()
    )
    assert sorted(map(tuple, found)) == [("java", "java", 3), ("librdkafka", "librdkafka", 5)]


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (InvalidConfigError, lambda df: audit(df, counts=[])),
        (InvalidConfigError, lambda df: audit(df, counts=[3], profiles=[])),
        (InvalidPartitionCountError, lambda df: audit(df, counts=[0])),
        (UnknownStrategyError, lambda df: audit(df, counts=[3], profiles=["jav"])),
        (ColumnError, lambda df: audit(df.drop("offset"), counts=[3])),
    ],
)
def test_meaningless_arguments_are_refused(
    spark: SparkSession, error: type[Exception], call: Callable[[DataFrame], DataFrame]
) -> None:
    with pytest.raises(error):
        call(frame(spark, [(0, 0, b"key")]))


@pytest.mark.parametrize("milliseconds", [2**63 - 1, -(2**63), 253_402_300_800_000])
def test_a_time_that_no_calendar_has_is_null(milliseconds: int) -> None:
    assert _time(milliseconds) is None
    assert _time(0) is not None
