"""Frames of records, audited; topics that real clients wrote are in `test_clients`."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

from partitioning.errors import InvalidConfigError, InvalidPartitionCountError, UnknownStrategyError
from spark_integration import ColumnError, audit, audit_verdict


def frame(spark: SparkSession, rows: list[tuple[int, int, bytes | None]]) -> DataFrame:
    values = [(partition, offset, None if key is None else bytearray(key)) for partition, offset, key in rows]
    return spark.createDataFrame(values, "partition int, offset bigint, key binary")


def test_what_no_rule_explains_is_said(spark: SparkSession) -> None:
    rows = [(number % 7, number, b"user-%d" % number) for number in range(700)]
    said = audit_verdict(audit(frame(spark, rows), counts=[7]))
    assert said.startswith("The topic: 700 records in 7 partitions")
    assert "No rule explains it" in said


def test_keys_of_a_schema_registry_are_pointed_out(spark: SparkSession) -> None:
    rows = [(0, number, b"\0\0\0\0\x09user-%d" % number) for number in range(50)]
    assert "100% of the keys begin as a schema registry's" in audit_verdict(
        audit(frame(spark, rows), counts=[1])
    )


def test_records_without_keys_prove_nothing(spark: SparkSession) -> None:
    rows = [(number % 3, number, None) for number in range(30)]
    assert "Without keys nothing can be said" in audit_verdict(audit(frame(spark, rows), counts=[3]))


def test_profiles_may_be_chosen(spark: SparkSession) -> None:
    rows = [(0, number, b"user-%d" % number) for number in range(30)]
    (row,) = audit(frame(spark, rows), counts=[1], profiles=["sarama", "kafka-python"]).collect()
    assert row.same_rule == ["sarama"]


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
