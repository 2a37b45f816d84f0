import os
from dataclasses import asdict, replace

import pytest
from pyspark.sql import SparkSession

from assignors import Topic, register_assignor
from assignors.strategies import RangeAssignor
from copartition import simulate
from copartition.simulation import Consumer, Join, Leave, Load, RollingRestart, Scenario, grid
from copartition.simulation.grid import cell_scenario, cells
from partitioning.errors import MissingDependencyError, ScenarioError, UnknownStrategyError
from spark_integration import simulate_grid, simulate_rebalances, simulation

CONSUMERS = tuple(Consumer(f"worker-{number}") for number in range(4))
DEPLOY = Scenario(
    topics=(Topic("orders", 12),),
    consumers=CONSUMERS,
    events=(RollingRestart(at_ms=10_000, every_ms=60_000, down_ms=5_000),),
    seed=7,
)
LEAVING = replace(DEPLOY, events=(Leave(10_000, "worker-3"),))
GRID = {
    "assignor": ["range", "cooperative-sticky"],
    "members": [4, 6],
    "session.timeout.ms": [10_000, 45_000],
}


def test_numbers_of_things_are_whole_in_a_row() -> None:
    whole = [name for name, kind in simulation.FIGURES.items() if kind == "bigint"]
    assert whole == ["seed", "rebalances", "moved_partitions", "unassigned_partitions"]


@pytest.mark.every_spark
def test_a_row_is_what_the_run_says_of_itself(spark: SparkSession) -> None:
    rows = simulate_rebalances(spark, DEPLOY, 5).collect()
    expected = [{"run": run, **asdict(simulate(replace(DEPLOY, seed=7 + run)).summary)} for run in range(5)]
    assert [row.asDict() for row in rows] == expected


def test_a_row_of_a_grid_is_what_the_run_of_its_cell_says_of_itself(spark: SparkSession) -> None:
    rows = simulate_grid(
        spark, DEPLOY, {"assignor": ["range", "sticky"], "static": [False, True]}, 2
    ).collect()
    expected = [
        {
            "assignor": assignor,
            "static": static,
            "run": run,
            **asdict(
                simulate(
                    replace(
                        DEPLOY,
                        assignor=assignor,
                        consumers=tuple(replace(consumer, static=static) for consumer in CONSUMERS),
                        seed=7 + run,
                    )
                ).summary
            ),
        }
        for run in range(2)
        for assignor in ("range", "sticky")
        for static in (False, True)
    ]
    assert [row.asDict() for row in rows] == expected


def test_the_number_of_tasks_changes_no_byte(spark: SparkSession) -> None:
    by_tasks = [simulate_grid(spark, DEPLOY, GRID, 9, tasks=tasks).collect() for tasks in (1, 3, 64)]
    assert repr(by_tasks[0]) == repr(by_tasks[1]) == repr(by_tasks[2])
    assert len({(row.assignor, row.members, row.rebalancing_ms) for row in by_tasks[0]}) == 4 * 9


def test_the_driver_builds_no_cell(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = os.getpid()

    def build(scenario: Scenario, cell: dict[str, object]) -> Scenario:
        assert os.getpid() != driver
        return cell_scenario(scenario, cell)

    for module in (simulation, grid):
        monkeypatch.setattr(module, "cell_scenario", build)
    assert simulate_grid(spark, DEPLOY, {"members": [4, 6]}, 1).count() == 2


def test_every_task_has_runs_of_every_cell(spark: SparkSession) -> None:
    shares = simulate_grid(spark, DEPLOY, GRID, 4, tasks=4).toPandas()
    tasks = [shares[start : start + 8] for start in range(0, 32, 8)]
    assert all(
        len(task[["assignor", "members", "session_timeout_ms"]].drop_duplicates()) == 8 for task in tasks
    )


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ({"members": 2}, ["worker-0", "worker-1"]),
        ({"members": 6}, ["worker-0", "worker-1", "worker-2", "worker-3", "worker-5", "worker-6"]),
    ],
)
def test_members_are_the_first_of_the_scenario_and_more_of_the_kind_of_its_last(
    cell: dict[str, int], expected: list[str]
) -> None:
    scenario = replace(DEPLOY, events=(Join(5_000, Consumer("worker-4", static=True)),))
    consumers = cell_scenario(scenario, cell).consumers
    assert [consumer.name for consumer in consumers] == expected
    assert not any(consumer.static for consumer in consumers)


