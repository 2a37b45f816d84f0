from dataclasses import asdict, replace

import pytest
from pyspark.sql import SparkSession

from assignors import Topic, simulate
from assignors.errors import ScenarioError
from assignors.simulation import Consumer, Scenario, rolling_restart
from partitioning.errors import UnknownStrategyError
from spark_integration import simulate_rebalances

CONSUMERS = tuple(Consumer(f"worker-{number}") for number in range(4))
DEPLOY = Scenario(
    topics=(Topic("orders", 12),),
    consumers=CONSUMERS,
    events=rolling_restart(CONSUMERS, start_ms=10_000, every_ms=60_000, down_ms=5_000),
    seed=7,
)


def test_a_row_is_what_the_run_says_of_itself(spark: SparkSession) -> None:
    rows = simulate_rebalances(spark, DEPLOY, 5).orderBy("run").collect()
    expected = [{"run": run, **asdict(simulate(replace(DEPLOY, seed=7 + run)).summary)} for run in range(5)]
    assert [row.asDict() for row in rows] == expected


def test_the_number_of_tasks_changes_nothing(spark: SparkSession) -> None:
    by_tasks = [
        simulate_rebalances(spark, DEPLOY, 9, tasks=tasks).orderBy("run").collect() for tasks in (1, 3, 9)
    ]
    assert by_tasks[0] == by_tasks[1] == by_tasks[2]
    assert len({row.rebalancing_ms for row in by_tasks[0]}) == 9


@pytest.mark.parametrize(
    ("error", "scenario", "runs", "tasks"),
    [
        (ScenarioError, DEPLOY, 0, None),
        (ScenarioError, DEPLOY, 5, 0),
        (ScenarioError, replace(DEPLOY, seed=2**63), 1, None),
        (UnknownStrategyError, replace(DEPLOY, assignor="stickyy"), 1, None),
    ],
)
def test_what_cannot_run_is_refused_on_the_driver(
    spark: SparkSession, error: type[Exception], scenario: Scenario, runs: int, tasks: int | None
) -> None:
    with pytest.raises(error):
        simulate_rebalances(spark, scenario, runs, tasks=tasks)
