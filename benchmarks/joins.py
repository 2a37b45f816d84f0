"""Joins of two tables of topics, and files of one, by how they are laid out: CPU and the clock, in seconds.

`python -m benchmarks.joins` prints a table. The ways take turns; CPU is that of Spark's JVM and of all Python
processes below it. `docs/spark.md` has the recipe of the last join.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from benchmarks.sink_costs import cpu_s
from spark_integration import kafka_partition, route
from tests.support.spark import start_spark

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

ROWS = int(os.environ.get("BENCH_ROWS", "2000000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "2"))
PARTITIONS = 48


def drain(df: DataFrame) -> Callable[[], None]:
    return lambda: df.write.format("noop").mode("overwrite").save()


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        spark = start_spark(folder, memory="3g")
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
        key = sf.concat(sf.lit("customer-"), sf.pmod(sf.xxhash64("id"), sf.lit(ROWS // 10)))
        sides = {}
        for side, rows in (("orders", ROWS), ("customers", ROWS // 4)):
            keyed = spark.range(0, rows, 1, 4).select(key.alias("key"), sf.col("id").alias(side))
            keyed.write.parquet(f"{folder}/{side}")
            placed = spark.read.parquet(f"{folder}/{side}").select("*", kafka_partition("key", PARTITIONS))
            sides[side] = placed
            routed = route(placed, PARTITIONS)
            routed.write.bucketBy(PARTITIONS, "partition").sortBy("key").saveAsTable(side)
        spark.conf.set("spark.sql.requireAllClusterKeysForCoPartition", "false")
        left, right = sides.values()
        bucketed = spark.table("orders").join(spark.table("customers"), ["key", "partition"])
        joins = {
            "plain, on the key": left.drop("partition").join(right.drop("partition"), "key"),
            "both sides routed": route(left, PARTITIONS).join(route(right, PARTITIONS), ["key", "partition"]),
            "tables in buckets of partitions": bucketed,
        }
        assert len({joined.count() for joined in joins.values()}) == 1
        ways: dict[str, Callable[[], object]] = {f"join: {name}": drain(df) for name, df in joins.items()}
        for what, df in (("as it comes", left), ("routed", route(left, PARTITIONS))):
            files = df.write.partitionBy("partition").mode("overwrite")
            ways[f"Parquet by partition: {what}"] = lambda files=files: files.parquet(f"{folder}/files")
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        counts = {}
        for _ in range(ROUNDS):
            for name, way in ways.items():
                cpu, begun = cpu_s(), time.perf_counter()
                way()
                taken[name].append((cpu_s() - cpu, time.perf_counter() - begun))
                counts[name] = len([*folder.glob("files/partition=*/*.parquet")])
        print("| what | CPU, s | clock, s | files |\n|---|---|---|---|")
        for name, figures in taken.items():
            cpu, clock = (min(column) for column in zip(*figures, strict=True))
            print(f"| {name} | {cpu:.1f} | {clock:.1f} | {counts[name] if 'Parquet' in name else ''} |")
        spark.stop()
    print(f"load average at the end: {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