def test_static_is_meant_for_those_that_join_later_too() -> None:
    scenario = replace(DEPLOY, events=(Join(5_000, Consumer("worker-4")),))
    (join,) = cell_scenario(scenario, {"static": True}).events
    assert isinstance(join, Join)
    assert join.consumer == Consumer("worker-4", static=True)


def test_settings_of_a_cell_are_judged_together() -> None:
    cell = {"heartbeat.interval.ms": 50_000, "session.timeout.ms": 90_000}
    settings = cell_scenario(DEPLOY, cell).settings
    assert (settings.heartbeat_interval_ms, settings.session_timeout_ms) == (50_000, 90_000)


def test_a_load_of_a_cell_keeps_what_is_not_varied() -> None:
    scenario = replace(DEPLOY, load=Load(rate=10, capacity=100, batch=50))
    assert cell_scenario(scenario, {"load.rate": 20}).load == Load(rate=20, capacity=100, batch=50)


def test_the_last_axis_changes_fastest() -> None:
    assert cells({"members": [1, 2], "assignor": ["range", "sticky"]}) == [
        {"members": 1, "assignor": "range"},
        {"members": 1, "assignor": "sticky"},
        {"members": 2, "assignor": "range"},
        {"members": 2, "assignor": "sticky"},
    ]


@pytest.mark.parametrize(
    ("error", "message", "scenario", "runs", "tasks"),
    [
        (ScenarioError, "runs is 0;", DEPLOY, 0, None),
        (ScenarioError, "runs is 1.5;", DEPLOY, 1.5, None),
        (ScenarioError, "tasks is 0;", DEPLOY, 5, 0),
        (ScenarioError, "must leave room", replace(DEPLOY, seed=2**63), 1, None),
        (UnknownStrategyError, "did you mean sticky", replace(DEPLOY, assignor="stickyy"), 1, None),
        (
            UnknownStrategyError,
            "no assignor 'stickyy'",
            replace(DEPLOY, consumers=(*CONSUMERS[:3], replace(CONSUMERS[3], assignors=("stickyy",)))),
            1,
            None,
        ),
    ],
)
def test_what_cannot_run_is_refused_on_the_driver(
    spark: SparkSession,
    error: type[Exception],
    message: str,
    scenario: Scenario,
    runs: int,
    tasks: int | None,
) -> None:
    with pytest.raises(error, match=message):
        simulate_rebalances(spark, scenario, runs, tasks=tasks)


@pytest.mark.parametrize(
    ("error", "message", "grid"),
    [
        (ScenarioError, "the grid is", ["assignor"]),
        (ScenarioError, "did you mean session.timeout.ms", {"session.timeout": [1]}),
        (ScenarioError, "assignor is 'range'; give a list", {"assignor": "range"}),
        (ScenarioError, r"members is \[\]; give one value or more", {"members": []}),
        (ScenarioError, r"members is \[4, 4\]; .* once", {"members": [4, 4]}),
        (ScenarioError, "members has True; give values of type int", {"members": [True]}),
        (ScenarioError, "members=0: members is 0", {"members": [0]}),
        (
            ScenarioError,
            "the cell assignor='range', members=2: .*'worker-3'",
            {"assignor": ["range"], "members": [2]},
        ),
        (
            ScenarioError,
            "the cell session.timeout.ms=1000: .*heartbeat",
            {"session.timeout.ms": [45_000, 1_000]},
        ),
        (ScenarioError, "the cell load.rate=5: the scenario has no load", {"load.rate": [5]}),
        (UnknownStrategyError, "no assignor 'stickyy'", {"assignor": ["range", "stickyy"]}),
    ],
)
def test_a_cell_that_cannot_run_is_refused_on_the_driver(
    spark: SparkSession, error: type[Exception], message: str, grid: dict[str, list[object]]
) -> None:
    with pytest.raises(error, match=message):
        simulate_grid(spark, LEAVING, grid, 2)


@pytest.mark.every_spark
def test_a_strategy_that_executors_lack_is_refused_on_the_driver(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assignors.registry._REGISTRY.plug_ins._registered", {})
    register_assignor("ours-alone", RangeAssignor)
    with pytest.raises(MissingDependencyError, match="UnknownStrategyError: no assignor 'ours-alone'"):
        simulate_grid(spark, LEAVING, {"assignor": ["range", "ours-alone"]}, 2)
