"""Spark: the id column, routing and the sinks against what Spark itself does.

Each competitor takes its turn before each of our rounds; the table at the end divides its best round by ours.
`SAVE_TABLES=1 make bench` writes it to `benchmarks/spark.md`. BENCH_SPARK_ROWS changes the number of rows.
"""

from __future__ import annotations

import os
import platform
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyspark
import pytest
from pyspark.sql import functions as sf

from benchmarks.measured import machine
from spark_integration import hash_columns, kafka_partition, register, route
from spark_integration.hash_columns import column_function, murmur2_expression
from tests.support.broker import Broker, Kafka
from tests.support.jars import missing_tools
from tests.support.reading import read_topic
from tests.support.spark import start_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import Column, DataFrame, SparkSession

ROWS = int(os.environ.get("BENCH_SPARK_ROWS", "10_000_000"))
WRITTEN = min(4_000_000, ROWS)
PARTITIONS = 12
SMALL_TASKS = 400
ROUNDS = 5
HERE = Path(__file__).parent


class Row(NamedTuple):
    """A line of the table; times in seconds."""

    what: str
    against: str
    rows: int
    theirs: float
    ours: float

    def __str__(self) -> str:
        speeds = " | ".join(
            f"{speed:.2f}" if speed >= 0.1 else f"{speed:.4f}"
            for speed in (self.rows / self.theirs / 1e6, self.rows / self.ours / 1e6)
        )
        return f"| {self.what} | {self.against} | {speeds} | {self.theirs / self.ours:.2f} |"


class Table:
    """Runs the races and keeps what came out."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.growth: list[tuple[int, float]] = []

    def race(self, benchmark, what, against, rows, ours, theirs) -> None:
        """Our rounds, each after one of theirs."""
        seconds: dict[object, list[float]] = {ours: [], theirs: []}

        def run(side: Callable[[], object]) -> None:
            begin = time.perf_counter()
            side()
            seconds[side].append(time.perf_counter() - begin)

        theirs()
        ours()
        benchmark.group = what
        benchmark.pedantic(run, args=(ours,), setup=lambda: run(theirs), rounds=ROUNDS)
        row = Row(what, against, rows, min(seconds[theirs]), min(seconds[ours]))
        benchmark.extra_info.update(row._asdict())
        self.rows.append(row)

    def __str__(self) -> str:
        lines = "".join(f"{row}\n" for row in sorted(self.rows))
        sizes = "".join(
            f"| {rows:,} | {took:.2f} | {took / rows * 1e6:.3f} |\n" for rows, took in self.growth
        )
        return f"""# Spark: million rows a second on local[2]

PySpark {pyspark.__version__}, Python {platform.python_version()}, {machine()}.
{ROWS:,} rows (bigint, key of 8 to 24 bytes) of uncompressed Parquet into the noop sink; {WRITTEN:,} of them
to a real broker on the same two cores. Best of {ROUNDS} rounds, each after one of the competitor's.
The ratio says how many times faster we are.
Again: `BENCH_SPARK_ROWS={ROWS} SAVE_TABLES=1 make bench`.

| what | against | theirs | ours | ratio |
|---|---|---|---|---|
{lines}
`route` needs each row's partition before the exchange, which is Spark's own with the partition as its key.
Where kafka-clients is on Spark's class path (its connector brings it) the JVM computes murmur2. Elsewhere
each key goes to Python and back in Arrow batches, which is nearly all that it costs: see the function that
returns zeros. `hash()` and `repartition(n, key)` place rows by another hash than any client of Kafka.

Placed by murmur2 in Python and routed to {PARTITIONS} partitions:

