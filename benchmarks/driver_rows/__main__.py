"""How many rows, and bytes of rows, reach the driver: `python -m benchmarks.driver_rows`.

Each function that sums up a DataFrame is run over the same rows in ever more tasks, and what its collects
bring to the driver is counted. Writes `measured.json`, one measurement a line, and `../driver_rows.md`.
"""

from __future__ import annotations

import argparse
import json
import pickle
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from pyspark.sql import functions as sf
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from spark_integration import audit, co_partitioned, kafka_partition, partition_profile
from tests.support.spark import start_spark

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
PAGE = HERE.parent / "driver_rows.md"

TASKS = (10, 100, 1_000)
ROWS_OF_A_TASK = 1_000
PARTITIONS = 500
GROWING = (2_000, 4_000)


def records(spark: SparkSession, name: str, tasks: int) -> DataFrame:
    """A topic as tasks read it from Parquet: each has records of all partitions."""
    rows = spark.range(0, tasks * ROWS_OF_A_TASK, 1, tasks)
    key = sf.concat(sf.lit("user-"), sf.pmod("id", sf.lit(20_000))).cast("binary")
    keyed = rows.select(sf.lit(name).alias("topic"), sf.col("id").alias("offset"), key.alias("key"))
    return keyed.select("*", kafka_partition("key", PARTITIONS))


def profile_keys(spark: SparkSession, tasks: int) -> None:
    """`partition_profile`, which has a task for each part of its shuffle."""
    spark.conf.set("spark.sql.shuffle.partitions", tasks)
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    try:
        before, after = GROWING
        found = partition_profile(records(spark, "orders", 10), "key", before, grow_to=after)
        assert found.rows == 10 * ROWS_OF_A_TASK
    finally:
        spark.conf.unset("spark.sql.shuffle.partitions")
        spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")


def audit_topic(spark: SparkSession, tasks: int) -> None:
    """`audit` of one topic."""
    audited = audit(records(spark, "orders", tasks), counts=[PARTITIONS], profiles=["java", "librdkafka"])
    assert audited.schema


def compare_topics(spark: SparkSession, tasks: int) -> None:
    """`co_partitioned` of two topics, each read by half of the tasks."""
    frames = [records(spark, name, tasks // 2) for name in ("orders", "payments")]
    assert co_partitioned(*frames, num_partitions=(PARTITIONS, PARTITIONS)).answer == "yes"


MEASUREMENTS: dict[str, Callable[[SparkSession, int], None]] = {
    f"`partition_profile`, {GROWING[0]:,} to {GROWING[1]:,} partitions": profile_keys,
    f"`audit`, {PARTITIONS} partitions": audit_topic,
    f"`co_partitioned`, two topics of {PARTITIONS} partitions": compare_topics,
}


def measure(spark: SparkSession, run: Callable[[SparkSession, int], None], tasks: int) -> dict[str, Any]:
    """What one run brings to the driver."""
    found = {"rows": 0, "bytes": 0}
    collect = ClassicDataFrame.collect

    def counting(frame: ClassicDataFrame) -> list[Any]:
        rows = collect(frame)
        found["rows"] += len(rows)
        found["bytes"] += sum(len(pickle.dumps(tuple(row))) for row in rows)
        return rows

    with patch.object(ClassicDataFrame, "collect", counting):
        run(spark, tasks)
    return found


def page(measured: list[dict[str, Any]]) -> str:
    """The table, a column for each state of the code that was measured."""
    states = list(dict.fromkeys(measurement["state"] for measurement in measured))
    lines = [
        "# Rows that reach the driver",
        "",
        "Written by `python -m benchmarks.driver_rows`, on local[2]. Rows are read by more and more tasks,",
        f"{ROWS_OF_A_TASK:,} rows each, every task with rows of all partitions; counted is what `collect`",
        "brings. What reaches the driver depends on the partitions alone: a row a partition, and up to 32",
        "rows of counts a topic.",
        "",
        "| what | tasks | " + " | ".join(f"rows, {state} | MB, {state}" for state in states) + " |",
        "|---|---:|" + "---:|---:|" * len(states),
    ]
    found = {
        (measurement["what"], measurement["tasks"], measurement["state"]): measurement
        for measurement in measured
    }
    for what in MEASUREMENTS:
        for tasks in TASKS:
            cells = []
            for state in states:
                one = found.get((what, tasks, state))
                cells += [f"{one['rows']:,}", f"{one['bytes'] / 1e6:.2f}"] if one else ["", ""]
            lines.append(f"| {what} | {tasks:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", default="now", help="name of what is measured, a column of the table")
    parser.add_argument("--tasks", type=int, nargs="+", default=TASKS)
    given = parser.parse_args()
    kept = [json.loads(line) for line in MEASURED.read_text().splitlines()] if MEASURED.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        spark = start_spark(Path(folder))
        for what, run in MEASUREMENTS.items():
            for tasks in given.tasks:
                of = {"what": what, "tasks": tasks, "state": given.state}
                kept = [measurement for measurement in kept if of.items() - measurement.items()]
                kept.append({**of, **measure(spark, run, tasks)})
                MEASURED.write_text("".join(json.dumps(measurement) + "\n" for measurement in kept))
                print(kept[-1], flush=True)
        spark.stop()
    PAGE.write_text(page(kept))


if __name__ == "__main__":
    main()
