"""Tables of topics that are joined by partition, or written by it, without a shuffle and with few files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from spark_integration import kafka_partition, route
from spark_integration.columns import AS_IT_IS

PARTITIONS = 5
SETTING = "spark.sql.requireAllClusterKeysForCoPartition"
TABLES = ("joined_orders", "joined_customers")


def placed(spark: SparkSession, rows: int, name: str) -> DataFrame:
    """Rows with 20 keys, of which each has a value."""
    keyed = spark.range(0, rows, 1, 3).select(
        sf.concat(sf.lit("key-"), sf.pmod("id", sf.lit(20))).alias("key"), sf.col("id").alias(name)
    )
    return keyed.select("*", kafka_partition("key", PARTITIONS))


@pytest.fixture
def bucketed(spark: SparkSession) -> Iterator[DataFrame]:
    """The join of two tables in buckets of their partitions."""
    for table, rows in zip(TABLES, (200, 20), strict=True):
        routed = route(placed(spark, rows, table), PARTITIONS)
        routed.write.bucketBy(PARTITIONS, "partition").sortBy("key").saveAsTable(table, mode="overwrite")
    left, right = map(spark.table, TABLES)
    yield left.hint("merge").join(right, ["key", "partition"])
    spark.conf.unset(SETTING)
    for table in TABLES:
        spark.sql(f"DROP TABLE {table}")


def plan_of(df: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    df.explain()
    return capsys.readouterr().out


@pytest.mark.every_spark
@pytest.mark.parametrize(("setting", "exchanges"), [("false", 0), ("true", 2)])
def test_tables_in_buckets_of_their_partitions_join_without_an_exchange(
    spark: SparkSession, bucketed: DataFrame, capsys: pytest.CaptureFixture[str], setting: str, exchanges: int
) -> None:
    spark.conf.set(SETTING, setting)
    plan = plan_of(bucketed, capsys)
    assert "SortMergeJoin" in plan
    assert plan.count("Exchange hashpartitioning") == plan.count("Exchange") == exchanges, plan
    assert bucketed.count() == 200


@pytest.mark.parametrize("routed", [True, False])
def test_routed_rows_are_a_file_for_each_partition(spark: SparkSession, tmp_path: Path, routed: bool) -> None:
    rows = placed(spark, 200, "value")
    rows = route(rows, PARTITIONS) if routed else rows
    rows.write.partitionBy("partition").parquet(str(tmp_path / "files"))
    files = [*tmp_path.glob("files/partition=*/*.parquet")]
    assert len(files) == (PARTITIONS if routed else 3 * PARTITIONS)
    read = spark.read.parquet(str(tmp_path / "files"))
    assert route(read, PARTITIONS, partition=AS_IT_IS).count() == 200
