"""What a write costs by its partitions and rows, beside Spark's own connector: CPU and the clock, in seconds.

`python -m benchmarks.sink_costs` runs all; names of cases choose some (`small`, `batches`, `many`, `large`).
One Spark session, a broker beside it on the same machine, and the competitors in turns. CPU is that of
Spark's JVM and of all Python processes below it, not the broker's; memory is the most that one worker held.
"""

from __future__ import annotations

import os
import re
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer
from pyspark.sql import functions as sf

from spark_integration import kafka_partition, register, route, write_exactly_once
from tests.support.broker import Broker, Kafka
from tests.support.spark import start_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame, SparkSession

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
LARGE = int(os.environ.get("BENCH_LARGE_ROWS", "8000000"))
TICKS = os.sysconf("SC_CLK_TCK")
CHOSEN = re.compile(os.environ.get("BENCH_WAYS", ""))
"""Which ways are measured, by a part of their names."""
FILLINGS = int(os.environ.get("BENCH_FILLINGS", "8"))
"""How often a stream's source is filled; the first two are not counted: workers begin."""


def processes() -> dict[int, int]:
    """Ticks of CPU of this process and each one below it, with those of their children that ended, by pid."""
    parents: dict[int, int] = {}
    used: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended; its parent has its time
        pid = int(stat.parent.name)
        parents[pid], used[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    family, more = {os.getpid()}, True
    while more:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        family |= more
    return {pid: used.get(pid, 0) for pid in family}


def cpu_s() -> float:
    """CPU seconds of all processes below this one, and of those that ended there."""
    return sum(processes().values()) / TICKS


def worker_mib(*, anew: bool = False) -> int:
    """The most MiB that a Python worker of Spark has held since it began, or since this was asked `anew`."""
    most = 0
    for pid in processes():
        folder = Path(f"/proc/{pid}")
        with suppress(OSError):  # it has just ended
            if b"pyspark.daemon" in folder.joinpath("cmdline").read_bytes():
                peak = re.search(r"VmHWM:\s+(\d+) kB", folder.joinpath("status").read_text())
                most = max(most, int(peak[1]) // 1024 if peak else 0)
                if anew:
                    folder.joinpath("clear_refs").write_text("5")  # Linux counts the peak from here
    return most


class Bench:
    """A session, a broker, and what was measured."""

    def __init__(self, spark: SparkSession, kafka: Kafka, folder: Path) -> None:
        self.spark, self.kafka, self.folder = spark, kafka, folder
        self.options = {"kafka.bootstrap.servers": kafka.bootstrap_servers}
        self.config = {"bootstrap.servers": kafka.bootstrap_servers}
        self.ids = iter(range(1_000_000))

    def rows(self, count: int, tasks: int, keys: int | None = None) -> DataFrame:
        key = sf.sha2((sf.col("id") if keys is None else sf.pmod("id", sf.lit(keys))).cast("string"), 256)
        length = (8 + sf.pmod(sf.xxhash64("id"), sf.lit(17))).cast("int")
        df = self.spark.range(0, count, 1, tasks)
        return df.select(
            "id", sf.substring(key, sf.lit(1), length).alias("key"), sf.repeat(sf.lit("x"), 80).alias("value")
        )

    def race(
        self, case: str, ways: dict[str, Callable[[], object]], rounds: int = ROUNDS, warm: bool = True
    ) -> None:
        """Run the ways in turns, and print the least of each."""
        ways = {name: run for name, run in ways.items() if CHOSEN.search(name)}
        taken: dict[str, list[tuple[float, float, int]]] = {name: [] for name in ways}
        for number in range(rounds + warm):
            for name, run in ways.items():
                worker_mib(anew=True)
                cpu, begun = cpu_s(), time.perf_counter()
                run()
                figures = cpu_s() - cpu, time.perf_counter() - begun, worker_mib()
                print(f"{case}, {name}: {figures}", file=sys.stderr, flush=True)
                if number or not warm:
                    taken[name].append(figures)
        self.tell(case, {name: tuple(map(min, zip(*rows, strict=True))) for name, rows in taken.items()})

    def tell(self, case: str, taken: dict[str, tuple[float, ...]]) -> None:
        """Print a row for each way: CPU, the clock, memory, and its CPU beside that of the first."""
        base = next(iter(taken.values()))[0]
        for name, (cpu, wall, mib) in taken.items():
            print(f"| {case} | {name} | {cpu:.2f} | {wall:.1f} | {mib} | {cpu / base:.2f} |", flush=True)

    def writer(self, df: DataFrame, kind: str, topic: str) -> Callable[[], object]:
        return lambda: df.write.format(kind).options(**self.options, topic=topic).mode("append").save()

    def once(self, df: DataFrame, topic: str, **more: Any) -> Callable[[], object]:
        app, versions = f"bench-{next(self.ids)}", iter(range(1_000_000))
        # The other ways write into the same topic, so that its ledger has to be begun by name.
        return lambda: write_exactly_once(
            df, next(versions), topic=topic, app_id=app, config=self.config, first_version=0, **more
        )


def small(bench: Bench) -> None:
    """512 tasks of a few rows."""
    count = 512
    topic = bench.kafka.create_topic(count)
    rows = bench.rows(count * 20, 2).drop("id")
    placed = rows.select("*", kafka_partition("key", count)).cache()
    placed.count()
    routed = route(placed, count)
    ways = {
        "format('kafka'), routed": bench.writer(routed, "kafka", topic),
        "ours, routed": bench.writer(routed, "copartition", topic),
        "mapInArrow alone, routed": lambda: (
            routed.mapInArrow(lambda batches: batches, routed.schema)
            .write.format("noop")
            .mode("overwrite")
            .save()
        ),
        "ours, unrouted": bench.writer(placed, "copartition", topic),
        "ours, exactly once": bench.once(rows, topic),
    }
    ways["ours, route(tasks=4)"] = bench.writer(route(placed, count, tasks=4), "copartition", topic)
    bench.race("512 partitions, 10,240 rows", ways)


def many(bench: Bench) -> None:
    """4,096 partitions."""
    count = 4096
    topic = bench.kafka.create_topic(count)
    rows = bench.rows(600_000, 2).drop("id").cache()
    rows.count()
    placed = rows.select("*", kafka_partition("key", count)).cache()
    placed.count()
    ways = {
        "format('kafka'), routed": bench.writer(route(placed, count), "kafka", topic),
        "ours, route(tasks=4)": bench.writer(route(placed, count, tasks=4), "copartition", topic),
        "ours, exactly once": bench.once(rows, topic),
    }
    bench.race("4,096 partitions, 600,000 rows", ways, rounds=1, warm=False)


def large(bench: Bench) -> None:
    """Many rows, routed and sorted."""
    count = 48
    topic = bench.kafka.create_topic(count)
    rows = bench.rows(LARGE, 8)
    parquet = f"{bench.folder}/large"
    rows.write.parquet(parquet)
    rows = bench.spark.read.parquet(parquet)
    placed = rows.select("*", kafka_partition("key", count))
    routed = route(placed, count).sortWithinPartitions("id").drop("id")
    ways = {
        "format('kafka')": bench.writer(routed, "kafka", topic),
        "ours, at least once": bench.writer(routed, "copartition", topic),
        "ours, exactly once": bench.once(rows, topic, order_by="id"),
    }
    shared = route(placed, count, tasks=8).sortWithinPartitions("partition", "id").drop("id")
    ways["ours, route(tasks=8)"] = bench.writer(shared, "copartition", topic)
    bench.race(f"48 partitions, {LARGE:,} rows", ways, rounds=1, warm=False)


def batches(bench: Bench) -> None:
    """Micro-batches of 480 records in 48 partitions."""
    count = 48
    source, topic = bench.kafka.create_topic(count), bench.kafka.create_topic(count)
    producer = Producer({**bench.config, "linger.ms": 10_000})  # a flush sends all in one request
    numbers = iter(range(10**9))

    def fill() -> None:
        for row in range(480):
            producer.produce(source, b"value", b"key-%d" % next(numbers), partition=row % count)
        producer.flush()

    def read(kind: str, **more: str) -> DataFrame:
        options = {**bench.options, **more, "subscribe": source, "startingOffsets": "latest"}
        return bench.spark.readStream.format(kind).options(**options).load().select("key", "value")

    def straight(df: DataFrame, kind: str, **more: str) -> Any:
        return df.writeStream.format(kind).options(**bench.options, topic=topic, **more)

    def foreach(df: DataFrame) -> Any:
        app = f"bench-{next(bench.ids)}"

        def write(batch: DataFrame, number: int) -> None:
            write_exactly_once(batch, number, topic=topic, app_id=app, config=bench.config, first_version=0)

        return df.writeStream.foreachBatch(write)

    def place(df: DataFrame) -> DataFrame:
        return df.select("*", kafka_partition("key", count, spread_by=("value",)))

    # By default each task of the connector waited for half a second in a fetch here, though its records were
    # there. What else reads with the connector has this setting, too.
    soon = {"kafka.fetch.max.wait.ms": "10"}
    ways = {
        "connector to connector": straight(place(read("kafka")), "kafka"),
        "connector to connector, fetch.max.wait.ms=10": straight(place(read("kafka", **soon)), "kafka"),
        "connector to connector, routed": straight(route(place(read("kafka")), count), "kafka"),
        "connector to ours": straight(place(read("kafka", **soon)), "copartition"),
        "ours to ours": straight(place(read("copartition")), "copartition"),
        "ours to ours, routed": straight(route(place(read("copartition")), count), "copartition"),
        "connector to exactly once": foreach(read("kafka", **soon)),
        "ours to exactly once": foreach(read("copartition")),
    }
    ways["ours to ours, route(tasks=2)"] = straight(
        route(place(read("copartition")), count, tasks=2), "copartition"
    )
    chosen = {
        name: writer.option("checkpointLocation", f"{bench.folder}/checkpoint-{next(bench.ids)}")
        for name, writer in ways.items()
        if CHOSEN.search(name)
    }
    # The first pass is for Java, which compiles then what all ways have in common.
    for fillings in (3, FILLINGS):
        taken = {}
        for name, writer in chosen.items():
            taken[name] = stream_costs(writer, fill, fillings)
            print(f"480 records, {name}: {taken[name]}", file=sys.stderr, flush=True)
    bench.tell("480 records, 48 partitions", taken)


def stream_costs(writer: Any, fill: Callable[[], object], fillings: int) -> tuple[float, ...]:
    """CPU of a filling of the source, the clock's median, both without the first two; a worker's memory."""
    worker_mib(anew=True)
    query = writer.start()
    while not (query.lastProgress or query.status["message"].startswith("Waiting")):
        time.sleep(0.1)
    clock = []
    for number in range(fillings):
        if number == 2:
            cpu = cpu_s()
        fill()
        begun = time.perf_counter()
        query.processAllAvailable()
        clock.append(time.perf_counter() - begun)
    cpu = cpu_s() - cpu
    query.stop()
    return cpu / (fillings - 2), statistics.median(clock[2:]), worker_mib()


CASES = {"small": small, "batches": batches, "many": many, "large": large}


def main(names: Iterable[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, Broker() as broker:
        spark = start_spark(Path(folder), memory="3g")
        register(spark)
        print("| case | way | CPU, s | clock, s | memory, MiB | of the first |\n|---|---|---|---|---|---|")
        for name in names:
            CASES[name](Bench(spark, Kafka(broker.bootstrap_servers), Path(folder)))
        spark.stop()
        print(f"load average at the end: {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main(sys.argv[1:] or CASES)
