"""The group that reads the flights, while its 40 consumers are restarted one after another."""

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from assignors import Topic
from copartition.simulation import Consumer, Costs, RollingRestart, Scenario
from spark_integration import simulate_rebalances

ASSIGNORS = ("range", "cooperative-sticky")
CONSUMERS = 40
POSITIONS = 188  # a second topic, so that the group has 200 partitions: some work for every consumer


@dataclass(frozen=True)
class Deploy:
    """What a rolling restart cost over many seeded runs, in medians."""

    assignor: str
    static: bool
    rebalances: float
    rebalancing_s: float
    partition_seconds: float
    longest_pause_s: float
    moved_partitions: float


def scenario(assignor: str, *, static: bool, flights_partitions: int) -> Scenario:
    """Every consumer stops for 10 s, one a minute, as a usual deployment has it; callbacks take some time."""
    consumers = tuple(Consumer(f"worker-{number:02}", static=static) for number in range(CONSUMERS))
    return Scenario(
        topics=(Topic("flights", flights_partitions), Topic("positions", POSITIONS)),
        consumers=consumers,
        events=(RollingRestart(at_ms=60_000, every_ms=60_000, down_ms=10_000),),
        assignor=assignor,
        costs=Costs(revoke_ms=500, first_fetch_ms=100),
        name=f"Rolling restart of {CONSUMERS} consumers",
    )


def deploys(spark: SparkSession, runs: int, flights_partitions: int) -> list[Deploy]:
    """Eager against cooperative, dynamic against static members, each simulated `runs` times on Spark."""
    return [
        _deploy(spark, scenario(assignor, static=static, flights_partitions=flights_partitions), runs)
        for static in (False, True)
        for assignor in ASSIGNORS
    ]


def _deploy(spark: SparkSession, planned: Scenario, runs: int) -> Deploy:
    columns = ("rebalances", "rebalancing_ms", "partition_seconds", "longest_pause_ms", "moved_partitions")
    result = simulate_rebalances(spark, planned, runs)
    median = result.agg(*(sf.percentile(column, 0.5).alias(column) for column in columns)).first()
    return Deploy(
        planned.assignor,
        planned.consumers[0].static,
        median["rebalances"],
        median["rebalancing_ms"] / 1000,
        median["partition_seconds"],
        median["longest_pause_ms"] / 1000,
        median["moved_partitions"],
    )