| rows | seconds | seconds a million rows |
|---|---|---|
{sizes}"""


@pytest.fixture(scope="module")
def table(request) -> Iterator[Table]:
    made = Table()
    yield made
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n\n{made}")
    if os.environ.get("SAVE_TABLES"):
        (HERE / "spark.md").write_text(str(made))


@pytest.fixture(scope="module")
def spark(tmp_path_factory) -> Iterator[SparkSession]:
    session = start_spark(tmp_path_factory.mktemp("spark"), memory="4g")
    register(session)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def write_keys(spark, tmp_path_factory) -> Callable[[int], DataFrame]:
    """Rows on disk, as many as asked for."""
    folder = tmp_path_factory.mktemp("rows")

    @cache
    def rows(count: int) -> DataFrame:
        length = (8 + sf.pmod(sf.xxhash64("id"), sf.lit(17))).cast("int")
        key = sf.substring(sf.sha2(sf.col("id").cast("string"), 256), sf.lit(1), length)
        path = f"{folder}/{count}"
        spark.range(0, count, 1, 8).withColumn("key", key).write.option("compression", "none").parquet(path)
        return spark.read.parquet(path)

    return rows


@pytest.fixture
def python_only(monkeypatch) -> None:
    monkeypatch.setattr(hash_columns, "murmur2_expression", lambda _: None)


def drain(df: DataFrame) -> Callable[[], None]:
    return lambda: df.write.format("noop").mode("overwrite").save()


def sparks_hash() -> Column:
    return sf.pmod(sf.hash("key"), sf.lit(PARTITIONS))


def transport_floor() -> Column:
    def zeros(keys: pa.Array) -> pa.Array:
        return pa.array(np.zeros(len(keys), np.int32))

    return column_function("zeros", zeros, pa.binary(), pa.int32(), "int")(sf.col("key").cast("binary"))


def test_crc32_against_sparks_own_hash(benchmark, table, write_keys):
    rows = write_keys(ROWS)
    ours = kafka_partition("key", PARTITIONS, profile="librdkafka-consistent")
    assert rows.where(ours != sf.pmod(sf.crc32("key"), sf.lit(PARTITIONS))).count() == 0
    theirs = drain(rows.withColumn("partition", sparks_hash()))
    table.race(
        benchmark,
        "crc32 column",
        "pmod(hash(key), n)",
        ROWS,
        drain(rows.withColumn("partition", ours)),
        theirs,
    )


@pytest.mark.usefixtures("python_only")
@pytest.mark.parametrize(
    ("against", "column"),
    [("an Arrow function that returns zeros", transport_floor), ("pmod(hash(key), n)", sparks_hash)],
    ids=["transport", "hash"],
)
def test_murmur2_in_python(benchmark, table, write_keys, against, column):
    rows = write_keys(ROWS)
    ours = drain(rows.withColumn("partition", kafka_partition("key", PARTITIONS)))
    theirs = drain(rows.withColumn("partition", column()))
    table.race(benchmark, "murmur2 column, Python", against, ROWS, ours, theirs)


def test_murmur2_in_the_jvm_against_sparks_own_hash(benchmark, table, write_keys, monkeypatch):
    rows = write_keys(ROWS)
    if murmur2_expression(sf.lit(b"")) is None:
        pytest.skip("kafka-clients is not on Spark's class path")
    native = kafka_partition("key", PARTITIONS)
    with monkeypatch.context() as python_only:
        python_only.setattr(hash_columns, "murmur2_expression", lambda _: None)
        python = kafka_partition("key", PARTITIONS)
    assert rows.where(native != python).count() == 0
    theirs = drain(rows.withColumn("partition", sparks_hash()))
    ours = drain(rows.withColumn("partition", native))
    table.race(benchmark, "murmur2 column, JVM", "pmod(hash(key), n)", ROWS, ours, theirs)


@pytest.mark.parametrize("by", [(), ("key",)], ids=["round robin", "key"])
@pytest.mark.parametrize("engine", ["Python", "JVM"])
def test_routing_against_sparks_own(benchmark, table, write_keys, monkeypatch, engine, by):
    rows = write_keys(ROWS)
    if engine == "Python":
        monkeypatch.setattr(hash_columns, "murmur2_expression", lambda _: None)
    elif murmur2_expression(sf.lit(b"")) is None:
        pytest.skip("kafka-clients is not on Spark's class path")
    routed = route(rows.withColumn("partition", kafka_partition("key", PARTITIONS)), PARTITIONS)
    assert routed.where(sf.spark_partition_id() != sf.col("partition")).count() == 0
    table.race(
        benchmark,
        f"murmur2 in {'the JVM' if engine == 'JVM' else engine} and route",
        f"repartition({', '.join(map(str, (PARTITIONS, *by)))})",
        ROWS,
        drain(routed),
        drain(rows.repartition(PARTITIONS, *by)),
    )


@pytest.mark.usefixtures("python_only")
def test_cost_grows_with_the_rows(benchmark, table, write_keys):
    sizes = [ROWS // 10, ROWS, ROWS * 3]
    runs = {
        size: drain(
            route(write_keys(size).withColumn("partition", kafka_partition("key", PARTITIONS)), PARTITIONS)
        )
        for size in sizes
    }

    def seconds(size: int) -> float:
        begin = time.perf_counter()
        runs[size]()
        return time.perf_counter() - begin

    best = {size: min(seconds(size) for _ in range(ROUNDS)) for size in sizes}
    benchmark.pedantic(runs[sizes[0]])
    table.growth = list(best.items())


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    if "KAFKA_BOOTSTRAP_SERVERS" in os.environ:
        yield Kafka(os.environ["KAFKA_BOOTSTRAP_SERVERS"])
        return
    if missing := missing_tools():
        pytest.skip(missing)
    with Broker() as broker:
        yield Kafka(broker.bootstrap_servers)


@pytest.mark.parametrize("routed", [False, True], ids=["unrouted", "routed"])
def test_the_sink_against_sparks_own(benchmark, table, write_keys, kafka, routed):
    value = sf.repeat(sf.lit("x"), 80)
    rows = write_keys(WRITTEN).select("key", value.alias("value"))
    placed = rows.withColumn("partition", kafka_partition("key", PARTITIONS))
    placed = (route(placed, PARTITIONS) if routed else placed).cache()
    placed.count()
    topics = {name: kafka.create_topic(PARTITIONS) for name in ("kafka", "copartition")}

    def write(name: str) -> Callable[[], None]:
        options = {"kafka.bootstrap.servers": kafka.bootstrap_servers, "topic": topics[name]}
        return lambda: placed.write.format(name).options(**options).mode("append").save()

    table.race(
        benchmark,
        "format('copartition'), " + ("routed" if routed else "unrouted"),
        "format('kafka')",
        WRITTEN,
        write("copartition"),
        write("kafka"),
    )
    placed.unpersist()
    check = kafka.create_topic(PARTITIONS)
    sample = placed.limit(20_000).cache()
    topics["copartition"] = check
    sample.write.format("copartition").option("kafka.bootstrap.servers", kafka.bootstrap_servers).option(
        "topic", check
    ).mode("append").save()
    written = sorted((row.partition, row.key.encode()) for row in sample.select("partition", "key").collect())
    assert sorted((r.partition, r.key) for r in read_topic(kafka.bootstrap_servers, check)) == written
    kafka.delete_topics()


def test_many_small_tasks_against_python_alone(benchmark, table, spark, kafka):
    rows = spark.range(0, SMALL_TASKS * 100, 1, SMALL_TASKS).select(
        sf.concat(sf.lit("user-"), "id").alias("key"), sf.repeat(sf.lit("x"), 80).alias("value")
    )
    placed = rows.select("*", kafka_partition("key", PARTITIONS)).cache()
    placed.count()
    options = {"kafka.bootstrap.servers": kafka.bootstrap_servers, "topic": kafka.create_topic(PARTITIONS)}
    table.race(
        benchmark,
        f"format('copartition'), {SMALL_TASKS} tasks of 100 rows",
        "mapInArrow into noop",
        SMALL_TASKS * 100,
        lambda: placed.write.format("copartition").options(**options).mode("append").save(),
        drain(placed.mapInArrow(lambda batches: batches, placed.schema)),
    )
    placed.unpersist()
    kafka.delete_topics()
